--- Transformer: A. Vaswani et al., "Attention Is All You Need", 2017, table 3 (base and big). One
-- table of `vocab` rows serves source, target and the output layer, as in sec. 3.4, unless tied =
-- false: then each has its own. Positions are sines, without parameters; projections have biases;
-- norms come after the sums. Dropout is left out; masks do not save FLOP.
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
  layers = { kind = "count", by = "size" }, hidden = { kind = "count", by = "size" },
  heads = { kind = "count", by = "size" }, ffn = { kind = "count", by = "size" },
  vocab = { default = 37000, kind = "count" },
  target_vocab = { kind = "count", by = "vocab" },
  tied = { default = true, kind = "boolean" },
  embedding_gradients = attention.GRADIENTS,
  seq = { default = 128, kind = "count" },        -- source tokens
  target_seq = { kind = "count", by = "seq" },
  attention = { default = "ops", kind = { "ops", "fused" } },
}

-- Rows of the table, plus sines (section 3.5), which have no parameters and pass the gradient on.
local function embed(b, length, o, table_)
  local x = attention.embedding(b, "table", b:input("tokens", { length }),
    { width = o.hidden, weight = table_,
    rows = o.embedding_gradients == "rows" })
  return layers.elementwise(b, "add", "positions", x, { inplace = true, pass = true })
end

local function self_attention(b, x, o, causal)
  return attention.residual_norm(b, "attention", x,
    b:scope("self", attention.attend, b, x, x, o, causal))
end

local function feed_forward(b, x, o)
  return attention.residual_norm(b, "ffn", x, attention.feed_forward(b, x, o))
end

local function encoder_layer(b, x, o)
  return feed_forward(b, self_attention(b, x, o), o)
end

-- Section 3.1: the decoder has a third sublayer, which attends to the output of the encoder.
local function decoder_layer(b, x, memory, o)
  x = self_attention(b, x, o, true)
  x = attention.residual_norm(b, "cross", x, b:scope("cross", attention.attend, b, x, memory, o))
  return feed_forward(b, x, o)
end

local function head(b, x, o, table_)
  x = layers.linear(b, "logits", x, { width = o.target_vocab, weight = table_ })
  return o.training and layers.loss(b, "loss", x) or x
end

-- Options with what `size` gives for those that are nil.
local function read(given)
  local o = options.read("transformer", given, transformer.options)
  for key, value in pairs(SIZES[o.size]) do o[key] = o[key] or value end
  o.target_seq = o.target_seq or o.seq
  o.target_vocab = o.target_vocab or o.vocab
  options.refuse(o.tied and o.target_vocab ~= o.vocab, "transformer",
    "target_vocab = %d needs tied = false: one table has vocab = %d rows", o.target_vocab, o.vocab)
  options.refuse(o.tied and o.embedding_gradients == "rows", "transformer",
    'embedding_gradients = "rows" needs tied = false: the output layer shares the table')
  o.fused = o.attention == "fused"
  o.activation = "relu"
  attention.check_heads("transformer", o)
  return o
end

-- Tables of source, target and output layer; nil: the layer makes its own.
local function tables(b, o)
  if not o.tied then
    return b:weight("source_embedding", o.vocab * o.hidden),
      b:weight("target_embedding", o.target_vocab * o.hidden), nil
  end
  local one = b:weight("embedding", o.vocab * o.hidden)
  return one, one, one
end

--- Description and table about it.
function transformer.describe(given)
  local o = read(given)
  local b = builder.new("transformer", o)
  local source, target, output = tables(b, o)
  local memory = b:scope("source", embed, b, o.seq, o, source)
  for i = 1, o.layers do
    memory = b:scope(string.format("encoder%d", i), encoder_layer, b, memory, o)
  end
  local x = b:scope("target", embed, b, o.target_seq, o, target)
  for i = 1, o.layers do
    x = b:scope(string.format("decoder%d", i), decoder_layer, b, x, memory, o)
  end
  b:scope("head", head, b, x, o, output)
  return b:finish()
end

return transformer
