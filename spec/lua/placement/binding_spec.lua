-- The label and the estimate of a placement: from the caller, from a file, through a pipeline.
local berth = require "berth"
local raises = require("support.errors").raises

local function chain(n)
  local ops, edges = {}, {}
  for i = 1, n do
    ops[i] = { name = "op" .. i, seconds = i }
    if i > 1 then edges[i - 1] = { i - 1, i, 8 } end
  end
  return assert(berth.graph { ops = ops, edges = edges })
end

describe("a placement from an array", function()
  it("takes a label and an estimate", function()
    local p = berth.placement({ 1, 2, 1 },
      { placer = "by hand", estimate = "250 ms", sequence = { 2, 1, 3 } })
    assert.equal("by hand", p.placer)
    assert.equal(0.25, p.estimate)
    assert.equal("placement: 3 ops on 2 devices, step time 250 ms (by hand)",
      (tostring(p):gsub("estimate", "step time")))
    local bare = berth.placement { 1, 2, 1 }
    assert.is_nil(bare.placer)
    assert.is_nil(bare.estimate)
    assert.equal(0, berth.placement({}, { estimate = 0 }).estimate)
    for _, wrong in ipairs { -1, 0 / 0, "soon", true } do
      raises("berth.placement: estimate: ", berth.placement, { 1 }, { estimate = wrong })
    end
  end)

  it("comes back from a file with both, to the last bit", function()
    local p = berth.placement({ 1, 2, 1 },
      { placer = 'my "own" placer', estimate = 0.1 + 0.2, sequence = { 2, 1, 3 } })
    local path = os.tmpname()
    assert(p:save(path))
    local q = assert(berth.load_placement(path))
    os.remove(path)
    assert.equal('my "own" placer', q.placer)
    assert.equal(0.1 + 0.2, q.estimate)
    assert.same({ 1, 2, 1 }, q:devices())
    assert.same({ 2, 1, 3 }, q:sequence())
    assert.equal(p:to_string(), q:to_string())
    local g, t = chain(3), berth.topology.mesh(2)
    local _, _, r = berth.parse(berth.to_string { graph = g, topology = t, placement = p })
    assert.equal('my "own" placer', r.placer)
    assert.equal(0.1 + 0.2, r.estimate)
  end)

  it("of a placer comes back, too", function()
    local p = assert(berth.place(chain(5), berth.topology.mesh(2), "heft"))
    local q = assert(berth.parse_placement(p:to_string()))
    assert.equal("heft", q.placer)
    assert.equal(p.estimate, q.estimate)
    assert.same(p:sequence(), q:sequence())
    assert.same(p.finish, q.finish)
  end)
end)

describe("a pipeline", function()
  local g, t = chain(4), berth.topology.mesh(2)
  local function halves() -- ops 1, 2 and 3, 4 in one each
    return assert(berth.graph { ops = { { seconds = 3 }, { seconds = 7 } },
      edges = { { 1, 2, 8 } } }), { 1, 1, 2, 2 }
  end

  it("keeps the placer's name; the estimate is the step time of the original graph", function()
    local p = assert(berth.place(g, t, berth.pipeline { halves, "heft" }))
    assert.equal("function -> heft", p.placer)
    assert.equal(assert(berth.simulate(g, t, p)).makespan, p.estimate)
    assert.equal(4, #p)
    local q = assert(berth.parse_placement(p:to_string()))
    assert.equal("function -> heft", q.placer)
    assert.equal(p.estimate, q.estimate)
  end)

  it("names the placer that the portfolio chose", function()
    local best = assert(berth.place(halves(), t))
    assert.equal("function -> " .. best.placer,
      berth.place(g, t, berth.pipeline { halves, "portfolio" }).placer)
    local mine = { name = "mine", device = function() return 1 end }
    assert.equal("function -> mine", berth.place(g, t, berth.pipeline { halves, mine }).placer)
  end)

  it("has no estimate for devices that a refinement has changed", function()
    local p =
      assert(berth.place(g, t, berth.pipeline { "heft", function() return { 1, 1, 2, 2 } end }))
    assert.equal("heft -> function", p.placer)
    assert.is_nil(p.estimate)
  end)
end)
