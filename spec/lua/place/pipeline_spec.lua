-- Named stages of pipelines, and what is checked behind a transform.
local berth = require "berth"
local raises = require("support.errors").raises

local function chain(n, bytes)
  local ops, edges = {}, {}
  for i = 1, n do ops[i] = { name = "op" .. i, seconds = i, params = 10 } end
  for i = 2, n do edges[i - 1] = { i - 1, i, bytes } end
  return assert(berth.graph { ops = ops, edges = edges })
end

describe("a pipeline of named stages", function()
  local t = berth.topology.mesh(2, { memory = 1e6, bandwidth = 1, latency = 0 })

  it("transforms, places, and goes back", function()
    local g = chain(6, 1)
    local line = berth.pipeline { { "coplace", { max_ops = 3 } }, "fuse",
      { "heft", { links = "duplex" } } }
    local p = assert(berth.place(g, t, line))
    assert.equal("pipeline: coplace -> fuse -> heft", tostring(line))
    assert.equal("coplace -> fuse -> heft", p.placer)
    assert.equal(6, #p)
    for _, set in ipairs { { 1, 2, 3 }, { 4, 5, 6 } } do
      assert.equal(p[set[1]], p[set[2]])
      assert.equal(p[set[1]], p[set[3]])
    end
  end)

  it("goes back through every transform", function()
    local ops = { { seconds = 1, group = 1 }, { seconds = 1, group = 1 }, { seconds = 1 },
      { seconds = 1 } }
    local g = assert(berth.graph { ops = ops, edges = { { 1, 2, 1 }, { 2, 3, 1 }, { 3, 4, 1 } } })
    local p =
      assert(berth.place(g, t, berth.pipeline { "fuse", "chains", { "single", { device = 2 } } }))
    assert.same({ 2, 2, 2, 2 }, p:devices()) -- of three ops behind fuse, and one behind chains
  end)

  it("estimates the step time of the original graph", function()
    local g = berth.models.build("transformer", { batch = 2 })
    local mesh = berth.topology.mesh(3,
      { preset = "V100", bandwidth = "8 GB/s", latency = "10 us" })
    for _, links in ipairs { "free", "duplex" } do
      for _, first in ipairs { "chains", "forward",
        { "fuse", { scope = "all", max_seconds = "1 ms" } } } do
        local p = assert(berth.place(g, mesh, berth.pipeline { first, "m-etf" }, { links = links }))
        assert.equal(assert(berth.simulate(g, mesh, p, { links = links })).makespan, p.estimate)
      end
    end
  end)

  it("compares like any placer, and runs in the portfolio's place", function()
    local g = chain(6, 1)
    local lines = { "etf", berth.pipeline { "chains", "etf" },
      berth.pipeline { "coplace", "portfolio" } }
    local cmp = assert(berth.compare(g, t, lines))
    assert.equal("chains -> etf", cmp[2].name)
    assert.equal(21, cmp[2].makespan)
    assert.is_number(cmp[3].makespan)
  end)

  it("puts backward and update ops where their forward ops are", function()
    local g = chain(3, 1):mirror()
    local p = assert(berth.place(g, t, berth.pipeline { "forward", "round-robin" }))
    for op in g:ops() do assert.equal(p[op.twin], p[op.id]) end
    assert.is_true(p[1] ~= p[2])
  end)

  it("shows the placer less memory by forward's memory_fraction", function()
    local g = chain(3, 1):mirror()
    local mesh = berth.topology.mesh(1, { memory = 60 })
    assert.is_truthy(berth.place(g, mesh, berth.pipeline { "forward", "single" }))
    local p, _, code, why = berth.place(g, mesh,
      berth.pipeline { { "forward", { memory_fraction = 0.5 } }, "single" })
    assert.same({ nil, "infeasible" }, { p, code })
    assert.is_true(why.missing > 0)
  end)

  it("checks what functions among its stages give, and names the stage", function()
    local g = chain(3, 1)
    local function gives(text, ...)
      local stages = { ... }
      raises(text, function() return berth.place(g, t, berth.pipeline(stages)) end)
    end
    local function give(x) return function() return x end end
    local function back(x) return function(graph) return graph, give(x) end end
    gives("stages[2]: gave 1 devices for 3 ops", "etf", give { 1 })
    gives("stages[2]: gave 1 devices for 3 ops", "etf", give(berth.placement { 1 }))
    gives("stages[2]: gave device 9 for op 3 (ids are 1..2)", "etf", give { 1, 1, 9 })
    gives("stages[1]: gave 2 devices for 3 ops", back { 1, 1 }, "etf")
    gives("stages[1]: gave nil, expected an array of devices", back(nil), "etf")
    gives("stages[1]: gave device 1.5 for op 2", back { 1, 1.5, 1 }, "etf")
    gives("stages[1]: is a pipeline itself", berth.pipeline { "etf" }, "adjust")
    gives("stages[1]: unknown key 'tau': expected { name, options }", { "m-sct", tau = 0.5 })
  end)

  it("refuses an answer that does not keep memory on the original graph", function()
    local g = chain(3, 100)
    local mesh = berth.topology.mesh(1, { memory = 60 })
    local p, text, code, why = berth.place(g, mesh,
      berth.pipeline { { "fuse", { scope = "all", inner = "drop" } }, "single" })
    assert.same({ nil, "infeasible" }, { p, code })
    assert.is_string(text)
    assert.is_true(why.missing > 0)
    assert.is_truthy(berth.place(g, mesh,
      berth.pipeline { { "fuse", { scope = "all", inner = "drop" } }, "single" },
      { memory = "none" }))
    -- the placer sees it
    local q, said, reason = berth.place(g, mesh,
      berth.pipeline { { "fuse", { scope = "all" } }, "single" })
    assert.same({ nil, "infeasible" }, { q, reason })
    assert.matches("^pipeline: behind its transforms: single: ", said)
  end)

  it("passes what transforms refuse on", function()
    local g = assert(berth.graph { ops = { { seconds = 1, backward = true } } })
    local p, text, code = berth.place(g, t, berth.pipeline { "forward", "etf" })
    assert.same({ nil, "forward: no op is a forward op", "invalid" }, { p, text, code })
  end)

  it("is given the devices there are", function()
    local g = assert(berth.graph {
      types = { "cpu", "gpu", "tpu" },
      ops = { { seconds = { 1, math.huge, 1 } }, { seconds = { math.huge, 1, 1 } } },
      edges = { { 1, 2, 1 } },
    })
    local two = berth.topology { devices = { { type = "cpu" }, { type = "gpu" } },
      links = { { 1, 2, bandwidth = 1 } } }
    -- together only a tpu could run them
    local p = assert(berth.place(g, two, berth.pipeline { "coplace", "fuse", "etf" }))
    assert.same({ 1, 2 }, p:devices())
  end)

  it("adjusts groups that were split", function()
    local g = assert(berth.graph {
      ops = { { seconds = 1, group = 1, params = 5 }, { seconds = 3, group = 1, params = 1 },
        { seconds = 1, group = 1 } } })
    local cut = function() return { 1, 2, 2 } end
    local function devices(...)
      return assert(berth.place(g, t, berth.pipeline { "single", cut, ... })):devices()
    end
    assert.same({ 2, 2, 2 }, devices("adjust"))
    assert.same({ 1, 1, 1 }, devices { "adjust", { by = "memory" } })
    assert.same({ 2, 2, 2 }, devices { "adjust", { by = "time", fit = true } })
    local p = assert(berth.place(g, t, berth.pipeline { "single", cut, "adjust" }))
    assert.equal("single -> function -> adjust", p.placer)
    assert.equal(5, p.estimate)
    assert.same({ 1, 1, 1 }, assert(berth.adjust(g, t, { 1, 2, 2 }, { by = "random" })):devices())
    raises("berth.adjust: by: 'x' is none of", berth.adjust, g, t, { 1, 2, 2 }, { by = "x" })
    raises("berth.adjust: placement: expected a placement", berth.adjust, g, t)
  end)

  it("says what an adjuster lacks", function()
    local g = assert(berth.graph {
      ops = { { seconds = 1, group = 1, params = 40 },
        { name = "b", seconds = 1, group = 1, params = 50 } } })
    local small = berth.topology.mesh(2, { memory = 60 })
    local p, text, code, why = berth.adjust(g, small, { 1, 2 }, { fit = true })
    assert.same({ nil, "infeasible", 30 }, { p, code, why.missing })
    assert.matches('op 2 "b" does not fit', text)
  end)

  it("names mistakes", function()
    raises("stages[2]: 'fuse' is a transform: it must come before the placer", berth.pipeline,
      { "etf", "fuse" })
    raises("stages[1]: 'adjust' is a refinement: it must come after the placer", berth.pipeline,
      { "adjust", "etf" })
    raises("stages[1]: options of 'fuse': expected a table, got number", berth.pipeline,
      { { "fuse", 3 }, "etf" })
    raises("stages[1]: unknown key 'check'", berth.pipeline, { { "fuse", check = "cheap" }, "etf" })
    local g = chain(2, 1)
    raises("graph:fuse: unknown option 'x'", berth.place, g, t,
      berth.pipeline { { "fuse", { x = 1 } }, "etf" })
    raises("support/errors", berth.place, g, t, berth.pipeline { { "fuse", { x = 1 } }, "etf" })
  end)

  it("gives the same answer again", function()
    local g = berth.models.build("gnmt", { batch = 4, seq = 6 })
    local line = berth.pipeline { { "coplace", { max_ops = 8 } }, "fuse", "m-etf" }
    local mesh = berth.topology.mesh(3, { preset = "V100" })
    assert.equal(assert(berth.place(g, mesh, line)):to_string(),
      assert(berth.place(g, mesh, line)):to_string())
  end)
end)
