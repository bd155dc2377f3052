--- Unrolled LSTM layers. One op covers a chunk of time steps; all ops of a layer share one weight,
-- whose gradient is one op.
-- A step of width w and hidden size h: 4 h (w + h) multiply-adds and 9 h element-wise FLOP per
-- sample, 4 h (w + h) weights and 8 h biases (two per gate, as in cuDNN); it keeps 5 h numbers for
-- its backward op and hands 4 h gate gradients to the gradient of the weight.
local attention = require "berth.models.attention"

local recurrent = {}

-- Lengths of the chunks that n steps are cut into.
local function chunks(n, size)
  local out = {}
  while n > 0 do
    out[#out + 1] = math.min(n, size)
    n = n - size
  end
  return out
end

--- Word vectors of a sequence, a value for each chunk. o: table (shared weight), hidden,
-- steps_per_op.
function recurrent.embed(b, length, o)
  local out = {}
  for t, steps in ipairs(chunks(length, o.steps_per_op)) do
    local tokens = b:input(string.format("tokens%d", t), { steps })
    out[t] = attention.embedding(b, string.format("table%d", t), tokens, {
      width = o.hidden, weight = o.table, deferred = true })
  end
  return out
end

-- inputs: { x, then the context if there is one, then h and c of the step before }
-- One chunk: its outputs [steps, hidden], and the state { h, c } for the next chunk.
local function step(b, name, x, context, state, weight, o)
  local steps, hidden = x.shape[1], o.hidden
  local inputs, saves, enters, width = { x }, { true }, { true }, x.shape[2]
  local function take(value, enters_weight)
    inputs[#inputs + 1] = value
    saves[#inputs], enters[#inputs] = true, enters_weight
  end
  if context then take(context, true); width = width + hidden end
  if state then take(state.h, true); take(state.c, false) end
  local macs = b.batch * steps * 4 * hidden * (width + hidden)
  -- steps follow one another: several are no product of one size
  local product = { m = b.batch, n = 4 * hidden, k = width + hidden }
  local outputs = b:multi {
    name = name, kind = "lstm", inputs = inputs, shapes = { { steps, hidden }, { 1, hidden } },
    saves = saves, cell = true, enters_weight = enters, weight = weight, macs = macs,
    product = steps == 1 and product or nil,
    flop = 2 * macs + 9 * b.batch * steps * hidden, reserve = 5 * b.batch * steps * hidden,
    gate_elements = 4 * b.batch * steps * hidden,
  }
  return outputs[1], { h = outputs[1], c = outputs[2] }
end

-- The weight of a layer: 4 gates, each with weights of input and state and two biases.
local function lstm_weight(b, name, width, hidden)
  return b:weight(name, 4 * hidden * (width + hidden) + 8 * hidden)
end

--- A layer over the chunks xs. contexts: values of the attention for each chunk, or nil; reversed:
-- from the last chunk to the first. o: hidden.
function recurrent.layer(b, name, xs, contexts, reversed, o)
  local width = xs[1].shape[2] + (contexts and o.hidden or 0)
  local weight, state, out = lstm_weight(b, name, width, o.hidden), nil, {}
  local first, last, by = 1, #xs, 1
  if reversed then first, last, by = #xs, 1, -1 end
  for t = first, last, by do
    out[t], state = step(b, string.format("%s.step%d", name, t), xs[t], contexts and contexts[t],
      state, weight, o)
  end
  return out
end

--- Several values as one, without FLOP.
function recurrent.concat(b, name, xs, shape)
  return b:op { name = name, kind = "concat", inputs = xs, shape = shape, flop = 0 }
end

--- The chunks as one sequence.
function recurrent.joined(b, name, xs, width)
  local length = 0
  for _, x in ipairs(xs) do length = length + x.shape[1] end
  return recurrent.concat(b, name, xs, { length, width })
end

return recurrent
