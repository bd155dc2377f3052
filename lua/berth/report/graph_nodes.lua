--- What the picture of a graph shows as one, and what is between that.

local nodes = {}

-- Up to MOST_OPS ops, MOST_LAYERS layers and MOST_WIDE ops in one of them each op is a box. Larger
-- graphs are clustered: about MOST_BANDS bands of depth, about MOST_NODES boxes in all.
local MOST_OPS, MOST_LAYERS, MOST_WIDE, MOST_BANDS, MOST_NODES = 60, 34, 12, 20, 160

--- A name up to its first separator.
function nodes.head_of(name) return name:match("^(.-)[%./_:%-]") or name end

-- Number of ops at each depth, the deepest one, and what most ops of a depth belong to: the head of
-- their name and their pass.
local function levels_of(f, depth)
  local count, of_part, part, deepest = {}, {}, {}, 0
  for i, level in ipairs(depth) do
    local key = nodes.head_of(f.name[i]) .. (f.passes and " " .. f.group[i] or "")
    count[level], of_part[level] = (count[level] or 0) + 1, of_part[level] or {}
    local n = (of_part[level][key] or 0) + 1
    of_part[level][key] = n
    if n > (of_part[level][part[level]] or 0) then part[level] = key end
    deepest = math.max(deepest, level)
  end
  return count, deepest, part
end

-- Whether stretches of one part are few and small enough to be a band each.
local function are_bands(count, deepest, part, n_bands, target)
  local n, size = 0, 0
  for level = 0, deepest do
    if part[level] ~= part[level - 1] then n, size = n + 1, 0 end
    size = size + (count[level] or 0)
    if size > 3 * target then return false end
  end
  return n >= 4 and n <= 1.5 * n_bands
end

-- Number of the band of each depth: the stretches of parts, or else bands of about the same number
-- of ops, which end where another part of the model begins if that is near.
local function bands_of(f, depth, n_bands)
  local count, deepest, part = levels_of(f, depth)
  local band, number, size, target = {}, 0, 0, #depth / n_bands
  local by_part = are_bands(count, deepest, part, n_bands, target)
  local least, most = by_part and 0 or 0.75 * target, by_part and math.huge or 1.5 * target
  for level = 0, deepest do
    if level > 0 and (size >= most or size >= least and part[level] ~= part[level - 1]) then
      number, size = number + 1, 0
    end
    band[level], size = number, size + (count[level] or 0)
  end
  return band
end

-- A node for each op.
local function singles(f, depth)
  local list, of = {}, {}
  for i, d in ipairs(f.device) do
    list[i] = { layer = depth[i], device = d, label = f.name[i], n = 1,
      seconds = f.finish[i] - f.start[i] }
    of[i] = i
  end
  return list, of
end

-- What two names begin with, both, up to a separator.
local function common(a, b)
  local n = 0
  while n < #a and n < #b and a:byte(n + 1) == b:byte(n + 1) do n = n + 1 end
  if n == #a and n == #b then return a end
  return a:sub(1, n):match("^(.*)[%./_:%-]") or ""
end

-- Adds op i to a node.
local function join(node, f, i)
  node.n, node.seconds = node.n + 1, node.seconds + f.finish[i] - f.start[i]
  if node.label ~= "" then node.label = common(node.label, f.name[i]) end
  node.last = f.name[i]
end

-- A node for the ops of a device in a band of depths.
local function clusters(f, depth, used)
  local band = bands_of(f, depth,
    math.max(4, math.min(MOST_BANDS, math.floor(MOST_NODES / math.max(used, 1)))))
  local list, of, at = {}, {}, {}
  for i, d in ipairs(f.device) do
    local layer = band[depth[i]]
    at[layer] = at[layer] or {}
    local k = at[layer][d]
    if k then join(list[k], f, i)
    else
      k = #list + 1
      at[layer][d] = k
      list[k] = { layer = layer, device = d, label = f.name[i], first = f.name[i], last = f.name[i],
        n = 1, seconds = f.finish[i] - f.start[i] }
    end
    of[i] = k
  end
  return list, of
end

-- Number of the layers, and of the ops in the widest.
local function extent(depth)
  local count, widest, layers = {}, 0, 0
  for _, level in ipairs(depth) do
    count[level] = (count[level] or 0) + 1
    widest, layers = math.max(widest, count[level]), math.max(layers, level + 1)
  end
  return layers, widest
end

--- Nodes { layer, device, label, n, seconds }, the node of each op, and whether nodes are clusters.
function nodes.of(f)
  local depth, used = f.graph:depth(), 0
  for _, n in ipairs(f.n_ops) do used = used + (n > 0 and 1 or 0) end
  local layers, widest = extent(depth)
  if #f.device <= MOST_OPS and layers <= MOST_LAYERS and widest <= MOST_WIDE then
    return singles(f, depth)
  end
  local list, of = clusters(f, depth, used)
  return list, of, true
end

-- A function that adds bytes to the edge of two nodes.
local function adder(list)
  local at = {}
  return function(a, b, bytes)
    if a == b then return end
    at[a] = at[a] or {}
    local edge = at[a][b]
    if not edge then
      edge = { a, b, bytes = 0 }
      at[a][b], list[#list + 1] = edge, edge
    end
    edge.bytes = edge.bytes + bytes
  end
end

--- Pairs of nodes with the bytes between them, in order of first mention.
function nodes.edges(f, of)
  local list = {}
  local add = adder(list)
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

return nodes
