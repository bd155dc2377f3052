-- ONNX models: small ones, written field by field, with FLOP and bytes by hand.
local berth = require "berth"
local o = require "spec.support.onnx"
local shell = require "spec.support.shell"

local F32, I64 = 1, 7

-- The graph of a model and what was counted.
local function load(model, bind)
  local facts = {}
  local g = assert(berth.parse(model, { bind = bind, facts = facts }))
  return g, facts
end

local function refused(model, bind)
  local g, why, code = berth.parse(model, { bind = bind, name = "m.onnx" })
  assert.is_nil(g)
  return why, code
end

-- A model of one node whose output shape is wanted; integers are given as initializers.
local function shape_of(node, inputs, values, opset)
  local list = {}
  for i, each in ipairs(values or {}) do list[i] = o.tensor(each[1], each[2], I64, each[3]) end
  local infos = {}
  for _, each in ipairs(inputs) do infos[#infos + 1] = o.info(each[1], each[3] or F32, each[2]) end
  local _, facts = load(o.model { nodes = { node }, initializers = list, inputs = infos,
    outputs = { o.info "y" }, opset = opset })
  return table.concat(facts.outputs[1].shape or { "?" }, "x"), facts
end

describe("ONNX models", function()
  it("of another opset have a note", function()
    for opset, expected in pairs { [6] = 1, [7] = 0, [21] = 0, [23] = 1 } do
      local notes = {}
      assert(berth.parse(o.model { nodes = { o.node "Relu x -> y" }, opset = opset,
        inputs = { o.info("x", F32, { 2 }) }, outputs = { o.info "y" } }, { notes = notes,
        name = "m.onnx" }))
      assert.equal(expected, #notes)
      if #notes > 0 then
        assert.equal(("m.onnx: opset %d: the rules are those of 7 to 21"):format(opset), notes[1])
      end
    end
  end)

  it("have products, edges and parameters of their nodes", function()
    -- x [2, 3] w [3, 4] -> a [2, 4]; relu; a u^T [2, 5]
    local g, facts = load(o.model {
      nodes = { o.node "MatMul x w -> a", o.node "Relu a -> r",
        o.node("Gemm r u -> y", { transB = 1 }) },
      initializers = { o.tensor("w", { 3, 4 }, F32), o.tensor("u", { 5, 4 }, F32) },
      inputs = { o.info("x", F32, { 2, 3 }) }, outputs = { o.info("y", F32, { 2, 5 }) } })
    assert.same({ 3, 3, 2 }, { g.n_ops, g.n_tensors, g.n_edges })
    local ops = {}
    for op in g:ops() do ops[#ops + 1] = { op.name, op.kind, op.flop, op.bytes, op.params } end
    assert.same({ { "a", "MatMul", 48, 24 + 48 + 32, 48 }, { "r", "Relu", 8, 64, 0 },
      { "y", "Gemm", 80, 32 + 80 + 40, 80 } }, ops)
    assert.same({ 128, 136, 32 }, { facts.matrix_flop, facts.flop, facts.parameters })
    assert.same({ 32, 32, 40 }, { g:tensor(1).bytes, g:tensor(2).bytes, g:tensor(3).bytes })
    assert.equal("fp32", g.dtype)
    local shape = g:op(1).shape
    assert.same({ 2, 4, 3 }, { shape.m, shape.n, shape.k })
  end)

  it("take sizes from bind, and drop what computes shapes", function()
    local model = o.model {
      nodes = { o.node "Shape x -> s", o.node("Gather s zero -> b", { axis = 0 }),
        o.node "Unsqueeze b axes -> b1", o.node("Concat b1 minus -> to", { axis = 0 }),
        o.node "Reshape x to -> y", o.node "Exp y -> z" },
      initializers = { o.tensor("zero", {}, I64, { 0 }), o.tensor("axes", { 1 }, I64, { 0 }),
        o.tensor("minus", { 1 }, I64, { -1 }) },
      inputs = { o.info("x", F32, { "batch", 3, false }) }, outputs = { o.info "z" } }
    local g, facts = load(model, { batch = 2, ["x:2"] = 5 })
    assert.same({ 2, 6, 5, 1 }, { g.n_ops, facts.nodes, facts.uses, facts.op_pairs })
    assert.same({ 2, 15 }, facts.outputs[1].shape)
    assert.equal(120, facts.flop) -- 4 for each of 30
    assert.matches('dimension batch of input x has no value: give one in bind, as batch=8',
      (refused(model)))
    assert.matches("bind has c, but no dimension",
      (refused(model, { batch = 2, ["x:2"] = 5, c = 1 })))
    assert.equal("invalid", select(2, refused(model)))
  end)

  it("have the shapes of their kinds", function()
    local x = { { "x", { 2, 3, 8, 10 } } }
    local function v(name, ...) return { name, { select("#", ...) }, { ... } } end
    local cases = {
      { "2x8x10x3", o.node("Transpose x -> y", { perm = { 0, 2, 3, 1 } }) },
      { "2x3x4x5", o.node("MaxPool x -> y", { kernel_shape = { 3, 3 }, strides = { 2, 2 },
        pads = { 1, 1, 1, 1 } }) },
      { "2x3x4x5", o.node("AveragePool x -> y", { kernel_shape = { 2, 2 }, strides = { 2, 2 },
        auto_pad = "SAME_UPPER" }) },
      { "2x3x1x1", o.node "GlobalAveragePool x -> y" },
      { "6x80", o.node("Flatten x -> y", { axis = 2 }) },
      { "2x1x8x10", o.node("ReduceMean x -> y", { axes = { 1 } }) },
      { "2x8x10", o.node("ReduceSum x a -> y", { keepdims = 0 }), { v("a", 1) } },
      { "2x3x6x10", o.node "Slice x s e a -> y", { v("s", 1), v("e", -1), v("a", 2) } },
      { "2x3x3x10", o.node "Slice x s e a t -> y",
        { v("s", -1), v("e", 1), v("a", 2), v("t", -2) } },
      { "2x3x10x14", o.node "Pad x p -> y", { v("p", 0, 0, 1, 2, 0, 0, 1, 2) } },
      { "1x2x3x8x10", o.node "Unsqueeze x a -> y", { v("a", 0) } },
      { "4x3x16x10", o.node "Tile x r -> y", { v("r", 2, 1, 2, 1) } },
      { "2x3x8x5", o.node("Split x -> y z", { axis = 3 }) },
      { "2x3x8x4", o.node "TopK x k -> y i", { v("k", 4) } },
      { "2x3x5x6", o.node "Resize x - - s -> y", { v("s", 2, 3, 5, 6) } },
      { "2x12x4x5", o.node("SpaceToDepth x -> y", { blocksize = 2 }) },
      { "2x3x7x10", o.node("Gather x g -> y", { axis = 2 }), { v("g", 0, 0, 0, 0, 0, 0, 0) } },
      { "2x3x8x10", o.node("Expand x s -> y"), { v("s", 8, 1) } },
      { "2x10x8x3", o.node("Einsum x -> y", { equation = "bchw->bwhc" }) },
    }
    for _, case in ipairs(cases) do
      assert.equal(case[1], (shape_of(case[2], x, case[3])))
    end
  end)

  it("count convolutions in groups, recurrent layers and Einsum", function()
    local _, f = shape_of(o.node("Conv x w -> y", { group = 2, pads = { 1, 1, 1, 1 } }),
      { { "x", { 1, 4, 5, 5 } }, { "w", { 6, 2, 3, 3 } } })
    assert.equal(2 * 6 * 25 * 2 * 9, f.matrix_flop)
    local shape
    shape, f = shape_of(o.node("LSTM x w r -> y", { hidden_size = 4 }),
      { { "x", { 7, 2, 3 } }, { "w", { 1, 16, 3 } }, { "r", { 1, 16, 4 } } })
    assert.same({ "7x1x2x4", 2 * 7 * 2 * (48 + 64), 24 * 56 },
      { shape, f.matrix_flop, f.flop - f.matrix_flop })
    shape, f = shape_of(o.node("Einsum x w -> y", { equation = "...td,hd->...ht" }),
      { { "x", { 2, 5, 3 } }, { "w", { 4, 3 } } })
    assert.same({ "2x4x5", 2 * 2 * 5 * 3 * 4 }, { shape, f.matrix_flop })
    -- two at a time: i is summed in the first product, b in the second
    shape, f = shape_of(o.node("Einsum x w v -> y", { equation = "ij,jb,cbj->cj" }),
      { { "x", { 5, 4 } }, { "w", { 4, 7 } }, { "v", { 2, 7, 4 } } })
    assert.same({ "2x4", 2 * 5 * 4 * 7 + 2 * 4 * 7 * 2 }, { shape, f.matrix_flop })
    shape, f = shape_of(o.node "QLinearMatMul x s z w s z s q -> y",
      { { "x", { 2, 3 }, 2 }, { "w", { 3, 4 }, 3 }, { "s", {} }, { "z", {}, 2 }, { "q", {}, 3 } })
    assert.same({ "2x4", 48, 3 }, { shape, f.matrix_flop, f.outputs[1].dtype })
  end)

  it("visit functions, branches and turns of loops", function()
    local func = o.func("own", "F", "a b", "c", { o.node "Add a b -> d", o.node "Exp d -> c" })
    local g, f = load(o.model { nodes = { o.node("F x x -> y", {}, "own"), o.node "Relu y -> z" },
      functions = { func }, inputs = { o.info("x", F32, { 3 }) }, outputs = { o.info "z" } })
    assert.same({ 2, 1, 3 + 12, "F" }, { g.n_ops, g.n_edges, g:op(1).flop, g:op(1).kind })
    assert.equal(18, f.flop)

    local body = o.graph { nodes = { o.node "Add v v -> v2", o.node "Identity c -> c2" },
      inputs = { o.info("i", I64, {}), o.info("c", 9, {}), o.info("v", F32, { 2 }) },
      outputs = { o.info "c2", o.info "v2", o.info "v2" } }
    local function branch(kind)
      return { graph = o.graph { nodes = { o.node(kind .. " last -> b") },
        outputs = { o.info "b" } } }
    end
    local model = o.model {
      nodes = { o.node "Neg x -> v0",
        o.node("Loop n - v0 -> last scan", { body = { graph = body } }),
        o.node("If n -> y", { then_branch = branch "Exp", else_branch = branch "Relu" }) },
      inputs = { o.info("x", F32, { 2 }), o.info("n", I64, {}) },
      outputs = { o.info "y", o.info "scan" } }
    g, f = load(model, { n = 3 })
    assert.same({ 3, 2 }, f.outputs[2].shape)
    assert.same({ 3, 2, 6, 8 }, { g.n_ops, g.n_edges, g:op(2).flop, g:op(3).flop }) -- 3 turns of 2
    local why, code = refused(model)
    assert.matches("^m.onnx: node last %(Loop%): its number of turns is not known: "
      .. "give it in bind, as n=1", why)
    assert.equal("unsupported", code)
  end)

  it("put tied weights into one group and count them once", function()
    local g, f = load(o.model { nodes = { o.node "Gather w ids -> e", o.node "Identity w -> w2",
      o.node "Transpose w2 -> t", o.node "MatMul e t -> y" },
      initializers = { o.tensor("w", { 100, 50 }, F32) }, inputs = { o.info("ids", I64, { 4 }) },
      outputs = { o.info "y" } })
    assert.same({ 2, 1, 20000, 0, 5000 },
      { g.n_ops, g.n_groups, g:op(1).params, g:op(2).params, f.parameters })
    assert.equal(g:op(1).group, g:op(2).group)
    g = load(o.model { nodes = { o.node "Slice w from to -> a", o.node "Slice w to end -> b",
      o.node("Concat b a -> c", { axis = 0 }),
      o.node "MatMul x c -> y" },
      initializers = { o.tensor("w", { 100, 50 }, F32), o.tensor("from", { 1 }, I64, { 0 }),
        o.tensor("to", { 1 }, I64, { 60 }), o.tensor("end", { 1 }, I64, { 100 }) },
      inputs = { o.info("x", F32, { 3, 100 }) }, outputs = { o.info "y" } })
    assert.same({ 20000, 0, 1 }, { g:op(1).params, g:op(2).params, g:op(2).group })
  end)

  it("note kinds without a rule, and take their declared types", function()
    local notes, facts = {}, {}
    local g = assert(berth.parse(o.model { nodes = { o.node("Gelu2 x -> y", {}, "com.x"),
      o.node "Relu y -> z" }, inputs = { o.info("x", F32, { 3 }) }, outputs = { o.info "z" },
      infos = { o.info("y", F32, { 5 }) } }, { notes = notes, facts = facts }))
    assert.same({ "text: FLOP not known, counted as 0: 1 com.x.Gelu2" }, notes)
    assert.same({ 0, 32, 5, 1 },
      { g:op(1).flop, g:op(1).bytes, g:op(2).flop, facts.unknown_outputs })
  end)

  it("are refused at the byte of a wrong length, wherever they are cut", function()
    local model = o.model { nodes = { o.node "Relu x -> y" }, inputs = { o.info("x", F32, { 3 }) },
      outputs = { o.info "y" } }
    assert(berth.parse(model))
    for n = 3, #model - 1 do
      local why, code = refused(model:sub(1, n))
      assert.matches("^m.onnx: byte %d+: ", why)
      assert.equal("parse", code)
    end
    local bad = o.field(1, 2) .. o.field(2, F32) .. o.field(9, ("\0"):rep(7)) .. o.field(8, "w")
    assert.matches("raw_data has 7 bytes, tensor w 8", (refused(o.model { nodes = {}, inputs = {},
      outputs = {}, initializers = { bad } })))
  end)

  it("are read by commands", function()
    local model = o.model { nodes = { o.node "MatMul x w -> y", o.node "Relu y -> z" },
      initializers = { o.tensor("w", { 64, 64 }, F32) }, inputs = { o.info("x", F32, { "n", 64 }) },
      outputs = { o.info "z" } }
    local path = shell.file(".onnx", model)
    local code, out = shell.run("check", path, "--bind", "n=2", "--json")
    assert.equal(0, code)
    local document = require("berth.base.json").decode(out)
    assert.same({ "onnx", 16384, 16512 },
      { document.format, document.parts[2].matrix_flop, document.parts[2].flop })
    assert.same({ 2, 64 }, document.parts[2].outputs[1].shape)
    code, out = shell.run("place", path, "mesh:2,preset=V100", "--bind", "n=2", "--placer", "heft")
    assert.equal(0, code)
    assert.matches("step time", out)
    local exit, _, err = shell.run("check", path)
    assert.equal(2, exit)
    assert.matches("dimension n of input x has no value", err)
    assert.matches("is not NAME=N", select(3, shell.run("check", path, "--bind", "n")))
    shell.failed(2, "--bind: n is given twice", shell.run("check", path, "--bind", "n=2,n=3"))
    assert(berth.save(path .. ".json", { graph = (load(model, { n = 2 })) }))
    os.remove(path .. ".json")
    shell.tidy()
  end)
end)
