-- Training steps of ONNX models: small ones, with the backward ops by hand.
local berth = require "berth"
local o = require "spec.support.onnx"
local shell = require "spec.support.shell"

local F32, I64 = 1, 7

local function step(model, optimizer)
  return assert(berth.parse(o.model(model), { training = true, optimizer = optimizer }))
end

-- "NAME flop" of each op from a place on.
local function names(g, from)
  local out = {}
  for op in g:ops() do
    if op.id >= from then out[#out + 1] = ("%s %.0f"):format(op.name, op.flop) end
  end
  return out
end

local function reads(g, name)
  local out = {}
  for t = 1, g.n_tensors do
    local x = g:tensor(t)
    for _, id in ipairs(x.to) do
      if g:op(id).name == name then out[#out + 1] = g:op(x.from).name end
    end
  end
  return out
end

describe("training steps of ONNX models", function()
  -- x [2, 3] w [3, 4] -> a [2, 4]; b is added; Relu; r u [4, 5] -> y
  local model = { nodes = { o.node "MatMul x w -> a", o.node "Add a b -> s", o.node "Relu s -> r",
    o.node "MatMul r u -> y" }, initializers = { o.tensor("w", { 3, 4 }, F32),
    o.tensor("b", { 4 }, F32), o.tensor("u", { 4, 5 }, F32) },
    inputs = { o.info("x", F32, { 2, 3 }) }, outputs = { o.info "y" } }

  it("have two gradients of a product, one of the first, and updates", function()
    local g = step(model)
    assert.same({ "y.backward_inputs 80", "y.backward 80", "r.backward 8", "s.backward 8",
      "a.backward 48", "y.update 240", "s.update 48", "a.update 144" }, names(g, 5))
    local shape = g:op(5).shape
    assert.same({ 2, 4, 5 }, { shape.m, shape.n, shape.k }) -- dy [2, 5] times u' [5, 4]
    shape = g:op(6).shape
    assert.same({ 4, 5, 2 }, { shape.m, shape.n, shape.k }) -- r' [4, 2] times dy
    assert.same({ "adam", 160, 80 * 3 + 2 * 160, true },
      { g:op(10).kind, g:op(10).params, g:op(10).bytes, g:op(10).update })
    assert.same({ "r", "y.backward_inputs" }, reads(g, "r.backward")) -- its output
    assert.same({ "r.backward" }, reads(g, "s.backward"))
    assert.same({ "r", "y" }, reads(g, "y.backward"))
    assert.same({ "s.backward" }, reads(g, "a.backward")) -- the weight's alone: x is no tensor
    assert.equal(g:op(4).group, g:op(10).group)
    assert.equal(g:op(4).group, g:op(5).group)
  end)

  it("have the gradients of a recurrence's states", function()
    -- x [4, 2, 5] w, r [1, 5, 5]: 2 * 4 * 2 * 50, and 5 for each of 40; r' in 3 of 4 steps
    local nodes = { o.node "RNN x w r -> y" }
    local recurrent = { nodes = nodes, initializers = { o.tensor("w", { 1, 5, 5 }, F32),
      o.tensor("r", { 1, 5, 5 }, F32), o.tensor("s", { 5 }, F32) },
      inputs = { o.info("x", F32, { 4, 2, 5 }) }, outputs = { o.info "y" } }
    assert.same({ "y 1000", "y.backward 1375" }, names(step(recurrent, "none"), 1))
    recurrent.nodes = { o.node "Mul x s -> a", o.node "RNN a w r -> y" }
    assert.equal("y.backward 2000", names(step(recurrent, "none"), 3)[1])
  end)

  it("have a gradient of each operand of a product", function()
    for text, nodes in pairs {
      ["y.backward 108"] = { o.node "Mul x s -> a", o.node "MatMul a a -> y" }, -- of both
      ["y.backward 54"] = { o.node "Mul d s -> w", o.node "Gemm x w s -> y" }, -- none of x and s
      ["y.backward 0"] = { o.node "Gemm x d s -> y" } } do -- that of a bias is free
      local g = step { nodes = nodes, initializers = { o.tensor("s", { 3 }, F32) },
        inputs = { o.info("x", F32, { 3, 3 }), o.info("d", F32, { 3, 3 }) },
        outputs = { o.info "y" } }
      assert.equal(text, names(g, #nodes + 1)[1])
    end
  end)

  it("have the batch where they depend on an input", function()
    -- part of a table, then added to x
    local g = step { nodes = { o.node("Slice t from to -> part"), o.node "Add x part -> y" },
      initializers = { o.tensor("t", { 9, 3 }, F32), o.tensor("from", { 1 }, I64, { 0 }),
        o.tensor("to", { 1 }, I64, { 2 }) }, inputs = { o.info("x", F32, { 2, 3 }) },
      outputs = { o.info "y" } }
    assert.same({ "part 0", "y 6", "y.backward 6", "part.backward 0", "part.update 324" },
      names(g, 1))
    local flags = {}
    for t = 1, g.n_tensors do flags[t] = g:tensor(t).batch end
    assert.same({ false, true, false, false }, flags) -- part, y, gradients of part and of t
    assert.same({ false, true }, { g:op(1).splittable, g:op(2).splittable })
  end)

  it("have the shapes of gradients where the weight is on the left", function()
    -- w [3, 4] a [4, 5] -> y [3, 5]: w' [4, 3] times dy, dy times a' [5, 4]
    local g = step { nodes = { o.node "Mul x s -> a", o.node "MatMul w a -> y" },
      initializers = { o.tensor("w", { 3, 4 }, F32), o.tensor("s", { 5 }, F32) },
      inputs = { o.info("x", F32, { 4, 5 }) }, outputs = { o.info "y" } }
    local inputs, weight = g:op(3).shape, g:op(4).shape
    assert.same({ 4, 5, 3 }, { inputs.m, inputs.n, inputs.k })
    assert.same({ 3, 4, 5 }, { weight.m, weight.n, weight.k })
  end)

  it("are made by commands", function()
    local code, out = shell.run("check", "examples/resnet50.onnx", "--bind", "batch=1", "--training",
      "--optimizer", "sgd", "--json")
    assert.equal(0, code)
    local graph = require("berth.base.json").decode(out).parts[1]
    assert.same({ 510, 4 * 25610152 }, { graph.ops, graph.parameters_bytes })
    shell.failed(2, "--optimizer: requires --training", shell.run("check",
      "examples/resnet50.onnx", "--bind", "batch=1", "--optimizer", "sgd"))
  end)

  it("keep gradients without an optimizer", function()
    local g = step(model, "none")
    assert.same({ 9, 0, 80 }, { #g, g:op(5).params, g:op(6).params })
    assert.equal(32, step(model, "momentum"):op(12).params + 0 - 16)
  end)

  it("are made of graphs of all formats, and need weights", function()
    local text = berth.graph { ops = { { name = "a", flop = 8, params = 16 } } }:to_string()
    local g = assert(berth.parse(text, { training = true, optimizer = "sgd" }))
    assert.same({ "a 8", "a.backward 8", "a.update 8" }, names(g, 1))
    local none = o.model { nodes = { o.node "Relu x -> y" }, inputs = { o.info("x", F32, { 3 }) },
      outputs = { o.info "y" } }
    local _, why, code = berth.parse(none, { training = true, name = "m.onnx" })
    assert.equal("m.onnx: mirror: nothing to train: no op has parameters that a gradient "
      .. "reaches", why)
    assert.equal("invalid", code)
    local one = berth.graph { ops = { { name = "a", flop = 8, params = 16 } } }
    local t = berth.topology.mesh(1, { preset = "A100" })
    local placed = berth.to_string { graph = one, topology = t,
      placement = berth.place(one, t, "single") }
    why = select(2, berth.parse(placed, { training = true, name = "p.json" }))
    assert.equal("p.json: its placement is not that of a training step", why)
    assert.has_error(function() berth.parse(none, { optimizer = "adam" }) end,
      "berth.parse: optimizer: requires training = true")
  end)

  it("are those of the built-in model", function()
    local onnx = assert(berth.load("examples/resnet50.onnx", { bind = { batch = 2 },
      training = true }))
    local built = berth.models.resnet { depth = 50, batch = 2 }
    local function sums(g)
      local s = { flop = 0, products = 0, params = 0, bytes = 0 }
      for op in g:ops() do
        local p = op.shape
        s.flop, s.params, s.bytes = s.flop + op.flop, s.params + op.params, s.bytes + op.bytes
        if p then s.products = s.products + 2 * p.m * p.n * p.k end
      end
      return s
    end
    local a, b = sums(onnx), sums(built)
    assert.equal(b.products, a.products)
    assert.near(1, a.flop / b.flop, 1e-3)
    assert.equal(4 * 53120, a.params - b.params) -- means and variances of norms
    assert.near(1, a.bytes / b.bytes, 0.05)
    local one = berth.topology.mesh(1, { preset = "A100" })
    local function peak(g)
      return assert(berth.simulate(g, one, berth.place(g, one, "single"))).peak_memory[1]
    end
    assert.near(1, peak(onnx) / peak(built), 0.1)
  end)

  it("come from the file that its generator writes", function()
    local pipe = assert(io.popen('LUA_PATH="?.lua;;" ' .. (os.getenv "BERTH_LUA" or "lua5.4")
      .. " scripts/tools/resnet_onnx.lua"))
    local file = assert(io.open("examples/resnet50.onnx", "rb"))
    assert.is_true(pipe:read "*a" == file:read "*a", "scripts/tools/resnet_onnx.lua writes another")
    pipe:close()
    file:close()
  end)

  it("sum the gradients of a tied weight once, and stop at integers", function()
    local g = step { nodes = { o.node "Gather w ids -> e", o.node "Transpose w -> t",
      o.node "MatMul e t -> y", o.node("ArgMax y -> best", { axis = 1 }),
      o.node("Cast best -> z", { to = 1 }) }, initializers = { o.tensor("w", { 100, 50 }, F32) },
      inputs = { o.info("ids", I64, { 4 }) }, outputs = { o.info "y", o.info "z" } }
    -- e [4, 50], y [4, 100]: two gradients of the product, one of the table, one update of both
    assert.same({ "y.backward_inputs 40000", "y.backward 40000", "e.backward 0",
      "e.update 65000" }, names(g, 5))
    assert.same({ "e.backward", "y.backward" }, reads(g, "e.update"))
    assert.same({ "y.backward_inputs" }, reads(g, "e.backward"))
    assert.same({ 1, 1, 1, 1 }, { g:op(1).group, g:op(2).group, g:op(5).group, g:op(8).group })
  end)
end)
