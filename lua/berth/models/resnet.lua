--- ResNet: K. He et al., "Deep Residual Learning for Image Recognition", 2016, table 1.
-- Departs from the paper: a block's stride is on its 3x3 convolution, as in the widely used "v1.5".
local builder = require "berth.models.builder"
local layers = require "berth.models.layers"
local options = require "berth.models.options"

local resnet = {}

local DEPTHS = {
  [18] = { blocks = { 2, 2, 2, 2 } }, [34] = { blocks = { 3, 4, 6, 3 } },
  [50] = { blocks = { 3, 4, 6, 3 }, bottleneck = true }, [101] = { blocks = { 3, 4, 23, 3 }, bottleneck = true },
  [152] = { blocks = { 3, 8, 36, 3 }, bottleneck = true },
}

resnet.options = {
  depth = { default = 50, kind = { 18, 34, 50, 101, 152 } },
  image = { default = 224, kind = "count" },
  classes = { default = 1000, kind = "count" },
}

local function conv_norm(b, suffix, x, o)
  return layers.batch_norm(b, "bn" .. suffix, layers.conv(b, "conv" .. suffix, x, o))
end

local function conv_norm_relu(b, suffix, x, o)
  return layers.relu(b, "relu" .. suffix, conv_norm(b, suffix, x, o))
end

local function bottleneck(b, x, width, stride)
  local y = conv_norm_relu(b, "1", x, { channels = width, kernel = 1 })
  y = conv_norm_relu(b, "2", y, { channels = width, kernel = 3, stride = stride, padding = 1 })
  return conv_norm(b, "3", y, { channels = 4 * width, kernel = 1 })
end

local function basic(b, x, width, stride)
  local y = conv_norm_relu(b, "1", x, { channels = width, kernel = 3, stride = stride, padding = 1 })
  return conv_norm(b, "2", y, { channels = width, kernel = 3, padding = 1 })
end

local function shortcut(b, x, like, stride)
  if x.shape[1] == like.shape[1] and stride == 1 then return x end
  local y = layers.conv(b, "downsample.conv", x, { channels = like.shape[1], kernel = 1, stride = stride })
  return layers.batch_norm(b, "downsample.bn", y)
end

local function block(b, x, width, stride, design)
  local y = (design.bottleneck and bottleneck or basic)(b, x, width, stride)
  return layers.relu(b, "relu", layers.add(b, "add", y, shortcut(b, x, y, stride)))
end

local function stem(b, image)
  local x = conv_norm_relu(b, "1", b:input("image", { 3, image, image }), { channels = 64, kernel = 7, stride = 2, padding = 3 })
  return layers.max_pool(b, "pool", x, { kernel = 3, stride = 2, padding = 1 })
end

local function head(b, x, o)
  x = layers.linear(b, "fc", layers.global_pool(b, "pool", x), { width = o.classes })
  return o.training and layers.loss(b, "loss", x) or x
end

--- Description and table about it.
function resnet.describe(given)
  local o = options.read("resnet", given, resnet.options)
  local design = DEPTHS[o.depth]
  local b = builder.new(string.format("resnet%d", o.depth), o)
  local x = b:scope("stem", stem, b, o.image)
  for stage, count in ipairs(design.blocks) do
    for k = 1, count do
      local stride = (stage > 1 and k == 1) and 2 or 1
      x = b:scope(string.format("layer%d.%d", stage, k - 1), block, b, x, 32 * math.floor(2 ^ stage), stride, design)
    end
  end
  b:scope("head", head, b, x, o)
  return b:finish()
end

return resnet
