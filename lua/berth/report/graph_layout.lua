--- Where the nodes of a graph's picture are: igraph's layered layout; clusters in a column for each
-- device.
local core = require "berth.core"
local scale = require "berth.report.scale"
local svg = require "berth.report.svg"
local sort = require "berth.base.sort"

local layout = {}

-- The width of a place is between these, so that the text of a box can be read; the picture is as
-- wide as its places need.
local LEFT, LEAST_SLOT, MOST_SLOT = 8, 72, 150

layout.MOST_COLUMNS = 40

-- Edges that pass several layers would pull clusters to the sides: only neighbours count there.
local function layered(nodes, edges, clustered)
  local ops, down, layer = {}, {}, {}
  for k, node in ipairs(nodes) do ops[k], layer[k] = { seconds = 0 }, node.layer end
  for _, edge in ipairs(edges) do
    local span = nodes[edge[2]].layer - nodes[edge[1]].layer
    if span == 1 or span > 1 and not clustered then down[#down + 1] = { edge[1], edge[2], 0 } end
  end
  local g, message, code = core.graph { ops = ops, edges = down }
  if not g then return nil, message, code end
  local x, y, why = g:layout { layer = layer }
  if not x then return nil, y, why end
  return x
end

-- Ids of the nodes by layer.
local function layers_of(nodes)
  local layers, top, widest = {}, 0, 1
  for k, node in ipairs(nodes) do
    local list = layers[node.layer] or {}
    layers[node.layer] = list
    list[#list + 1] = k
    top, widest = math.max(top, node.layer), math.max(widest, #list)
  end
  return layers, top, widest
end

-- One beside the other in the order of the layout, at least a slot apart, within the width.
local function place_layer(nodes, list, x, slot, at, right)
  sort.rising(list, x)
  local last = LEFT - slot / 2
  for _, k in ipairs(list) do
    nodes[k].x = math.max(at(x[k]), last + slot)
    last = nodes[k].x
  end
  local over = right - slot / 2
  for i = #list, 1, -1 do
    nodes[list[i]].x = math.min(nodes[list[i]].x, over)
    over = nodes[list[i]].x - slot
  end
end

-- Width of a place, and of a picture with n of them beside each other.
local function widths(n)
  local width = math.max(svg.WIDTH, n * LEAST_SLOT + 2 * LEFT)
  return math.min(MOST_SLOT, (width - 2 * LEFT) / n), width
end

-- Keeps the places of the layout, drawn together to the width that is needed.
local function spread(nodes, x)
  local layers, top, widest = layers_of(nodes)
  local slot, width = widths(widest)
  local low, high = math.huge, -math.huge
  for _, value in ipairs(x) do low, high = math.min(low, value), math.max(high, value) end
  local half = math.min((high - low) * slot, width - 2 * LEFT - slot) / 2
  local at = scale.linear(high - low, width / 2 - half, width / 2 + half)
  local function place(value) return at(value - low) end
  for number = 0, top do place_layer(nodes, layers[number] or {}, x, slot, place, width - LEFT) end
  return slot, width, top
end

-- A column for each device that is drawn, by the mean place of its nodes.
local function columns(nodes, x)
  local sum, count, ids = {}, {}, {}
  for k, node in ipairs(nodes) do
    local d = node.device
    if not count[d] then
      sum[d], count[d] = 0, 0
      ids[#ids + 1] = d
    end
    sum[d], count[d] = sum[d] + x[k], count[d] + 1
  end
  for _, d in ipairs(ids) do sum[d] = sum[d] / count[d] end
  sort.rising(ids, sum)
  local slot, width = widths(#ids)
  local left, place = (width - slot * #ids) / 2, {}
  for k, d in ipairs(ids) do place[d] = left + (k - 0.5) * slot end
  for _, node in ipairs(nodes) do node.x = place[node.device] end
  return slot, width, ids, place
end

--- Gives every node its x.
-- @treturn[1] table { slot = width of a place, width of the picture, layers = number of the last,
--  devices, place (clusters: x of each device) }
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code
function layout.of(nodes, edges, clustered)
  local x, message, code = layered(nodes, edges, clustered)
  if not x then return nil, message, code end
  local slot, width, top, ids, place
  if clustered then
    slot, width, ids, place = columns(nodes, x)
    top = select(2, layers_of(nodes))
  else
    slot, width, top = spread(nodes, x)
  end
  return { slot = slot, width = width, layers = top, devices = ids, place = place }
end

return layout
