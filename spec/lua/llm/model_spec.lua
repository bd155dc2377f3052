-- Models by hand and from small config files: shapes, counts, refusals.
local berth = require "berth"
local llm = berth.llm

local function weights(list)
  local out = {}
  for _, w in ipairs(list) do out[w.name] = { w.rows, w.columns, w.copies } end
  return out
end

-- A dense decoder of two layers, by fields of config.json.
local function config(changes)
  local c = { model_type = "llama", hidden_size = 8, num_hidden_layers = 2,
    num_attention_heads = 4, num_key_value_heads = 2, intermediate_size = 16, vocab_size = 10 }
  for key, value in pairs(changes or {}) do c[key] = value ~= "none" and value or nil end
  return c
end

local function refused(changes, code, words)
  local m, message, got = llm.model(config(changes))
  assert.is_nil(m)
  assert.equal(code, got, message)
  assert.is_truthy(message:find(words, 1, true), message)
end

describe("a model by hand", function()
  it("has the weights of its shapes", function()
    local m = assert(llm.model { layers = 2, hidden = 8, heads = 4, kv_heads = 2, ffn = 16,
      vocab = 10 })
    local w = weights(m.kinds[1].weights)
    assert.same({ 8, 8, 1 }, w.q)
    assert.same({ 8, 4, 1 }, w.k)
    assert.same({ 8, 16, 1 }, w.gate)
    assert.same({ 16, 8, 1 }, w.down)
    -- a layer: 2 norms, q and o of 64, k and v of 32, three matrices of 128
    assert.equal(16 + 128 + 64 + 384, m.kinds[1].parameters)
    -- embedding, head, last norm
    assert.equal(2 * 592 + 80 + 80 + 8, m.parameters)
    assert.equal("by hand: 1.35 k parameters, 2 layers of width 8, 4 heads (2 kv) x 2, "
      .. "MLP 16 gated, vocabulary 10", tostring(m))
  end)

  it("counts a token's experts as active", function()
    local m = assert(llm.model { layers = 4, hidden = 8, heads = 2, ffn = 32, vocab = 16,
      experts = 8, top = 2, expert_ffn = 4, shared_ffn = 4, dense_layers = 1, moe_every = 2 })
    assert.same({ 1, 2, 1, 2 }, m.kind_of)
    local dense, moe = m.kinds[1], m.kinds[2]
    assert.equal(16 + 256 + 3 * 8 * 32, dense.parameters)
    assert.equal(16 + 256 + 64 + 9 * 96, moe.parameters)
    assert.equal(16 + 256 + 64 + 3 * 96, moe.active)
    assert.equal(m.parameters - 2 * 6 * 96, m.active)
  end)

  it("refuses what does not fit together", function()
    local shapes = { layers = 2, hidden = 8, heads = 3, vocab = 10 }
    assert.error_matches(function() llm.model(shapes) end, "no multiple of 3 heads")
    assert.error_matches(function() llm.model { layers = 2 } end, "hidden is missing")
    assert.error_matches(function()
      llm.model { layers = 2, hidden = 8, heads = 2, vocab = 10, experts = 4, top = 5 }
    end, "top is 5 of 4 experts")
    assert.error_matches(function() llm.model { layer = 2 } end, "did you mean 'layers'")
  end)
end)

describe("a config.json", function()
  it("is read by synonyms", function()
    -- GPT-2: biases, shifts of norms, learned positions, one matrix for embedding and head
    local m = assert(llm.model { model_type = "gpt2", n_embd = 768, n_layer = 12, n_head = 12,
      n_positions = 1024, vocab_size = 50257 })
    assert.equal(124439808, m.parameters)
  end)

  it("has latent attention, shared experts and first dense layers", function()
    local m = assert(llm.model(config { model_type = "deepseek_v3", q_lora_rank = 6,
      kv_lora_rank = 4, qk_nope_head_dim = 4, qk_rope_head_dim = 2, v_head_dim = 3,
      n_routed_experts = 4, num_experts_per_tok = 2, moe_intermediate_size = 5,
      n_shared_experts = 2, first_k_dense_replace = 1, num_key_value_heads = 4 }))
    local w = weights(m.kinds[2].weights)
    assert.same({ 6, 4 * 6, 1 }, w.q_b)
    assert.same({ 8, 6, 1 }, w.kv_a)
    assert.same({ 4, 4 * 7, 1 }, w.kv_b)
    assert.same({ 12, 8, 1 }, w.o)
    assert.same({ 8, 5, 4 }, w.expert_up)
    assert.same({ 8, 10, 1 }, w.shared_up)
    assert.equal(0, m.kinds[1].experts)
  end)

  it("has windows by layer", function()
    local m = assert(llm.model(config { sliding_window = 6,
      layer_types = { "sliding_attention", "full_attention" } }))
    assert.equal(6, m.kinds[1].window)
    assert.equal(0, m.kinds[2].window)
  end)

  it("of an unknown type is a decoder, with a note", function()
    local m = assert(llm.model(config { model_type = "novel" }))
    assert.equal(assert(llm.model(config())).parameters, m.parameters)
    assert.same({ 'model_type "novel" is unknown: read by its common fields' }, m.notes)
  end)

  it("of several modes gives its text part, with a note", function()
    local m = assert(llm.model { model_type = "llava", text_config = config() })
    assert.equal(assert(llm.model(config())).parameters, m.parameters)
    assert.equal(1, #m.notes)
  end)

  it("is refused by the field that changes shapes and is not understood", function()
    refused({ novel_head_ratio = 3 }, "unsupported", "config:1: novel_head_ratio changes shapes")
    refused({ layer_types = { "full_attention", "linear_attention" } }, "unsupported",
      'layer_types[1] belongs to layers that are not attention')
    refused({ ssm_state_size = 16 }, "unsupported", "ssm_state_size")
    assert.is_truthy(llm.model(config { novel_head_ratio = false }))
  end)

  it("is refused by a wrong or missing value", function()
    refused({ hidden_size = "8" }, "parse", 'hidden_size is not a number ("8")')
    refused({ num_attention_heads = 2.5 }, "parse", "num_attention_heads is not a whole number")
    refused({ vocab_size = "none" }, "parse", 'has no "vocab_size"')
    refused({ num_experts = 4, num_local_experts = 8, num_experts_per_tok = 2 }, "parse",
      "contradicts")
    refused({ num_experts = 4, num_experts_per_tok = 2, n_shared_experts = 1000,
      moe_intermediate_size = 500000000 }, "parse", "option shared_ffn is")
    refused({ num_key_value_heads = 3 }, "parse", "no multiple of 3 kv_heads")
  end)

  it("may have Infinity, as Python writes it", function()
    local core = require "berth.core"
    local text = '{"model_type":"llama","hidden_size":8,"num_hidden_layers":1,'
      .. '"num_attention_heads":2,"vocab_size":4,"a":"Infinity","limit":[0.0,Infinity,NaN]}'
    assert.is_truthy(core.llm_parse("x/config.json", text))
    assert.equal("x", core.llm_parse("x/config.json", text).name)
  end)
end)
