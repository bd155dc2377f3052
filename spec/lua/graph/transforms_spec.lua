-- Transforms as methods: what they take and give, what they refuse, and the published figures.
local berth = require "berth"
local shared = require "support.shared"
local errors = require "support.errors"

local refused, raises = errors.refused, errors.raises

-- a -9-> b -8-> c, d -7-> c
local function funnel()
  return assert(berth.graph {
    ops = {
      { name = "a", seconds = 1, params = 10 }, { name = "b", seconds = 2, params = 10 },
      { name = "c", seconds = 3, params = 10 }, { name = "d", seconds = 4, params = 10 },
    },
    edges = { { "a", "b", 9 }, { "b", "c", 8 }, { "d", "c", 7 } },
  })
end

local function groups(g)
  local out = {}
  for op in g:ops() do out[op.id] = op.group or 0 end
  return out
end

describe("transforms", function()
  it("are listed, in the order in which they make sense", function()
    assert.same({ "colocate", "coplace", "fuse", "chains", "forward" }, berth.transforms())
    local g = funnel()
    for _, name in ipairs(berth.transforms()) do
      local h, map = g[name](g, name == "colocate" and { names = {} } or nil)
      assert.equal("graph", berth.kind(h))
      assert.equal(4, #map)
    end
  end)

  it("co-place, within limits", function()
    local g = funnel()
    local h, map, joined = g:coplace()
    assert.same({ 1, 1, 1, 1 }, groups(h))
    assert.same({ 1, 2, 3, 4 }, map)
    assert.equal(3, joined)
    assert.same({ 0, 0, 0, 0 }, groups(g))
    assert.same({ 1, 1, 2, 2 }, groups(g:coplace { max_ops = 2 }))
    assert.same({ 1, 1, 0, 0 }, groups(g:coplace { max_seconds = "4 s" }))
    assert.same({ 1, 1, 1, 0 }, groups(g:coplace { max_seconds = 3, seconds = { 1, 1, 1, 1 } }))
    assert.same({ 1, 1, 2, 2 }, groups(g:coplace { max_bytes = "37 B" }))
    assert.same({ 0, 1, 1, 0 }, groups(g:coplace { max_bytes = 48, param_multiple = 2 }))
  end)

  it("take times from a price where the graph has none", function()
    local g = assert(berth.graph { ops = { { flop = 4 }, { flop = 4 }, { flop = 4 } },
      edges = { { 1, 2, 1 }, { 2, 3, 2 } } })
    local t = berth.topology.mesh(2, { flops = 1 })
    refused("invalid",
      "coplace: option max_seconds: op 1 has no times in the graph: give option seconds",
      g:coplace { max_seconds = 8 })
    assert.same({ 0, 1, 1 }, groups(g:coplace { max_seconds = 8, cost = berth.cost(g, t) }))
    raises("cost: is of another graph", g.coplace, g, { cost = berth.cost(funnel(), t) })
  end)

  it("colocate by names, from a table or a function", function()
    local g = funnel()
    local h, map, names = g:colocate { names = { [1] = { "loc:/w", "z" }, d = "z", [2] = "other" } }
    assert.same({ 1, 0, 0, 1 }, groups(h))
    assert.same({ "z" }, names)
    assert.equal(4, #map)
    h, map, names = g:colocate { names = function(op) return op <= 2 and { "ab", "aa" }
      or (op == 3 and "lonely") end }
    assert.same({ 1, 1, 0, 0 }, groups(h))
    assert.same({ "aa" }, names)
    assert.equal(4, #map)
    local both = h:colocate { names = { a = "x", c = "x" } } -- with the groups that are there
    assert.same({ 1, 1, 1, 0 }, groups(both))
  end)

  it("name mistakes", function()
    local g = funnel()
    raises("graph:colocate: names: expected a table or a function, got nil", g.colocate, g)
    raises('names: there is no op "q"', g.colocate, g, { names = { q = "x" } })
    raises("names: there is no op 9", g.colocate, g, { names = { [9] = "x" } })
    raises("names: op 1: expected a name or an array of them, got number", g.colocate, g,
      { names = { 5 } })
    raises("names: op 1: a name is empty", g.colocate, g, { names = { "" } })
    raises("boom", g.colocate, g, { names = function() error("boom") end })
    raises("graph:fuse: unknown option 'chek'", g.fuse, g, { chek = "exact" })
    raises("graph:chains: unknown option 'check'", g.chains, g, { check = "exact" })
    raises("check: 'x' is none of: exact, cheap, thorough", g.fuse, g, { check = "x" })
    raises("max_ops: 0 is out of range", g.coplace, g, { max_ops = 0 })
    raises("seconds: has 1 entries, expected 4", g.fuse, g, { seconds = { 1 } })
    raises("memory_fraction: 0 is out of range above 0 to 1", g.forward, g, { memory_fraction = 0 })
    raises("topology: expected a topology, got string", g.fuse, g, { topology = "x" })
    raises("support/errors", g.fuse, g, { chek = 1 })
  end)

  it("refuse what cannot share a device, by name", function()
    local g = assert(berth.graph { ops = { { name = "p", seconds = 1, pin = 1 },
      { name = "q", seconds = 1, pin = 2 } } })
    local h, text, code = g:colocate { names = { "x", "x" } }
    assert.same({ nil,
      'colocate: op 1 "p" and op 2 "q" must share a device, but one is bound to device 1, the '
        .. 'other to device 2',
      "invalid" }, { h, text, code })
  end)

  it("fuse, and tell where every op went", function()
    local g = funnel():coplace()
    local f, map = g:fuse()
    assert.same({ 1, 1, 1, 1 }, map)
    local op = f:op(1)
    assert.equal(10, op.seconds)
    assert.equal(40, op.params)
    assert.equal("a..c (4)", op.name) -- in topological order: a, d, b, c
    assert.equal(24, f:tensor(1).resident)
    assert.equal(0, f:tensor(1).bytes)
    assert.equal(0, g:fuse { inner = "drop" }.n_tensors)
    assert.equal(4, #funnel():fuse()) -- no groups
    assert.equal(2, #funnel():fuse { scope = "all", max_ops = 3 })
    f, map = funnel():chains()
    assert.same({ 1, 1, 2, 3 }, map)
    assert.equal("a+b", f:op(1).name)
  end)

  it("take collectives along", function()
    local g = assert(berth.graph {
      ops = { { name = "l", seconds = 1, group = 1 }, { name = "r", seconds = 1, group = 1 },
        { name = "u", seconds = 1 } },
      edges = { { "l", "r", 4 } },
      collectives =
      { { kind = "allreduce", bytes = 8, members = { "l", "r" }, consumers = { "u" } } },
    })
    local f, map = g:fuse()
    assert.same({ 1, 1, 2 }, map)
    assert.same({ 1 }, f:collective(1).members)
    assert.same({ 2 }, f:collective(1).consumers)
    assert.equal(3, #g:chains()) -- l has two followers: r, and the op where they join
    assert.same({ 1, 1, 0 }, groups(g:coplace()))
  end)

  it("go round through one another", function()
    local g = berth.models.build("transformer", { batch = 2 })
    local f, map = g:forward()
    local h, also = f:coplace { max_ops = 6 }
    local k, fused = h:fuse()
    assert.is_true(#k < #f and #f < #g)
    for i = 1, #g do assert.is_true(fused[also[map[i]]] <= #k) end
  end)
end)

describe("co-placement of the dnn-partitioning graphs", function()
  if not shared.present() then
    pending("the test data are not here")
    return
  end

  -- The files' colour classes are not looked at, as in the published figures.
  local function colourless(path)
    local g =
      assert(berth.load(shared.path("data/msr-fiddle/throughput-inputs/" .. path
      .. "_inference.json")))
    local ops, tensors = {}, {}
    for op in g:ops() do op.group, op.twin, ops[#ops + 1] = nil, nil, op end
    for tensor in g:tensors() do tensors[#tensors + 1] = tensor end
    return assert(berth.graph { ops = ops, tensors = tensors,
      types = #g.types > 1 and g.types or nil })
  end

  local function largest(g)
    local bytes, count, total = {}, {}, 0
    for op in g:ops() do
      local set = op.group or -op.id
      bytes[set], count[set] = (bytes[set] or 0) + op.params, (count[set] or 0) + 1
      total = total + op.params
    end
    local best
    for set, sum in pairs(bytes) do
      if not best or sum > bytes[best] or (sum == bytes[best] and count[set] > count[best]) then
        best = set
      end
    end
    return math.floor(100 * bytes[best] / total + 0.5), count[best]
  end

  local published = {
    { "LayerGraphs/bert24", 79, 27 }, { "LayerGraphs/inceptionv3", 41 }, { "LayerGraphs/gnmt", 23 },
    { "LayerGraphs/resnet50", 16 }, { "OperatorGraphs/bert_l-3", 51 },
    { "OperatorGraphs/bert_l-6", 34 },
  }

  it("swallows the published shares of the parameters", function()
    for _, row in ipairs(published) do
      local share, ops = largest(colourless(row[1]):coplace())
      assert.equal(row[2], share, row[1])
      if row[3] then assert.equal(row[3], ops) end
    end
  end)

  it("does not with a limit", function()
    for _, row in ipairs(published) do
      local g = colourless(row[1])
      local total, most = 0, 0
      for op in g:ops() do total, most = total + op.params, math.max(most, op.params) end
      local share = largest(g:coplace { max_bytes = math.max(total / 10, most) })
      assert.is_true(share <= math.floor(100 * math.max(total / 10, most) / total + 0.5), row[1])
      local _, ops = largest(g:coplace { max_ops = 4 })
      assert.is_true(ops <= 4)
    end
  end)
end)
