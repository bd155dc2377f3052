--- VGG: K. Simonyan, A. Zisserman, "Very Deep Convolutional Networks for Large-Scale Image
-- Recognition", 2015, table 1. No batch norm; dropout is left out.
local builder = require "berth.models.builder"
local layers = require "berth.models.layers"
local options = require "berth.models.options"

local vgg = {}

-- Columns A, B, D and E of table 1: convolutions between two pools.
local STAGES = {
  [11] = { 1, 1, 2, 2, 2 }, [13] = { 2, 2, 2, 2, 2 }, [16] = { 2, 2, 3, 3, 3 },
  [19] = { 2, 2, 4, 4, 4 },
}
-- Channels of each stage.
local WIDTHS = { 64, 128, 256, 512, 512 }

vgg.options = {
  depth = { default = 16, kind = { 11, 13, 16, 19 } },
  image = { default = 224, kind = "count" },
  classes = { default = 1000, kind = "count" },
}

-- Convolutions of 3x3 that keep the extent, then a pool that halves it.
local function stage(b, x, width, count)
  for k = 1, count do
    x = layers.conv(b, string.format("conv%d", k), x, { channels = width, kernel = 3, padding = 1,
      bias = true })
    x = layers.relu(b, string.format("relu%d", k), x)
  end
  return layers.max_pool(b, "pool", x, { kernel = 2, stride = 2 })
end

-- Three dense layers on 7x7; images of other sizes are pooled to that first.
local function head(b, x, o)
  if x.shape[2] ~= 7 then x = layers.adaptive_pool(b, "pool", x, 7) end
  x = layers.relu(b, "relu1", layers.linear(b, "fc1", x, { width = 4096, flatten = true }))
  x = layers.relu(b, "relu2", layers.linear(b, "fc2", x, { width = 4096 }))
  x = layers.linear(b, "fc3", x, { width = o.classes })
  return o.training and layers.loss(b, "loss", x) or x
end

--- Description and table about it.
function vgg.describe(given)
  local o = options.read("vgg", given, vgg.options)
  local b = builder.new(string.format("vgg%d", o.depth), o)
  local x = b:scope("input", b.input, b, "image", { 3, o.image, o.image })
  for i, count in ipairs(STAGES[o.depth]) do
    x = b:scope(string.format("stage%d", i), stage, b, x, WIDTHS[i], count)
  end
  b:scope("head", head, b, x, o)
  return b:finish()
end

return vgg
