-- Memory against the published formulas, and against counts by hand.
local berth = require "berth"
local llm = berth.llm

local function near(expected, got) assert.near(1, got / expected, 1e-12) end

-- Korthikanti et al. 2022, table 3: heads, width, layers, tp, pp, chunks, micro-batch.
local GPT = {
  { 64, 6144, 48, 8, 1, 1, 4 },     -- 22B
  { 96, 12288, 96, 8, 8, 3, 1 },    -- 175B
  { 128, 20480, 105, 8, 35, 3, 1 }, -- 530B
  { 160, 25600, 128, 8, 64, 1, 1 }, -- 1T
}
local S, V = 2048, 51200

local function gpt(g)
  return llm.model { layers = g[3], hidden = g[2], heads = g[1], vocab = V, gated = false,
    tied = true, qkv_bias = true, out_bias = true, mlp_bias = true, norm_bias = true,
    positions = S }
end

local function plan(g, changes)
  local p = { tp = g[4], pp = g[5], vp = g[6], dp = 1, micro_batch = g[7], seq = S, zero = 0,
    flash = false, dropout = true, sequence_parallel = "off", global_batch = 8 * g[5] * g[7] }
  for key, value in pairs(changes) do p[key] = value end
  return p
end

local function cluster(g) return llm.cluster(("%dxA100-80GB"):format(g[4] * g[5])) end

describe("activations of a layer", function()
  for _, g in ipairs(GPT) do
    local a, h, t = g[1], g[2], g[4]
    local sbh = S * g[7] * h
    local score = 5 * a * S / h
    local model = gpt(g)

    local function stored(changes)
      return (llm.layer_memory(model, cluster(g), plan(g, changes)))
    end

    it(("are those of the formulas at width %d"):format(h), function()
      near(sbh * (10 + 24 / t + score / t), stored {})
      near(sbh / t * (34 + score), stored { sequence_parallel = "on" })
      near(sbh * (10 + 24 / t), stored { recompute = "selective" })
      near(sbh / t * 34, stored { sequence_parallel = "on", recompute = "selective" })
      near(2 * sbh, stored { recompute = "full" })
    end)

    it(("are stored for as many micro-batches as published at width %d"):format(h), function()
      local r = llm.memory(model, cluster(g), plan(g, {}))
      -- without chunks: a micro-batch for each stage, so all layers
      near(g[3] * (g[6] > 1 and 1 + (g[5] - 1) / (g[5] * g[6]) or 1), r[1].in_flight)
      near(r[1].in_flight * stored {}, r[1].activations)
    end)

    it(("stand beside 18 bytes a parameter at width %d"):format(h), function()
      local r, matrices = llm.memory(model, cluster(g), plan(g, {})), 0
      for _, w in ipairs(model.kinds[1].weights) do
        if w.rows > 1 then matrices = matrices + w.parameters end
      end
      near(12 * h * h, matrices)
      local sum, count = 0, 0
      for _, s in ipairs(r) do sum = sum + s.weights + s.gradients + s.optimizer end
      -- vectors that tp does not split, and the tables, besides
      for _, w in ipairs(model.kinds[1].weights) do
        count = count + g[3] * w.parameters / (w.shard == "whole" and 1 or t)
      end
      local ends = (g[5] > 1 and 2 or 1) * V * h / t + S * h + 2 * h
      near(18 * (count + ends), sum)
    end)
  end

  it("have no scores with flash attention, and no masks without dropout", function()
    local g = GPT[1]
    local sbh = S * g[7] * g[2]
    local sums = 4 * g[1] * S * g[7] / 8 -- a logarithm for each head and token
    near(sbh * (8 + 24 / 8) + sums, (llm.layer_memory(gpt(g), cluster(g),
      plan(g, { flash = true, dropout = false }))))
  end)

  it("count what gated MLPs, few keys and experts store", function()
    -- width 8, two heads of 4, one of keys and values; one token
    local p = { seq = 1, flash = false }
    local shapes = { layers = 1, hidden = 8, heads = 2, kv_heads = 1, ffn = 10, vocab = 4 }
    -- inputs of two norms, of attention and MLP; q, k, v, output; gate, up, product; 2 bytes each,
    -- and 2 heads x 1 score x 2 bytes
    local dense = 2 * (2 * 8 + 8 + 8 + 8 + 4 + 4 + 8 + 3 * 10) + 4
    near(dense, (llm.layer_memory(llm.model(shapes), llm.cluster "1xA100", p)))
    shapes.experts, shapes.top, shapes.expert_ffn = 4, 2, 6
    -- logits and probabilities of 4 experts in FP32; to each of 2 experts a token and back
    local moe = 2 * (2 * 8 + 8 + 8 + 8 + 4 + 4 + 8) + 4 + 2 * 4 * 4 + 2 * 2 * (8 + 8 + 3 * 6)
    near(moe, (llm.layer_memory(llm.model(shapes), llm.cluster "1xA100", p)))
  end)
end)

describe("memory of a stage", function()
  local shapes = { layers = 8, hidden = 64, heads = 8, ffn = 256, vocab = 128 }
  local model = llm.model(shapes)
  local layer = model.kinds[1].parameters

  local function memory(cluster_text, opts, what) return llm.memory(what or model, cluster_text, opts) end

  it("is sharded by the ZeRO stages", function()
    local all = model.parameters
    local function check(zero, weights, gradients, optimizer)
      local s = memory("8xA100", { zero = zero })[1]
      near(weights * all, s.weights)
      near(gradients * all, s.gradients)
      near(optimizer * all, s.optimizer)
      return s
    end
    check(0, 2, 4, 12)
    check(1, 2, 4, 12 / 8)
    check(2, 2, 4 / 8, 12 / 8)
    local s = check(3, 2 / 8, 4 / 8, 12 / 8)
    -- two layers in BF16, what is outside the layers, the gradient of a layer in FP32
    near(2 * (2 * layer + all - 8 * layer) + 4 * layer, s.buffers)
    s = memory("8xA100", { framework = "fsdp" })[1]
    near(16 * all / 8, s.weights + s.gradients + s.optimizer)
  end)

  it("has gradients and states of adapters alone", function()
    local s = memory("1xA100", { training = "lora", lora_rank = 2 })[1]
    local adapters = 8 * 2 * (4 * (64 + 64) + 3 * (64 + 256))
    near(2 * (model.parameters + adapters), s.weights)
    near(4 * adapters, s.gradients)
    near(12 * adapters, s.optimizer)
    local buffers = memory("8xA100", { zero = 3 })[1].buffers
    s = memory("8xA100", { zero = 3, training = "lora", lora_rank = 2 })[1]
    -- two of eight layers with their adapters; the gradient of a layer is theirs
    near(buffers + 2 * 2 * adapters / 8 + 4 * (adapters / 8 - layer), s.buffers)
  end)

  it("has experts by ep, which data parallelism shards less", function()
    local moe = llm.model { layers = 1, hidden = 64, heads = 8, ffn = 256, vocab = 128,
      experts = 8, top = 2, expert_ffn = 32 }
    local experts = 8 * 3 * 64 * 32
    local s = memory("8xA100", { ep = 4, zero = 1 }, moe)[1]
    near(2 * (moe.parameters - experts + experts / 4), s.weights)
    near(12 * ((moe.parameters - experts) / 8 + experts / 4 / 2), s.optimizer)
  end)

  it("holds micro-batches by the schedule", function()
    local function flights(schedule, m)
      local out = {}
      for i, s in ipairs(memory("4xA100", { pp = 4, schedule = schedule, global_batch = m })) do
        out[i] = s.in_flight / 2
      end
      return out
    end
    assert.same({ 4, 3, 2, 1 }, flights("1f1b", 8))
    assert.same({ 2, 2, 2, 1 }, flights("1f1b", 2))
    assert.same({ 8, 8, 8, 8 }, flights("gpipe", 8))
    assert.same({ 4, 4, 4, 4 }, flights("zb-v", 8))
    -- as 1f1b, and half of each micro-batch whose W waits: one more each stage
    assert.same({ 4, 3.5, 3, 2.5 }, flights("zb-h1", 8))
    assert.same({ 2, 2, 2, 1.5 }, flights("zb-h1", 2))
    assert.same({ 4.5, 4.5, 4.5, 4.5 }, flights("dualpipev", 8))
    -- two chunks of a layer each: 4 + 2 (4 - s) - 1 forward passes before the first backward pass
    local r = memory("4xA100", { pp = 4, vp = 2, global_batch = 8 })
    assert.same({ 11, 9, 7, 5 }, { r[1].in_flight, r[2].in_flight, r[3].in_flight,
      r[4].in_flight })
    -- as many micro-batches as stages: all forward passes come first
    assert.equal(8, memory("4xA100", { pp = 4, vp = 2, global_batch = 4 })[4].in_flight)
  end)

  it("has the head in its last stage, a copy of the embedding where that is one matrix", function()
    local tied = llm.model { layers = 8, hidden = 64, heads = 8, ffn = 256, vocab = 128,
      tied = true }
    local r = memory("2xA100", { pp = 2, zero = 0 }, tied)
    near(2 * (4 * layer + 128 * 64), r[1].weights)
    near(2 * (4 * layer + 128 * 64 + 64), r[2].weights)
    assert.equal(0, r[1].logits)
    near(6 * 4096 * 128, r[2].logits)
    local function logits(opts) return memory("1xA100", opts)[1].logits / (4096 * 128) end
    assert.same({ 12, 4, 4 }, { logits { framework = "torchtitan" }, logits { framework = "fsdp" },
      logits { fused_loss = "on" } })
  end)

  it("splits layers that do not divide", function()
    local function layers(opts)
      local out = {}
      for i, s in ipairs(memory("3xA100", opts)) do out[i] = s.layers end
      return out
    end
    assert.same({ 2, 3, 3 }, layers { pp = 3 })
    assert.same({ 3, 3, 2 }, layers { pp = 3, framework = "deepspeed" })
    assert.same({ 1, 6, 1 }, layers { pp = 3, stages = { 1, 6, 1 } })
  end)

  it("is compared with the smallest GPU of the stage", function()
    local r = memory("1xA100-40GB+1xA100", { pp = 2 })
    assert.equal(40536 * 2 ^ 20, r[1].limit)
    assert.equal(81920 * 2 ^ 20, r[2].limit)
    assert.is_true(r.fits)
    assert.matches("^memory: stage 1 of 2 has most: .* of 42.5 GB %(.*%), fits\n", tostring(r))
    local big = memory("1xA100-40GB", { runtime = "39.6 GiB", seq = 1 })
    assert.is_false(big.fits)
    assert.matches("lacks", tostring(big))
    assert.matches("slow down above 90 %%",
      tostring(memory("1xA100-40GB", { runtime = "38 GiB", seq = 1 })))
  end)
end)
