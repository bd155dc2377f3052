--- LLaMA: H. Touvron et al., "LLaMA: Open and Efficient Foundation Language Models", 2023, table 2;
-- sizes "2-70b" (2023), "3-8b" and "3-70b" (2024) by their released hyper-parameters, with grouped
-- key and value heads. RMS norm before each part, rotary positions, gated feed-forward, no biases,
-- an output layer of its own. The causal mask saves no FLOP.
local attention = require "berth.models.attention"
local builder = require "berth.models.builder"
local layers = require "berth.models.layers"
local options = require "berth.models.options"

local llama = {}

local SIZES = {
  ["7b"] = { layers = 32, hidden = 4096, heads = 32, ffn = 11008 },
  ["13b"] = { layers = 40, hidden = 5120, heads = 40, ffn = 13824 },
  ["30b"] = { layers = 60, hidden = 6656, heads = 52, ffn = 17920 },
  ["65b"] = { layers = 80, hidden = 8192, heads = 64, ffn = 22016 },
  ["2-70b"] = { layers = 80, hidden = 8192, heads = 64, ffn = 28672, kv_heads = 8 },
  ["3-8b"] = { layers = 32, hidden = 4096, heads = 32, ffn = 14336, kv_heads = 8, vocab = 128256 },
  ["3-70b"] = { layers = 80, hidden = 8192, heads = 64, ffn = 28672, kv_heads = 8, vocab = 128256 },
}

llama.options = {
  size = { default = "7b", kind = { "7b", "13b", "30b", "65b", "2-70b", "3-8b", "3-70b" } },
  layers = { kind = "count", by = "size" }, hidden = { kind = "count", by = "size" },
  heads = { kind = "count", by = "size" }, kv_heads = { kind = "count", by = "size" },
  ffn = { kind = "count", by = "size" }, vocab = { kind = "count", by = "size" },
  seq = { default = 2048, kind = "count" }, batch = { default = 1, kind = "count" },
  dtype = { default = 2, kind = "dtype" },
  attention = { default = "ops", kind = { "ops", "fused" } },
}

local function gated(b, gate, up)
  return b:op { name = "silu_mul", kind = "silu_mul", inputs = { gate, up }, shape = gate.shape,
    saves = { true, true }, flop = layers.COST.silu_mul * gate.elements,
    grad_flop = 2 * layers.COST.silu_mul * gate.elements }
end

-- SwiGLU: down(silu(gate x) * up x), three matrices without bias.
local function feed_forward(b, x, o)
  local gate = layers.linear(b, "gate", x, { width = o.ffn, bias = false })
  local up = layers.linear(b, "up", x, { width = o.ffn, bias = false })
  return layers.linear(b, "down", gated(b, gate, up), { width = o.hidden, bias = false })
end

-- Norms come before attention and feed-forward; the sums bypass them.
local function layer(b, x, o)
  local h = layers.norm(b, "rms_norm", "attention_norm", x)
  x = layers.add(b, "attention_add", b:scope("self", attention.attend, b, h, h, o, true), x)
  h = layers.norm(b, "rms_norm", "ffn_norm", x)
  return layers.add(b, "ffn_add", feed_forward(b, h, o), x)
end

local function embed(b, o)
  return attention.embedding(b, "table", b:input("tokens", { o.seq }),
    { vocab = o.vocab, width = o.hidden })
end

local function head(b, x, o)
  x = layers.linear(b, "logits", layers.norm(b, "rms_norm", "norm", x),
    { width = o.vocab, bias = false })
  return o.training and layers.loss(b, "loss", x) or x
end

local function read(given)
  local o = options.read("llama", given, llama.options)
  o.name = (o.layers or o.hidden or o.heads or o.ffn) and "llama" or "llama-" .. o.size
  for key, value in pairs(SIZES[o.size]) do o[key] = o[key] or value end
  o.kv_heads = o.kv_heads or o.heads
  o.vocab = o.vocab or 32000
  o.bias, o.rope, o.fused = false, true, o.attention == "fused"
  attention.check_heads("llama", o)
  return o
end

--- Description and table about it.
function llama.describe(given)
  local o = read(given)
  local b = builder.new(o.name, o)
  local x = b:scope("embedding", embed, b, o)
  for i = 1, o.layers do x = b:scope(string.format("layer%d", i), layer, b, x, o) end
  b:scope("head", head, b, x, o)
  return b:finish()
end

return llama
