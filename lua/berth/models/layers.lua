--- Layers for image models and those that all models share. Each takes the recorder, a name and
-- values, and returns a value. Shapes leave the batch out: images are { channels, height, width },
-- sequences { length, width }.
local fail = require("berth.base.options").fail

local layers = {}

-- FLOP per element of the output.
local COST = { batch_norm = 4, layer_norm = 5, rms_norm = 4, relu = 1, gelu = 8, tanh = 4,
  silu_mul = 5, softmax = 5, add = 1, rope = 3, loss = 5 }
layers.COST = COST

local function pair(x)
  if type(x) == "table" then return x[1], x[2] end
  return x, x
end

local function window(size, kernel, stride, padding, name)
  local out = math.floor((size + 2 * padding - kernel) / stride) + 1.0
  if out < 1 then
    fail("berth.models: %s: an input of %d is smaller than the kernel of %d", name, size, kernel)
  end
  return out
end

local function windows(x, o, name)
  local kh, kw = pair(o.kernel)
  local ph, pw = pair(o.padding or 0)
  local stride = o.stride or 1
  return window(x.shape[2], kh, stride, ph, name), window(x.shape[3], kw, stride, pw, name), kh * kw
end

--- Convolution: an implicit product of pixels of the output and channels. o: channels, kernel
-- (number or { high, wide }), stride = 1, padding = 0, bias = false.
function layers.conv(b, name, x, o)
  local high, wide, area = windows(x, o, name)
  local fan_in = x.shape[1] * area
  return b:op {
    name = name, kind = "conv", inputs = { x }, shape = { o.channels, high, wide }, split = true,
    saves = { true }, area = area,
    product = { m = b.batch * high * wide, n = o.channels, k = fan_in },
    weight = b:weight(name, o.channels * fan_in + (o.bias and o.channels or 0)),
  }
end

local function elements(b, shape)
  local n = b.batch
  for _, d in ipairs(shape) do n = n * d end
  return n
end

--- Batch normalisation: two trained numbers per channel.
function layers.batch_norm(b, name, x)
  return b:op {
    name = name, kind = "batch_norm", inputs = { x }, shape = x.shape, saves = { true },
    flop = COST.batch_norm * elements(b, x.shape), weight = b:weight(name, 2 * x.shape[1]),
  }
end

--- Overwrites its input; the backward op needs the output only.
function layers.relu(b, name, x)
  return b:op {
    name = name, kind = "relu", inputs = { x }, shape = x.shape, inplace = true,
    saves_output = true, flop = COST.relu * elements(b, x.shape),
  }
end

--- Backward reads input and output to find the maxima again.
function layers.max_pool(b, name, x, o)
  local high, wide, area = windows(x, o, name)
  local shape = { x.shape[1], high, wide }
  return b:op {
    name = name, kind = "max_pool", inputs = { x }, shape = shape, saves = { true },
    saves_output = true, flop = area * elements(b, shape),
  }
end

function layers.avg_pool(b, name, x, o)
  local high, wide, area = windows(x, o, name)
  local shape = { x.shape[1], high, wide }
  return b:op { name = name, kind = "avg_pool", inputs = { x }, shape = shape,
    flop = area * elements(b, shape) }
end

--- Mean over the image: { channels }.
function layers.global_pool(b, name, x)
  return b:op { name = name, kind = "avg_pool", inputs = { x }, shape = { x.shape[1] },
    flop = elements(b, x.shape) }
end

--- Average pooling to a fixed size; a plain pass where the size is right already.
function layers.adaptive_pool(b, name, x, size)
  local shape = { x.shape[1], size, size }
  local n = math.max(elements(b, x.shape), elements(b, shape))
  return b:op { name = name, kind = "avg_pool", inputs = { x }, shape = shape, flop = n }
end

function layers.concat(b, name, xs)
  local channels = 0
  for _, x in ipairs(xs) do channels = channels + x.shape[1] end
  return b:op { name = name, kind = "concat", inputs = xs, shape = { channels, xs[1].shape[2],
    xs[1].shape[3] }, flop = 0 }
end

--- Residual sum, over its first free input; backwards the gradient passes unchanged.
function layers.add(b, name, x, y)
  return b:op {
    name = name, kind = "add", inputs = { x, y }, shape = x.shape, inplace = true, pass = true,
    flop = COST.add * elements(b, x.shape),
  }
end

-- Width of the last dimension, and how many rows of it there are with the batch.
local function rows(b, x)
  local n = b.batch
  for i = 1, #x.shape - 1 do n = n * x.shape[i] end
  return n, x.shape[#x.shape]
end

local function with_width(shape, width)
  local out = {}
  for i = 1, #shape - 1 do out[i] = shape[i] end
  out[math.max(#shape, 1)] = width
  return out
end

local function flattened(x)
  local n = 1
  for _, d in ipairs(x.shape) do n = n * d end
  return { shape = { n } }
end

--- Matrix product with trained weights. o: width, bias = true, weight (shared), flatten = false.
function layers.linear(b, name, x, o)
  local seen = o.flatten and flattened(x) or x
  local n, fan_in = rows(b, seen)
  local biases = o.bias ~= false and o.width or 0
  return b:op {
    name = name, kind = "linear", inputs = { x }, shape = with_width(seen.shape, o.width),
    split = true, saves = { true }, product = { m = n, n = o.width, k = fan_in },
    weight = o.weight or b:weight(name, fan_in * o.width + biases),
  }
end

--- Cross entropy over the last dimension: the end of training graphs.
function layers.loss(b, name, x)
  return b:op {
    name = name, kind = "loss", inputs = { x }, shape = {}, saves = { true },
    flop = COST.loss * elements(b, x.shape),
  }
end

--- An op on each element that keeps the shape. o: inplace, saves, saves_output, pass (as in
-- Builder:op).
function layers.elementwise(b, kind, name, x, o)
  return b:op {
    name = name, kind = kind, inputs = { x }, shape = x.shape,
    flop = COST[kind] * elements(b, x.shape), inplace = o.inplace, saves = o.saves,
    saves_output = o.saves_output, pass = o.pass,
  }
end

--- Layer norm (weights and biases) or RMS norm (weights).
function layers.norm(b, kind, name, x)
  local _, width = rows(b, x)
  return b:op {
    name = name, kind = kind, inputs = { x }, shape = x.shape, saves = { true },
    flop = COST[kind] * elements(b, x.shape),
    weight = b:weight(name, kind == "layer_norm" and 2 * width or width),
  }
end

layers.elements = elements
return layers
