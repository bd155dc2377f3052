-- The shapes of the zoo's ops: FLOP by them, and times by them against those of berth.llm.
local berth = require "berth"
local models = require "berth.models"

local function copies(s) return 2 * (s.copies or 1) * (s.gradients and 2 or 1) end

-- FLOP of an op beside its products: softmax in attention, gates in LSTMs.
local function rest(op)
  local s = op.shape
  if s.m then return op.flop - copies(s) * s.m * s.n * s.k end
  local scores = s.batch * s.heads * s.seq * s.seq
  return op.flop - (s.backward and 10 or 4) * scores * s.head_size
end

local function options(name, more)
  local o = { batch = 2 }
  if name:find "llama" then o.layers, o.seq = 2, 64 end
  if name:find "gnmt" or name:find "rnnlm" then o.seq = 5 end
  for key, value in pairs(more or {}) do o[key] = value end
  return o
end

local function has_attention(name)
  return name:find "llama" or name:find "bert" or name:find "transformer"
end

describe("shapes of the zoo", function()
  it("give the FLOP of their ops: to the last one, but for softmax and gates", function()
    for _, name in ipairs(models.list()) do
      for _, more in ipairs { {}, has_attention(name) and { attention = "fused" } or nil } do
        local g = models.describe(name, options(name, more))
        local flop, shaped = 0, 0
        for _, op in ipairs(g.ops) do
          if not op.update then flop = flop + op.flop end
          if op.shape then
            shaped = shaped + op.flop
            local left = rest(op)
            if op.kind:find "^attention" or op.kind:find "^lstm" then
              assert.is_true(left > 0 and left < 0.1 * op.flop, name .. " " .. op.name)
            else
              assert.equal(0, left, name .. " " .. op.name)
            end
          end
        end
        assert.is_true(shaped > 0.9 * flop, name)
      end
    end
  end)

  it("are those of products, convolutions and attention, forward and backward", function()
    local g = models.build("resnet18", { batch = 4 })
    local function shape(graph, name) return graph:op(assert(graph:find(name), name)).shape end
    -- 128 channels of 28 x 28 from 64 of 56 x 56, windows of 3 x 3
    local pixels = 4 * 28 * 28
    local forward = { m = pixels, n = 128, k = 64 * 9 }
    assert.same(forward, shape(g, "layer2.0.conv1"))
    assert.same({ m = pixels, n = 64, k = 128 * 9 }, shape(g, "layer2.0.conv1/grad_input"))
    assert.same({ m = 64 * 9, n = 128, k = pixels }, shape(g, "layer2.0.conv1/grad_weight"))
    assert.is_nil(shape(g, "layer2.0.bn1"))
    local l = models.build("llama-3-8b", { layers = 1, seq = 512 })
    assert.same({ m = 512, n = 14336, k = 4096 }, shape(l, "layer1.gate"))
    local scores = { m = 512, n = 512, k = 128, copies = 32 }
    assert.same(scores, shape(l, "layer1.self.scores"))
    scores.gradients = true
    assert.same(scores, shape(l, "layer1.self.scores/grad"))
    l = models.build("llama-3-8b", { layers = 1, seq = 512, attention = "fused" })
    local flash = { batch = 1, seq = 512, heads = 32, kv_heads = 8, head_size = 128 } -- causal
    assert.same(flash, shape(l, "layer1.self.attention"))
    flash.backward = true
    assert.same(flash, shape(l, "layer1.self.attention/grad"))
    local t = models.build("transformer", { layers = 1, attention = "fused", target_seq = 64 })
    assert.is_true(shape(t, "encoder1.self.attention").full)
    assert.is_nil(shape(t, "decoder1.self.attention").full)
    assert.is_nil(shape(t, "decoder1.cross.attention")) -- more keys than queries
    local steps = models.build("rnnlm", { seq = 4, batch = 8 })
    assert.same({ m = 8, n = 2600, k = 1300 }, shape(steps, "layer1.lstm.step2"))
    assert.same({ m = 8, n = 1300, k = 2600 }, shape(steps, "layer1.lstm.step2/grad"))
    assert.same({ m = 1300, n = 2600, k = 32 }, shape(steps, "layer1.lstm/grad_weight"))
  end)

  it("stay where a coarse op has one op with FLOP, and leave the others", function()
    local g = models.build("llama-7b", { layers = 2, seq = 64, granularity = "layer" })
    assert.is_truthy(g:op(g:find "layer1.self.v").shape)
    assert.is_nil(g:op(g:find "layer1.self.v/backward").shape) -- two products
    assert.is_true(g.n_shapes < models.build("llama-7b", { layers = 2, seq = 64 }).n_shapes)
  end)
end)

describe("times of the zoo by shape", function()
  local SIZE = { layers = 2, hidden = 4096, heads = 32, kv_heads = 8, ffn = 14336, vocab = 32000 }
  local SEQ = 2048

  -- Products of the same input are one kernel in berth.llm: q, k and v; gate and up.
  local function merged(g, prefix)
    local by = {}
    for _, names in ipairs { { "self.q", "self.k", "self.v" }, { "self.out" }, { "gate", "up" },
        { "down" } } do
      local all
      for _, name in ipairs(names) do
        local s = g:op(assert(g:find(prefix .. name))).shape
        all = all or { m = s.m, n = 0, k = s.k }
        assert(all.m == s.m and all.k == s.k)
        all.n = all.n + s.n
      end
      by[#by + 1] = all
    end
    return by
  end

  it("of products are those of berth.llm", function()
    local g = models.build("llama", { layers = 2, hidden = 4096, heads = 32, kv_heads = 8,
      ffn = 14336, vocab = 32000, seq = SEQ })
    local k, zoo = berth.kernels("H100", "bf16"), 0
    for layer = 1, 2 do
      for _, s in ipairs(merged(g, ("layer%d."):format(layer))) do
        zoo = zoo + k:shape(s) + k:shape { m = s.m, n = s.n, k = s.k, gradients = true }
      end
    end
    for _, name in ipairs { "", "/grad_input", "/grad_weight" } do
      zoo = zoo + k:shape(g:op(assert(g:find("head.logits" .. name))).shape)
    end
    local e = assert(berth.llm.estimate(SIZE, "1xH100", { seq = SEQ, global_batch = 1,
      recompute = "none" }, { products = 1 }))
    assert.near(1, e.time.products / zoo, 1e-12)
  end)
end)
