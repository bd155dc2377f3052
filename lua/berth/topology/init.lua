--- Topologies: from parts, or by a generator.
-- @module berth.topology
local core = require "berth.core"
local options = require "berth.base.options"

local topology = {
  mesh = core.topology_mesh,
  ring = core.topology_ring,
  star = core.topology_star,
  pcie_tree = core.topology_pcie_tree,
  dgx1 = core.topology_dgx1,
  fat_tree = core.topology_fat_tree,
  torus = core.topology_torus,
  two_level = core.topology_two_level,
  groups = core.topology_groups,
}

return setmetatable(topology, {
  __call = function(_, spec) return core.topology(spec) end,
  __index = function(_, name)
    if type(name) ~= "string" then return nil end
    options.fail("berth.topology has no '%s' (legal: %s)", name,
      options.names_text(name, options.sorted_keys(topology)))
  end,
})
