-- Inputs that the studies share: training graphs of the dnn-partitioning set as loaded, and models of berth's own.
package.path = "spec/?.lua;" .. package.path
local berth = require "berth"
local shared = require "support.shared"

local studies = { device = { preset = "V100", bandwidth = "10 GB/s", latency = "5 us" } }

local FILES = {
  { "BERT-3 ops", "OperatorGraphs/bert_l-3_training" }, { "BERT-6 ops", "OperatorGraphs/bert_l-6_training" },
  { "ResNet-50 ops", "OperatorGraphs/resnet50_training" }, { "BERT-24 layers", "LayerGraphs/bert24_training" },
  { "GNMT layers", "LayerGraphs/gnmt_training" }, { "Inception layers", "LayerGraphs/inceptionv3_training" },
  { "ResNet-50 layers", "LayerGraphs/resnet50_training" },
}
local MODELS = {
  { "inception_v3", { granularity = "layer", batch = 32 } }, { "gnmt", { granularity = "layer", batch = 64, seq = 20 } },
  { "transformer", { batch = 16, seq = 64 } }, { "bert", { granularity = "layer", batch = 8 } },
}

--- Array of { name, graph, topology }.
function studies.inputs()
  local out = {}
  if not shared.present() then io.stderr:write("no " .. shared.dir .. ": without the dnn-partitioning inputs\n") end
  for _, file in ipairs(shared.present() and FILES or {}) do
    local g, t = assert(berth.load(shared.path("data/msr-fiddle/throughput-inputs/" .. file[2] .. ".json")))
    out[#out + 1] = { name = file[1], graph = g, topology = t }
  end
  for _, model in ipairs(MODELS) do
    local g = assert(berth.models.build(model[1], model[2]))
    out[#out + 1] = { name = model[1], graph = g, topology = berth.topology.mesh(4, studies.device) }
  end
  return out
end

return studies
