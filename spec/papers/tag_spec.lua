-- TAG by hand (section 3): which tensors have the batch, and which ops must agree.
local berth = require "berth"

--- Ops by kind, edges by { from, to, ... }: each maker has one tensor, which all these read.
local function network(kinds, reads)
  local ops, tensors = {}, {}
  for i, kind in ipairs(kinds) do ops[i] = { kind = kind } end
  for i, read in ipairs(reads) do
    local to = {}
    for k = 2, #read do to[k - 1] = read[k] end
    tensors[i] = { from = read[1], to = to, bytes = 4 }
  end
  return assert(berth.graph { ops = ops, tensors = tensors })
end

local function bases(a) return table.concat(a.base, " ") end

describe("TAG's rules for the batch", function()
  -- "bare" has lost the batch: a kind that nobody knows, which descends from the input. 1 input, 2
  -- bare, 3 the kind, 4 a reader.
  local function flag_of(kind, order)
    local reads = { { 1, 2 } }
    for _, from in ipairs(order) do reads[#reads + 1] = { from, 3 } end
    reads[#reads + 1] = { 3, 4 }
    local a = berth.deploy.analyse(network({ "Placeholder", "Frobnicate", kind, "Sink" }, reads),
      { rules = {
      { kind = "Placeholder", role = "input", batch = "always", outputs = "all" } } })
    return a.batch[#reads]
  end
  local batched, bare = 1, 2

  for _, kind in ipairs { "Conv2D", "MaxPool", "Conv2DBackpropInput", "BiasAdd" } do
    it(kind .. " always has it", function()
      assert.is_true(flag_of(kind, { batched }))
      assert.is_true(flag_of(kind, { bare }))
    end)
  end

  for _, kind in ipairs { "Cast", "ZerosLike", "GreaterEqual", "NotEqual", "Neg", "Log1p", "Exp",
    "Rsqrt", "Slice",
    "StridedSlice", "Squeeze", "Identity", "Sigmoid", "Relu", "LeakyRelu", "Tanh", "TanhGrad",
    "MatMul" } do
    it(kind .. " has it as its first input", function()
      assert.is_true(flag_of(kind, { batched, bare }))
      assert.is_false(flag_of(kind, { bare, batched }))
    end)
  end

  for _, kind in ipairs { "Add", "Sub", "Mul", "RealDiv", "FloorDiv", "FloorMod" } do
    it(kind .. " has it if either input does", function()
      assert.is_true(flag_of(kind, { batched, bare }))
      assert.is_true(flag_of(kind, { bare, batched }))
      assert.is_false(flag_of(kind, { bare }))
    end)
  end

  it("a product with its first operand transposed, and a kind that nobody knows, do not", function()
    assert.is_false(flag_of("MatMul:transpose_a", { batched, batched }))
    assert.is_false(flag_of("Frobnicate", { batched }))
  end)

  it("inputs have it", function()
    for _, kind in ipairs { "Placeholder", "IteratorGetNext" } do
      local a = berth.deploy.analyse(network({ kind, "Sink" }, { { 1, 2 } }))
      assert.same({ true }, a.batch)
      assert.same({ "input", "compute" }, a.role)
    end
  end)

  it("only the first output has it", function()
    local a = berth.deploy.analyse(network({ "Placeholder", "Relu", "Sink", "Sink" },
      { { 1, 2 }, { 2, 3 }, { 2, 4 } }))
    assert.same({ true, true, false }, a.batch)
  end)

  it("what an optimiser step reads is summed, what a sparse one reads is concatenated", function()
    local cases = { { "ApplyGradientDescent", false, "update" }, { "ApplyAdam", false, "update" },
      { "ScatterSub", true, "scatter" } }
    for _, case in ipairs(cases) do
      -- 1 input -> 3 Relu (has the batch), 4 bare (has not); 5 reads the variable 2 and both
      local g = network({ "Placeholder", "VariableV2", "Relu", "Frobnicate", case[1] },
        { { 1, 3, 4 }, { 2, 5 }, { 3, 5 }, { 4, 5 } })
      local a = berth.deploy.analyse(g)
      assert.same({ true, false, case[2], case[2] }, a.batch)
      assert.same({ false, false, true, true }, a.gradient)
      assert.same({ "input", "variable", "compute", "compute", case[3] }, a.role)
      assert.same({ true, false, true, true, true }, a.from_input)
    end
  end)
end)

describe("TAG's base groups", function()
  it("join the ops of a layer, and stay apart where the batch crosses", function()
    -- 1 input, 2 variable, 3 y = xW, 4 Relu, 5 W's gradient, 6 update: 6 seeds {2, 6}; 3 reads the
    -- variable; 5 reads batches only, its own; 6 reads the gradient, which has no batch: {5} joins.
    -- 1 and 4 are left.
    local g = network({ "Placeholder", "VariableV2", "MatMul", "Relu", "MatMul:transpose_a",
      "ApplyGradientDescent" },
      { { 1, 3, 5 }, { 2, 3, 6 }, { 3, 4 }, { 4, 5 }, { 5, 6 } })
    assert.equal("1 2 2 3 2 2", bases(berth.deploy.analyse(g)))
  end)

  it("take Adam's moments in, and leave constants out", function()
    -- 1 input, 2-4 variable and moments, 5 constant, 6 Mul(input, constant), 7 bare, 8 Adam. The
    -- constant is in no group, so 6 does not join it; 7 reads a batch: its own, until 8 reads it.
    local g = network({ "Placeholder", "VariableV2", "VariableV2", "VariableV2", "Const", "Mul",
      "Frobnicate", "ApplyAdam" },
      { { 1, 6 }, { 2, 8 }, { 3, 8 }, { 4, 8 }, { 5, 6 }, { 6, 7 }, { 7, 8 } })
    -- a kind without a rule joins the makers of all that it reads: 7 takes 6 in, though that has
    -- the batch
    assert.equal("1 2 2 2 3 2 2 2", bases(berth.deploy.analyse(g)))
    local known = berth.deploy.analyse(g, { rules = { { kind = "Frobnicate", batch = "never" } } })
    assert.equal("1 2 2 2 3 4 2 2", bases(known))
  end)

  it("seed with sparse updates and assignments, but concatenated rows do not join", function()
    -- ScatterSub 5 reads variable 2, indices 3 and updates 4: both cut, so 3 and 4 stay alone.
    -- Assign 6 follows its variable.
    local g = network({ "Placeholder", "VariableV2", "Cast", "Neg", "ScatterSub", "Assign" },
      { { 1, 3, 4 }, { 2, 5, 6 }, { 3, 5 }, { 4, 5 } })
    assert.equal("1 2 3 4 2 2", bases(berth.deploy.analyse(g)))
  end)

  it("join through a value that descends from the input without the batch", function()
    -- 2 sums over the batch, 3 and 4 read the sum: all three agree; 5 reads batches only
    local g = network({ "Placeholder", "MatMul:transpose_a", "Relu", "Neg", "Exp" },
      { { 1, 2, 5 }, { 2, 3, 4 } })
    assert.equal("1 2 2 2 3", bases(berth.deploy.analyse(g)))
  end)

  it("count colocation groups", function()
    local g = assert(berth.graph { ops = { { kind = "Placeholder", group = 1 }, { kind = "Relu" },
      { kind = "Relu", group = 1 } },
      edges = { { 1, 2, 4 }, { 2, 3, 4 } } })
    assert.equal("1 2 1", bases(berth.deploy.analyse(g)))
  end)
end)
