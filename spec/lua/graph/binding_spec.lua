-- Graphs from Lua tables: building, reading, and what is refused.
local berth = require "berth"
local errors = require "support.errors"
local raised, refused, raises = errors.raised, errors.refused, errors.raises

local function toy()
  return assert(berth.graph {
    name = "toy", types = { "cpu", "gpu" },
    ops = {
      { name = "a", kind = "matmul", seconds = 2e-3 },
      { name = "b", seconds = { 4e-3, "1 ms" }, flop = 10, bytes = "1 kB", params = "4 MB",
        workspace = 3, group = 7,
        twin = "a", pin = 2, backward = true },
      { name = "c", seconds = { math.huge, 5 }, update = true, splittable = true },
    },
    tensors = { { from = "a", to = { "b", 3 }, bytes = "8 MB", resident = "9 MB", batch = true } },
    edges = { { 2, "c", 800 } },
  })
end

-- a(1) -> b(2) -> d(4); a -> c(3) -> d
local function diamond()
  return assert(berth.graph {
    ops = { { name = "a", seconds = 1 }, { name = "b", seconds = 2 }, { name = "c", seconds = 3 },
      { name = "d", seconds = 4 } },
    tensors = { { from = 1, to = { 2, 3 }, bytes = 10 } },
    edges = { { "b", "d", 20 }, { "c", "d", 30 } },
  })
end

describe("a graph from tables", function()
  it("has the sizes and names that were given", function()
    local g = toy()
    assert.equal(3, #g)
    assert.equal("toy", g.name)
    assert.equal(2, g.n_tensors)
    assert.equal(3, g.n_edges)
    assert.equal(0, g.n_collectives)
    assert.same({ "cpu", "gpu" }, g.types)
    assert.equal('graph "toy": 3 ops, 2 tensors, 3 edges, 2 device types', tostring(g))
  end)

  it("gives ops and tensors back with their defaults", function()
    local g = toy()
    assert.same({
      id = 1, name = "a", kind = "matmul", seconds = { 2e-3, 2e-3 }, flop = 0, bytes = 0,
      params = 0, workspace = 0, twin = 2,
      backward = false, update = false, splittable = false, communication = false,
    }, g:op(1))
    assert.same({
      id = 2, name = "b", seconds = { 4e-3, 1e-3 }, flop = 10, bytes = 1000, params = 4e6,
      workspace = 3, group = 7, twin = 1,
      pin = 2, backward = true, update = false, splittable = false, communication = false,
    }, g:op(2))
    assert.equal(math.huge, g:op(3).seconds[1])
    assert.same({ id = 1, from = 1, to = { 2, 3 }, bytes = 8e6, resident = 9e6, batch = true,
      gradient = false }, g:tensor(1))
    assert.equal(800, g:tensor(2).resident)
  end)

  it("is rebuilt from what its iterators give", function()
    local g = toy()
    local spec = { name = g.name, types = g.types, ops = {}, tensors = {} }
    for op in g:ops() do spec.ops[op.id] = op end
    for t in g:tensors() do spec.tensors[t.id] = t end
    local again = assert(berth.graph(spec))
    for i = 1, #g do assert.same(g:op(i), again:op(i)) end
    for k = 1, g.n_tensors do assert.same(g:tensor(k), again:tensor(k)) end
  end)

  it("has a plain number as time when there is one device type, nil without a profile", function()
    local g = assert(berth.graph { ops = { { seconds = 3 }, { flop = 1 } } })
    assert.equal(3, g:op(1).seconds)
    assert.is_nil(g:op(2).seconds)
  end)

  it("keeps collectives", function()
    local g = assert(berth.graph {
      ops = { { seconds = 1 }, { seconds = 1 }, { seconds = 1 } },
      collectives = { { kind = "allreduce", bytes = "1 MB", members = { 1, 2 }, consumers = { 3 },
        count = 2 } },
    })
    assert.equal(1, g.n_collectives)
    assert.same({ id = 1, kind = "allreduce", bytes = 1e6, members = { 1, 2 }, consumers = { 3 },
      count = 2 }, g:collective(1))
  end)

  it("names the place of a mistake", function()
    local function build(spec) return raised(berth.graph, spec) end
    assert.matches("ops%[1%]%.seconds: %-1 is negative", build { ops = { { seconds = -1 } } })
    assert.matches("ops%[2%]%.seconds: .*NaN",
      build { ops = { { seconds = 1 }, { seconds = 0 / 0 } } })
    assert.matches("ops%[1%]: unknown field 'second' %(legal: .*did you mean 'seconds'",
      build { ops = { { second = 1 } } })
    assert.matches("ops%[1%]: expected a table, got number", build { ops = { 1 } })
    assert.matches("ops%[1%]%.params: .*4 Mb", build { ops = { { seconds = 1, params = "4 Mb" } } })
    assert.matches("ops%[1%]%.group: 0 is out of range",
      build { ops = { { seconds = 1, group = 0 } } })
    assert.matches("ops%[1%]%.group: expected a whole number, got 1.5",
      build { ops = { { seconds = 1, group = 1.5 } } })
    assert.matches("ops%[1%]%.twin: there is no op 2 %(ids are 1..1%)",
      build { ops = { { seconds = 1, twin = 2 } } })
    assert.matches("ops%[1%]%.seconds: has 3 entries, expected 2",
      build { types = { "x", "y" }, ops = { { seconds = { 1, 2, 3 } } } })
    assert.matches("ops%[1%]%.seconds%[2%]: %-2 is negative",
      build { types = { "x", "y" }, ops = { { seconds = { 1, -2 } } } })
    assert.matches("tensors%[1%]%.from: there is no op named \"z\"",
      build { ops = { { seconds = 1 } }, tensors = { { from = "z" } } })
    assert.matches("tensors%[1%]%.from: an op id or name is missing",
      build { ops = { { seconds = 1 } }, tensors = { {} } })
    assert.matches("several ops are named \"x\"", build {
      ops = { { name = "x", seconds = 1 }, { name = "x", seconds = 1 } }, edges = { { "x", 2 } } })
    assert.matches("edges%[1%]: expected { from, to, bytes }",
      build { ops = { { seconds = 1 } }, edges = { { 1 } } })
    assert.matches("collectives%[1%]%.kind: 'sum' is none of: allreduce",
      build { ops = { { seconds = 1 } }, collectives = { { kind = "sum", members = { 1 } } } })
    assert.matches("unknown option 'tensor' %(legal: name, dtype, unitless, types, ops",
      build { ops = {}, tensor = {} })
    assert.matches("ops: is missing", build {})
    assert.matches("ops%[1%]%.id: is 2", build { ops = { { id = 2, seconds = 1 } } })
    assert.matches("support/errors", build {})
  end)

  it("reports mistakes of the core with 1-based ids", function()
    raises("op 2", berth.graph, { ops = { { seconds = 1 }, { seconds = 1, twin = 2 } } })
  end)

  it("reports a cycle as nil, message, code", function()
    refused("cycle", "op 1 .*op 2",
      berth.graph { ops = { { seconds = 1 }, { seconds = 1 } }, edges = { { 1, 2 }, { 2, 1 } } })
  end)
end)

describe("reading a graph", function()
  it("lists neighbours once, in order", function()
    local g = diamond()
    assert.same({ 1 }, g:outputs(1))
    assert.same({ 2, 3 }, g:inputs(4))
    assert.same({ 2, 3 }, g:successors(1))
    assert.same({ 2, 3 }, g:predecessors(4))
    assert.same({}, g:predecessors(1))
    local twice = assert(berth.graph { ops = { { seconds = 1 }, { seconds = 1 } },
      edges = { { 1, 2, 1 }, { 1, 2, 2 } } })
    assert.same({ 2 }, twice:successors(1))
    assert.same({ 1 }, twice:predecessors(2))
  end)

  it("finds ops by unique name", function()
    assert.equal(3, diamond():find("c"))
    assert.is_nil(diamond():find("z"))
  end)

  it("computes levels from the profile, from arrays and from a cost", function()
    local g = diamond()
    assert.same({ 8, 6, 7, 4 }, g:b_level())
    assert.same({ 0, 1, 1, 4 }, g:t_level())
    assert.same({ 0, 1, 0, 0 }, g:slack())
    assert.same({ 0, 1, 1, 2 }, g:depth())
    assert.same({ 1, 2, 3, 4 }, g:topo_order())
    assert.same({ 4, 2, 3, 1 }, g:b_level { comp = { 1, 1, 1, 1 }, comm = { 0, 0, 1 } })
    local path, length = g:critical_path()
    assert.same({ 1, 3, 4 }, path)
    assert.equal(8, length)
    local c = assert(berth.cost(g, berth.topology.mesh(2, { bandwidth = 10 })))
    assert.same({ 12, 8, 10, 4 }, g:b_level { cost = c }) -- transfers of 1, 2 and 3 s
  end)

  it("answers reachability", function()
    local g = diamond()
    assert.is_true(g:reachable(1, 4))
    assert.is_false(g:reachable(2, 3))
    assert.same({ 2, 3, 4 }, g:descendants(1))
    assert.same({ 1, 2, 3 }, g:ancestors(4))
    local split = assert(berth.graph { ops = { { seconds = 1 }, { seconds = 1 }, { seconds = 1 } },
      edges = { { 1, 3 } } })
    local component, count = split:components()
    assert.same({ 1, 2, 1 }, component)
    assert.equal(2, count)
  end)

  it("mirrors into a backward pass", function()
    local g =
      assert(berth.graph { ops = { { seconds = 1 }, { seconds = 2 } }, edges = { { 1, 2, 8 } } })
    local both, origin = g:mirror { ratio = 3, activations = false }
    assert.equal(4, #both)
    assert.same({ 1, 2, 2, 1 }, origin)
    assert.equal(6, both:op(3).seconds)
    assert.equal(4, both:op(1).twin)
    assert.is_true(both:op(4).backward)
    raises("unknown option 'ration'", g.mirror, g, { ration = 2 })
    local nothing, text, code = both:mirror()
    assert.is_nil(nothing)
    assert.equal("invalid", code)
    assert.is_string(text)
  end)

  it("refuses fractions, strings and ids out of range", function()
    local g = diamond()
    raises("graph:op: op: 1.5 is no op id", g.op, g, 1.5)
    raises("there is no op 5 (ids are 1..4)", g.op, g, 5)
    raises("there is no op 0", g.op, g, 0)
    raises("expected a number, the id of an op; got string", g.op, g, "1")
    raises("nan is no op id", g.op, g, 0 / 0)
    raises("self: expected a graph, got number", g.op, 1)
    raises("graph:b_level: comp: has 1 entries, expected 4", g.b_level, g, { comp = { 1 } })
    raises("comp[2]: expected a number, got string", g.b_level, g, { comp = { 1, "x", 1, 1 } })
    raises("cost: is of another graph", g.b_level, g, {
      cost = berth.cost(diamond(), berth.topology.mesh(1)) })
  end)

  it("is read only", function()
    local g = diamond()
    raises("read only", function() g.name = "x" end)
    assert.is_nil(g[1])
  end)
end)

describe("berth.graph refuses", function()
  it("seconds by the name of the type", function()
    assert.matches(
      "ops%[1%]%.seconds: is an array, one entry per device type in the order of `types`, not a "
        .. "table by name",
      raised(berth.graph,
        { types = { "V100", "P100" }, ops = { { seconds = { V100 = 1, P100 = 2 } } } }))
  end)

  it("arrays with holes", function()
    local a = { name = "a", seconds = 1 }
    local text = raised(berth.graph, { ops = { [1] = a, [3] = { name = "c", seconds = 1 } } })
    assert.matches("ops", text)
    raises("ops: has an entry [5], but none at [1]", berth.graph, { ops = { [5] = a } })
    raises("ops: has an entry [1.5], but none at [2]", berth.graph, { ops = { a, [1.5] = a } })
  end)

  it("texts with a zero byte", function()
    local function of(op) return raised(berth.graph, { ops = { op } }) end
    assert.matches('ops%[1%].name: "a": contains a zero byte', of { name = "a\0b", seconds = 1 })
    assert.matches('ops%[1%].seconds: "5": contains a zero byte', of { seconds = "5\0 us" })
    assert.matches('ops%[1%].twin: "a": contains a zero byte',
      of { name = "a", twin = "a\0", seconds = 1 })
    raises('types: "x": contains a zero byte', berth.graph, { types = { "x\0" }, ops = {} })
    raises("contains a zero byte", berth.quantity, "5\0us", "seconds")
    raises("contains a zero byte", berth.topology, { devices = { { name = "a\0" } } })
  end)

  it("texts that are not UTF-8", function()
    raises("ops[1]: op 1: the name is not UTF-8: byte 0xff at 2", berth.graph,
      { ops = { { name = "a\255", seconds = 1 } } })
    raises("the kind is not UTF-8", berth.graph, { ops = { { kind = "\192\128", seconds = 1 } } })
    raises("the graph's name is not UTF-8", berth.graph, { name = "\255", ops = {} })
    raises("device type 1: the name is not UTF-8", berth.graph, { types = { "\255" }, ops = {} })
    raises("device 1: the name is not UTF-8", berth.topology, { devices = { { name = "\255" } } })
    raises("device 1: the type is not UTF-8", berth.topology, { devices = { { type = "\255" } } })
  end)
end)
