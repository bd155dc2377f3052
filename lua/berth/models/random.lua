--- Small random training graphs, to train and test deployment on: convolutions, fully connected
-- layers, or attention. The same seed gives the same graph; up to 300 ops at granularity "layer"
-- unless `layers` is larger.
local berth_core = require "berth.core"
local attention = require "berth.models.attention"
local builder = require "berth.models.builder"
local layers = require "berth.models.layers"
local options = require "berth.models.options"

local random = {}

random.options = {
  seed = { default = 0, kind = "count", least = 0 },
  family = { default = "any", kind = { "any", "cnn", "mlp", "transformer" } },
  layers = { kind = "count", by = "seed" },
  batch = { kind = "count", by = "seed" },
  granularity = { default = "layer", kind = { "op", "layer", "block" } },
}

local function draw(rng, list) return list[rng:below(#list)] end

local function chance(rng, p) return rng:uniform() < p end

-- The classifier and, in training, its loss.
local function ending(b, x, width, o)
  local y = layers.linear(b, "fc", x, { width = width })
  return o.training and layers.loss(b, "loss", y) or y
end

-- ---- convolutions -------------------------------------------------------------------------------

local function unit(b, name, x, channels, kernel, stride)
  local y = layers.conv(b, name .. ".conv", x, { channels = channels, kernel = kernel,
    stride = stride, padding = (kernel - 1) / 2 })
  return layers.relu(b, name .. ".relu", layers.batch_norm(b, name .. ".bn", y))
end

-- A module of two branches, 1x1 and 1x1 -> k x k, each with half of the channels.
local function branches(b, x, rng, channels)
  local a = unit(b, "a", x, channels / 2, 1, 1)
  local c = unit(b, "c2", unit(b, "c1", x, channels / 2, 1, 1), channels / 2, draw(rng, { 3, 5 }),
    1)
  return layers.concat(b, "concat", { a, c })
end

-- A plain unit where the shape changes; elsewhere branches, a residual or a plain unit.
local function cnn_layer(b, x, rng, channels, stride)
  if stride > 1 or x.shape[1] ~= channels then
    return unit(b, "unit", x, channels, draw(rng, { 1, 3, 3, 5 }), stride)
  end
  if chance(rng, 0.3) then return branches(b, x, rng, channels) end
  local y = unit(b, "unit", x, channels, draw(rng, { 1, 3, 3 }), 1)
  return chance(rng, 0.5) and layers.add(b, "add", y, x) or y
end

-- About three strides over all layers, each of which doubles the channels, to at most 768.
local function cnn(b, rng, o)
  local image, channels = draw(rng, { 32, 64, 128, 224 }), draw(rng, { 32, 64, 96 })
  local x = b:scope("stem", unit, b, "stem", b:input("image", { 3, image, image }), channels, 3, 2)
  for i = 1, o.layers do
    local stride = (x.shape[2] >= 8 and chance(rng, 3 / o.layers)) and 2 or 1
    if stride == 2 then channels = math.min(2 * channels, 768) end
    x = b:scope("layer" .. i, cnn_layer, b, x, rng, channels, stride)
  end
  if chance(rng, 0.5) then
    x = layers.global_pool(b, "pool", x)
  else
    x = layers.relu(b, "fc1.relu",
      layers.linear(b, "fc1", x, { width = draw(rng, { 1024, 4096 }), flatten = true }))
  end
  return ending(b, x, 1000, o)
end

-- ---- fully connected ----------------------------------------------------------------------------

local function mlp_layer(b, x, rng, width)
  local y = layers.relu(b, "relu", layers.linear(b, "fc", x, { width = width }))
  if x.shape[#x.shape] == width and chance(rng, 0.5) then return layers.add(b, "add", y, x) end
  return y
end

-- Input: an embedding of 16 tokens (a large table, as recommenders have it) or dense features.
local function mlp(b, rng, o)
  local x
  if chance(rng, 0.4) then
    local words = { width = draw(rng, { 128, 256 }), vocab = draw(rng, { 20000, 100000, 300000 }) }
    x = attention.embedding(b, "table", b:input("tokens", { 16 }), words)
  else
    x = b:input("features", { draw(rng, { 512, 1024, 2048 }) })
  end
  local width = draw(rng, { 512, 1024, 2048, 4096 })
  for i = 1, o.layers do
    if chance(rng, 0.3) then width = draw(rng, { 512, 1024, 2048, 4096 }) end
    x = b:scope("layer" .. i, mlp_layer, b, x, rng, width)
  end
  return ending(b, x, draw(rng, { 10, 1000, 10000 }), o)
end

-- ---- attention ----------------------------------------------------------------------------------

local function transformer_layer(b, x, a)
  local y = attention.residual_norm(b, "attention", x, b:scope("self", attention.attend, b, x, x,
    a))
  return attention.residual_norm(b, "ffn", y, attention.feed_forward(b, y, a))
end

-- Heads of 64. Output: the vocabulary where that is at most 30,000, else two classes.
local function transformer(b, rng, o)
  local hidden = draw(rng, { 256, 512, 768, 1024, 2048 })
  local a = { hidden = hidden, heads = hidden / 64, ffn = draw(rng, { 1, 2, 4 }) * hidden,
    activation = draw(rng, { "relu", "gelu" }) }
  local vocab, seq = draw(rng, { 5000, 30000, 100000, 300000 }), draw(rng, { 16, 64, 128 })
  local x = attention.embedding(b, "word", b:input("tokens", { seq }),
    { vocab = vocab, width = hidden })
  for i = 1, o.layers do x = b:scope("layer" .. i, transformer_layer, b, x, a) end
  local language = chance(rng, 0.5)
  return ending(b, x, language and vocab <= 30000 and vocab or 2, o)
end

-- ---- one of them --------------------------------------------------------------------------------

-- least, most: range of `layers`; batches: those drawn from, in samples.
local FAMILIES = {
  cnn = { make = cnn, least = 4, most = 18, batches = { 16, 32, 64, 120 } },
  mlp = { make = mlp, least = 3, most = 16, batches = { 32, 128, 512, 600 } },
  transformer = { make = transformer, least = 1, most = 7, batches = { 8, 32, 64, 128 } },
}
local NAMES = { "cnn", "mlp", "transformer" }

--- Description and table about it.
function random.describe(given)
  local o = options.read("random", given, random.options)
  local rng = berth_core.rng(o.seed)
  local drawn = draw(rng, NAMES)
  if o.family == "any" then o.family = drawn end
  local family = FAMILIES[o.family]
  local depth, batch = family.least - 1 + rng:below(family.most - family.least + 1),
    draw(rng, family.batches)
  o.layers, o.batch = o.layers or depth, o.batch or batch + 0.0
  local b = builder.new(string.format("random-%s-%.0f", o.family, o.seed), o)
  family.make(b, rng, o)
  return b:finish()
end

return random
