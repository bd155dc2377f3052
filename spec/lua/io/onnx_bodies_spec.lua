-- Scans, sequences, functions and packed files of ONNX, by hand.
local berth = require "berth"
local o = require "spec.support.onnx"
local shell = require "spec.support.shell"

local F32, I64 = 1, 7

local function load(model)
  local facts = {}
  local g = assert(berth.parse(o.model(model), { facts = facts }))
  return g, facts
end

local function shape(facts, k) return table.concat(facts.outputs[k].shape or { "?" }, "x") end

describe("ONNX bodies", function()
  -- state h [4]; each x [3] goes through a product: 2 * 3 * 4 and 4 additions
  local body = o.graph { nodes = { o.node "MatMul x w -> p", o.node "Add h p -> h2",
    o.node "Identity h2 -> y" }, inputs = { o.info("h", F32, { 4 }), o.info("x", F32, { 3 }) },
    outputs = { o.info "h2", o.info "y" }, initializers = { o.tensor("w", { 3, 4 }, F32) } }

  it("count the work of a scan once a turn", function()
    local g, f = load { nodes = { o.node("Scan h0 xs -> last ys", { body = { graph = body },
      num_scan_inputs = 1 }) }, inputs = { o.info("h0", F32, { 4 }), o.info("xs", F32, { 5, 3 }) },
      outputs = { o.info "last", o.info "ys" } }
    assert.same({ "4", "5x4" }, { shape(f, 1), shape(f, 2) })
    assert.same({ 1, 5 * 24, 5 * 28, 48 }, { #g, f.matrix_flop, f.flop, g:op(1).params })
    g, f = load { nodes = { o.node("Scan h0 xs -> last ys", { body = { graph = body },
      num_scan_inputs = 1, scan_input_axes = { 1 }, scan_output_axes = { -1 } }) },
      inputs = { o.info("h0", F32, { 4 }), o.info("xs", F32, { 3, 7 }) },
      outputs = { o.info "last", o.info "ys" } }
    assert.same({ "4", "4x7", 7 * 28 }, { shape(f, 1), shape(f, 2), g:op(1).flop })
    g, f = load { nodes = { o.node("Scan - h0 xs -> last ys", { body = { graph = body },
      num_scan_inputs = 1 }) }, opset = 8, inputs = { o.info("h0", F32, { 2, 4 }),
      o.info("xs", F32, { 2, 5, 3 }) }, outputs = { o.info "last", o.info "ys" } }
    assert.same({ "2x4", "2x5x4", 10 * 28 }, { shape(f, 1), shape(f, 2), g:op(1).flop })
  end)

  it("follow the items of sequences", function()
    local function position(name, x) return o.tensor(name, {}, I64, { x }) end
    local _, f = load { nodes = { o.node "SequenceConstruct a b -> s",
      o.node "SequenceInsert s c one -> t", o.node "SequenceAt t one -> y",
      o.node "SequenceErase t zero -> u", o.node("ConcatFromSequence u -> z", { axis = 0 }),
      o.node "SequenceLength u -> n", o.node("SplitToSequence c two -> v", { axis = 0 }),
      o.node "SequenceAt v last -> part", o.node "Range zero n one -> r" },
      initializers = { position("zero", 0), position("one", 1), position("two", 2),
        position("last", -1) },
      inputs = { o.info("a", F32, { 2, 3 }), o.info("b", F32, { 4, 3 }),
        o.info("c", F32, { 5, 3 }) },
      outputs = { o.info "y", o.info "z", o.info "part", o.info "r" } }
    assert.same({ "5x3", "9x3", "1x3", "2" },
      { shape(f, 1), shape(f, 2), shape(f, 3), shape(f, 4) })
    local _, why = berth.parse(o.model { nodes = { o.node "SequenceConstruct a a -> s",
      o.node "SequenceAt s two -> y" }, initializers = { position("two", 2) },
      inputs = { o.info("a", F32, { 3 }) }, outputs = { o.info "y" } })
    assert.matches("node y %(SequenceAt%): position 2 in a sequence of 2", why)
  end)

  it("have the opsets that their function imports", function()
    -- Dropout's mask is float before opset 10
    local func = o.func("own", "F", "a", "m", { o.node "Dropout a -> d m" })
      .. o.field(9, o.field(1, "") .. o.field(2, 9))
    local _, f = load { nodes = { o.node("F x -> y", {}, "own"), o.node "Dropout x -> z k" },
      functions = { func }, inputs = { o.info("x", F32, { 3 }) },
      outputs = { o.info "y", o.info "k" } }
    assert.same({ 1, 9 }, { f.outputs[1].dtype, f.outputs[2].dtype })
  end)

  it("take nothing from what is absent", function()
    local func = o.func("own", "F", "a", "m", { o.node "Mystery a -> m" })
    local nothing = o.field(5, o.field(1, "equation"))
    local _, f = load { nodes = { o.node("F x -> y", {}, "own"), o.node "Einsum x -> z" .. nothing },
      functions = { func }, inputs = { o.info("x", F32, { 3 }) },
      outputs = { o.info "y", o.info "z" } }
    assert.same({ "?", "?", 1 }, { shape(f, 1), shape(f, 2), f.unknown_outputs })
  end)

  it("are refused with an axis twice", function()
    local function why(node, ...)
      local list = { o.tensor("t", { 2, 2 }, I64, { 1, 2, 3, 4 }) }
      for _, each in ipairs { ... } do
        list[#list + 1] = o.tensor(each[1], { 2 }, I64, { each[2], each[3] })
      end
      return select(2, berth.parse(o.model { nodes = { node, o.node "Relu x -> z" },
        initializers = list, inputs = { o.info("x", F32, { 3 }) }, outputs = { o.info "y" } }))
    end
    assert.matches("node y %(Transpose%): perm has axis 1 twice", why(o.node("Transpose t -> y",
      { perm = { 1, 1 } })))
    assert.matches("axis 0 is given twice", why(o.node "Slice t a b c -> y",
      { "a", 1, 1 }, { "b", 2, 2 }, { "c", 0, 0 }))
  end)

  it("are refused with sizes that do not fit", function()
    for text, node in pairs { ["axis 2 has size 3"] = o.node("Squeeze x a -> y"),
      ["blocks of 2 do not divide the sizes"] = o.node("DepthToSpace x -> y", { blocksize = 2 }),
      ["axis 5 of a tensor of 4"] = o.node("Flatten x -> y", { axis = 5 }),
      ["index 'e' of the result is in no"] = o.node("Einsum x -> y", { equation = "abcd->e" }),
      ["sizes of X, W and R do not match"] = o.node "LSTM s w r -> y" } do
      local _, why = berth.parse(o.model { nodes = { node }, outputs = { o.info "y" },
        initializers = { o.tensor("a", { 1 }, I64, { 2 }), o.tensor("w", { 1, 8, 3 }, F32),
          o.tensor("r", { 1, 8, 2 }, F32) },
        inputs = { o.info("x", F32, { 1, 6, 3, 3 }), o.info("s", F32, { 5, 2, 4 }) } })
      assert.matches(text, why, 1, true)
    end
  end)

  it("are refused with a size that is no number", function()
    local _, why = berth.parse(o.model { nodes = { o.node("Cast zero -> f", { to = F32 }),
      o.node "Div f f -> nan", o.node("Cast nan -> s", { to = I64 }), o.node "Reshape x s -> y" },
      initializers = { o.tensor("zero", { 1 }, I64, { 0 }) },
      inputs = { o.info("x", F32, { 3 }) }, outputs = { o.info "y" } })
    assert.matches("a size of -4503599627370496", why, 1, true)
  end)

  it("have sizes of at most 2^48", function()
    local far = o.tensor("far", { 1 }, I64, { 2 ^ 40 })
    local _, f = load { nodes = { o.node "Tile x far -> a", o.node "Tile a far -> y",
      o.node("Concat y y -> z", { axis = 0 }), o.node("Flatten w -> v", { axis = 2 }) },
      initializers = { far }, inputs = { o.info("x", F32, { 3 }),
        o.info("w", F32, { 2 ^ 30, 2 ^ 30, 2 }) }, outputs = { o.info "z", o.info "v" } }
    assert.same({ { 2 ^ 48 }, { 2 ^ 48, 2 } }, { f.outputs[1].shape, f.outputs[2].shape })
  end)

  it("end, though a loop has no nodes", function()
    local loop = o.graph { nodes = {}, inputs = { o.info("i", I64, {}), o.info("c", 9, {}),
      o.info("v", F32, { 1 }) }, outputs = { o.info "c", o.info "v" } }
    local _, why, code = berth.parse(o.model { nodes = { o.node("Loop n - x -> v", {
      body = { graph = loop } }), o.node "Relu x -> y" },
      initializers = { o.tensor("n", {}, I64, { 2 ^ 40 }) },
      inputs = { o.info("x", F32, { 3 }) }, outputs = { o.info "y" } })
    assert.matches("more than 2,000,000 nodes", why)
    assert.equal("unsupported", code)
  end)

  it("are read from packed files", function()
    local path = shell.file(".onnx.gz", "")
    local model = o.model { nodes = { o.node "Relu x -> y" }, inputs = { o.info("x", F32, { 3 }) },
      outputs = { o.info "y" } }
    assert(require("berth.core").write(path, model))
    local file = assert(io.open(path, "rb"))
    assert.equal("\31\139", file:read(2))
    file:close()
    assert.equal(3, assert(berth.load(path)):op(1).flop)
    shell.tidy()
  end)
end)
