-- Writes a ResNet-50 (He et al., "Deep Residual Learning for Image Recognition", 2015, table 1; the
-- stride of a block is in its 3 x 3 convolution) as a file of ONNX: batch is free, and weights are in a
-- file that berth does not need.
-- usage, from the root: LUA_PATH="?.lua;;" lua5.4 scripts/tools/resnet_onnx.lua > examples/resnet50.onnx
local o = require "spec.support.onnx"

local F32, FILE = 1, "resnet50.bin"
local nodes, weights, offset = {}, {}, 0

local function weight(name, dims)
  weights[#weights + 1] = o.external(name, dims, F32, FILE, offset)
  local n = 4
  for _, d in ipairs(dims) do n = n * d end
  offset = offset + n
  return name
end

local function node(...) nodes[#nodes + 1] = o.node(...) end

-- A convolution and its norm, from x; returns the name of the result.
local function conv_norm(name, x, from, to, size, stride)
  local pad = math.floor(size / 2)
  weight(name .. ".w", { to, from, size, size })
  for _, part in ipairs { "scale", "bias", "mean", "var" } do
    weight(name .. "." .. part, { to })
  end
  node(("Conv %s %s.w -> %s.conv"):format(x, name, name), { kernel_shape = { size, size },
    strides = { stride, stride }, pads = { pad, pad, pad, pad } })
  node(("BatchNormalization %s.conv %s.scale %s.bias %s.mean %s.var -> %s"):format(name, name, name,
    name, name, name))
  return name
end

local function relu(x)
  node(("Relu %s -> %s.relu"):format(x, x))
  return x .. ".relu"
end

-- Three convolutions beside a shortcut; the first of a stage changes sizes, and projects.
local function block(name, x, from, width, stride)
  local y = relu(conv_norm(name .. ".1", x, from, width, 1, 1))
  y = relu(conv_norm(name .. ".2", y, width, width, 3, stride))
  y = conv_norm(name .. ".3", y, width, 4 * width, 1, 1)
  if from ~= 4 * width then x = conv_norm(name .. ".short", x, from, 4 * width, 1, stride) end
  node(("Add %s %s -> %s"):format(y, x, name))
  return relu(name)
end

local x = relu(conv_norm("stem", "image", 3, 64, 7, 2))
node("MaxPool " .. x .. " -> pool",
  { kernel_shape = { 3, 3 }, strides = { 2, 2 }, pads = { 1, 1, 1, 1 } })
x = "pool"
local channels = 64
for stage, blocks in ipairs { 3, 4, 6, 3 } do
  local width = 32 * 2 ^ stage
  for i = 1, blocks do
    x = block(("stage%d.%d"):format(stage, i), x, channels, width, i == 1 and stage > 1 and 2 or 1)
    channels = 4 * width
  end
end
node("GlobalAveragePool " .. x .. " -> mean")
node "Flatten mean -> features"
node(("Gemm features %s %s -> logits"):format(weight("head.w", { 1000, 2048 }),
  weight("head.b", { 1000 })), { transB = 1 })

io.write(o.model { nodes = nodes, initializers = weights,
  inputs = { o.info("image", F32, { "batch", 3, 224, 224 }) },
  outputs = { o.info("logits", F32, { "batch", 1000 }) } })
