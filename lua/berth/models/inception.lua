--- Inception-V3: C. Szegedy et al., "Rethinking the Inception Architecture for Computer Vision",
-- 2016, table 1, with the layer widths of the released models. Every convolution has a batch norm
-- and no bias; dropout is left out.
local builder = require "berth.models.builder"
local layers = require "berth.models.layers"
local options = require "berth.models.options"

local inception = {}

inception.options = {
  image = { default = 299, kind = "count" },
  classes = { default = 1000, kind = "count" },
  aux = { kind = "boolean", by = "as training" },
}

-- Convolution, batch norm and relu. kernel, stride and padding are a number or { height, width };
-- stride 1 and no padding unless given.
local function unit(b, name, x, channels, kernel, stride, padding)
  local y = layers.conv(b, name .. ".conv", x, { channels = channels, kernel = kernel,
    stride = stride, padding = padding })
  return layers.relu(b, name .. ".relu", layers.batch_norm(b, name .. ".bn", y))
end

-- A chain of units: each { channels, kernel, stride, padding }.
local function branch(b, name, x, chain)
  for i, u in ipairs(chain) do
    x = unit(b, string.format("%s_%d", name, i), x, u[1], u[2], u[3], u[4])
  end
  return x
end

-- The fourth branch of every module: a mean that keeps the extent, then a 1x1 unit.
local function pooled(b, x, channels)
  local y = layers.avg_pool(b, "pool", x, { kernel = 3, stride = 1, padding = 1 })
  return branch(b, "pool", y, { { channels, 1 } })
end

-- Figure 5, on 35x35. As in the released models one branch keeps a 5x5 convolution.
local function block_35(b, x, pool_width)
  return layers.concat(b, "concat", {
    branch(b, "b1", x, { { 64, 1 } }),
    branch(b, "b5", x, { { 48, 1 }, { 64, 5, 1, 2 } }),
    branch(b, "b3", x, { { 64, 1 }, { 96, 3, 1, 1 }, { 96, 3, 1, 1 } }),
    pooled(b, x, pool_width),
  })
end

-- Figure 10: halves the extent; the third branch is a pool without a unit. 288 -> 768 channels.
local function shrink_to_17(b, x)
  return layers.concat(b, "concat", {
    branch(b, "b3", x, { { 384, 3, 2 } }),
    branch(b, "b3d", x, { { 64, 1 }, { 96, 3, 1, 1 }, { 96, 3, 2 } }),
    layers.max_pool(b, "pool", x, { kernel = 3, stride = 2 }),
  })
end

-- A 7x7 convolution as a 1x7 and a 7x1 one (section 3.2).
local WIDE, TALL = { 1, 7 }, { 7, 1 }
local PAD_WIDE, PAD_TALL = { 0, 3 }, { 3, 0 }

-- Figure 6 with n = 7, on 17x17; c: width inside of the two factored branches.
local function block_17(b, x, c)
  return layers.concat(b, "concat", {
    branch(b, "b1", x, { { 192, 1 } }),
    branch(b, "b7", x, { { c, 1 }, { c, WIDE, 1, PAD_WIDE }, { 192, TALL, 1, PAD_TALL } }),
    branch(b, "b7d", x, { { c, 1 }, { c, TALL, 1, PAD_TALL }, { c, WIDE, 1, PAD_WIDE },
      { c, TALL, 1, PAD_TALL }, { 192, WIDE, 1, PAD_WIDE } }),
    pooled(b, x, 192),
  })
end

-- Figure 10 once more: 768 -> 1280 channels.
local function shrink_to_8(b, x)
  return layers.concat(b, "concat", {
    branch(b, "b3", x, { { 192, 1 }, { 320, 3, 2 } }),
    branch(b, "b7", x, { { 192, 1 }, { 192, WIDE, 1, PAD_WIDE }, { 192, TALL, 1, PAD_TALL },
      { 192, 3, 2 } }),
    layers.max_pool(b, "pool", x, { kernel = 3, stride = 2 }),
  })
end

-- 1x3 and 3x1 side by side on the same input.
local function fork(b, name, x)
  return layers.concat(b, name .. ".concat", {
    unit(b, name .. "a", x, 384, { 1, 3 }, 1, { 0, 1 }), unit(b, name .. "b", x, 384, { 3, 1 }, 1,
      { 1, 0 }),
  })
end

-- Figure 7: the outer branches of the coarsest grid fork instead of chaining. 2048 channels.
local function block_8(b, x)
  return layers.concat(b, "concat", {
    branch(b, "b1", x, { { 320, 1 } }),
    fork(b, "b3", branch(b, "b3", x, { { 384, 1 } })),
    fork(b, "b3d", branch(b, "b3d", x, { { 448, 1 }, { 384, 3, 1, 1 } })),
    pooled(b, x, 192),
  })
end

-- The rows of table 1 before the modules: 299x299x3 -> 35x35x192.
local function stem(b, image)
  local x = b:input("image", { 3, image, image })
  x = branch(b, "conv1", x, { { 32, 3, 2 }, { 32, 3 }, { 64, 3, 1, 1 } })
  x = layers.max_pool(b, "pool1", x, { kernel = 3, stride = 2 })
  x = branch(b, "conv2", x, { { 80, 1 }, { 192, 3 } })
  return layers.max_pool(b, "pool2", x, { kernel = 3, stride = 2 })
end

local function finish(b, x, o)
  x = layers.linear(b, "fc", x, { width = o.classes })
  return o.training and layers.loss(b, "loss", x) or x
end

-- Figure 8: the classifier beside the last 17x17 module, which adds a loss of its own.
local function auxiliary(b, x, o)
  x = layers.avg_pool(b, "pool", x, { kernel = 5, stride = 3 })
  x = branch(b, "conv", x, { { 128, 1 }, { 768, 5 } })
  return finish(b, layers.global_pool(b, "mean", x), o)
end

local function head(b, x, o)
  return finish(b, layers.global_pool(b, "pool", x), o)
end

-- { scope, module, its third argument }.
local BEFORE_AUX = {
  { "mixed5b", block_35, 32 }, { "mixed5c", block_35, 64 }, { "mixed5d", block_35, 64 },
  { "mixed6a", shrink_to_17 }, { "mixed6b", block_17, 128 }, { "mixed6c", block_17, 160 },
  { "mixed6d", block_17, 160 }, { "mixed6e", block_17, 192 },
}
local AFTER_AUX = { { "mixed7a", shrink_to_8 }, { "mixed7b", block_8 }, { "mixed7c", block_8 } }

local function chain(b, x, blocks)
  for _, s in ipairs(blocks) do x = b:scope(s[1], s[2], b, x, s[3]) end
  return x
end

--- Description and table about it.
function inception.describe(given)
  local o = options.read("inception_v3", given, inception.options)
  if o.aux == nil then o.aux = o.training end
  local b = builder.new("inception_v3", o)
  local x = chain(b, b:scope("stem", stem, b, o.image), BEFORE_AUX)
  if o.aux then b:scope("aux", auxiliary, b, x, o) end
  b:scope("head", head, b, chain(b, x, AFTER_AUX), o)
  return b:finish()
end

return inception
