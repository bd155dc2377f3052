-- The twelve cells of the study: six DOPPLER graphs on 4 and 8 devices. Features come from the costs as given; the simulator has
-- perturbed ones. Values are in file units / 1e10.
local berth = require "berth"
local splitmix = require "support.splitmix"

local cells = {}

-- Name, file, simulator calls of a training; on 4 and on 8 devices: best known; flat annealing with 8,000 calls in the study of
-- papers/bounds-and-search.md; its single-call starts by units, list-scheduled and dealt out in turn.
local rows = {
  { "chain", "gdp_chain_mm_112nodes", 4000,
    { 1200.0710, 600.0705 }, { 1230.07, 870.08 }, { 1200.12, 800.12 }, { 1200.07, 800.07 } },
  { "ffnn", "gdp_ffnn_192nodes", 4000,
    { 56.6982, 41.6641 }, { 64.54, 44.54 }, { 57.35, 42.09 }, { 56.70, 42.95 } },
  { "block", "gdp_transformer_block_215nodes", 8000,
    { 166.7188, 141.3888 }, { 177.88, 155.41 }, { 166.82, 141.45 }, { 173.80, 168.44 } },
  { "layer", "gdp_full_transformer_layer_261nodes", 8000,
    { 122.6288, 97.2844 }, { 157.00, 141.48 }, { 148.01, 97.28 }, { 122.76, 118.14 } },
  { "8gpu_block", "8gpu_transformer_block", 8000,
    { 231.3598, 166.7407 }, { 278.85, 250.46 }, { 231.67, 194.35 }, { 245.43, 210.94 } },
  { "8gpu_layer", "8gpu_full_transformer", 8000,
    { 230.8571, 166.7875 }, { 274.60, 234.61 }, { 326.54, 173.88 }, { 232.05, 211.05 } },
}

cells.scale = 1e10
cells.judge = { preset = "doppler" }

--- @treturn graph costs as given
-- @treturn graph perturbed costs
function cells.load(folder, name)
  local plain = assert(berth.load(("%s/%s.txt"):format(folder, name)))
  return plain, assert(berth.graph(splitmix.perturb(plain)))
end

--- Array of { label, name, devices, graph, judge, topology, calls, best, flat, list, dealt }.
-- @tparam string wanted part of the labels
function cells.all(folder, wanted)
  local out = {}
  for _, row in ipairs(rows) do
    local graph, judge = cells.load(folder, row[2])
    for i, devices in ipairs { 4, 8 } do
      local label = ("%s D=%d"):format(row[1], devices)
      if label:find(wanted or "", 1, true) then
        table.insert(out, { label = label, name = row[1], devices = devices, graph = graph, judge = judge,
          calls = row[3],
          topology = berth.topology.mesh(devices, { bandwidth = 1 }), best = row[4][i], flat = row[5][i], list = row[6][i],
          dealt = row[7][i] })
      end
    end
  end
  return out
end

return cells
