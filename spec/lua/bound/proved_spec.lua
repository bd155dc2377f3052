-- What "exact" proves is the bound beside it; plans for other links than simulated are named.
local berth = require "berth"
local proved = require "berth.bound.proved"
local shell = require "support.shell"

local ran, run = shell.ran, shell.run

-- Three equal ops on two devices: the optimum is 2 s, the shared work 1.5 s.
local function three()
  local g = assert(berth.graph { ops = { { seconds = 1 }, { seconds = 1 }, { seconds = 1 } } })
  return g, berth.topology.mesh(2, { bandwidth = 1, memory = 100 })
end

-- Five ops: 3 + 3 against 2 + 2 + 2 is the optimum of 6 s, whatever bound is below it.
local function five()
  local ops = {}
  for i, s in ipairs { 3, 3, 2, 2, 2 } do ops[i] = { seconds = s } end
  return assert(berth.graph { ops = ops }), berth.topology.mesh(2, { bandwidth = 1 })
end

describe("a proved bound", function()
  it("is that of the placement, within seconds as well", function()
    local g, t = three()
    local p = assert(berth.place(g, t, "exact", { seconds = "3600 s" }))
    assert.equal(2, p.bound)
    assert.equal("free", p.links)
    assert.is_nil(berth.place(g, t, "heft").bound)
    assert.equal(2, assert(berth.exact(g, t)).bound)
    assert.equal(2, assert(berth.place(g, t, "exact", { links = "fair" })).bound)
    assert.has_error(function() berth.place(g, t, "heft", { seconds = 1 }) end)
  end)

  it("can be given to a simulation, where the larger one counts", function()
    local g, t = three()
    local r = assert(berth.simulate(g, t, { 1, 2, 1 }))
    local own = r.bound
    r = assert(berth.simulate(g, t, { 1, 1, 1 }, { bound = { best = 2.5, name = "exact" } }))
    assert.equal(2.5, r.bound)
    assert.equal("exact", r.bound_name)
    assert.near(0.2, r.gap, 1e-12)
    r = assert(berth.simulate(g, t, { 1, 2, 1 }, { bound = { best = 0.5, name = "mine" } }))
    assert.equal(own, r.bound)
    assert.equal(2, berth.simulate(g, t, { 1, 1, 1 },
      { bound = assert(berth.bounds(g, t, { thorough = true })) }).bound)
    assert.is_nil(berth.simulate(g, t, { 1, 2, 1 },
      { noise = 0.1, bound = { best = 2, name = "exact" } }).bound)
    local function message(bound)
      return select(2, pcall(berth.simulate, g, t, { 1, 2, 1 }, { bound = bound }))
    end
    assert.matches("berth.simulate: bound: best", message { name = "a" })
    assert.matches("berth.simulate: bound: name", message { best = 1 })
    assert.matches("berth.simulate: bound: best", message { best = -1, name = "a" })
  end)

  it("is shared by the rows of a comparison and of a portfolio", function()
    local g, t = five()
    local rows =
      assert(berth.compare(g, t, { "single", "exact", { "exact", { seconds = "3600 s" } } }))
    for _, row in ipairs(rows) do
      assert.equal(6, row.bound)
      assert.equal(row.makespan / 6 - 1, row.gap)
    end
    local _, members = assert(berth.portfolio(g, t, { members = { "single", "exact" } }))
    assert.equal(6, members.bound)
    assert.equal(1, members[1].gap)
    assert.equal(0, members[2].gap)
  end)

  it("holds only for what was proved", function()
    local p = { bound = 2 }
    assert.equal(2, proved.bound(p, {}, {}))
    assert.equal(2, proved.bound(p, { memory = "none" }, { memory = "total", links = "fair" }))
    assert.is_nil(proved.bound(p, { memory = "total" }, {}))
    assert.is_nil(proved.bound(p, {}, { param_multiple = 2 }))
    assert.is_nil(proved.bound(p, {}, { preempt = true }))
    assert.is_nil(proved.bound(p, {}, { preset = "doppler" }))
    assert.is_nil(proved.bound(p, {}, { quantum = 1 }))
    assert.is_nil(proved.bound({}, {}, {}))
  end)

  it("closes the gaps of small graphs on free links", function()
    local g, t = five()
    local k = assert(berth.gaps(g, t, { 1, 1, 1, 2, 2 }, { calls = 100 }))
    assert.equal(6, k.found.makespan)
    assert.equal(6, k.bound)
    assert.is_true(k.closed)
    assert.equal(0, k.open)
    assert.matches("closed: the best found is optimal", tostring(k))
    k = assert(berth.gaps(g, t, { 1, 1, 1, 2, 2 }, { calls = 0 }))
    assert.is_false(k.closed)
    assert.equal(2, k.open)
    assert.matches("closed: this is optimal",
      tostring(assert(berth.gaps(g, t, { 1, 1, 2, 2, 2 }, { calls = 0 }))))
  end)
end)

describe("berth.gaps", function()
  it("says which dispatch is faster", function()
    local g = assert(berth.graph {
      ops = { { seconds = 1, pin = 1 }, { seconds = 9, pin = 1 }, { seconds = 1, pin = 1 },
        { seconds = 9, pin = 2 } },
      edges = { { 1, 2, 0 }, { 1, 3, 0 }, { 3, 4, 0 } },
    })
    local text = tostring(assert(berth.gaps(g, berth.topology.mesh(2, { bandwidth = 1 }),
      { 1, 1, 1, 2 }, { calls = 0 })))
    assert.is_truthy(
      text:find('light-first runs this placement in 45.0 % less: dispatch = "light-first" '
      .. "(--dispatch light-first)", 1, true), text)
  end)
end)

describe("counts", function()
  it("are integers", function()
    local g, t = three()
    local _, proof = assert(berth.exact(g, t))
    assert.is_nil(tostring(proof.nodes):find(".", 1, true))
    assert.is_nil(tostring(proof.schedules):find(".", 1, true))
    assert.is_nil(tostring(assert(berth.split(g, t)).ideals):find(".", 1, true))
    assert.equal("0", tostring(berth.simulate(g, t, { 1, 1, 1 }).options.seed))
  end)
end)

describe("links that are distinguished", function()
  local GRAPH, TOPOLOGY = "model:resnet18,batch=4,granularity=layer",
    "mesh:2,preset=V100,bandwidth=10GB/s,latency=5us"

  it("where a placer plans with others than are simulated", function()
    for _, links in ipairs { "route", "fair" } do
      local out = ran(run("place", GRAPH, TOPOLOGY, "--placer", "heft", "--links", links))
      assert.is_truthy(out:find("\nplanned with links duplex, simulated with " .. links .. "\n", 1,
        true), out)
      out = ran(run("place", GRAPH, TOPOLOGY, "--placer", "metis", "--links", links))
      assert.is_nil(out:find("planned with", 1, true))
      assert.equal(0,
        (run("compare", GRAPH, TOPOLOGY, "--placers", "single,heft", "--links", links)))
      assert.equal(0,
        (run("bounds", GRAPH, TOPOLOGY, "--split", "--calls", "20", "--links", links)))
    end
  end)

  it("of which those come first that need the largest part of the step", function()
    local t = assert(berth.topology { devices = { { name = "a" }, { name = "b" } },
      switches = { "s", "t", "u", "v" },
      links = { { "a", "s", bandwidth = 2, latency = 0 },
        { "s", "t", bandwidth = 4, latency = 0 }, { "t", "u", bandwidth = 8, latency = 0 },
        { "u", "v", bandwidth = 4, latency = 0 }, { "v", "b", bandwidth = 16, latency = 0 } } })
    local g =
      assert(berth.graph { ops = { { seconds = 1 }, { seconds = 5 } }, edges = { { 1, 2, 8 } } })
    local used = require("berth.sim.utilisation").of(t, assert(berth.simulate(g, t, { 1, 2 })))
    local expected = { "as 4 0.4 4", "st 2 0.2 4", "uv 2 0.2 4", "tu 1 0.1 4", "vb 0.5 0.05 4" }
    for i, x in ipairs(used) do
      used[i] = ("%s%s %g %g %g"):format(x.from, x.to, x.need, x.share, x.busy)
    end
    assert.same(expected, used)
  end)
end)

describe("a report", function()
  it("has its own answer among the placers, once", function()
    local g, t = five()
    local p = assert(berth.placement({ 1, 1, 1, 1, 1 }, { placer = "mine" }))
    local r = assert(berth.simulate(g, t, p))
    local rows = assert(berth.compare(g, t, { "exact" }))
    local text = assert(berth.figure("placers", { result = r, placement = p, compare = rows }))
    assert.is_truthy(text:find("this step (mine)", 1, true))
    assert.is_nil(assert(berth.figure("placers", { compare = rows })):find("this step", 1, true))
    r = assert(berth.simulate(g, t, rows[1].placement))
    text = assert(berth.figure("placers", { result = r, compare = rows }))
    assert.is_nil(text:find("this step", 1, true))
  end)
end)
