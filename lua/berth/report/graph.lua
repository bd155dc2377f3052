--- The graph in layers, coloured by device. Large graphs are drawn by what a device has at about the same depth.
local colours = require "berth.report.colours"
local core = require "berth.core"
local facts = require "berth.report.facts"
local scale = require "berth.report.scale"
local svg = require "berth.report.svg"

local MOST_OPS, MOST_LAYERS, MOST_BANDS, MOST_NODES, MOST_DEVICES, STEP, BOX = 300, 34, 28, 160, 24, 46, 22

-- ---- what is drawn as one -----------------------------------------------------------------------

-- Number of the band of each depth; bands have about as many ops each.
local function bands_of(depth, n_bands)
  local count, deepest = {}, 0
  for _, level in ipairs(depth) do
    count[level] = (count[level] or 0) + 1
    deepest = math.max(deepest, level)
  end
  local band, before, last, number = {}, 0, -1, -1
  for level = 0, deepest do
    local k = math.floor(before * n_bands / #depth)
    if k > last then number = number + 1 end
    last, band[level] = k, number
    before = before + (count[level] or 0)
  end
  return band
end

local function singles(f, depth)
  local nodes, of = {}, {}
  for i, d in ipairs(f.device) do
    nodes[i] = { layer = depth[i], device = d, label = f.name[i], n = 1, seconds = f.finish[i] - f.start[i] }
    of[i] = i
  end
  return nodes, of
end

-- What two names begin with, both, up to a separator.
local function common(a, b)
  local n = 0
  while n < #a and n < #b and a:byte(n + 1) == b:byte(n + 1) do n = n + 1 end
  if n == #a and n == #b then return a end
  return a:sub(1, n):match("^(.*)[%./_:%-]") or ""
end

local function join(node, f, i)
  node.n, node.seconds = node.n + 1, node.seconds + f.finish[i] - f.start[i]
  if node.label ~= "" then node.label = common(node.label, f.name[i]) end
  if f.name[i] < node.first then node.first = f.name[i] end
end

local function clusters(f, depth, devices)
  local used = math.min(#devices, MOST_DEVICES)
  local band = bands_of(depth, math.max(4, math.min(MOST_BANDS, math.floor(MOST_NODES / math.max(used, 1)))))
  local nodes, of, at = {}, {}, {}
  for i, d in ipairs(f.device) do
    local layer = band[depth[i]]
    at[layer] = at[layer] or {}
    local k = at[layer][d]
    if k then join(nodes[k], f, i)
    else
      k = #nodes + 1
      at[layer][d] = k
      nodes[k] = { layer = layer, device = d, label = f.name[i], first = f.name[i], n = 1, seconds = f.finish[i] - f.start[i] }
    end
    of[i] = k
  end
  return nodes, of
end

local function deepest_of(depth)
  local most = 0
  for _, level in ipairs(depth) do most = math.max(most, level) end
  return most
end

local function nodes_of(f)
  local depth, devices = f.graph:depth(), facts.most(f, f.n_ops, #f.devices)
  if #f.device <= MOST_OPS and deepest_of(depth) < MOST_LAYERS then return singles(f, depth) end
  return clusters(f, depth, devices)
end

-- Pairs of nodes with the bytes between them, in order of first mention.
local function edges_of(f, of)
  local list, at = {}, {}
  local function add(a, b, bytes)
    if a == b then return end
    at[a] = at[a] or {}
    local edge = at[a][b]
    if not edge then
      edge = { a, b, bytes = 0 }
      at[a][b], list[#list + 1] = edge, edge
    end
    edge.bytes = edge.bytes + bytes
  end
  for tensor in f.graph:tensors() do
    for _, to in ipairs(tensor.to) do add(of[tensor.from], of[to], tensor.bytes) end
  end
  for k = 1, f.graph.n_collectives do
    local c = f.graph:collective(k)
    for _, from in ipairs(c.members) do
      for _, to in ipairs(c.consumers) do add(of[from], of[to], c.bytes) end
    end
  end
  return list
end

-- ---- where it is drawn --------------------------------------------------------------------------

-- Edges that pass several layers would pull clusters to the sides: only neighbours count there.
local function place(nodes, edges, clustered)
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

-- Ops of a layer one beside the other, in the order of the layout, at least `box` apart within the width.
local function spread(nodes, x)
  local low, high, layers, top = math.huge, -math.huge, {}, 0
  for k, node in ipairs(nodes) do
    low, high = math.min(low, x[k]), math.max(high, x[k])
    layers[node.layer] = layers[node.layer] or {}
    table.insert(layers[node.layer], k)
    top = math.max(top, node.layer)
  end
  local widest = 1
  for _, list in pairs(layers) do widest = math.max(widest, #list) end
  local left, right = 8, svg.WIDTH - 8
  local slot = math.min(150, (right - left) / widest)
  local at = scale.linear(high - low, left + slot / 2, right - slot / 2)
  for number = 0, top do
    local list = layers[number] or {}
    table.sort(list, function(a, b)
      if x[a] ~= x[b] then return x[a] < x[b] end
      return a < b
    end)
    local last = left - slot / 2
    for _, k in ipairs(list) do
      nodes[k].x = high > low and math.max(at(x[k] - low), last + slot) or svg.WIDTH / 2
      last = nodes[k].x
    end
    local over = right - slot / 2
    for i = #list, 1, -1 do
      nodes[list[i]].x = math.min(nodes[list[i]].x, over)
      over = nodes[list[i]].x - slot
    end
  end
  return slot, top
end

-- ---- drawing ------------------------------------------------------------------------------------

local function curve(a, b, bow)
  local n = scale.number
  if a.layer == b.layer then
    return ("M%s %sQ%s %s %s %s"):format(n(a.x), n(a.y + BOX), n((a.x + b.x) / 2), n(a.y + BOX + 14), n(b.x), n(b.y + BOX))
  end
  local y1, y2 = a.y + BOX, b.y
  local mid = (y1 + y2) / 2
  if bow and b.layer > a.layer + 1 then -- beside the boxes between
    local side = math.min(math.max(a.x, b.x) + 60 + 10 * (b.layer - a.layer), svg.WIDTH - 4)
    return ("M%s %sC%s %s %s %s %s %s"):format(n(a.x), n(y1), n(side), n(y1 + 20), n(side), n(y2 - 20), n(b.x), n(y2))
  end
  return ("M%s %sC%s %s %s %s %s %s"):format(n(a.x), n(y1), n(a.x), n(mid), n(b.x), n(mid), n(b.x), n(y2))
end

local function add_edges(out, nodes, edges, bow)
  local near, cross = {}, {}
  for _, edge in ipairs(edges) do
    local a, b = nodes[edge[1]], nodes[edge[2]]
    local list = a.device == b.device and near or cross
    list[#list + 1] = curve(a, b, bow)
  end
  if #near > 0 then out[#out + 1] = svg.path(table.concat(near), "near") end
  if #cross > 0 then out[#out + 1] = svg.path(table.concat(cross), "cross") end
end

local function label_of(node)
  if node.n == 1 then return node.label end
  local part = node.label ~= "" and node.label or node.first:match("^(.-)[%./_:%-]") or ""
  return part ~= "" and ("%.0f: %s…"):format(node.n, part) or scale.count(node.n, "op")
end

local function add_node(out, f, node, slot)
  local w = math.max(math.min(slot - 6, 140), 3)
  local title = ("%s on %s, %s"):format(label_of(node), f.devices[node.device].name, scale.quantity(node.seconds, "seconds"))
  local class = f.device_class[node.device] .. (node.critical and " edgy" or " box")
  out[#out + 1] = svg.rect(node.x - w / 2, node.y, w, BOX, class, title)
  local text = w >= 34 and svg.fit(label_of(node), w - 8, 11) or ""
  if text ~= "" then out[#out + 1] = svg.text(node.x, node.y + 15, text, "in mid") end
end

local function legend(f)
  local entries = {}
  for d, device in ipairs(f.devices) do
    if f.n_ops[d] > 0 and #entries < MOST_DEVICES then
      entries[#entries + 1] = { f.device_class[d], ("%s: %s"):format(device.name, scale.count(f.n_ops[d], "op")) }
    end
  end
  return entries
end

return function(f)
  local nodes, of = nodes_of(f)
  if #nodes == 0 then return nil, "the graph is empty" end
  local edges = edges_of(f, of)
  local x, message, code = place(nodes, edges, #nodes < #f.device)
  if not x then return nil, message, code end
  local slot, top = spread(nodes, x)
  local out = { width = svg.WIDTH, label = ("The graph in layers, %s, coloured by device"):format(scale.count(#nodes, "node")) }
  f.device_class = {}
  for d = 1, #f.devices do f.device_class[d] = colours.cyclic(d) end
  for _, i in ipairs(f.critical) do nodes[of[i]].critical = true end
  local head = 16 + svg.legend(out, legend(f), 8, svg.WIDTH - 8, 14)
  for _, node in ipairs(nodes) do node.y = head + node.layer * STEP end
  add_edges(out, nodes, edges, #nodes < #f.device)
  for _, node in ipairs(nodes) do add_node(out, f, node, slot) end
  local y = head + top * STEP + BOX + 24
  local words = #nodes < #f.device and
    ("%d ops as %d nodes: what a device runs at about the same depth is one. "):format(#f.device, #nodes) or ""
  out[#out + 1] = svg.text(8, y, words .. "Outlined in red: on the critical path. Blue lines: between devices.", "small faint")
  out.height = y + 10
  return out
end
