-- Memory that is right: at every instant by a replay of the schedule, and on small graphs against every placement there is.
local berth = require "berth"
local brute = require "support.brute_force"
local random_graph = require "support.random_graph"
local replay = require "support.memory_replay"
local runs = require "support.runs"
local whole = require "support.whole_times"

local POLICIES = { "inference", "training", "total" }

-- These judge their answers first in, first out; the others plan an order of their own.
local fifo = { single = true, ["round-robin"] = true, random = true, metis = true, ["m-topo"] = true, portfolio = true }

local function placers()
  local names = {}
  for _, name in ipairs(berth.placers()) do
    if name ~= "policy" then names[#names + 1] = name end
  end
  return names
end

local function within(bytes, limit) return bytes <= limit * (1 + 1e-12) end

local function largest_gap(a, b)
  local gap = 0
  for d = 1, #a do gap = math.max(gap, math.abs(a[d] - b[d]) / math.max(1, b[d])) end
  return gap
end

local function training_graph(seed, most)
  local n = math.min(6 + seed % 8, most or 13)
  local forward = assert(berth.graph(random_graph.describe(seed, { n = n, memory = true, zero = 15 })))
  return (forward:mirror { params = seed % 2 == 0, activations = seed % 3 ~= 0 })
end

describe("what a simulation says that devices hold", function()
  for _, policy in ipairs(POLICIES) do
    for _, links in ipairs { "free", "channel", "duplex", "pair" } do
      it(("is what the definition of %q adds up to, links %s"):format(policy, links), function()
        for seed = 1, 8 do
          local g, t = training_graph(seed), berth.topology.mesh(3, { bandwidth = 100, latency = seed % 2 })
          local r = assert(berth.simulate(g, t, random_graph.placement(seed, #g, 3), {
            links = links, memory = policy, param_multiple = 3,
            dispatch = seed % 2 == 0 and "blevel" or "fifo", send = seed % 3 == 0 and "pull" or "push",
          }))
          assert.is_true(largest_gap(r.peak_memory, replay.peaks(g, t, r, policy, 3)) < 1e-9, "seed " .. seed)
        end
      end)
    end
  end
end)

-- Memory so that a device holds about `share` of what one device would need for all.
local function tight_mesh(g, policy, share)
  local all = random_graph.placement(1, #g, 1)
  local one = assert(berth.simulate(g, berth.topology.mesh(1), all, { memory = policy, bound = false }))
  return berth.topology.mesh(3, { bandwidth = 100, memory = share * one.peak_memory[1] })
end

describe("placing into tight memory", function()
  for _, name in ipairs(placers()) do
    for _, policy in ipairs(POLICIES) do
      it(("%s under %q keeps it at every instant, or says what stops it"):format(name, policy), function()
        local answered = 0
        for seed = 1, 10 do
          local g = training_graph(seed, name == "exact" and runs(4, 8) or nil)
          local t = tight_mesh(g, policy, 0.5 + 0.07 * seed)
          local links = fifo[name] and seed % 2 == 0 and "duplex" or "free"
          local p, message, code, why = berth.place(g, t, name, { memory = policy, links = links, seed = seed })
          if p then
            answered = answered + 1
            local dispatch = not fifo[name] and "planned" or nil
            local r = assert(berth.simulate(g, t, p, { memory = policy, links = links, dispatch = dispatch }))
            local what = ("%s, seed %d"):format(name, seed)
            assert.is_nil(r.oom, what)
            for d, bytes in ipairs(replay.peaks(g, t, r, policy)) do
              assert.is_true(within(bytes, t:device(d).memory), what .. ", device " .. d)
            end
          else
            assert.equal("infeasible", code, message)
            assert.is_true(why.missing > 0 and (why.op or why.device or message:match "cannot fit") ~= nil, message)
          end
        end
        if name ~= "single" then assert.is_true(answered >= 5, ("answered only %d of 10"):format(answered)) end
      end)
    end
  end
end)

-- ---- against every placement there is -------------------------------------------------------------------------------------

-- Small graphs, and memory at `factor` of what is stored for good, divided among the devices.
local function packing_case(seed, factor, opts)
  local description = whole.graph(seed, {
    n = 5 + seed % 4, sizes = opts.sizes, parameters = 12, workspace = opts.workspace, groups = opts.groups, shared = true,
  })
  local total, devices = whole.sizes(description), 2 + seed % 2
  return description, devices, math.floor(factor * total / devices)
end

local kinds = {
  { title = "parameters alone", factors = { 1.00, 1.02, 1.05, 1.10 } },
  { title = "parameters, outputs, copies and workspace", factors = { 1.2, 1.3, 1.4, 1.5 }, sizes = 4, workspace = 5 },
  { title = "groups", factors = { 1.1, 1.2, 1.3, 1.4 }, sizes = 3, workspace = 3, groups = 3 },
}

-- Whether one fits at all; checks that one is found then, and only then.
local function packed(seed, factor, kind)
  local description, devices, memory = packing_case(seed, factor, kind)
  local t = berth.topology.mesh(devices, { bandwidth = 1e6, memory = memory })
  local possible = brute.packs(description, devices, memory)
  local p, message, code, why = berth.place(assert(berth.graph(description)), t, nil, { memory = "total" })
  local what = ("seed %d: %d B on each of %d"):format(seed, memory, devices)
  assert.equal(possible, p ~= nil, what .. ": " .. tostring(message))
  if p then
    for _, bytes in ipairs(brute.held(description, p:devices(), devices)) do assert.is_true(bytes <= memory, what) end
  else
    assert.equal("infeasible", code, what)
    assert.is_true(why.missing > 0, what .. ": " .. message)
  end
  return possible
end

describe("with memory for hardly more than there is, nothing freed, a placement is found wherever one exists:", function()
  for _, kind in ipairs(kinds) do
    it(kind.title, function()
      local count = { [true] = 0, [false] = 0 }
      for _, factor in ipairs(kind.factors) do
        for seed = 1, 20 do
          local possible = packed(seed, factor, kind)
          count[possible] = count[possible] + 1
        end
      end
      assert.is_true(count[true] >= 15 and count[false] >= 15, "the cases are all alike")
    end)
  end

  it("what is said to be proved is so, by every placer and by the bounds", function()
    for seed = 1, 25 do
      local description, devices, memory = packing_case(seed, 0.9 + seed % 5 * 0.15, kinds[2])
      local g = assert(berth.graph(description))
      local t = berth.topology.mesh(devices, { bandwidth = 1e6, memory = memory })
      local possible = brute.packs(description, devices, memory)
      for _, name in ipairs(placers()) do
        local p, message = berth.place(g, t, name, { memory = "total", seed = seed })
        if p or name == "single" then
          assert.is_true(p == nil or possible, name)
        elseif message:match "cannot fit" then
          assert.is_false(possible, ("%s, seed %d: %s"):format(name, seed, message))
        end
      end
      if not berth.bounds(g, t, { memory = "total" }) then assert.is_false(possible, "bounds, seed " .. seed) end
    end
  end)
end)

-- ---- repair ---------------------------------------------------------------------------------------------------------------

local function keeps_groups(description, placement)
  local home = {}
  for i, op in ipairs(description.ops) do
    if op.group then
      home[op.group] = home[op.group] or placement[i]
      if home[op.group] ~= placement[i] then return false end
    end
  end
  return true
end

local function holds(description, device, devices, memory)
  for _, bytes in ipairs(brute.held(description, device, devices)) do
    if bytes > memory then return false end
  end
  return true
end

describe("repair", function()
  for _, kind in ipairs(kinds) do
    it("mends any placement wherever one exists, and leaves alone what fits: " .. kind.title, function()
      local count = { left = 0, mended = 0, refused = 0 }
      for _, factor in ipairs(kind.factors) do
        for seed = 1, 20 do
          local description, devices, memory = packing_case(seed, factor, kind)
          local g, t = assert(berth.graph(description)), berth.topology.mesh(devices, { bandwidth = 1e6, memory = memory })
          local given = random_graph.placement(seed, #g, devices)
          local p, message, code = berth.repair(g, t, given, { memory = "total" })
          local what = ("seed %d, %.2f of the total: %s"):format(seed, factor, tostring(message))
          assert.equal(brute.packs(description, devices, memory), p ~= nil, what)
          if not p then
            assert.equal("infeasible", code, what)
            count.refused = count.refused + 1
          else
            assert.is_true(keeps_groups(description, p) and holds(description, p:devices(), devices, memory), what)
            local sound = keeps_groups(description, given) and holds(description, given, devices, memory)
            if sound then assert.same(given, p:devices(), what) end
            local outcome = sound and "left" or "mended"
            count[outcome] = count[outcome] + 1
          end
        end
      end
      assert.is_true(count.mended >= 10 and count.refused >= 10, "the cases are all alike")
    end)
  end

  it("under inference and training gives what keeps memory first in, first out", function()
    local mended = 0
    for _, policy in ipairs { "inference", "training" } do
      for seed = 1, 20 do
        local g = training_graph(seed)
        local t = tight_mesh(g, policy, 0.5 + seed % 5 * 0.08)
        local links = seed % 2 == 0 and "duplex" or "free"
        local given = random_graph.placement(seed, #g, 3)
        local before = assert(berth.simulate(g, t, given, { memory = policy, links = links }))
        local p, message, code = berth.repair(g, t, given, { memory = policy, links = links })
        if p then
          local r = assert(berth.simulate(g, t, p, { memory = policy, links = links }))
          assert.is_nil(r.oom, ("%s, seed %d"):format(policy, seed))
          for d, bytes in ipairs(replay.peaks(g, t, r, policy)) do assert.is_true(within(bytes, t:device(d).memory)) end
          if before.oom then mended = mended + 1 else assert.same(given, p:devices()) end
        else
          assert.equal("infeasible", code, message)
          assert.is_truthy(before.oom, "what fitted was refused")
        end
      end
    end
    assert.is_true(mended >= 10, ("mended only %d"):format(mended))
  end)
end)
