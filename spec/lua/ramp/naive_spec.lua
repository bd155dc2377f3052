-- The planner beside a simulation of every piece and every dependency, on random jobs and clusters.
local berth = require "berth"
local checker = require "support.ramp_checker"
local graphs = require "support.ramp_graphs"
local reference = require "support.ramp_reference"
local runs = require "support.runs"

local SHAPES = { { 4, 4, 2 }, { 2, 2, 2 }, { 3, 2, 4 }, { 4, 4, 1 }, { 1, 1, 8 } }
local QUANTA = { 0.01, 0.3, 1 }
local MEMORIES = { 1e9, 1e9, 4000 }

local function cluster(rng, compat)
  local shape = SHAPES[rng:below(#SHAPES)]
  return berth.ramp { compat = compat, groups = shape[1], racks = shape[2], slots = shape[3],
    time_scale = 1,
    quantum = QUANTA[rng:below(#QUANTA)], bandwidth = 10 ^ (1 + rng:below(4)),
    latency = (rng:below(2) - 1) * 1e-3,
    io_latency = 1e-3, memory_rate = 1e5, flops = 1e9, memory = MEMORIES[rng:below(#MEMORIES)] }
end

local function some_busy(rng, servers)
  local busy, rare = {}, rng:below(2) == 1 and 1000 or 4
  for s = 1, servers do busy[s] = rng:below(rare) == 1 end
  return busy
end

local function compare(case, got, want)
  assert.equal(want.placed, got.placed, case)
  for _, key in ipairs(want.placed and { "ops", "deps", "flows", "channels", "ticks" }
    or { "op", "pieces" }) do
    assert.equal(want[key], got[key], case .. key)
  end
  if not want.placed then return end
  assert.same(want.servers, got.servers, case)
  for _, key in ipairs { "step", "compute", "communication", "memory", "bytes", "flow_bytes" } do
    assert.is_true(math.abs(got[key] - want[key]) <= 1e-12 * math.abs(want[key]),
      ("%s%s: %.17g, not %.17g"):format(case, key, got[key], want[key]))
  end
end

-- Calls visit(reference's answer) for each plan of the seeds; gives how many were placed.
local function sweep(compat, from, to, visit)
  local placed = 0
  for seed = from, to do
    local rng = berth.rng(seed)
    local r = cluster(rng, compat)
    local physical = not compat and seed % 3 == 0
    local batch = not compat and seed % 4 == 1
    local g = graphs.mirrored(rng, { n = 1 + rng:below(6), seconds = 1, bytes = 1,
      physical = physical, batch = batch and (seed % 8 == 1 and 1 or 0.5) })
    local order, busy = graphs.shuffled(rng, g.n_ops / 2), some_busy(rng, r.servers)
    local model = r:model(g, { order = order, batch = batch })
    local job = reference.job(r.options, g, order, batch)
    for _, most in ipairs { 1, 2, 4, 6, 8 } do
      local want = reference.plan(r.options, job, most, busy)
      compare(("seed %d, at most %d pieces: "):format(seed, most),
        r:plan(model, most, { busy = busy }), want)
      if want.placed then
        placed = placed + 1
        visit(want)
      end
    end
  end
  return placed
end

-- Does a piece run before all that producers send it has come?
local function early(r)
  local last = {}
  for _, d in ipairs(r.walk.deps) do
    if not d.sync then last[d.to] = math.max(last[d.to] or 0, d.ended) end
  end
  for _, s in ipairs(r.segments) do
    if s.op and s.from < (last[s.op] or 0) - 1e-9 then return true end
  end
  return false
end

describe("a plan as published", function()
  it("is what a simulation of every dependency gives", function()
    local busy_channels, soon = 0, 0
    local placed = sweep(true, 1, runs(40, 120), function(r)
      if r.communication > 0.3 * r.step then busy_channels = busy_channels + 1 end
      if early(r) then soon = soon + 1 end
    end)
    assert.is_true(placed > runs(100, 300), placed)
    assert.is_true(busy_channels > runs(30, 100), busy_channels)
    assert.is_true(soon > 0, "no synchronisation came early") -- it counts as a producer then
  end)
end)

describe("an exact plan", function()
  it("is what a simulation of every dependency gives, which keeps the rules", function()
    local placed = sweep(false, 1, runs(40, 120), function(r)
      checker.check(r)
      assert.is_false(early(r))
    end)
    assert.is_true(placed > runs(100, 300), placed)
  end)
end)

describe("collectives", function()
  it("take what section 2.4 says, wherever their ends are", function()
    for _, compat in ipairs { true, false } do
      for _, shape in ipairs(SHAPES) do
        local r = berth.ramp { compat = compat, groups = shape[1], racks = shape[2],
          slots = shape[3] }
        local rng = berth.rng(7)
        for _ = 1, 40 do
          local ends = {}
          for i = 1, rng:below(9) do ends[i] = rng:below(r.servers) end
          local bytes = rng:below(1000000)
          local want, got = reference.collective(r.options, ends, bytes), r:collective(ends, bytes)
          assert.is_true(math.abs(got - want) <= 1e-14 * want,
            ("%.17g, not %.17g"):format(got, want))
        end
      end
    end
  end)
end)
