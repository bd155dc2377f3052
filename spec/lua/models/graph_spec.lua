-- What the graphs of models are made of, from the plain descriptions.
local models = require "berth.models"

local TRAINED = {
  { "resnet18", {} }, { "vgg11", {} }, { "inception_v3", {} }, { "transformer", {} },
  { "bert-base", { head = "pretraining" } },
  { "resnet", { version = 2 } }, { "rnnlm", { seq = 4 } },
  { "transformer", { tied = false, embedding_gradients = "rows" } },
  { "bert-base", { head = "span", embedding_gradients = "rows" } },
  { "random", { seed = 4, granularity = "op" } },
  { "random", { seed = 5, granularity = "op" } },
  { "llama-7b", { layers = 2, seq = 64 } }, { "gnmt", { seq = 6 } },
  { "bert-base", { head = "none", attention = "fused" } },
}

local function with(options, more)
  local out = { batch = 2 }
  for key, value in pairs(options) do out[key] = value end
  for key, value in pairs(more or {}) do out[key] = value end
  return out
end

local variants -- of all models, described once

local function describe_variants()
  variants = {}
  for _, row in ipairs(TRAINED) do
    for _, granularity in ipairs { "op", "layer", "block" } do
      for _, training in ipairs { true, false } do
        local g = models.describe(row[1],
          with(row[2], { granularity = granularity, training = training }))
        variants[#variants + 1] = { g, row[1], granularity, training }
      end
    end
  end
end

local function each_variant(f)
  if not variants then describe_variants() end
  for _, v in ipairs(variants) do f(v[1], v[2], v[3], v[4]) end
end

local function readers(g)
  local out, waits = {}, {}
  for i = 1, #g.ops do out[i], waits[i] = {}, 0 end
  for _, t in ipairs(g.tensors) do
    for _, to in ipairs(t.to) do
      table.insert(out[t.from], to)
      waits[to] = waits[to] + 1
    end
  end
  return out, waits
end

local function count_sortable(g)
  local out, waits = readers(g)
  local queue, head = {}, 1
  for i = 1, #g.ops do if waits[i] == 0 then queue[#queue + 1] = i end end
  while head <= #queue do
    for _, to in ipairs(out[queue[head]]) do
      waits[to] = waits[to] - 1
      if waits[to] == 0 then queue[#queue + 1] = to end
    end
    head = head + 1
  end
  return #queue
end

local function sum(list, field, keep)
  local n = 0
  for _, x in ipairs(list) do
    if not keep or keep(x) then n = n + x[field] end
  end
  return n
end

local function find(g, name)
  for i, op in ipairs(g.ops) do
    if op.name == name then return op, i end
  end
  error("no op " .. name)
end

describe("models: graphs", function()
  it("are acyclic in every granularity", function()
    each_variant(function(g, name, granularity)
      assert.equal(#g.ops, count_sortable(g), name .. " " .. granularity)
    end)
  end)

  it("give every op its own name", function()
    each_variant(function(g, name)
      local seen = {}
      for _, op in ipairs(g.ops) do
        assert.is_nil(seen[op.name], name .. ": " .. op.name)
        seen[op.name] = true
      end
    end)
  end)

  it("pair twins, forward with backward", function()
    each_variant(function(g)
      for i, op in ipairs(g.ops) do
        if op.twin then
          assert.equal(i, g.ops[op.twin].twin)
          assert.not_equal(op.backward, g.ops[op.twin].backward)
        end
      end
    end)
  end)

  it("have no backward ops, updates, losses or gradients without training", function()
    each_variant(function(g, _, _, training)
      if training then return end
      for _, op in ipairs(g.ops) do
        assert.is_false(op.backward or op.update or op.kind == "loss")
      end
      for _, t in ipairs(g.tensors) do assert.is_false(t.gradient) end
    end)
  end)

  it("keep FLOP, bytes and parameters when they are coarsened", function()
    for _, row in ipairs(TRAINED) do
      local fine = models.describe(row[1], with(row[2]))
      for _, granularity in ipairs { "layer", "block" } do
        local coarse = models.describe(row[1], with(row[2], { granularity = granularity }))
        assert.is_true(#coarse.ops < #fine.ops)
        for _, field in ipairs { "flop", "bytes", "params" } do
          assert.near(sum(fine.ops, field), sum(coarse.ops, field), 1e-9 * sum(fine.ops, field))
        end
      end
    end
  end)

  it("send every parameter's gradient to one update", function()
    for _, row in ipairs(TRAINED) do
      local g, about = models.describe(row[1], with(row[2]))
      local weights = sum(g.ops, "params", function(op) return not op.update end)
      assert.equal(about.parameter_bytes, weights)
      local state = about.options.dtype == 2 and 12 or 8
      assert.equal(about.parameters * state,
        sum(g.ops, "params", function(op) return op.update end))
      for _, t in ipairs(g.tensors) do
        if t.gradient then
          assert.equal(1, #t.to)
          assert.is_true(g.ops[t.to[1]].update)
        end
      end
    end
  end)

  it("do about twice the forward work on the way back", function()
    for _, row in ipairs(TRAINED) do
      local _, about = models.describe(row[1], with(row[2]))
      assert.near(2, about.flop_backward / about.flop_forward, 0.3, row[1])
    end
  end)

  it("are the same when made twice", function()
    for _, row in ipairs(TRAINED) do
      assert.same(models.describe(row[1], with(row[2])), models.describe(row[1], with(row[2])))
    end
  end)
end)

describe("models: one layer by hand", function()
  -- VGG-11, batch 2: conv1 is 3 -> 64 channels, 3 x 3, on 224 x 224
  local g = models.describe("vgg11", { batch = 2 })
  local pixels = 224 * 224

  it("counts a convolution", function()
    local op = find(g, "stage1.conv1")
    assert.equal("conv", op.kind)
    assert.equal(2 * 2 * 64 * pixels * 27, op.flop)
    assert.equal(4 * (27 * 64 + 64), op.params)
    assert.equal(4 * (2 * 3 * pixels + 2 * 64 * pixels + 27 * 64 + 64), op.bytes)
  end)

  it("gives the first layer no gradient of its input, and the second layer both", function()
    assert.has_error(function() find(g, "stage1.conv1/grad_input") end)
    assert.equal(find(g, "stage2.conv1").flop, find(g, "stage2.conv1/grad_input").flop)
    assert.equal(find(g, "stage2.conv1").flop, find(g, "stage2.conv1/grad_weight").flop)
  end)

  it("keeps all of a layer but its weight gradient on one device", function()
    local forward, update = find(g, "stage2.conv1"), find(g, "stage2.conv1/update")
    assert.is_not_nil(forward.group)
    assert.equal(forward.group, find(g, "stage2.conv1/grad_input").group)
    assert.equal(forward.group, update.group)
    assert.is_nil(find(g, "stage2.conv1/grad_weight").group)
    local tied = models.describe("vgg11", { colocate = "layer" })
    assert.equal(find(tied, "stage2.conv1").group, find(tied, "stage2.conv1/grad_weight").group)
    assert.equal(find(tied, "stage2.relu1").group, find(tied, "stage2.relu1/grad").group)
  end)

  it("gives the output of a convolution no memory when relu works in place", function()
    local _, conv = find(g, "stage1.conv1")
    local _, relu = find(g, "stage1.relu1")
    for _, t in ipairs(g.tensors) do
      if t.from == conv then assert.equal(0, t.resident) end
      if t.from == relu then assert.equal(t.bytes, t.resident) end
    end
  end)

  it("reads the saved activation in the weight gradient", function()
    local _, pool = find(g, "stage1.pool")
    local _, grad = find(g, "stage2.conv1/grad_weight")
    for _, t in ipairs(g.tensors) do
      if t.from == pool then
        local found = false
        for _, to in ipairs(t.to) do found = found or to == grad end
        assert.is_true(found)
      end
    end
  end)

  it("holds optimiser state where the optimiser needs it", function()
    local n = 27 * 64 + 64
    local function state(options)
      return find(models.describe("vgg11", options), "stage1.conv1/update").params
    end
    assert.equal(8 * n, state { optimizer = "adam" })
    assert.equal(4 * n, state { optimizer = "momentum" })
    assert.equal(0, state { optimizer = "sgd" })
    assert.equal(12 * n, state { optimizer = "adam", dtype = 2 })
  end)

  it("keeps gradients where they are made when there is no optimiser", function()
    local none = models.describe("vgg11", { optimizer = "none" })
    assert.equal(4 * (27 * 64 + 64), find(none, "stage1.conv1/grad_weight").params)
    for _, op in ipairs(none.ops) do assert.is_false(op.update) end
  end)
end)

describe("models: options", function()
  it("refuses unknown names and values, saying what is legal", function()
    assert.has_error(function() models.describe("resnet60") end,
      "berth.models: no model \"resnet60\" (legal: 35 names; berth models or "
        .. "berth.models.list() lists all; did you mean 'resnet50'?)")
    assert.error_matches(function() models.describe("resnet50", { bach = 3 }) end,
      "did you mean 'batch'")
    assert.error_matches(function() models.describe("resnet50", { batch = 0 }) end,
      "option batch is 0; a whole number")
    assert.error_matches(function() models.describe("resnet50", { batch = 0 / 0 }) end,
      "option batch is ")
    assert.error_matches(function() models.describe("resnet", { depth = 49 }) end,
      "option depth is 49; legal: 18, 34, 50, 101, 152")
    assert.error_matches(function() models.describe("bert", { heads = 7 }) end,
      "hidden = 768 is not a multiple of heads = 7")
    assert.error_matches(function() models.describe("bert", { seq = 600, positions = 512 }) end,
      "seq = 600 is more than")
    assert.error_matches(function() models.describe("vgg16", { image = 16 }) end,
      "smaller than the kernel")
    assert.error_matches(function() models.describe("vgg16", { dtype = 3 }) end,
      "dtype is 3; legal: bytes per number")
    assert.error_matches(function() models.describe("vgg16", 3) end,
      "a table of options is needed, not a number")
  end)

  it("blames the line outside berth", function()
    for _, call in ipairs {
      function() local g = models.bert { size = "huge" } return g end,
      function() local g = models.build("resnet51") return g end,
      function() local g = models.vgg { image = 8 } return g end,
    } do
      local _, text = pcall(call)
      assert.matches("^spec/lua/models/graph_spec.lua:%d+: berth%.models", text)
    end
  end)

  it("reports defaults, what they depend on, and what is legal", function()
    local names, about = models.options("bert-large")
    local by_name = {}
    for i, option in ipairs(about) do
      assert.equal(names[i], option.name)
      assert.is_true(option.default ~= nil or option.by ~= nil, option.name)
      by_name[option.name] = option
    end
    assert.equal("large", by_name.size.default)
    assert.same({ "base", "large" }, by_name.size.legal)
    assert.equal("512, or seq if that is more", by_name.positions.by)
    assert.same({ true, false }, by_name.training.legal)
    for _, name in ipairs(models.list()) do
      for _, option in ipairs(select(2, models.options(name))) do
        assert.is_true(option.default ~= nil or option.by ~= nil, name .. " " .. option.name)
      end
    end
  end)

  it("halves tensors at half the width of numbers", function()
    local wide, narrow = models.describe("resnet18", { batch = 2 }),
      models.describe("resnet18", { batch = 2, dtype = "bf16" })
    assert.equal(sum(wide.tensors, "bytes"), 2 * sum(narrow.tensors, "bytes"))
  end)

  it("name another network than their name says", function()
    assert.equal("vgg19", models.describe("vgg16", { depth = 19 }).name)
    assert.equal("vgg16", models.describe("vgg16", { depth = 16, classes = 10 }).name)
    for _, option in ipairs(select(2, models.options "vgg16")) do
      if option.name == "dtype" then assert.equal("fp32", option.default) end
    end
  end)

  it("saves memory by fused attention, at more work", function()
    local _, ops = models.describe("bert-base", { seq = 512 })
    local _, fused = models.describe("bert-base", { seq = 512, attention = "fused" })
    assert.is_true(fused.activation_bytes < ops.activation_bytes)
    assert.is_true(fused.flop_backward > ops.flop_backward)
  end)

  it("covers several time steps with one op", function()
    local fine = models.describe("gnmt", { seq = 8, batch = 2 })
    local coarse = models.describe("gnmt", { seq = 8, batch = 2, steps_per_op = 4 })
    assert.is_true(#coarse.ops < #fine.ops)
    local function forward(op) return not op.backward and not op.update end
    assert.near(sum(fine.ops, "flop", forward), sum(coarse.ops, "flop", forward), 1)
  end)

  it("draws as many layers as requested, of each family", function()
    for _, family in ipairs { "cnn", "mlp", "transformer" } do
      local options = { family = family, layers = 3, seed = 1, training = false }
      local g, found = models.describe("random", options), {}
      for _, op in ipairs(g.ops) do
        local layer = op.name:match("^layer(%d+)%f[%D]")
        if layer then found[tonumber(layer)] = true end
      end
      assert.same({ true, true, true }, found)
    end
  end)
end)
