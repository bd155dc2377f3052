--- GNMT: Y. Wu et al., "Google's Neural Machine Translation System", 2016, with the sizes of the
-- MLPerf "v2" model: 4 encoder layers (the first in both directions), 4 decoder layers of 1024, one
-- embedding for both languages, additive attention whose context enters decoder layers 2 and up.
-- Residual sums from the third layer on. Dropout is left out. Recurrent layers are unrolled: one op
-- covers `steps_per_op` time steps; attention and output run over all steps at once, as teacher
-- forcing allows.
local builder = require "berth.models.builder"
local layers = require "berth.models.layers"
local options = require "berth.models.options"
local recurrent = require "berth.models.recurrent"

local gnmt = {}

gnmt.options = {
  layers = { default = 4, kind = "count", least = 2,
    because = ": the attention's context enters decoder layers 2 and up" },
  hidden = { default = 1024, kind = "count" },
  vocab = { default = 32320, kind = "count" },
  seq = { default = 50, kind = "count" },         -- source tokens
  target_seq = { kind = "count", by = "seq" },
  steps_per_op = { default = 1, kind = "count" },
}

-- The first encoder layer: two LSTMs, whose outputs are joined: 2 * hidden for each token.
local function both_directions(b, xs, o)
  local forth = recurrent.layer(b, "forth", xs, nil, false, o)
  local back = recurrent.layer(b, "back", xs, nil, true, o)
  local out = {}
  for t, x in ipairs(xs) do
    out[t] = recurrent.concat(b, string.format("concat%d", t), { forth[t], back[t] },
      { x.shape[1], 2 * o.hidden })
  end
  return out
end

local function added(b, ys, xs)
  local out = {}
  for t, y in ipairs(ys) do out[t] = layers.add(b, string.format("add%d", t), y, xs[t]) end
  return out
end

-- An LSTM layer; from the third on its input is added to its output.
local function deeper(b, i, xs, contexts, o)
  local ys = recurrent.layer(b, "lstm", xs, contexts, false, o)
  if i < 3 then return ys end
  return added(b, ys, xs)
end

local function encode(b, xs, o)
  for i = 1, o.layers do
    local name = string.format("encoder%d", i)
    if i == 1 then xs = b:scope(name, both_directions, b, xs, o)
    else xs = b:scope(name, deeper, b, i, xs, nil, o) end
  end
  return xs
end

-- Additive scores: v . tanh(q + k), with a normalised v (one gain) and a bias.
local function additive(b, q, k, o)
  local n = b.batch * q.shape[1] * k.shape[1] * o.hidden
  return b:op {
    name = "scores", kind = "additive_scores", inputs = { q, k },
    shape = { 1, q.shape[1], k.shape[1] }, saves = { true, true }, macs = n,
    flop = 2 * n + (1 + layers.COST.tanh) * n, grad_flop = 2 * (2 * n + (1 + layers.COST.tanh) * n),
    weight = b:weight("scores", 2 * o.hidden + 1),
  }
end

-- Weighted sum of the memory: target x source times source x hidden.
local function mix(b, p, memory, o)
  return b:op { name = "context", kind = "matmul", inputs = { p, memory },
    shape = { p.shape[2], o.hidden }, saves = { true, true },
    product = { m = p.shape[2], n = o.hidden, k = p.shape[3], copies = b.batch } }
end

-- Cuts a sequence at the same places as the chunks in `like`; backwards its gradient is put
-- together again.
local function slices(b, x, like)
  local shapes = {}
  for t, y in ipairs(like) do shapes[t] = { y.shape[1], x.shape[2] } end
  return b:multi { name = "contexts", kind = "slice", inputs = { x }, shapes = shapes, flop = 0 }
end

-- One context for each chunk of the queries, which are the outputs of the first decoder layer.
local function attend(b, queries, memory, o)
  local keys = recurrent.joined(b, "memory", memory, o.hidden)
  local q = layers.linear(b, "q", recurrent.joined(b, "queries", queries, o.hidden),
    { width = o.hidden, bias = false })
  local k = layers.linear(b, "k", keys, { width = o.hidden, bias = false })
  local p = layers.elementwise(b, "softmax", "softmax", additive(b, q, k, o),
    { inplace = true, saves_output = true })
  return slices(b, mix(b, p, keys, o), queries)
end

local function decode(b, xs, memory, o)
  local first = b:scope("decoder1", recurrent.layer, b, "lstm", xs, nil, false, o)
  local contexts = b:scope("attention", attend, b, first, memory, o)
  xs = first
  for i = 2, o.layers do
    xs = b:scope(string.format("decoder%d", i), deeper, b, i, xs, contexts, o)
  end
  return xs
end

local function head(b, xs, o)
  local x = layers.linear(b, "logits", recurrent.joined(b, "outputs", xs, o.hidden),
    { width = o.vocab })
  return o.training and layers.loss(b, "loss", x) or x
end

--- Description and table about it.
function gnmt.describe(given)
  local o = options.read("gnmt", given, gnmt.options)
  o.target_seq = o.target_seq or o.seq
  local b = builder.new("gnmt", o)
  o.table = b:scope("embedding", b.weight, b, "table", o.vocab * o.hidden)
  local memory = encode(b, b:scope("source", recurrent.embed, b, o.seq, o), o)
  local xs = decode(b, b:scope("target", recurrent.embed, b, o.target_seq, o), memory, o)
  b:scope("head", head, b, xs, o)
  o.table = nil
  return b:finish()
end

return gnmt
