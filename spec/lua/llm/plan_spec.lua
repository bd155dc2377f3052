-- Plans: what is filled, and what does not fit together.
local berth = require "berth"
local llm = berth.llm

local dense = llm.model { layers = 8, hidden = 64, heads = 8, kv_heads = 2, ffn = 256, vocab = 100 }
local moe = llm.model { layers = 8, hidden = 64, heads = 8, ffn = 256, vocab = 100, experts = 16,
  top = 2, expert_ffn = 32 }

local function plan(opts, model, cluster) return llm.fill(model or dense, cluster or "16xA100", opts) end

local function refused(opts, words, model, cluster)
  assert.error_matches(function() plan(opts, model, cluster) end, words, 1, true)
end

describe("a plan", function()
  it("is filled by the rest of it", function()
    local p = plan { tp = 2, pp = 4 }
    assert.equal(2, p.dp)
    assert.equal(2 * 16, p.global_batch)
    assert.same({ "1f1b", "on", 1, "fp32" }, { p.schedule, p.sequence_parallel, p.zero,
      p.gradients })
    assert.equal("plan: tp 2, pp 4, dp 2; 1 of 32 sequences x 4096 tokens; 1f1b, zero 1, "
      .. "recompute none, bf16, megatron", tostring(p))
    for _, key in ipairs(p.filled) do assert.is_true(key ~= "tp" and key ~= "pp") end
    assert.equal("interleaved", plan({ pp = 4, vp = 2 }).schedule)
    assert.equal(2, plan({ pp = 4, schedule = "zb-v" }).vp)
    assert.equal(3, plan({ framework = "torchtitan" }).zero)
    assert.equal(0, plan({ tp = 2 }, dense, "2xA100").zero)
    assert.equal("off", plan({ tp = 2, framework = "deepspeed" }).sequence_parallel)
  end)

  it("stays as it is when it is filled again", function()
    local p = plan { tp = 2, pp = 4, stages = { 1, 3, 3, 1 } }
    local again = {}
    for key, value in pairs(p) do
      if key ~= "filled" then again[key] = value end
    end
    local q = plan(again)
    assert.same({}, q.filled)
    q.filled, p.filled = nil, nil
    assert.same(p, q)
  end)

  it("has as many GPUs as there are", function()
    refused({ tp = 2, pp = 3 }, "16 GPUs are no multiple of tp 2 x cp 1 x pp 3 = 6")
    refused({ tp = 2, dp = 4 }, "tp 2 x cp 1 x pp 1 x dp 4 = 8 GPUs, but there are 16")
  end)

  it("divides the model", function()
    refused({ tp = 16 }, "heads 8 is no multiple of tp = 16")
    refused({ pp = 16 }, "pp 16 x vp 1 = 16 chunks, but the model has 8 layers")
    refused({ pp = 4, stages = { 2, 2, 2, 1 } }, "stages has 7 layers, the model 8")
    refused({ pp = 4, stages = { 4, 4 } }, "stages has 2 entries for pp 4 x vp 1 chunks")
    refused({ pp = 4, embedding_as_layer = true }, "layers + 2 = 10 is no multiple of pp x vp = 4")
    assert.equal(4, plan({ tp = 4 }).tp) -- kv_heads 2: each on two GPUs
    refused({ tp = 4 }, "kv_heads 6 and tp 4 do not divide one another",
      llm.model { layers = 4, hidden = 48, heads = 12, kv_heads = 6, vocab = 10 })
  end)

  it("divides experts over tp x cp x dp", function()
    assert.equal(16, plan({ tp = 2, ep = 16 }, moe).ep)
    refused({ tp = 2, pp = 2, ep = 16 }, "tp x cp x dp = 8 is no multiple of ep x etp = 16", moe)
    refused({ ep = 3 }, "tp x cp x dp = 16 is no multiple of ep x etp = 3", moe)
    refused({ ep = 2 }, "the model has no experts")
    assert.equal(2, plan({ ep = 2 }, llm.model { layers = 8, hidden = 64, heads = 8, vocab = 100,
      experts = 4, top = 4 }).ep) -- all of them active
    refused({ ep = 16 }, "experts 12 is no multiple of ep = 16",
      llm.model { layers = 8, hidden = 64, heads = 8, vocab = 100, experts = 12, top = 2 })
  end)

  it("divides batch and sequence", function()
    refused({ global_batch = 24, micro_batch = 1 },
      "global_batch 24 is no multiple of dp x micro_batch = 16")
    refused({ pp = 4, vp = 2, global_batch = 8 },
      "schedule interleaved: micro-batches 2 is no multiple of pp = 4")
    refused({ cp = 2, seq = 1001 }, "seq 1001 is no multiple of 2 x cp = 4")
  end)

  it("has options that belong together", function()
    refused({ vp = 2, schedule = "1f1b", pp = 2 }, "vp 2 requires schedule interleaved")
    refused({ vp = 2 }, "vp 2: model chunks are those of a pipeline, and pp is 1")
    refused({ vp = 1, schedule = "zb-v", pp = 2 }, "schedules zb-v and dualpipev have vp 2, not 1")
    refused({ sequence_parallel = "on" }, "sequence_parallel requires tp above 1")
    refused({ recompute_layers = 2 }, "recompute_layers requires recompute full")
    refused({ framework = "deepspeed", zero = 3, pp = 2 }, "DeepSpeed has no pipelines with zero 3")
    refused({ dtype = "fp8" }, "A100 has no FP8 arithmetic")
    refused({ tb = 2 }, "unknown option 'tb'")
  end)
end)
