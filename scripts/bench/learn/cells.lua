-- The twelve cells of the study: six DOPPLER graphs on 4 and 8 devices. Features come from the
-- given costs; the simulator has perturbed ones. Values are in file units / 1e10.
local berth = require "berth"
local splitmix = require "support.splitmix"

local cells = {}

-- Name, file, simulator calls of a training; best known on 4 and on 8 devices.
local rows = {
  { "chain", "gdp_chain_mm_112nodes", 4000, { 1200.0710, 600.0705 } },
  { "ffnn", "gdp_ffnn_192nodes", 4000, { 56.6982, 41.6641 } },
  { "block", "gdp_transformer_block_215nodes", 8000, { 166.7188, 141.3888 } },
  { "layer", "gdp_full_transformer_layer_261nodes", 8000, { 122.6288, 97.2844 } },
  { "8gpu_block", "8gpu_transformer_block", 8000, { 231.3598, 166.7407 } },
  { "8gpu_layer", "8gpu_full_transformer", 8000, { 230.8571, 166.7875 } },
}

cells.scale = 1e10
cells.judge = { preset = "doppler" }

--- @treturn graph costs as given
-- @treturn graph perturbed costs
function cells.load(folder, name)
  local plain = assert(berth.load(("%s/%s.txt"):format(folder, name)))
  return plain, assert(berth.graph(splitmix.perturb(plain)))
end

--- Array of { label, name, devices, graph, judge, topology, calls, best }.
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
          topology = berth.topology.mesh(devices, { bandwidth = 1 }), best = row[4][i] })
      end
    end
  end
  return out
end

return cells
