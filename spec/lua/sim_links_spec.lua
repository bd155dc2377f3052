-- Links held as whole routes and shared fairly, from Lua.
local berth = require "berth"

-- Two tensors of 4 bytes from a to b through a switch, 1 byte/s.
local function setup()
  local g = assert(berth.graph { ops = { { seconds = 0 }, { seconds = 0 }, { seconds = 0 }, { seconds = 0 } },
    edges = { { 1, 3, 4 }, { 2, 4, 2 } } })
  local t = assert(berth.topology { devices = { { name = "a" }, { name = "b" } }, switches = { "sw" },
    links = { { "a", "sw", bandwidth = 1, latency = 0 }, { "sw", "b", bandwidth = 1, latency = 0 } } })
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
  it("are for simulation: a placer refuses them, and says what to do", function()
    local g, t = setup()
    local ok, message = pcall(berth.place, g, t, "m-etf", { links = "fair" })
    assert.is_false(ok)
    assert.is_truthy(message:find("fair is for simulation only; place with duplex", 1, true), message)
  end)
  it("refuse what cannot be shared", function()
    local g, t, p = setup()
    local r, message = berth.simulate(g, t, p, { links = "fair", quantum = 1 })
    assert.is_nil(r)
    assert.is_truthy(message:find("does not go with quantum 1", 1, true), message)
  end)
end)
