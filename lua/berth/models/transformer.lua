--- Transformer: A. Vaswani et al., "Attention Is All You Need", 2017, table 3 (base and big).
-- One table of `vocab` rows serves source, target and the output layer, as in sec. 3.4; positions are sines, without
-- parameters; projections have biases; norms come after the sums. Dropout is left out; masks do not save FLOP.
local attention = require "berth.models.attention"
local builder = require "berth.models.builder"
local layers = require "berth.models.layers"
local options = require "berth.models.options"

local transformer = {}

local SIZES = {
  base = { layers = 6, hidden = 512, heads = 8, ffn = 2048 },
  big = { layers = 6, hidden = 1024, heads = 16, ffn = 4096 },
}

transformer.options = {
  size = { default = "base", kind = { "base", "big" } },
  layers = { kind = "count", by = "size" }, hidden = { kind = "count", by = "size" }, heads = { kind = "count", by = "size" },
  ffn = { kind = "count", by = "size" },
  vocab = { default = 37000, kind = "count" },
  seq = { default = 128, kind = "count" },        -- source tokens
  target_seq = { kind = "count", by = "seq" },
  attention = { default = "ops", kind = { "ops", "fused" } },
}

local function embed(b, length, o, table_)
  local x = attention.embedding(b, "table", b:input("tokens", { length }), { width = o.hidden, weight = table_ })
  return layers.elementwise(b, "add", "positions", x, { inplace = true, pass = true })
end

local function self_attention(b, x, o)
  return attention.residual_norm(b, "attention", x, b:scope("self", attention.attend, b, x, x, o))
end

local function feed_forward(b, x, o)
  return attention.residual_norm(b, "ffn", x, attention.feed_forward(b, x, o))
end

local function encoder_layer(b, x, o)
  return feed_forward(b, self_attention(b, x, o), o)
end

local function decoder_layer(b, x, memory, o)
  x = self_attention(b, x, o)
  x = attention.residual_norm(b, "cross", x, b:scope("cross", attention.attend, b, x, memory, o))
  return feed_forward(b, x, o)
end

local function head(b, x, o, table_)
  x = layers.linear(b, "logits", x, { width = o.vocab, weight = table_ })
  return o.training and layers.loss(b, "loss", x) or x
end

local function read(given)
  local o = options.read("transformer", given, transformer.options)
  for key, value in pairs(SIZES[o.size]) do o[key] = o[key] or value end
  o.target_seq = o.target_seq or o.seq
  o.fused = o.attention == "fused"
  o.activation = "relu"
  attention.check_heads("transformer", o)
  return o
end

--- Description and table about it.
function transformer.describe(given)
  local o = read(given)
  local b = builder.new("transformer", o)
  local table_ = b:weight("embedding", o.vocab * o.hidden)
  local memory = b:scope("source", embed, b, o.seq, o, table_)
  for i = 1, o.layers do memory = b:scope(string.format("encoder%d", i), encoder_layer, b, memory, o) end
  local x = b:scope("target", embed, b, o.target_seq, o, table_)
  for i = 1, o.layers do x = b:scope(string.format("decoder%d", i), decoder_layer, b, x, memory, o) end
  b:scope("head", head, b, x, o, table_)
  return b:finish()
end

return transformer
