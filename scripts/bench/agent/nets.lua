-- Random networks of the layers that the models of the zoo are made of: convolutions in branches,
-- recurrent layers in one or two sequences, attention with and without a second sequence. One
-- training step each.
local berth = require "berth"
local attention = require "berth.models.attention"
local builder = require "berth.models.builder"
local layers = require "berth.models.layers"
local recurrent = require "berth.models.recurrent"
local nets = {}

local function pick(rng, list) return list[rng:below(#list)] end
local function chance(rng, p) return rng:uniform() < p end
local function between(rng, low, high) return low - 1 + rng:below(high - low + 1) end

-- ---- convolutions -------------------------------------------------------------------------------

local function unit(b, name, x, channels, kernel, stride)
  local y = layers.conv(b, name .. ".conv", x, { channels = channels, kernel = kernel, stride = stride,
    padding = (kernel - 1) / 2 })
  return layers.relu(b, name .. ".relu", layers.batch_norm(b, name .. ".bn", y))
end

local function branches(b, x, rng, channels, count)
  local ends = {}
  for k = 1, count do
    local y, width = x, math.max(8, math.floor(channels / count * (0.5 + rng:uniform())))
    for i = 1, between(rng, 1, 4) do y = unit(b, ("b%d_%d"):format(k, i), y, width, pick(rng, { 1, 1, 3, 3, 5 }), 1) end
    ends[k] = y
  end
  return #ends > 1 and layers.concat(b, "concat", ends) or ends[1]
end

local function residual(b, x, rng, channels)
  local y = x
  for i = 1, between(rng, 1, 3) do y = unit(b, "u" .. i, y, channels, pick(rng, { 1, 3 }), 1) end
  if y.shape[1] ~= x.shape[1] then x = unit(b, "shortcut", x, y.shape[1], 1, 1) end
  return layers.add(b, "add", y, x)
end

function nets.cnn(b, rng)
  local image, channels = pick(rng, { 64, 128, 224 }), pick(rng, { 32, 64, 96 })
  local x = b:scope("stem", unit, b, "stem", b:input("image", { 3, image, image }), channels, pick(rng, { 3, 7 }), 2)
  local most, kind = between(rng, 1, 5), pick(rng, { "branches", "residual", "plain", "any" })
  for i = 1, between(rng, 3, 12) do
    local name = "module" .. i
    if x.shape[2] >= 14 and chance(rng, 0.3) then
      channels = math.min(2 * channels, 1024)
      x = b:scope(name .. "s", unit, b, "shrink", x, channels, 3, 2)
    end
    local how = kind == "any" and pick(rng, { "branches", "residual", "plain" }) or kind
    if how == "branches" then x = b:scope(name, branches, b, x, rng, channels, most)
    elseif how == "residual" then x = b:scope(name, residual, b, x, rng, channels)
    else x = b:scope(name, unit, b, "unit", x, channels, 3, 1) end
  end
  x = layers.linear(b, "fc", layers.global_pool(b, "pool", x), { width = 1000 })
  layers.loss(b, "loss", x)
end

-- ---- recurrent layers ---------------------------------------------------------------------------

local function added(b, ys, xs)
  local out = {}
  for t, y in ipairs(ys) do out[t] = layers.add(b, ("add%d"):format(t), y, xs[t]) end
  return out
end

local function stack(b, xs, contexts, rng, o, count)
  local adds = chance(rng, 0.5)
  for i = 1, count do
    local ys = b:scope("layer" .. i, recurrent.layer, b, "lstm", xs, contexts, chance(rng, 0.15), o)
    xs = adds and i > 1 and b:scope("sum" .. i, added, b, ys, xs) or ys
  end
  return xs
end

-- What the second sequence gets of the first, at each step.
local function contexts_of(b, memory, length, o)
  local all = layers.linear(b, "keys", recurrent.joined(b, "memory", memory, o.hidden), { width = o.hidden })
  local shapes = {}
  for t = 1, length do shapes[t] = { 1, o.hidden } end
  return b:multi { name = "contexts", kind = "slice", inputs = { all }, shapes = shapes, flop = 0 }
end

function nets.rnn(b, rng)
  local o = { hidden = pick(rng, { 256, 512, 768, 1024, 1536 }), steps_per_op = 1 }
  local length, vocab = between(rng, 4, 20), pick(rng, { 5000, 10000, 30000 })
  o.table = b:scope("embedding", b.weight, b, "table", vocab * o.hidden)
  local xs = b:scope("embedding", recurrent.embed, b, length, o)
  xs = b:scope("first", stack, b, xs, nil, rng, o, between(rng, 1, 4))
  if chance(rng, 0.5) then
    local contexts = b:scope("between", contexts_of, b, xs, length, o)
    xs = b:scope("target", recurrent.embed, b, length, o)
    xs = b:scope("second", stack, b, xs, contexts, rng, o, between(rng, 1, 3))
  end
  local x = layers.linear(b, "logits", recurrent.joined(b, "outputs", xs, o.hidden), { width = vocab })
  layers.loss(b, "loss", x)
end

-- ---- attention ----------------------------------------------------------------------------------

local function block(b, x, memory, a)
  local y = attention.residual_norm(b, "attention", x, b:scope("self", attention.attend, b, x, x, a))
  if memory then
    y = attention.residual_norm(b, "across", y, b:scope("cross", attention.attend, b, y, memory, a))
  end
  return attention.residual_norm(b, "ffn", y, attention.feed_forward(b, y, a))
end

function nets.attention(b, rng)
  local hidden = pick(rng, { 256, 512, 768, 1024, 2048 })
  local a = { hidden = hidden, heads = hidden / 64, ffn = pick(rng, { 2, 3, 4 }) * hidden,
    activation = pick(rng, { "relu", "gelu" }) }
  local word = { vocab = pick(rng, { 5000, 30000 }), width = hidden }
  local seq = pick(rng, { 32, 64, 128, 256 })
  local x = attention.embedding(b, "word", b:input("tokens", { seq }), word)
  for i = 1, between(rng, 1, 4) do x = b:scope("layer" .. i, block, b, x, nil, a) end
  if chance(rng, 0.4) then
    local memory = x
    x = attention.embedding(b, "target", b:input("targets", { seq }), word)
    for i = 1, between(rng, 1, 3) do x = b:scope("second" .. i, block, b, x, memory, a) end
  end
  layers.loss(b, "loss", layers.linear(b, "logits", x, { width = pick(rng, { 2, word.vocab }) }))
end

-- -------------------------------------------------------------------------------------------------

local OPTIONS = { dtype = 4, training = true, optimizer = "adam", granularity = "op", colocate = "weights" }

--- A network of one of the kinds, as a graph.
function nets.graph(rng)
  local o = { batch = pick(rng, { 8, 16, 32, 64, 128 }) + 0.0 }
  for key, value in pairs(OPTIONS) do o[key] = value end
  o.optimizer = pick(rng, { "adam", "sgd" })
  local b = builder.new("net", o)
  pick(rng, { nets.cnn, nets.cnn, nets.rnn, nets.rnn, nets.attention })(b, rng)
  return assert(berth.graph((b:finish())))
end

return nets
