--- The graph in layers, coloured by device. Large graphs are drawn by what a device has at about
-- the same depth.
local colours = require "berth.report.colours"
local layout = require "berth.report.graph_layout"
local parts = require "berth.report.graph_nodes"
local scale = require "berth.report.scale"
local svg = require "berth.report.svg"
local sort = require "berth.base.sort"

local head_of = parts.head_of

-- Height of a box and space between layers, px; lines over several layers that are drawn.
local BOX, GAP, MOST_FAR = 34, 26, 60

-- The width of a box.
local function box_width(slot) return math.min(slot - 8, 140) end

-- Boxes of the layers between a and b, by layer.
local function between(nodes, a, b)
  local list = {}
  for _, node in ipairs(nodes) do
    if node.layer > a.layer and node.layer < b.layer then list[#list + 1] = node end
  end
  return list
end

-- Whether a point is in one of the boxes, or within `room` px beside it.
local function covered(list, half, x, y, room)
  for _, node in ipairs(list) do
    if math.abs(x - node.x) < half + room and (not y or y > node.y and y < node.y + BOX) then
      return true
    end
  end
  return false
end

-- Whether the curve from a to b passes behind one of the boxes.
local function hidden_by(list, half, a, b)
  local y1, y2 = a.y + BOX, b.y
  for k = 1, 39 do
    local t = k / 40
    local s = 3 * t * t * (1 - t) + t * t * t
    local y = y1 + (y2 - y1) * (1.5 * t * (1 - t) + t * t * t)
    if covered(list, half, a.x + (b.x - a.x) * s, y, 2) then return true end
  end
  return false
end

-- The x nearest to both ends that no box between them covers; at the rim of the picture there is
-- none.
local function free_lane(list, half, a, b, width)
  local middle, best = (a.x + b.x) / 2, 4
  local function try(x)
    if x >= 4 and x <= width - 4 and math.abs(x - middle) < math.abs(best - middle)
        and not covered(list, half, x, nil, 3) then
      best = x
    end
  end
  for _, node in ipairs(list) do
    try(node.x + half + 4)
    try(node.x - half - 4)
  end
  return best
end

-- Path from the bottom of box a to the top of box b: beside the boxes between them.
local function curve(nodes, a, b, width, slot)
  local n, half = scale.number, box_width(slot) / 2
  if a.layer == b.layer then
    local y = a.y + BOX
    return ("M%s %sQ%s %s %s %s"):format(n(a.x), n(y), n((a.x + b.x) / 2), n(y + 16), n(b.x), n(y))
  end
  local y1, y2 = a.y + BOX, b.y
  local list = b.layer > a.layer + 1 and between(nodes, a, b) or {}
  if hidden_by(list, half, a, b) then
    local x = n(free_lane(list, half, a, b, width))
    return ("M%s %sC%s %s %s %s %s %sV%sC%s %s %s %s %s %s"):format(n(a.x), n(y1), n(a.x),
      n(y1 + GAP / 2), x, n(y1 + GAP / 2), x, n(y1 + GAP), n(y2 - GAP), x, n(y2 - GAP / 2), n(b.x),
      n(y2 - GAP / 2), n(b.x), n(y2))
  end
  local mid = (y1 + y2) / 2
  return ("M%s %sC%s %s %s %s %s %s"):format(n(a.x), n(y1), n(a.x), n(mid), n(b.x), n(mid), n(b.x),
    n(y2))
end

-- Which pairs of nodes follow each other on the critical path.
local function critical_pairs(f, of)
  local pairs_of, last = {}, nil
  for _, i in ipairs(f.critical) do
    local k = of[i]
    if last and last ~= k then pairs_of[last .. ":" .. k] = true end
    last = k
  end
  return pairs_of
end

-- Of the edges that pass layers only those with most bytes, if they are many.
local function thin_out(nodes, edges)
  local far, keep = {}, {}
  for k, edge in ipairs(edges) do
    if nodes[edge[2]].layer > nodes[edge[1]].layer + 1 then far[#far + 1] = k end
  end
  sort.falling(far, function(id) return edges[id].bytes end)
  for i = MOST_FAR + 1, #far do keep[far[i]] = false end
  return keep, math.max(#far - MOST_FAR, 0)
end

-- Classes in drawing order: those that matter most lie on top.
local EDGES = { "far", "far cross", "near", "cross", "jump solid" }

-- Class of an edge: critical, to another device or not, over several layers or not.
local function class_of(nodes, edge, critical)
  local a, b = nodes[edge[1]], nodes[edge[2]]
  if critical[edge[1] .. ":" .. edge[2]] then return "jump solid" end
  local cross = a.device ~= b.device
  if b.layer > a.layer + 1 then return cross and "far cross" or "far" end
  return cross and "cross" or "near"
end

-- One path per class; returns how many edges are not drawn.
local function add_edges(out, nodes, edges, critical, slot)
  local list, keep, hidden = {}, thin_out(nodes, edges)
  for k, edge in ipairs(edges) do
    local class = class_of(nodes, edge, critical)
    if keep[k] ~= false or class == "jump solid" then
      list[class] = list[class] or {}
      table.insert(list[class], curve(nodes, nodes[edge[1]], nodes[edge[2]], out.width, slot))
    end
  end
  for _, class in ipairs(EDGES) do
    if list[class] then out:path(table.concat(list[class]), class) end
  end
  return hidden
end

-- The name of a node; of a cluster what its names have in common.
local function label_of(node)
  if node.n == 1 then return node.label end
  if node.label ~= "" then return node.label .. "…" end
  local a, b = head_of(node.first), head_of(node.last)
  return a == b and a .. "…" or a .. " … " .. b
end

-- The second line of a box: time, and device or number of ops; and a shorter one.
local function about(f, node)
  local time = scale.quantity(node.seconds, "seconds")
  if node.n > 1 then return ("%.0f ops, %s"):format(node.n, time), ("%.0f ops"):format(node.n) end
  if f.clustered then return time end
  return ("%s, %s"):format(f.place_name[node.device], time), f.place_name[node.device]
end

-- The first text, or the second if that is too long, cut to the room.
local function fitting(room, size, text, short)
  if short and svg.width(text, size) > room then text = short end
  return svg.fit(text, room, size)
end

-- A box with its tip and up to two lines.
local function add_node(out, f, node, slot)
  local w = box_width(slot)
  local title = ("%s on %s, %s, %s"):format(label_of(node), f.place_name[node.device],
    scale.count(node.n, "op"), scale.quantity(node.seconds, "seconds"))
  local class = f.device_class[node.device] .. (node.critical and " edgy" or "")
  out:rect(node.x - w / 2, node.y, w, BOX, class, title)
  local text = fitting(w - 6, 11, label_of(node), node.n > 1 and head_of(node.first) .. "…")
  out:print(node.x, node.y + 14, text, "in mid")
  out:print(node.x, node.y + 28, fitting(w - 6, 10, about(f, node)), "in tiny mid")
end

-- Devices beyond the columns that there is room for count as one, with the number 0.
local function merge_devices(f, nodes)
  local seen, list = {}, {}
  for _, node in ipairs(nodes) do
    if not seen[node.device] then
      seen[node.device] = true
      list[#list + 1] = node.device
    end
  end
  if #list <= layout.MOST_COLUMNS then return 0 end
  sort.falling(list, f.n_ops)
  local other = {}
  for k = layout.MOST_COLUMNS, #list do other[list[k]] = true end
  for _, node in ipairs(nodes) do
    if other[node.device] then node.device = 0 end
  end
  return #list - layout.MOST_COLUMNS + 1
end

-- Colours and names by device; 0: all that are merged.
local function name_devices(f, merged)
  f.device_class, f.place_name = { [0] = "c8" }, { [0] = scale.count(merged, "device") }
  for d, device in ipairs(f.devices) do
    f.device_class[d], f.place_name[d] = colours.cyclic(d), device.name
  end
end

-- Columns are devices; a few are named here, too, with what they run.
local function legend(f)
  local entries, used = {}, 0
  for _, n in ipairs(f.n_ops) do used = used + (n > 0 and 1 or 0) end
  for d, device in ipairs(f.devices) do
    if f.n_ops[d] > 0 and #entries < 24 and not (f.clustered and used > 12) then
      entries[#entries + 1] = { f.device_class[d],
        ("%s: %s"):format(device.name, scale.count(f.n_ops[d], "op")) }
    end
  end
  entries[#entries + 1] = { "edgy", "critical path", "frame" }
  return entries
end

-- Names of the columns; gives the height.
local function add_heads(out, f, plan, y)
  for _, d in ipairs(plan.devices) do
    out:print(plan.place[d], y + 12, svg.fit(f.place_name[d], plan.slot - 6, 13), "mid strong")
  end
  return 22
end

-- Legend, heads, edges, then boxes above them. Returns the bottom and the edges not drawn.
local function add_all(out, f, nodes, of, edges, plan)
  local top = 18 + svg.legend(out, legend(f), 8, svg.WIDTH - 8, 14)
  if f.clustered then top = top - 4 + add_heads(out, f, plan, top - 4) end
  for _, i in ipairs(f.critical) do nodes[of[i]].critical = true end
  for _, node in ipairs(nodes) do node.y = top + node.layer * (BOX + GAP) end
  local hidden = add_edges(out, nodes, edges, critical_pairs(f, of), plan.slot)
  for _, node in ipairs(nodes) do add_node(out, f, node, plan.slot) end
  return top + plan.layers * (BOX + GAP) + BOX, hidden
end

local function notes(f, nodes, merged, hidden)
  return {
    f.clustered and ("%d ops as %d boxes: a box is what a device runs at about the same depth of "
      .. "the graph, a column a device.")
      :format(#f.device, #nodes) or false,
    "Blue lines go to another device, grey ones stay, red ones are on the critical path.",
    hidden > 0 and ("Not drawn: %s over several layers with less bytes than the %d that are.")
      :format(scale.count(hidden, "line"),
      MOST_FAR),
    merged > 0 and ("One column is for the %s with the fewest ops."):format(scale.count(merged,
      "device")),
  }
end

-- The picture, or nil, why there is none, and an error code.
return function(f)
  local nodes, of, clustered = parts.of(f)
  if #nodes == 0 then return nil, "the graph is empty" end
  f.clustered = clustered
  local merged = clustered and merge_devices(f, nodes) or 0
  local edges = parts.edges(f, of)
  local plan, message, code = layout.of(nodes, edges, clustered)
  if not plan then return nil, message, code end
  name_devices(f, merged)
  local out = svg.picture { width = plan.width,
    label = ("The graph in layers, %s, coloured by device"):format(scale.count(#nodes,
      clustered and "cluster" or "op")),
    text = ("%s in %s from top to bottom, %s between them."):format(scale.count(#f.device, "op"),
      scale.count(plan.layers + 1, "layer"), scale.count(#edges, "line")) }
  local y, hidden = add_all(out, f, nodes, of, edges, plan)
  out.height = svg.notes(out, 8, y + 8, notes(f, nodes, merged, hidden))
  return out
end
