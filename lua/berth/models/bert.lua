--- BERT: J. Devlin et al., "BERT: Pre-training of Deep Bidirectional Transformers", 2019, sec. 3
-- (base and large). Norms come after the sums; dropout is left out.
local attention = require "berth.models.attention"
local builder = require "berth.models.builder"
local layers = require "berth.models.layers"
local options = require "berth.models.options"

local bert = {}

local SIZES = {
  base = { layers = 12, hidden = 768, heads = 12 },
  large = { layers = 24, hidden = 1024, heads = 16 },
}

bert.options = {
  size = { default = "base", kind = { "base", "large" } },
  layers = { kind = "count", by = "size" }, hidden = { kind = "count", by = "size" },
  heads = { kind = "count", by = "size" }, ffn = { kind = "count", by = "4 hidden" },
  vocab = { default = 30522, kind = "count" },
  seq = { default = 128, kind = "count" },
  positions = { kind = "count", by = "512, or seq if that is more" }, -- rows of the position table
  predictions = { kind = "count", by = "15 % of seq" },               -- masked tokens of a sequence
  head = { default = "pooler", kind = { "none", "pooler", "pretraining", "span" } },
  embedding_gradients = attention.GRADIENTS,                          -- of the word table
  attention = { default = "ops", kind = { "ops", "fused" } },
}

-- Word, position and segment vectors, summed and normed: seq x hidden. `o.table` is shared with
-- the output layer of masked_tokens.
local function embed(b, o)
  local tokens = b:input("tokens", { o.seq })
  local word = attention.embedding(b, "word", tokens, { vocab = o.vocab, width = o.hidden,
    weight = o.table, rows = o.embedding_gradients == "rows" })
  local place = attention.embedding(b, "position", tokens,
    { vocab = o.positions, width = o.hidden })
  local kind = attention.embedding(b, "segment", tokens, { vocab = 2, width = o.hidden })
  local x = layers.add(b, "add_segment", layers.add(b, "add_position", word, place), kind)
  return layers.norm(b, "layer_norm", "norm", x)
end

-- One encoder layer: self-attention and feed-forward, each x -> norm(x + f(x)).
local function layer(b, x, o)
  x = attention.residual_norm(b, "attention", x, b:scope("self", attention.attend, b, x, x, o))
  return attention.residual_norm(b, "ffn", x, attention.feed_forward(b, x, o))
end

-- Picks n tokens of every sequence.
local function gather(b, name, x, n)
  local shape = n == 1 and { x.shape[2] } or { n, x.shape[2] }
  local picked = b.batch * n * x.shape[2]
  return b:op { name = name, kind = "gather", inputs = { x }, shape = shape, flop = 0,
    moved = 2 * picked }
end

-- The first token ([CLS]) through a dense layer and tanh, as in the released code.
local function pooler(b, x, o)
  local first = layers.linear(b, "pooler", gather(b, "first_token", x, 1), { width = o.hidden })
  return layers.elementwise(b, "tanh", "tanh", first, { inplace = true, saves_output = true })
end

-- Scores of the masked tokens (section 3.1, task 1): predictions x vocab. The matrix is the word
-- table; only its bias is a parameter of this layer.
local function masked_tokens(b, x, o)
  local y = layers.linear(b, "transform", gather(b, "masked", x, o.predictions),
    { width = o.hidden })
  y = layers.norm(b, "layer_norm", "transform_norm", layers.elementwise(b, "gelu", "gelu", y,
    { saves = { true } }))
  y = layers.linear(b, "vocabulary", y, { width = o.vocab, weight = o.table })
  return b:op { name = "vocabulary_bias", kind = "add", inputs = { y }, shape = y.shape,
    inplace = true, flop = layers.COST.add * y.elements, weight = b:weight("vocabulary_bias",
      o.vocab) }
end

local function ending(b, name, x, o)
  return o.training and layers.loss(b, name, x) or x
end

-- Start and end of the answer: two scores for each token, and where the most likely ones are.
local function span(b, x, o)
  local y = layers.linear(b, "span", x, { width = 2 })
  return ending(b, "loss", layers.elementwise(b, "softmax", "softmax", y,
    { inplace = true, saves_output = true }), o)
end

local function head(b, x, o)
  if o.head == "none" then return ending(b, "loss", x, o) end
  if o.head == "span" then return span(b, x, o) end
  local pooled = pooler(b, x, o)
  if o.head == "pooler" then return ending(b, "loss", pooled, o) end
  ending(b, "masked_loss", masked_tokens(b, x, o), o)
  return ending(b, "next_loss", layers.linear(b, "next_sentence", pooled, { width = 2 }), o)
end

-- Options with what `size` gives for those that are nil; `name` says "base" or "large" only if
-- nothing of the size was overridden.
local function read(given)
  local o = options.read("bert", given, bert.options)
  o.name = (o.layers or o.hidden or o.heads or o.ffn) and "bert" or "bert-" .. o.size
  for key, value in pairs(SIZES[o.size]) do o[key] = o[key] or value end
  o.ffn = o.ffn or 4 * o.hidden
  o.positions = o.positions or math.max(512, o.seq)
  o.predictions = o.predictions or math.ceil(0.15 * o.seq)
  o.fused = o.attention == "fused"
  options.refuse(o.positions < o.seq, "bert", "seq = %d is more than positions = %d", o.seq,
    o.positions)
  options.refuse(o.predictions > o.seq, "bert", "predictions = %d is more than seq = %d",
    o.predictions, o.seq)
  options.refuse(o.embedding_gradients == "rows" and o.head == "pretraining", "bert",
    'embedding_gradients = "rows" needs a word table of its own: head = "pretraining" shares it')
  attention.check_heads("bert", o)
  return o
end

--- Description and table about it.
function bert.describe(given)
  local o = read(given)
  local b = builder.new(o.name, o)
  o.table = b:scope("embeddings", b.weight, b, "word", o.vocab * o.hidden)
  local x = b:scope("embeddings", embed, b, o)
  for i = 1, o.layers do x = b:scope(string.format("layer%d", i), layer, b, x, o) end
  b:scope("head", head, b, x, o)
  o.table = nil
  return b:finish()
end

return bert
