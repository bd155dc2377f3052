-- PAC-ML's own numbers: the five profiles, and the look-aheads of the published simulator.
local berth = require "berth"
local shared = require "support.shared"
local refused = require("support.errors").refused

if not shared.present() or not shared.read("reference/pacml_lookahead.csv") then
  describe("PAC-ML's numbers", function()
    it("are compared", function() pending("no " .. shared.dir .. ": its files are the inputs") end)
  end)
  return
end

local STEPS = 50

local function near(want, got, tolerance, what)
  assert.is_true(math.abs(got - want) <= tolerance * math.abs(want),
    ("%s: %.17g, not %.17g"):format(what, got, want))
end

local function profile(ramp, name)
  return assert(berth.pacml.profile(ramp, shared.path("data/pipedream/" .. name .. ".txt")))
end

-- Section 1.3: ops, dependencies, ms forward and backward, 50 steps in "s", bytes of ops and of
-- dependencies, largest op in ms, bytes of the largest op, forward ops that take no time, depth.
local TABLE = {
  { "alexnet", 46, 47, 680.703, 40.520, 36061.15, 3046234440, 2422161416, 635.902, 1.9834e8,
    4, 44 },
  { "gnmt", 96, 117, 33.533, 55.883, 4470.80, 2368446976, 1027801088, 15.883, 3.2695e8, 31, 30 },
  { "resnet18", 142, 159, 581.071, 152.296, 36668.35, 17258656072, 18733285384, 473.625, 8.2212e8,
    10, 60 },
  { "squeezenet1_0", 136, 153, 587.884, 172.119, 38000.15, 24962622792, 27910094856, 474.637,
    1.1680e9, 11, 102 },
  { "vgg16", 82, 83, 251.874, 438.633, 34525.35, 30625298760, 29467058184, 113.330, 1.6443e9,
    4, 80 },
}

-- Of the graph alone: ms forward and backward, ms and bytes of the largest op, forward ops that
-- take no time.
local function characterise(g)
  local forward, backward, largest, heaviest, free = 0, 0, 0, 0, 0
  for v = 1, g.n_ops do
    local op = g:op(v)
    local ms, held = 1e3 * op.seconds, op.params or 0
    largest = math.max(largest, ms)
    if v > g.n_ops / 2 then
      backward = backward + ms
    else
      for _, t in ipairs(g:outputs(v)) do held = held + g:tensor(t).resident end
      forward, heaviest = forward + ms, math.max(heaviest, held)
      if ms == 0 then free = free + 1 end
    end
  end
  return forward, backward, largest, heaviest, free
end

-- Most ops on a shortest path from the first source.
local function depth(g)
  local first, at, queue, head, most = 1, {}, {}, 1, 0
  while #g:predecessors(first) > 0 do first = first + 1 end
  at[first], queue[1] = 1, first
  while queue[head] do
    local v = queue[head]
    most, head = math.max(most, at[v]), head + 1
    for _, w in ipairs(g:successors(v)) do
      if not at[w] then at[w], queue[#queue + 1] = at[v] + 1, w end
    end
  end
  return most
end

describe("PAC-ML's profiles", function()
  it("are what section 1.3 says", function()
    local ramp, total = berth.ramp { compat = true }, 0
    for _, row in ipairs(TABLE) do
      local model = profile(ramp, row[1])
      local forward, backward, largest, heaviest, free = characterise(model.graph)
      assert.equal(row[2], model.graph.n_ops, row[1])
      assert.equal(row[3], model.graph.n_edges, row[1])
      assert.near(row[4], forward, 6e-4, row[1])
      assert.near(row[5], backward, 6e-4, row[1])
      near(row[6], STEPS * model.sequential, 1e-9, row[1])
      assert.equal(row[7], model.memory, row[1])
      assert.equal(row[8], model.bytes, row[1])
      assert.near(row[9], largest, 6e-4, row[1])
      near(row[10], heaviest, 5e-5, row[1])
      assert.equal(row[11], free, row[1])
      assert.equal(row[12], depth(model.graph), row[1])
      total = total + STEPS * model.sequential
    end
    assert.near(29945, total / #TABLE, 0.5)
  end)

  it("is refused if it is none, or compressed", function()
    local ramp = berth.ramp()
    refused("parse", "pacml_lookahead.csv",
      berth.pacml.profile(ramp, shared.path("reference/pacml_lookahead.csv")))
    local model, message, code = berth.pacml.profile(ramp, "nowhere.txt")
    assert.same({ nil, "nowhere.txt: cannot be opened: No such file or directory", "io" },
      { model, message, code })
    assert.has_error(function() berth.pacml.profile(nil, "nowhere.txt") end)
  end)
end)

describe("the published look-ahead", function()
  local ramp, models, rows = berth.ramp { compat = true }, {},
    shared.csv("reference/pacml_lookahead.csv")

  for _, row in ipairs(rows) do
    it(("of %s in at most %s pieces"):format(row.model, row.degree), function()
      models[row.model] = models[row.model] or profile(ramp, row.model)
      local model = models[row.model]
      local plan = ramp:plan(model, tonumber(row.degree))
      near(tonumber(row.sequential_jct), STEPS * model.sequential, 1e-9, "sequential")
      if row.blocked_at ~= nil and row.blocked_at ~= "" then
        assert.is_false(plan.placed)
        return
      end
      assert.is_true(plan.placed)
      near(tonumber(row.lookahead_jct), STEPS * plan.step, 1e-9, "50 steps")
      assert.equal(tonumber(row.part_ops), plan.ops)
      assert.equal(tonumber(row.part_deps), plan.deps)
      assert.is_true(math.abs(tonumber(row.ticks) - plan.ticks) <= 1,
        ("%d ticks, not %s"):format(plan.ticks, row.ticks))
    end)
  end

  it("has every row of the table", function() assert.equal(28, #rows) end)

  it("keeps to the sizes of section 3", function()
    for _, case in ipairs { { "alexnet", 16, 616, 13172 }, { "vgg16", 16, 1192, 26258 },
      { "resnet18", 8, 996, 10442 } } do
      local plan = ramp:plan(profile(ramp, case[1]), case[2])
      assert.same({ case[3], case[4] }, { plan.ops, plan.deps })
    end
  end)

  it("blocks 32 pieces where an op gets 28 or 30", function()
    for _, name in ipairs { "vgg16", "alexnet", "resnet18" } do
      local plan = ramp:plan(profile(ramp, name), 32)
      assert.is_false(plan.placed, name)
      assert.is_true(plan.pieces == 28 or plan.pieces == 30, name)
    end
  end)
end)

describe("servers of a job", function()
  it("stray as published: GNMT holds 10 at 8 pieces, 21 at 16", function()
    local ramp = berth.ramp { compat = true }
    local model = profile(ramp, "gnmt")
    assert.equal(10, #ramp:plan(model, 8).servers)
    assert.equal(21, #ramp:plan(model, 16).servers)
  end)

  it("are as many as the most pieces of an op, exactly", function()
    local ramp = berth.ramp()
    for _, row in ipairs(TABLE) do
      local model = profile(ramp, row[1])
      for _, most in ipairs { 1, 2, 4, 6, 8, 16 } do
        assert.equal(most, #ramp:plan(model, most).servers)
      end
    end
  end)
end)

-- Section 11.6: milliseconds as milliseconds, all else as published.
describe("in true units", function()
  local PUBLISHED = { alexnet = 11.3, vgg16 = 2.75, resnet18 = 5.7, squeezenet1_0 = 5.4,
    gnmt = 10.2 }

  local function speedups(options)
    local ramp, found = berth.ramp(options), {}
    for name in pairs(PUBLISHED) do
      local model = profile(ramp, name)
      found[name] = model.sequential / ramp:plan(model, 16).step
    end
    return found
  end

  it("16 pieces are 2.75 to 11.3 times as fast with the published rules", function()
    local found = speedups { compat = true, time_scale = 1, quantum = "10 us" }
    for name, want in pairs(PUBLISHED) do near(want, found[name], 0.01, name) end
  end)

  it("16 pieces are faster exactly, since transceivers have their whole rate", function()
    local slow, found = speedups { compat = true, time_scale = 1, quantum = "10 us" }, speedups()
    for name in pairs(PUBLISHED) do
      assert.is_true(found[name] > slow[name], name)
      assert.is_true(found[name] <= 16, name)
    end
  end)
end)

describe("the published run of 100 arrivals, in one piece each", function()
  local NAMES = { "alexnet", "gnmt", "resnet18", "squeezenet1_0", "vgg16" }

  it("has the same masks, outcomes, causes and times", function()
    local ramp, models, number = berth.ramp { compat = true }, {}, {}
    for i, name in ipairs(NAMES) do models[i], number[name] = profile(ramp, name), i end
    local rows, trace = shared.csv("reference/pacml_dynamic_sequential.csv"),
      { model = {}, beta = {}, arrival = {} }
    for i, row in ipairs(rows) do
      trace.model[i], trace.beta[i] = number[row.model], tonumber(row.max_acceptable_jct_frac)
      trace.arrival[i] = tonumber(row.time_arrived)
    end
    local run = berth.pacml.env({ models = models, names = NAMES }):run(trace)
    for i, row in ipairs(rows) do
      local mask, busy = {}, 0
      for k, legal in ipairs(run:mask("paper")) do mask[k] = ("%.0f"):format(legal) end
      for _, b in ipairs(run:busy()) do busy = busy + b end
      assert.equal(row.action_mask, table.concat(mask), i)
      assert.equal(tonumber(row.true_busy_workers), busy, i)
      near(tonumber(row.lookahead_jct_seen), run:look(tonumber(row.action)), 1e-9, "job " .. i)
      local accepted, cause = run:decide(tonumber(row.action))
      assert.equal(row.accepted == "1", accepted, i)
      assert.equal(row.block_cause, accepted and "" or cause, i)
    end
    assert.is_true(run.done)
    assert.equal(100, #rows)
  end)
end)
