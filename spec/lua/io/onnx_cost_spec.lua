-- A function prices the nodes of ONNX models whose kind has no rule.
local berth = require "berth"
local o = require "spec.support.onnx"

local F32 = 1
local model = o.model { nodes = {
  o.node("Own x - w -> y", { axis = 2, name = "fast", sizes = { 3, 4 } }, "com.x"),
  o.node "Mystery y -> z", o.node "Relu z -> out" },
  initializers = { o.tensor("w", { 2, 5 }, F32) }, inputs = { o.info("x", F32, { 2, 3 }) },
  outputs = { o.info "out" }, infos = { o.info("y", F32, { 7 }), o.info("z", F32, { 7 }) } }

local function load(cost)
  local notes = {}
  local g, why, code = berth.parse(model, { cost = cost, notes = notes, name = "m.onnx" })
  return g, notes, why, code
end

describe("the cost of kinds without a rule", function()
  it("is what a function gives for the node", function()
    local seen = {}
    local g, notes = load(function(node)
      seen[#seen + 1] = node
      if node.kind == "Own" then return { flop = 600, bytes = 40 } end
      return node.domain == "" and { flop = 8 } or nil
    end)
    local own = seen[1]
    assert.same({ "y", "Own", "com.x", 2 }, { own.name, own.kind, own.domain, #seen })
    assert.same({ axis = 2, name = "fast", sizes = { 3, 4 } }, own.attributes)
    assert.same({ { name = "x", dtype = F32, shape = { 2, 3 } }, false,
      { name = "w", dtype = F32, shape = { 2, 5 } } }, own.inputs)
    assert.same({ { name = "y", dtype = F32, shape = { 7 } } }, own.outputs)
    assert.same({ 600, 40, 8, 56 }, { g:op(1).flop, g:op(1).bytes, g:op(2).flop, g:op(2).bytes })
    assert.same({}, notes)
  end)

  it("is a table by kind; what is not in it stays a note", function()
    local g, notes = load { ["com.x.Own"] = { flop = 5 } }
    assert.same({ 5, 0 }, { g:op(1).flop, g:op(2).flop })
    assert.same({ "m.onnx: FLOP not known, counted as 0: 1 Mystery" }, notes)
    notes = select(2, load { ["com.x.Own"] = { flop = 5 }, Own = { flop = 5 }, Mystery = { flop = 1 } })
    assert.same({ "m.onnx: cost has Own, but no node without a rule is of it" }, notes)
    g = load { Mystery = function(node) return { flop = 2 * node.inputs[1].shape[1] } end }
    assert.same({ 0, 14 }, { g:op(1).flop, g:op(2).flop })
  end)

  it("fails with the node where the function does", function()
    local cases = {
      { function() error("no table of times", 0) end, "no table of times" },
      { function() return 7 end, "gave number, expected a table of flop and bytes" },
      { function() return { flop = -1 } end, "flop is %-1" },
      { function() return { flop = 1, bytes = -2 } end, "bytes is negative" },
      { function() return { flops = 1 } end, "flops" },
      { function() error {} end, "table" },
    }
    for _, case in ipairs(cases) do
      local g, _, why, code = load(case[1])
      assert.is_nil(g)
      assert.matches("^m.onnx: node y %(com.x.Own%): cost: .*" .. case[2], why)
      assert.equal("invalid", code)
    end
    assert.has_error(function() load(7) end, "berth.parse: cost: expected a function, got number")
    assert.has_error(function() load { 7 } end)
  end)

  it("is for ONNX alone", function()
    local text = berth.graph { ops = { { name = "a", flop = 8 } } }:to_string()
    local _, why = berth.parse(text, { cost = function() end })
    assert.matches("cost", why)
  end)
end)
