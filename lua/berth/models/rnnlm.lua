--- LSTM language model: W. Zaremba et al., "Recurrent Neural Network Regularization", 2014, sec.
-- 4.1 (medium and large). Two biases per gate, as cuDNN has them; input and output tables are not
-- shared; dropout is left out. Unrolled as gnmt is.
local builder = require "berth.models.builder"
local layers = require "berth.models.layers"
local options = require "berth.models.options"
local recurrent = require "berth.models.recurrent"

local rnnlm = {}

local SIZES = { medium = 650, large = 1500 }

rnnlm.options = {
  size = { default = "medium", kind = { "medium", "large" } },
  hidden = { kind = "count", by = "size" },
  layers = { default = 2, kind = "count" },
  vocab = { default = 10000, kind = "count" },
  seq = { default = 35, kind = "count" },
  steps_per_op = { default = 1, kind = "count" },
}

local function head(b, xs, o)
  local x = layers.linear(b, "logits", recurrent.joined(b, "outputs", xs, o.hidden),
    { width = o.vocab })
  return o.training and layers.loss(b, "loss", x) or x
end

--- Description and table about it.
function rnnlm.describe(given)
  local o = options.read("rnnlm", given, rnnlm.options)
  o.hidden = o.hidden or SIZES[o.size]
  local b = builder.new("rnnlm", o)
  o.table = b:scope("embedding", b.weight, b, "table", o.vocab * o.hidden)
  local xs = b:scope("embedding", recurrent.embed, b, o.seq, o)
  for i = 1, o.layers do
    xs = b:scope(string.format("layer%d", i), recurrent.layer, b, "lstm", xs, nil, false, o)
  end
  b:scope("head", head, b, xs, o)
  o.table = nil
  return b:finish()
end

return rnnlm
