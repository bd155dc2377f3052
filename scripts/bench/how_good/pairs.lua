-- The pairs of graph and topology of docs/how-good.md. Each: graph, devices (what the document says of them), links (of the
-- simulation), make() that gives graph and topology; file: below ../shared, if the graph is read from there.
local berth = require "berth"
local clusters = require "how_good.clusters"
local graphs = require "how_good.graphs"

local function model(name, options)
  return function() return (assert(berth.models.build(name, options))) end
end

local function doppler(name, devices)
  return {
    graph = "DOPPLER " .. name:gsub("^gdp_", ""):gsub("_%d+nodes$", ""):gsub("_", " "), file = "data/doppler/" .. name .. ".txt",
    devices = devices .. " alike, every pair with its own link", links = "free", memory = "none", read = berth.load,
    cluster = function() return berth.topology.mesh(devices, { bandwidth = 1 }) end, -- times in the units of the file
    unit = { name = "1e10", seconds = 1e10 },
  }
end

-- N: as many as the file says. Memory: so many times what parameters would take of each device if they were spread evenly.
local function dnn(name, graph, links, factor)
  return {
    graph = graph, file = "data/msr-fiddle/throughput-inputs/OperatorGraphs/" .. name .. ".json", links = links,
    devices = "N accelerators, " .. (factor and ("%g times the even share of memory"):format(factor) or "16 GiB each"),
    read = function(path)
      local g, t = assert(berth.load(path))
      return g, factor and clusters.limited(t, factor * graphs.parameters(g) / #t) or t
    end,
  }
end

return {
  { graph = "ResNet-50, training, batch 64, layers", make = model("resnet50", { batch = 64, granularity = "layer" }),
    devices = "4 V100, NVLink mesh", cluster = clusters.nvlink_mesh, links = "duplex" },
  { graph = "ResNet-50, inference, batch 32, ops", make = model("resnet50", { batch = 32, training = false }),
    devices = "8 T4 in a PCIe tree", cluster = clusters.pcie_tree, links = "route" },
  { graph = "Inception-V3, training, batch 32, layers", make = model("inception_v3", { batch = 32, granularity = "layer" }),
    devices = "8 V100, DGX-1", cluster = clusters.dgx1, links = "duplex" },
  { graph = "Inception-V3, inference, batch 32, ops", make = model("inception_v3", { batch = 32, training = false }),
    devices = "4 V100 in a ring", cluster = clusters.ring, links = "free" },
  { graph = "VGG-19, training, batch 64, layers", make = model("vgg19", { batch = 64, granularity = "layer" }),
    devices = "2 machines of 4 P100, 10 Gbit/s Ethernet, 3 GB each", cluster = clusters.two_machines, links = "fair" },
  { graph = "BERT-base, training, batch 16, layers", make = model("bert-base", { batch = 16, granularity = "layer" }),
    devices = "4 V100, NVLink mesh, 2.5 GB each", cluster = clusters.small_nvlink_mesh, links = "duplex" },
  { graph = "BERT-large, inference, batch 8, ops", make = model("bert-large", { batch = 8, training = false }),
    devices = "4 machines of one T4 at a switch, 25 Gbit/s, 0.5 GB each", cluster = clusters.star, links = "fair" },
  { graph = "GNMT, training, batch 64, layers", make = model("gnmt", { batch = 64, seq = 20, granularity = "layer" }),
    devices = "TAG's testbed: 4 V100, 8 GTX 1080 Ti, 4 P100", cluster = clusters.tag_testbed, links = "duplex" },
  { graph = "Transformer, training, batch 16, ops", make = model("transformer", { batch = 16, seq = 64 }),
    devices = "TAG's six: 2 + 2 V100, 2 GTX 1080 Ti", cluster = clusters.tag_six, links = "fair" },
  { graph = "LLaMA, 4 layers of 7B, training, ops", make = model("llama-7b", { layers = 4, seq = 512 }),
    devices = "2 machines of 2 A100, 100 Gbit/s, 6 GB each", cluster = clusters.llama, links = "channel" },
  { graph = "layered random, 500 ops", make = graphs.layered,
    devices = "8 in a ring, four at half speed", cluster = clusters.uneven_ring, links = "pair" },
  { graph = "Cholesky factorisation, 12 x 12 tiles", make = graphs.cholesky,
    devices = "4 unequal: 1, 1, 1/2, 1/4 of the speed", cluster = clusters.unequal, links = "free" },
  doppler("gdp_chain_mm_112nodes", 8),
  doppler("gdp_ffnn_192nodes", 8),
  doppler("gdp_transformer_block_215nodes", 4),
  doppler("gdp_full_transformer_layer_261nodes", 8),
  doppler("8gpu_transformer_block", 8),
  doppler("8gpu_full_transformer", 4),
  dnn("bert_l-6_training", "BERT, 6 layers, training, profiled ops", "duplex"),
  dnn("resnet50_training", "ResNet-50, training, profiled ops", "channel", 1.1),
}
