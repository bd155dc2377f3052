--- Sizes of TAG's network. docs/learning.md, "Agents: TAG".
-- @module berth.agents.tag.sizes
local sizes = {}

-- What features a row has (tag.md, section 8).
sizes.features = { op = 13, device = 5, edge = 1, link = 1, place = 5 }

-- One-hot of PS, AllReduce and SPLIT, whether shares follow the speeds, and whether all op groups
-- are in question.
sizes.choice = 5
-- What features of an action are from local costs, see berth.agents.tag.choices.
sizes.local_costs = 5

--- nodes, edges: numbers per op or device group and per edge; heads; layers; costs: the decoder
-- reads local costs; scale: of the features; marks: whether features mark which op groups are
-- decided, and which one is in question. "published" has 14.29 million parameters, "small" 0.92
-- million.
sizes.presets = {
  published = { nodes = 256, edges = 64, heads = 4, layers = 4, costs = false, scale = "raw",
    marks = true },
  small = { nodes = 64, edges = 16, heads = 4, layers = 4, costs = true, scale = "log",
    marks = false },
  tiny = { nodes = 32, edges = 8, heads = 4, layers = 3, costs = true, scale = "log",
    marks = false },
}

return sizes
