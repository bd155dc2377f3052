-- The pairs of graph and topology of docs/how-good.md. Each: graph, devices (their description in
-- the document), links (of the simulation), cluster(), make(topology); cost: options of berth.cost;
-- file: below ../shared, if the graph is read from there (read(path) gives graph and topology);
-- published: step time and bound of a study, in units of the pair.
local berth = require "berth"
local clusters = require "how_good.clusters"
local copies = require "how_good.copies"
local graphs = require "how_good.graphs"
local splitmix = require "support.splitmix"

local function model(name, options)
  return function() return (assert(berth.models.build(name, options))) end
end

-- Times perturbed by the rule of the reference answers, with which the published values were found.
local function perturbed(path) return assert(berth.graph(splitmix.perturb(assert(berth.load(path))))) end

local function doppler(name, devices, best, bound)
  return {
    published = { best = best, bound = bound },
    graph = "DOPPLER " .. name:gsub("^gdp_", ""):gsub("_%d+nodes$", ""):gsub("_", " "), file = "data/doppler/" .. name .. ".txt",
    devices = devices .. " alike, every pair with its own link", links = "free", memory = "none", read = perturbed,
    cluster = function() return berth.topology.mesh(devices, { bandwidth = 1 }) end, -- times in the units of the file
    unit = { name = "1e10", seconds = 1e10 },
  }
end

local function micro_batched(name, n, options)
  return function() return copies.micro_batches(assert(berth.models.build(name, options)), n) end
end

-- A copy for each machine, whose devices have a separate type.
local function replicated(name, options)
  return function(t) return copies.data_parallel(assert(berth.models.build(name, options)), t) end
end

-- N: the number in the file. Memory: a factor times the parameters per device if spread evenly.
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
  { graph = "layered random, 500 ops", make = function() return graphs.layered() end,
    devices = "8 in a ring, four at half speed", cluster = clusters.uneven_ring, links = "pair" },
  { graph = "Cholesky factorisation, 12 x 12 tiles", make = function() return graphs.cholesky() end,
    devices = "4 unequal: 1, 1, 1/2, 1/4 of the speed", cluster = clusters.unequal, links = "free" },
  { graph = "BERT-base, 4 layers, training, 4 micro-batches of 8, layers", make = micro_batched("bert-base", 4, { layers = 4,
    batch = 8, granularity = "layer" }), devices = "4 V100, NVLink mesh", cluster = clusters.nvlink_mesh, links = "duplex" },
  { graph = "BERT-base, 4 layers, training, 2 replicas with all-reduce, layers", make = replicated("bert-base", { layers = 4,
    batch = 32, granularity = "layer" }), devices = "2 machines of 4 V100, 100 Gbit/s, a replica in each, 1.5 GB each",
    cluster = clusters.two_replicas, links = "route", cost = { collective_algorithm = "hierarchical" } },
  doppler("gdp_chain_mm_112nodes", 8, 600.0705, 600.0355),
  doppler("gdp_ffnn_192nodes", 8, 41.6641, 34.7895),
  doppler("gdp_full_transformer_layer_261nodes", 8, 97.2844, 97.2710),
  doppler("8gpu_full_transformer", 4, 230.8571, 202.5476),
  dnn("bert_l-6_training", "BERT, 6 layers, training, profiled ops", "duplex"),
  dnn("resnet50_training", "ResNet-50, training, profiled ops", "channel", 1.1),
}
