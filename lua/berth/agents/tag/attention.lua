--- Attention of nodes over the edges that come in (tag.md, section 8), for one type of edge.
--
-- A message is W [h|e] of the source node h and the edge e. W = [Wn; We] works on them apart: W
-- [h|e] = Wn h + We e, so logits need Wn h of nodes only, and the weighted sum takes We out of the
-- sum. Nothing of the size edges x (heads nodes) is made for e.
-- @module berth.agents.tag.attention
local nn = require "berth.nn"

local attention = {}

-- Ones where row and column are of the same head k: [heads edges, heads nodes].
local function blocks(heads, edges, nodes)
  local out = {}
  for row = 0, heads * edges - 1 do
    for column = 0, heads * nodes - 1 do
      out[#out + 1] = math.floor(row / edges) == math.floor(column / nodes) and 1 or 0
    end
  end
  return nn.array(out, { heads * edges, heads * nodes })
end

-- [rows, heads nodes] to [rows, heads]: every head's numbers times the vector that scores them.
local function scores(x, vector, heads, nodes)
  return (x * vector):reshape({ -1, heads, nodes }):sum(3)
end

--- @param p parameters
-- @tparam string name
-- @tparam table o nodes, edges, heads
-- @treturn function (sources [n, nodes], targets [m, nodes], edges) -> [m, heads nodes]; edges:
--  from (index, sorted by target), into (segments, one per target), features [edges, o.edges] in
--  that order
function attention.new(p, name, o)
  local heads, nodes, edges = o.heads, o.nodes, o.edges
  local width = heads * nodes
  local source = p:add(name .. ".source", { nodes, width }, "xavier")
  local edge = p:add(name .. ".edge", { edges, width }, "xavier")
  local target = p:add(name .. ".target", { nodes, width }, "xavier")
  local left, right = p:add(name .. ".left", { width }, { "normal", 0.1 }),
    p:add(name .. ".right", { width }, { "normal", 0.1 })
  local norm_target, norm = nn.norm(p, name .. ".norm_target", width),
    nn.norm(p, name .. ".norm", width)
  local mask, copies = blocks(heads, edges, nodes), {}
  for k = 1, heads do copies[k] = edge end
  return function(sources, targets, list)
    local keys, queries = sources:matmul(source), norm_target(targets:matmul(target))
    local at_edges = list.features:matmul(scores(edge, left, heads, nodes))
    local logits = (scores(keys, left, heads, nodes):gather(list.from) + at_edges
      + scores(queries, right, heads, nodes):segment_repeat(list.into)):leaky_relu(0.2)
    local weights = logits:segment_softmax(list.into):reshape { -1, heads, 1 }
    local of_nodes = (keys:gather(list.from):reshape { -1, heads, nodes } * weights)
      :segment_sum(list.into)
    local of_edges = (list.features:reshape { -1, 1, edges } * weights):segment_sum(list.into)
    local every = nn.concat(copies, 1) * mask
    return norm(of_nodes:reshape { -1, width } + of_edges:reshape({ -1, heads * edges })
      :matmul(every))
  end
end

return attention
