-- The shipped agent as a placer and as a member of the portfolio.
local berth = require "berth"
local errors = require "support.errors"
local random_graph = require "support.random_graph"
local shell = require "support.shell"
local raises, refused = errors.raises, errors.refused
local it_with_tree = shell.try(it, pending)

local function devices_of(g, t, o) return assert(berth.place(g, t, "agent", o)):devices() end

local function mesh(n, memory) return berth.topology.mesh(n, { bandwidth = 100, latency = 0.5, memory = memory }) end

describe("the agent", function()
  after_each(shell.tidy)

  it("takes from 1 to 50 simulator calls", function()
    local g = berth.graph { ops = { { seconds = 1 } } }
    for _, calls in ipairs { 0, 51 } do
      raises(("option calls: %d is not from 1 to 50 (agent)"):format(calls), berth.place, g, mesh(2),
        "agent", { calls = calls })
    end
    raises("option 'start' means nothing to agent", berth.place, g, mesh(2), "agent", { start = { 1 } })
  end)

  it("gives the devices that it gives in C", function() -- spec/c/place/agent.c
    local ops, tensors = {}, {}
    for i, seconds in ipairs { 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1 } do ops[i] = { seconds = seconds } end
    for i, to in ipairs { { 4, 5 }, { 5 }, { 6, 7 }, { 7 }, { 8, 9 }, { 9 }, { 10, 11 }, { 11 }, { 12, 13 }, { 13 },
      { 14, 15 }, { 15 } } do
      tensors[i] = { from = i, to = to, bytes = #to == 1 and 8 or 4 }
    end
    local g = assert(berth.graph { ops = ops, tensors = tensors })
    assert.same({ 2, 1, 3, 2, 1, 3, 2, 1, 3, 2, 1, 3, 2, 1, 3 },
      devices_of(g, berth.topology.mesh(3, { bandwidth = 4 }), { links = "duplex", memory = "total" }))
  end)

  it("answers with more calls no worse than with one, and 50 is the default", function()
    for seed = 1, 12 do
      local g = assert(berth.graph(random_graph.describe(seed, { n = 40 })))
      local one = assert(berth.place(g, mesh(3), "agent", { calls = 1, links = "duplex" }))
      local all = assert(berth.place(g, mesh(3), "agent", { calls = 50, links = "duplex" }))
      assert.is_true(all.estimate <= one.estimate)
      assert.equal(all.estimate, assert(berth.simulate(g, mesh(3), all, { links = "duplex" })).makespan)
      assert.same(all:devices(), devices_of(g, mesh(3), { links = "duplex" }))
    end
  end)

  it("does not depend on the unit of time", function()
    local slow, fast = random_graph.describe(5, { n = 40 }), random_graph.describe(5, { n = 40 })
    for _, op in ipairs(fast.ops) do op.seconds = op.seconds / 1024 end
    assert.same(devices_of(assert(berth.graph(slow)), mesh(3)), devices_of(assert(berth.graph(fast)),
      berth.topology.mesh(3, { bandwidth = 100 * 1024, latency = 0.5 / 1024 })))
  end)

  it("keeps tight memory, first in, first out, under every policy, or reports what is missing", function()
    local kept = 0
    for seed = 1, 40 do
      local description, bytes = random_graph.describe(seed, { n = 20, memory = true }), 0
      for _, op in ipairs(description.ops) do bytes = bytes + op.params end
      for _, tensor in ipairs(description.tensors) do bytes = bytes + tensor.bytes end
      local g, t = assert(berth.graph(description)), mesh(3, bytes * (0.3 + seed % 5 / 10))
      for _, memory in ipairs { "inference", "training", "total" } do
        local p, message, code = berth.place(g, t, "agent", { memory = memory, links = "duplex" })
        if p then
          kept = kept + 1
          local r = assert(berth.simulate(g, t, p, { memory = memory, links = "duplex" }))
          assert.is_nil(r.oom, ("seed %d, %s"):format(seed, memory))
        else
          assert.equal("infeasible", code, message)
        end
      end
    end
    assert.is_true(kept > 60, ("%d kept"):format(kept))
  end)

  it("refuses graphs of more than 20,000 ops", function()
    local ops = {}
    for i = 1, 20001 do ops[i] = { seconds = 1 } end
    refused("unsupported", "agent: the graph has 20001 ops, it places up to 20000: coarsen it before",
      berth.place(berth.graph { ops = ops }, mesh(2), "agent"))
  end)

  it("gives a portfolio that is never worse than without it", function()
    local better = 0
    for seed = 1, 8 do
      local g = assert(berth.graph(random_graph.describe(seed, { n = 60 })))
      local p, rows = assert(berth.portfolio(g, mesh(4), { links = "duplex", calls = 0 }))
      local least, own = math.huge, nil
      for _, row in ipairs(rows) do
        if row.placer == "agent" then own = row.makespan else least = math.min(least, row.makespan or least) end
      end
      local r = assert(berth.simulate(g, mesh(4), p, { links = "duplex" }))
      assert.equal(math.min(least, own), r.makespan)
      if own < least then better = better + 1 end
    end
    assert.is_true(better >= 1)
  end)

  it_with_tree("gives the command line the same placement", function()
    local g = assert(berth.graph(random_graph.describe(3, { n = 30 })))
    local path, out = shell.path ".json", shell.path ".json"
    assert(g:save(path))
    shell.ran(shell.run("place", path, "mesh:3,bandwidth=100B/s", "--placer", "agent", "--calls", "20", "--seed", "4", "--links",
      "duplex", "--output", out))
    local t = berth.topology.mesh(3, { bandwidth = 100 })
    assert.same(devices_of(g, t, { calls = 20, seed = 4, links = "duplex" }),
      assert(berth.load_placement(out)):devices())
  end)
end)
