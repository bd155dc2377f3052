-- Tight memory from Lua: berth.repair, and what is reported when nothing fits.
local berth = require "berth"

local function row(n, bytes)
  local ops, edges = {}, {}
  for i = 1, n do ops[i] = { seconds = 1, params = bytes } end
  for i = 2, n do edges[#edges + 1] = { i - 1, i, 0 } end
  return berth.graph { ops = ops, edges = edges }
end

local function mesh(n, memory)
  return berth.topology.mesh(n, { memory = memory, bandwidth = 1e9 })
end

describe("tight memory", function()
  it("is mended by moving as little as it takes", function()
    -- four ops of 4 B on the first of two devices with 12 B: one of them must go, and one neighbour
    -- follows to share the work
    local p = assert(berth.repair(row(4, 4), mesh(2, 12), { 1, 1, 1, 1 }, { memory = "total" }))
    local moved = 0
    for i = 1, 4 do moved = moved + (p[i] == 2 and 1 or 0) end
    assert.equal(2, moved)
    assert.equal("repair", p.placer)
    assert.is_nil(berth.simulate(row(4, 4), mesh(2, 12), p, { memory = "total" }).oom)
  end)

  it("leaves what fits as it is, from a placement too", function()
    local g, t = row(4, 4), mesh(2, 8)
    local p = assert(berth.repair(g, t, berth.placement { 2, 1, 2, 1 }))
    assert.same({ 2, 1, 2, 1 }, p:devices())
    assert.same(p:devices(), assert(berth.repair(berth.cost(g, t), p,
      { links = "duplex", memory = "inference" })):devices())
  end)

  it("reports a proof where nothing fits", function()
    local p, message, code, why = berth.repair(row(5, 5), mesh(4, 9), { 1, 1, 1, 1, 1 },
      { memory = "total" })
    assert.is_nil(p)
    assert.equal("infeasible", code)
    assert.truthy(message:find("^repair: cannot fit: 5 ops or groups need at least 5 B each"),
      message)
    assert.truthy(why.missing > 0)
    -- whole pieces only: 3 x 6 B in 2 x 9 B
    local _, said = berth.place(row(3, 6), mesh(2, 9), "m-etf", { memory = "total" })
    assert.truthy(said:find("cannot fit", 1, true), said)
  end)

  it("is packed to the last byte", function()
    -- 6 + 4, 5 + 5, 7 + 3: first fit decreasing and best fit find it, worst fit does not
    local sizes, ops = { 6, 5, 7, 3, 5, 4 }, {}
    for i, bytes in ipairs(sizes) do ops[i] = { seconds = 1, params = bytes } end
    for _, placer in ipairs { "m-topo", "m-etf", "heft", "round-robin" } do
      local p =
        assert(berth.place(berth.graph { ops = ops }, mesh(3, 10), placer, { memory = "total" }))
      local held = { 0, 0, 0 }
      for i, bytes in ipairs(sizes) do held[p[i]] = held[p[i]] + bytes end
      assert.same({ 10, 10, 10 }, held)
    end
  end)

  it("refuses wrong arguments", function()
    local g, t = row(2, 1), mesh(2, 8)
    assert.error_matches(function() berth.repair(g, t, { 1 }) end,
      "berth.repair: placement: places 1 ops, but the graph has 2")
    assert.error_matches(function() berth.repair(g, t, { 1, 3 }) end, "berth.repair")
    assert.error_matches(function() berth.repair(g, t, { 1, 1 }, { seed = 1 }) end,
      "berth.repair: unknown option 'seed'")
    local together = berth.graph { ops = { { seconds = 1 }, { seconds = 1 } },
      collectives = { { kind = "barrier", members = { 1, 2 }, consumers = {}, bytes = 0 } } }
    assert.same({ 1, 1 },
      { assert(berth.repair(together, t, { 1, 1 }))[1], berth.repair(together, t, { 1, 1 })[2] })
    assert.error_matches(function() berth.repair(g, t, "heft") end,
      "expected a placement or an array of device ids")
  end)
end)
