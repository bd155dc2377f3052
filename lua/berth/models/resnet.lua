--- ResNet: K. He et al., "Deep Residual Learning for Image Recognition", 2016, table 1. Departs
-- from the paper: a block's stride is on its 3x3 convolution, as in the widely used "v1.5". Version
-- 2: K. He et al., "Identity Mappings in Deep Residual Networks", 2016: norm and relu come before
-- the convolutions; with the layout of Keras (biases on the stem, the last convolution of a block
-- and the shortcut; a stage ends with its stride).
local builder = require "berth.models.builder"
local layers = require "berth.models.layers"
local options = require "berth.models.options"

local resnet = {}

-- Blocks of each of the four stages (table 1).
local DEPTHS = {
  [18] = { blocks = { 2, 2, 2, 2 } }, [34] = { blocks = { 3, 4, 6, 3 } },
  [50] = { blocks = { 3, 4, 6, 3 }, bottleneck = true }, [101] = { blocks = { 3, 4, 23, 3 },
    bottleneck = true },
  [152] = { blocks = { 3, 8, 36, 3 }, bottleneck = true },
}

resnet.options = {
  depth = { default = 50, kind = { 18, 34, 50, 101, 152 } },
  version = { default = 1, kind = { 1, 2 } },
  image = { default = 224, kind = "count" },
  classes = { default = 1000, kind = "count" },
}

local function conv_norm(b, suffix, x, o)
  return layers.batch_norm(b, "bn" .. suffix, layers.conv(b, "conv" .. suffix, x, o))
end

local function conv_norm_relu(b, suffix, x, o)
  return layers.relu(b, "relu" .. suffix, conv_norm(b, suffix, x, o))
end

-- 1x1, 3x3, 1x1: the last has four times the width.
local function bottleneck(b, x, width, stride)
  local y = conv_norm_relu(b, "1", x, { channels = width, kernel = 1 })
  y = conv_norm_relu(b, "2", y, { channels = width, kernel = 3, stride = stride, padding = 1 })
  return conv_norm(b, "3", y, { channels = 4 * width, kernel = 1 })
end

-- Two 3x3 convolutions, for depths 18 and 34.
local function basic(b, x, width, stride)
  local y = conv_norm_relu(b, "1", x, { channels = width, kernel = 3, stride = stride,
    padding = 1 })
  return conv_norm(b, "2", y, { channels = width, kernel = 3, padding = 1 })
end

-- Identity, or a projection where the shape changes (option B of the paper).
local function shortcut(b, x, like, stride)
  if x.shape[1] == like.shape[1] and stride == 1 then return x end
  local y = layers.conv(b, "downsample.conv", x, { channels = like.shape[1], kernel = 1,
    stride = stride })
  return layers.batch_norm(b, "downsample.bn", y)
end

local function block(b, x, width, stride, design)
  local y = (design.bottleneck and bottleneck or basic)(b, x, width, stride)
  return layers.relu(b, "relu", layers.add(b, "add", y, shortcut(b, x, y, stride)))
end

local function stem(b, image)
  local x = conv_norm_relu(b, "1", b:input("image", { 3, image, image }),
    { channels = 64, kernel = 7, stride = 2, padding = 3 })
  return layers.max_pool(b, "pool", x, { kernel = 3, stride = 2, padding = 1 })
end

-- ---- version 2: bottlenecks only ----------------------------------------------------------------

local function norm_relu(b, suffix, x)
  return layers.relu(b, "relu" .. suffix, layers.batch_norm(b, "bn" .. suffix, x))
end

-- Norm and relu come first. The projection reads them; a plain shortcut reads x itself, and where
-- the block has a stride it is a pool of 1x1, which has no parameters.
local function block2(b, x, width, stride, projected)
  local first = norm_relu(b, "1", x)
  local straight = x
  if projected then
    straight = layers.conv(b, "shortcut", first, { channels = 4 * width, kernel = 1, bias = true })
  elseif stride > 1 then
    straight = layers.max_pool(b, "shortcut", x, { kernel = 1, stride = stride })
  end
  local y = norm_relu(b, "2", layers.conv(b, "conv1", first, { channels = width, kernel = 1 }))
  y = norm_relu(b, "3", layers.conv(b, "conv2", y, { channels = width, kernel = 3, stride = stride,
    padding = 1 }))
  return layers.add(b, "add",
    layers.conv(b, "conv3", y, { channels = 4 * width, kernel = 1, bias = true }), straight)
end

local function stem2(b, image)
  local x = layers.conv(b, "conv1", b:input("image", { 3, image, image }),
    { channels = 64, kernel = 7, stride = 2, padding = 3, bias = true })
  return layers.max_pool(b, "pool", x, { kernel = 3, stride = 2, padding = 1 })
end

-- The last block of a stage has its stride, not the first of the next one.
local function body2(b, blocks, o)
  local x = b:scope("stem", stem2, b, o.image)
  for stage, count in ipairs(blocks) do
    for k = 1, count do
      local stride = (stage < #blocks and k == count) and 2 or 1
      x = b:scope(string.format("layer%d.%d", stage, k - 1), block2, b, x,
        32 * math.floor(2 ^ stage), stride, k == 1)
    end
  end
  return b:scope("last", norm_relu, b, "", x)
end

-- ---- either -------------------------------------------------------------------------------------

local function head(b, x, o)
  x = layers.linear(b, "fc", layers.global_pool(b, "pool", x), { width = o.classes })
  return o.training and layers.loss(b, "loss", x) or x
end

local function body(b, design, o)
  local x = b:scope("stem", stem, b, o.image)
  for stage, count in ipairs(design.blocks) do
    for k = 1, count do
      local stride = (stage > 1 and k == 1) and 2 or 1
      x = b:scope(string.format("layer%d.%d", stage, k - 1), block, b, x,
        32 * math.floor(2 ^ stage), stride, design)
    end
  end
  return x
end

--- Description and table about it.
function resnet.describe(given)
  local o = options.read("resnet", given, resnet.options)
  local design = DEPTHS[o.depth]
  options.refuse(o.version == 2 and not design.bottleneck, "resnet",
    "version = 2 has depth = 50, 101 or 152, not %d", o.depth)
  local b = builder.new(string.format("resnet%d", o.depth) .. (o.version == 2 and "_v2" or ""), o)
  local x = o.version == 2 and body2(b, design.blocks, o) or body(b, design, o)
  b:scope("head", head, b, x, o)
  return b:finish()
end

return resnet
