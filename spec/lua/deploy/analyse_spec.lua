-- What depends on the batch, base groups, and what a deployment can leave out.
local berth = require "berth"
local refused = require("support.errors").refused

-- Ops as { kind, inputs... }: an input is an op, whose first tensor is read, or { op, tensor }.
local function graph(list)
  local ops, tensors, at = {}, {}, {}
  for i, item in ipairs(list) do
    ops[i] = { name = item.name, kind = item.kind, seconds = item.seconds, flop = item.flop,
      bytes = item.moved,
      params = item.params, group = item.group, update = item.update, backward = item.backward,
        pin = item.pin }
    at[i] = {}
    for k = 1, item.outputs or 1 do
      tensors[#tensors + 1] = { from = i, to = {}, bytes = item.bytes or 4, batch = item.batch,
        gradient = item.gradient }
      at[i][k] = #tensors
    end
  end
  for i, item in ipairs(list) do
    for _, from in ipairs(item) do
      local to = tensors[type(from) == "table" and at[from[1]][from[2]] or at[from][1]].to
      to[#to + 1] = i
    end
  end
  return assert(berth.graph { ops = ops, tensors = tensors })
end

local function marked(list)
  local ids = {}
  for i, yes in ipairs(list) do
    if yes then ids[#ids + 1] = i end
  end
  return ids
end

-- A convolution with bias, a product, one variable updated by Adam, another sparsely.
local function small_network()
  return graph {
    { kind = "Placeholder" },                          -- 1 x
    { kind = "VariableV2" },                           -- 2 filter
    { kind = "VariableV2" },                           -- 3, 4 moments of the filter
    { kind = "VariableV2" },
    { kind = "VariableV2" },                           -- 5 bias
    { kind = "VariableV2" },                           -- 6 matrix
    { kind = "Conv2D", 1, 2 },                         -- 7
    { kind = "BiasAdd", 7, 5 },                        -- 8
    { kind = "Relu", 8 },                              -- 9
    { kind = "MatMul", 9, 6 },                         -- 10
    { kind = "Tanh", 10 },                             -- 11, as good as a loss
    { kind = "MatMul:transpose_a", 9, 11 },            -- 12 gradient of the matrix
    { kind = "MatMul", 11, 6 },                        -- 13 gradient of 9
    { kind = "ReluGrad", 13, 9 },                      -- 14
    { kind = "BiasAddGrad", 14 },                      -- 15 gradient of the bias
    { kind = "Conv2DBackpropFilter", 1, 14 },          -- 16 gradient of the filter
    { kind = "Const" },                                -- 17 rate
    { kind = "ApplyAdam", 2, 3, 4, 17, 16 },           -- 18
    { kind = "ApplyGradientDescent", 5, 17, 15 },      -- 19
    { kind = "Cast", 1 },                              -- 20 indices
    { kind = "ScatterSub", 6, 20, 12 },                -- 21
  }
end

describe("kinds without a rule", function()
  local net = graph { { kind = "Placeholder" }, { kind = "Mine" }, { kind = "MyGelu", 1, 2 }, { 3 },
    { kind = "MyGelu", 4 },
    { kind = "Relu", 5 } }

  it("are listed, if what they do descends from the input", function()
    assert.same({ "MyGelu", "" }, berth.deploy.analyse(net).unknown)
    assert.same({ "" },
      berth.deploy.analyse(net, { rules = { { kind = "MyGelu", batch = "first" } } }).unknown)
    assert.same({},
      berth.deploy.analyse(net, { rules = { { kind = "*", batch = "first" } } }).unknown)
    assert.same({}, berth.deploy.analyse(net, { flags = "graph" }).unknown)
    assert.same({}, berth.deploy.analyse(small_network()).unknown)
  end)
end)

describe("berth.deploy.analyse", function()
  it("flags, marks and groups a small network as by hand", function()
    local a = assert(berth.deploy.analyse(small_network()))
    -- 12 feeds the scatter update: concatenated. 15 and 16 are sums over the batch.
    assert.same({ 1, 7, 8, 9, 10, 11, 12, 13, 14, 20 }, marked(a.batch))
    assert.same({ 12, 15, 16, 20 }, marked(a.gradient))
    assert.same({ 1, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 18, 19, 20, 21 }, marked(a.from_input))
    assert.same("input", a.role[1])
    assert.same("variable", a.role[6])
    assert.same({ "update", "update", "compute", "scatter" },
      { a.role[18], a.role[19], a.role[20], a.role[21] })
    --            1  2  3  4  5  6  7  8  9 10 11 12 13 14 15 16  17 18 19  20 21
    assert.same({ 1, 2, 2, 2, 3, 4, 2, 3, 5, 4, 6, 7, 4, 8, 3, 2, 9, 2, 3, 10, 4 }, a.base)
    assert.same(
      "analysis: 21 ops in 10 base groups, 15 from input; 10 of 21 tensors have the batch, 4 are "
        .. "gradients; "
      .. "1 inputs, 5 variables, 3 updates", tostring(a))
    assert.same(10, a.counts.base)
    assert.same(1, a.counts.scatter)
  end)

  it("takes the rules of kinds and ops that it is given first", function()
    local g = graph { { kind = "in" }, { kind = "f", 1 }, { kind = "f", 2 }, { kind = "end", 3 } }
    local a = berth.deploy.analyse(g, { rules = { { kind = "in", role = "input", batch = "always" },
      { kind = "f", batch = "first" }, { kind = "end", role = "update" } } })
    assert.same({ true, true, false, false }, a.batch)
    assert.same({ "input", "compute", "compute", "update" }, a.role)
    assert.same({ 1, 2, 3, 3 }, a.base)
    a = berth.deploy.analyse(g, { rules = { { kind = "in", role = "input", batch = "always" },
      { kind = "f", batch = "first" } },
      ops = { { op = 2, batch = "never" }, { op = 4, role = "assign", batch = "always" } } })
    assert.same({ true, false, false, true }, a.batch)
    assert.same({ 1, 2, 2, 2 }, a.base)
    assert.same("assign", a.role[4])
  end)

  it("counts further outputs where a rule says so", function()
    local g = graph { { kind = "Placeholder" }, { kind = "Two", outputs = 2, 1 },
      { kind = "Relu", 2 },
      { kind = "Relu", { 2, 2 } } }
    local rule = { kind = "Two", batch = "first" }
    assert.same({ true, true, false, true, false },
      berth.deploy.analyse(g, { rules = { rule } }).batch)
    rule.outputs = "all"
    assert.same({ true, true, true, true, true },
      berth.deploy.analyse(g, { rules = { rule } }).batch)
  end)

  it("glues what is unknown", function()
    local g = graph { { kind = "Placeholder" }, { kind = "Relu", 1 }, { kind = "Strange", 2 },
      { kind = "Relu", 3 } }
    assert.same({ 1, 2, 2, 2 }, berth.deploy.analyse(g).base)
  end)

  it("has a rule for all that no other is about", function()
    local g = graph { {}, { 1 }, { kind = "Strange", 2 }, { kind = "MatMul:transpose_a", 1, 3 },
      { kind = "ApplyAdam", 4 } }
    local rules = { { kind = "*", batch = "any" } }
    local a = berth.deploy.analyse(g,
      { rules = rules, ops = { { op = 1, role = "input", batch = "always" } } })
    assert.same({ true, true, true, false, false }, a.batch)
    assert.same({ 1, 2, 3, 4, 4 }, a.base)
  end)

  it("trusts flags where there are some, and the caller more", function()
    local g = graph { { kind = "Placeholder", batch = true }, { kind = "Strange", batch = true, 1 },
      { kind = "Relu", 2 } }
    assert.same({ true, true, false }, berth.deploy.analyse(g).batch)
    assert.same({ true, true, false }, berth.deploy.analyse(g, { flags = "graph" }).batch)
    assert.same({ true, false, false }, berth.deploy.analyse(g, { flags = "rules" }).batch)
    assert.same({ true, true, true },
      berth.deploy.analyse(g, { ops = { { op = 3, batch = "first" } } }).batch)
    assert.same({ 1, 2, 3 }, berth.deploy.analyse(g).base)
  end)

  it("finds the batch where nothing is of an input kind", function()
    local g = graph { { batch = true }, { 1, batch = true }, {}, { 2, 3, gradient = true },
      { 4, update = true } }
    local a = berth.deploy.analyse(g)
    assert.same({ 1, 2, 4, 5 }, marked(a.from_input))
    assert.same({ 4 }, marked(a.gradient))
    assert.same({ 1, 2, 3, 4, 4 }, a.base)
    assert.same(5, #a.graph)
  end)

  it("does not join by control dependencies", function()
    local g = graph { { kind = "Placeholder" }, { kind = "Strange", bytes = 0, 1 },
      { kind = "Relu", 1, 2 } }
    assert.same({ 1, 1, 2 }, berth.deploy.analyse(g).base)
  end)

  it("joins colocation groups", function()
    local g = graph { { kind = "Placeholder" }, { kind = "Relu", group = 1, 1 },
      { kind = "Relu", 2 },
      { kind = "Relu", group = 1, 3 } }
    assert.same({ 1, 2, 3, 2 }, berth.deploy.analyse(g).base)
  end)

  it("refuses graphs with collectives, and rules without sense", function()
    local g = assert(berth.graph { ops = { {}, {} },
      collectives = { { kind = "allreduce", bytes = 4, members = { 1, 2 } } } })
    refused("unsupported", "the graph has 1 collectives: it is deployed already",
      berth.deploy.analyse(g))
    g = graph { {} }
    assert.has_error(function() berth.deploy.analyse(g, { rules = { { batch = "first" } } }) end)
    assert.has_error(function() berth.deploy.analyse(g, { ops = { { op = 2 } } }) end)
    assert.has_error(function() berth.deploy.analyse(g,
      { rules = { { kind = "a", batch = "second" } } }) end)
    assert.has_error(function() berth.deploy.analyse(g, { flag = "rules" }) end)
  end)

  it("lists the table of rules, each kind once", function()
    local seen = {}
    for _, r in ipairs(berth.deploy.rules()) do
      assert.is_nil(seen[r.kind], r.kind)
      seen[r.kind] = r
    end
    assert.same({ kind = "MatMul", role = "compute", batch = "first", outputs = "first" },
      seen.MatMul)
    assert.same("never", seen["MatMul:transpose_a"].batch)
  end)
end)

-- ---- the published analyser once more, on lists ---------------------------

local table_of = {}
for _, r in ipairs(berth.deploy.rules()) do table_of[r.kind] = r end

local function is_control(t) return t.bytes == 0 and not t.batch and not t.gradient end

local function any(list, f)
  for _, x in ipairs(list) do
    if f(x) then return true end
  end
  return false
end

local function inputs_of(g, i)
  local list = {}
  for _, k in ipairs(g:inputs(i)) do
    local t = g:tensor(k)
    if not is_control(t) then list[#list + 1] = t end
  end
  return list
end

local function outputs_of(g, i)
  local list = {}
  for _, k in ipairs(g:outputs(i)) do
    if not is_control(g:tensor(k)) then list[#list + 1] = g:tensor(k) end
  end
  return list
end

-- Flags and marks in one pass; the first input is the first that is marked.
local function naive_marks(g, rule)
  local batch, from = {}, {}
  for k = 1, g.n_tensors do batch[k] = false end
  for _, i in ipairs(g:topo_order()) do
    local ins, marked_ins, r, yes = inputs_of(g, i), {}, rule[i], false
    for _, t in ipairs(ins) do
      if from[t.from] then marked_ins[#marked_ins + 1] = t end
    end
    if r.batch == "always" then yes = true
    elseif r.batch == "first" then yes = #marked_ins > 0 and batch[marked_ins[1].id]
    elseif r.batch == "any" then yes = any(ins, function(t) return batch[t.id] end) end
    for n, t in ipairs(outputs_of(g, i)) do batch[t.id] = yes and (n == 1 or r.outputs == "all") end
    local source = #ins == 0 and any(outputs_of(g, i), function(t) return batch[t.id] end)
    from[i] = r.role == "input" or source or #marked_ins > 0
  end
  for _, role in ipairs { "update", "scatter" } do
    for i = 1, #g do
      for _, t in ipairs(rule[i].role == role and inputs_of(g, i) or {}) do
        if from[t.from] then batch[t.id] = role == "scatter" end
      end
    end
  end
  return batch, from
end

-- Groups are lists; merging renames the ops of one.
local function naive_base(g, rule, batch, from)
  local group, writes, free = {}, { update = true, scatter = true, assign = true }, #g
  local function join(i, other)
    local old = group[i]
    group[i] = other
    for v = 1, #g do
      if old and group[v] == old then group[v] = other end
    end
  end
  for i = 1, #g do
    if writes[rule[i].role] then
      group[i] = group[i] or i
      for _, k in ipairs(g:inputs(i)) do
        local u = g:tensor(k).from
        if rule[u].role == "variable" then
          if group[u] then join(i, group[u]) else group[u] = group[i] end
        end
      end
    end
  end
  for _, i in ipairs(g:topo_order()) do
    if from[i] then
      for _, t in ipairs(inputs_of(g, i)) do
        if group[t.from] and (not batch[t.id] or rule[i].unknown) then join(i, group[t.from]) end
      end
      group[i] = group[i] or i
    end
  end
  for i = 1, #g do group[i] = group[i] or i + free end
  for a = 1, #g do
    for b = 1, a - 1 do
      if g:op(a).group and g:op(a).group == g:op(b).group then join(a, group[b]) end
    end
  end
  local number, n, base = {}, 0, {}
  for i = 1, #g do
    if not number[group[i]] then
      n = n + 1
      number[group[i]] = n
    end
    base[i] = number[group[i]]
  end
  return base
end

local function naive(g)
  local rule, a = {}, {}
  for i = 1, #g do
    local r = table_of[g:op(i).kind] or { role = "compute", batch = "never", unknown = true }
    local role = r.role == "compute" and g:op(i).update and "update" or r.role
    rule[i] = { role = role, batch = r.batch, outputs = r.outputs, unknown = r.unknown }
  end
  a.batch, a.from_input = naive_marks(g, rule)
  a.base = naive_base(g, rule, a.batch, a.from_input)
  return a
end

local KINDS = { "Placeholder", "VariableV2", "VariableV2", "Const", "Conv2D", "Relu", "Relu", "Add",
  "Mul", "MatMul", "MatMul",
  "MatMul:transpose_a", "Strange", "ApplyAdam", "ApplyGradientDescent", "ScatterSub", "Assign",
  "lstm", "matmul_grad", "input",
  "Identity", "Identity" }
local READS = { Placeholder = 0, VariableV2 = 0, Const = 0, input = 0, Relu = 1, Identity = 1 }

local function random_graph(rng)
  local list, n = {}, 3 + rng:below(25)
  for i = 1, n do
    local kind = KINDS[rng:below(#KINDS)]
    local item = { kind = kind, outputs = rng:below(2), bytes = (rng:below(8) - 1) * 4,
      update = rng:below(20) == 1,
      group = rng:below(5) == 1 and rng:below(4) or nil,
      seconds = rng:below(9) }
    local seen = {}
    for _ = 1, i > 1 and (READS[kind] or rng:below(4)) or 0 do
      local u = rng:below(i - 1)
      if not seen[u] then item[#item + 1] = { u, rng:below(list[u].outputs) } end
      seen[u] = true
    end
    list[i] = item
  end
  return graph(list)
end

-- Every tensor between two base groups has the batch, or does not depend on it.
local function check_crossing(g, a)
  for k = 1, g.n_tensors do
    local t = g:tensor(k)
    for _, to in ipairs(t.to) do
      local apart = a.base[t.from] ~= a.base[to] and not is_control(t)
      if apart and not a.batch[k] and a.from_input[t.from] then return false, k end
    end
  end
  return true
end

describe("the analysis of random graphs", function()
  it("is what lists of ops and section 3 of the publication give", function()
    local rng = berth.rng(8)
    for case = 1, 300 do
      local g = random_graph(rng)
      local a, want = berth.deploy.analyse(g, { flags = "rules" }), naive(g)
      assert.same(want.batch, a.batch, "case " .. case)
      assert.same(want.from_input, a.from_input, "case " .. case)
      assert.same(want.base, a.base, "case " .. case)
      assert.is_true(check_crossing(g, a))
    end
  end)
end)

describe("the analysis of berth's models", function()
  for _, name in ipairs { "vgg16", "resnet18", "inception_v3", "transformer", "bert-base", "gnmt",
    "llama-7b" } do
    it("finds the same by rules as by flags: " .. name, function()
      local o = ({ gnmt = { steps_per_op = 25 }, ["llama-7b"] = { layers = 2 },
        transformer = { layers = 2 } })[name]
      local g = berth.models[name](o)
      local a, r = berth.deploy.analyse(g), berth.deploy.analyse(g, { flags = "rules" })
      for _, key in ipairs { "batch", "role", "from_input", "base" } do
        assert.same(a[key], r[key])
      end
      assert.is_true(check_crossing(g, a))
      assert.is_true(a.counts.base > a.counts.update and a.counts.base < #g)
      assert.same(#g, a.counts.from_input)
    end)
  end

  it("is the same of a graph that comes from a file", function()
    for _, g in ipairs { berth.models.vgg11(), small_network() } do
      local a, b = berth.deploy.analyse(g), berth.deploy.analyse(assert(berth.parse(g:to_string())))
      for _, key in ipairs { "batch", "gradient", "role", "from_input", "base" } do
        assert.same(a[key], b[key])
      end
    end
  end)

  it("concatenates the gradients of embeddings that come by rows", function()
    local g = berth.models["bert-base"] { layers = 1, embedding_gradients = "rows" }
    local a, r = berth.deploy.analyse(g), berth.deploy.analyse(g, { flags = "rules" })
    assert.same(a.batch, r.batch)
    assert.is_true(a.counts.scatter > 0)
    for k = 1, g.n_tensors do
      local t = g:tensor(k)
      if t.gradient then assert.same(t.batch and "scatter" or "update", a.role[t.to[1]]) end
    end
  end)

  it("holds for coarse graphs, whose kinds say little", function()
    for _, granularity in ipairs { "layer", "block" } do
      local g = berth.models.resnet50 { granularity = granularity }
      local a = berth.deploy.analyse(g)
      assert.is_true(check_crossing(g, a))
      assert.same(a.counts.gradient, a.counts.tensors - a.counts.batch)
      assert.is_true(a.counts.base > 10)
    end
  end)
end)

-- ---- simplification -------------------------------------------------------

local function names(g)
  local list = {}
  for op in g:ops() do list[#list + 1] = op.name end
  return table.concat(list, " ")
end

describe("berth.deploy.simplify", function()
  it("drops what no update needs, and passes on what Identity reads", function()
    local g = graph {
      { name = "x", kind = "Placeholder", seconds = 0 },
      { name = "w", kind = "VariableV2", seconds = 0 },
      { name = "read", kind = "Identity", seconds = 1, 2 },
      { name = "mul", kind = "MatMul", seconds = 4, 1, 3 },
      { name = "relu", kind = "Relu", seconds = 2, 4 },
      { name = "summary", kind = "Mean", seconds = 7, 5 },
      { name = "grad", kind = "MatMul:transpose_a", seconds = 3, 1, 5 },
      { name = "apply", kind = "ApplyGradientDescent", seconds = 1, 2, 7 },
    }
    local s, map = assert(berth.deploy.simplify(g))
    assert.same("x w mul grad apply", names(s))
    assert.same({ 1, 2, 2, 3, 3, false, 4, 5 }, map)
    assert.same({ 0, 1, 6, 3, 1 },
      { s:op(1).seconds, s:op(2).seconds, s:op(3).seconds, s:op(4).seconds, s:op(5).seconds })
    assert.same({ 1, 2 }, s:predecessors(3))   -- in the order of the inputs of mul
    assert.same({ 1, 3 }, s:predecessors(4))
    assert.same({ 2, 4 }, s:predecessors(5))
    assert.same(5, s.n_tensors)                -- what mul made for relu is gone
  end)

  it("counts an Identity with what its parent joins", function()
    local g = graph { { kind = "Placeholder", seconds = 1 }, { kind = "Conv2D", seconds = 1, 1 },
      { kind = "Relu", seconds = 1, 2 }, { kind = "Identity", seconds = 1, 3 },
      { kind = "MatMul", seconds = 1, 4 } }
    local s, map = berth.deploy.simplify(g)
    assert.same({ 1, 2, 2, 2, 3 }, map)
    assert.same(3, math.floor(s:op(2).seconds))
    assert.same({ 2 }, s:predecessors(3))
  end)

  it("leaves an activation whose parent has other readers", function()
    local g = graph { { kind = "Placeholder" }, { kind = "BiasAdd", 1 }, { kind = "Relu", 2 },
      { kind = "Tanh", 3 },
      { kind = "Add", 2, 4 } }
    local s, map = berth.deploy.simplify(g)
    assert.same({ 1, 2, 3, 3, 4 }, map)
    assert.same(4, #s)
  end)

  it("joins only the deepest parent, and none that leads around", function()
    -- 2 -> 3 -> 4 and 2 -> 4: 4 may join 3, not 2
    local g = graph { { kind = "Placeholder" }, { kind = "a", 1 }, { kind = "a", 2 },
      { kind = "cheap", 2, 3 },
      { kind = "cheap", 1, 4 } }
    local _, map = berth.deploy.simplify(g, { kinds = { "cheap" } })
    assert.same({ 1, 2, 3, 3, 3 }, map)
  end)

  it("takes control dependencies for needs, then forgets them", function()
    local list = {
      { name = "a", kind = "Placeholder" }, { name = "b", kind = "Mean", bytes = 0, 1 },
      { name = "c", kind = "Relu", 1, 2 },
      { name = "up", kind = "ApplyGradientDescent", bytes = 0, 3 },
      { name = "train", kind = "NoOp", bytes = 0, 4 },
      { name = "late", kind = "Relu", 5 },
    }
    local g = graph(list)
    local s, map = berth.deploy.simplify(g, { sinks = { 5 } })
    assert.same("a b c up", names(s))
    assert.same({ 1, 2, 3, 4, false, false }, map)
    assert.same({ 1 }, s:predecessors(3))
    s = berth.deploy.simplify(g, { sinks = { 5 }, control = true })
    assert.same("a b c up train", names(s))
    assert.same({ 1, 2 }, s:predecessors(3))
  end)

  it("keeps apart what differs in pin, group, pass, or has its time in another way", function()
    local function joined(a, b)
      local _, map = berth.deploy.simplify(graph { { kind = "Placeholder" }, a, b })
      return map[2] == map[3]
    end
    assert.is_true(joined({ kind = "Conv2D", 1 }, { kind = "Relu", 2 }))
    assert.is_false(joined({ kind = "Conv2D", pin = 1, 1 }, { kind = "Relu", pin = 2, 2 }))
    assert.is_true(joined({ kind = "Conv2D", 1 }, { kind = "Relu", pin = 2, 2 }))
    assert.is_false(joined({ kind = "Conv2D", group = 1, 1 }, { kind = "Relu", group = 2, 2 }))
    assert.is_false(joined({ kind = "Conv2D", 1 }, { kind = "Relu", backward = true, 2 }))
    assert.is_false(joined({ kind = "Conv2D", seconds = 1, 1 }, { kind = "Relu", flop = 8, 2 }))
    assert.is_false(joined({ kind = "Conv2D", flop = 1, 1 }, { kind = "Relu", seconds = 3, 2 }))
  end)

  local function total(g, t)
    local cost, sum = assert(berth.cost(g, t)), {}
    for d = 1, #t do
      sum[d] = 0
      for i = 1, #g do sum[d] = sum[d] + cost:op(i, d) end
    end
    return sum
  end

  it("keeps all times with a cost, on each type of device", function()
    local t = berth.topology { devices = {
      { type = "fast", flops = "10 TFLOP/s", memory_bandwidth = "100 GB/s", overhead = "5 us" },
      { type = "slow", flops = "1 TFLOP/s", memory_bandwidth = "200 GB/s" } },
      links = { { 1, 2, bandwidth = "10 GB/s" } } }
    for _, name in ipairs { "resnet18", "transformer" } do
      local g = berth.models[name](name == "transformer" and { layers = 1 } or nil)
      local cost = assert(berth.cost(g, t))
      local s, map = assert(berth.deploy.simplify(g, { cheap = 0.01, cost = cost }))
      assert.is_true(#s < 0.8 * #g)
      assert.same(#g, #map)
      local before, after = total(g, t), total(s, t)
      for d = 1, 2 do assert.near(1, after[d] / before[d], 1e-12) end
      local plain =
        total(assert(berth.deploy.simplify(g, { cheap = 0.01, cost = cost, kinds = {} })), t)
      for d = 1, 2 do assert.near(1, plain[d] / before[d], 1e-12) end
      local flop, moved, params = 0, 0, 0
      for op in g:ops() do
        flop, moved, params = flop + op.flop, moved + op.bytes, params + op.params
      end
      for op in s:ops() do
        flop, moved, params = flop - op.flop, moved - op.bytes, params - op.params
      end
      assert.near(0, flop, 1)
      assert.near(0, moved, 1)
      assert.near(0, params, 1)
      assert.is_true(check_crossing(s, berth.deploy.analyse(s)))
    end
  end)

  it("gives acyclic graphs that keep times and all paths, whatever it may join", function()
    local rng = berth.rng(3)
    for _ = 1, 200 do
      local g = random_graph(rng)
      local kinds, sinks = {}, { rng:below(#g) }
      for k = 1, 4 do kinds[k] = KINDS[4 + rng:below(9)] end
      kinds[5] = "lstm"
      local s, map = assert(berth.deploy.simplify(g,
        { kinds = kinds, sinks = sinks, control = rng:below(2) == 1 }))
      assert.is_true(#s <= #g)
      local seconds = 0
      for i = 1, #g do
        assert.same(g:reachable(i, sinks[1]) and true or false, map[i] and true or false)
        seconds = seconds + (map[i] and g:op(i).seconds or 0)
      end
      for op in s:ops() do seconds = seconds - op.seconds end
      assert.same(0, math.floor(seconds))
      for k = 1, g.n_tensors do
        local t = g:tensor(k)
        for _, to in ipairs(t.to) do
          local a, b = map[t.from], map[to]
          if a and b and a ~= b and not is_control(t) then assert.is_true(s:reachable(a, b)) end
        end
      end
    end
  end)

  it("refuses what it cannot price or has been deployed", function()
    local g = graph { { kind = "Placeholder", flop = 1 }, { kind = "Conv2D", flop = 1, 1 },
      { kind = "Relu", flop = 4, 2 } }
    local t = berth.topology { devices = { { type = "a", flops = 1 }, { flops = 1 } },
      links = { { 1, 2, bandwidth = 1 } } }
    local cost = assert(berth.cost(g, t))
    local s, message, code = berth.deploy.simplify(g, { cost = cost })
    assert.same({ "some types of devices have a name and some have none", "unsupported" },
      { message, code })
    assert.is_nil(s)
    assert.has_error(function() berth.deploy.simplify(graph { {} }, { cost = cost }) end,
      "berth.deploy.simplify: the cost is of another graph")
    g = assert(berth.graph { ops = { {}, {} },
      collectives = { { kind = "allreduce", bytes = 4, members = { 1, 2 } } } })
    assert.same("unsupported", select(3, berth.deploy.simplify(g)))
  end)

  it("leaves types and profiles as they are where nothing is priced", function()
    local g = assert(berth.graph { types = { "a", "b" },
      ops = { { kind = "Placeholder", seconds = { 1, 2 } },
      { kind = "Conv2D", seconds = { 3, math.huge } }, { kind = "Relu", seconds = { 5, 6 } } },
      edges = { { 1, 2, 4 }, { 2, 3, 4 } } })
    local s = assert(berth.deploy.simplify(g))
    assert.same({ "a", "b" }, s.types)
    assert.same({ 1, 2 }, s:op(1).seconds)
    assert.same({ 8, math.huge }, s:op(2).seconds)
  end)

  it("refuses a share that is none, and cheapness without times", function()
    local g = graph { { kind = "Placeholder" }, { kind = "Relu", flop = 4, name = "r", 1 } }
    assert.has_error(function() berth.deploy.simplify(g, { cheap = 2 }) end,
      "berth.deploy.simplify: cheap: 2 is out of range 0 to 1")
    assert.has_error(function() berth.deploy.simplify(g, { cheap = 0.5 }) end,
      'berth.deploy.simplify: option cheap needs times, and op 2 "r" has none: give a cost')
  end)
end)
