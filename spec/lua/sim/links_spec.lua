-- Links held as whole routes and shared fairly, from Lua.
local berth = require "berth"

-- Two tensors of 4 bytes from a to b through a switch, 1 byte/s.
local function setup()
  local g = assert(berth.graph { ops = { { seconds = 0 }, { seconds = 0 }, { seconds = 0 },
    { seconds = 0 } },
    edges = { { 1, 3, 4 }, { 2, 4, 2 } } })
  local t = assert(berth.topology { devices = { { name = "a" }, { name = "b" } },
    switches = { "sw" },
    links = { { "a", "sw", bandwidth = 1, latency = 0 },
      { "sw", "b", bandwidth = 1, latency = 0 } } })
  return g, t, { 1, 1, 2, 2 }
end

describe("links of the topology", function()
  it("are held by one transfer after the other", function()
    local g, t, p = setup()
    local r = assert(berth.simulate(g, t, p, { links = "route" }))
    assert.equal(4, r.finish[3])
    assert.equal(6, r.finish[4])
  end)
  it("are shared", function()
    local g, t, p = setup()
    local r = assert(berth.simulate(g, t, p, { links = "fair" }))
    assert.equal(6, r.finish[3])
    assert.equal(4, r.finish[4])
  end)
  it("are planned as duplex by list placers, and as they are by whoever simulates", function()
    local g, t = setup()
    for _, links in ipairs { "route", "fair" } do
      for _, name in ipairs { "m-etf", "etf", "heft", "cpop", "peft", "minmin", "blevel",
        "critical-path", "m-sct" } do
        local p = assert(berth.place(g, t, name, { links = links }))
        local q = assert(berth.place(g, t, name, { links = "duplex" }))
        assert.equal("duplex", p.links)
        assert.equal(tostring(q), tostring(p))
        assert.same(q.start, p.start)
      end
      for _, name in ipairs { "single", "round-robin", "metis", "m-topo", "exact", "anneal",
        "local", "brkga" } do
        local p = assert(berth.place(g, t, name, { links = links }))
        assert.equal(links, p.links)
        assert.equal(berth.simulate(g, t, p, { links = links }).makespan, p.estimate)
      end
    end
  end)
  it("decide in portfolios, comparisons, repairs and gaps", function()
    local g, t, split = setup()
    for _, links in ipairs { "route", "fair" } do
      local p, rows = assert(berth.portfolio(g, t,
        { links = links, members = { "round-robin", "single", "heft" } }))
      assert.equal(berth.simulate(g, t, p, { links = links }).makespan, rows.winner.makespan)
      for _, row in ipairs(rows) do
        assert.equal(berth.simulate(g, t, row.placement, { links = links }).makespan, row.makespan)
      end
      for _, row in ipairs(assert(berth.compare(g, t, { "round-robin", "etf" },
        { links = links }))) do
        assert.equal(berth.simulate(g, t, row.placement, { links = links }).makespan, row.makespan)
      end
      local mended = assert(berth.repair(g, t, split, { links = links }))
      assert.equal(6, mended.estimate)
      local k = assert(berth.gaps(g, t, split, { links = links, calls = 20 }))
      assert.equal(6, k.makespan)
      assert.equal(0, k.found.makespan)
      assert.is_true(k.closed)
      local staged = assert(berth.place(g, t, berth.pipeline { "fuse", "heft", "anneal" },
        { links = links }))
      assert.equal(berth.simulate(g, t, staged, { links = links }).makespan, staged.estimate)
    end
  end)
  it("are what no guarantee is about", function()
    local g, t = setup()
    local b = assert(berth.bounds(g, t, { links = "fair", place = { links = "fair" } }))
    assert.is_truthy(b.guarantees[1].why:find("links fair: transfers wait for one another", 1,
      true), b.guarantees[1].why)
  end)
  it("refuse what cannot be shared", function()
    local g, t, p = setup()
    local r, message = berth.simulate(g, t, p, { links = "fair", quantum = 1 })
    assert.is_nil(r)
    assert.is_truthy(message:find("does not support quantum 1", 1, true), message)
  end)
end)
