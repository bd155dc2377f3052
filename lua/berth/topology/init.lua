--- Topologies: from parts, or by a generator.
-- @module berth.topology
local core = require "berth.core"

return setmetatable({
  mesh = core.topology_mesh,
  ring = core.topology_ring,
  star = core.topology_star,
  pcie_tree = core.topology_pcie_tree,
  dgx1 = core.topology_dgx1,
  fat_tree = core.topology_fat_tree,
  torus = core.topology_torus,
  two_level = core.topology_two_level,
  groups = core.topology_groups,
}, { __call = function(_, spec) return core.topology(spec) end })
