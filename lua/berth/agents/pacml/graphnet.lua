--- Mean-pool message passing over the graphs of models (pac-ml.md, section 8.1). Distinct models
-- are encoded once, whatever the batch.
-- @module berth.agents.pacml.graphnet
local nn = require "berth.nn"
local observe = require "berth.agents.pacml.observe"

local graphnet = {}
graphnet.__index = graphnet

-- LayerNorm, linear, ReLU (or none).
local function module(p, name, n_in, n_out, activation)
  local norm = nn.norm(p, name .. ".norm", n_in)
  local linear = nn.linear(p, name .. ".linear", n_in, n_out, { activation = activation })
  return function(x) return linear(norm(x)) end
end

local function round(p, name, n_in, message, n_out)
  local half = message / 2
  return { node = module(p, name .. ".node", n_in, half, "relu"),
    edge = module(p, name .. ".edge", observe.edge_features, half, "relu"),
    reduce = module(p, name .. ".reduce", message, n_out, "relu") }
end

--- @param p parameters
-- @tparam table o hidden (64), embedding (16), message (32), rounds (2), quirks (an op without
--  inputs gets zeros)
function graphnet.new(p, o)
  local self = setmetatable({ quirks = o.quirks, half = o.message / 2, size = o.embedding },
    graphnet)
  local width = observe.node_features
  for i = 1, o.rounds do
    local out = i < o.rounds and o.hidden or o.embedding
    self[i] = round(p, ("graph.%d"):format(i), width, o.message, out)
    width = out
  end
  return self
end

local function append(to, from, offset)
  for i = 1, #from do to[#to + 1] = from[i] + offset end
end

-- 1 over the number of messages of each op, its own among them; with the quirk 0 where it would be
-- the only one.
local function shares(n, dst, quirks)
  local got, out = {}, {}
  for v = 1, n do got[v] = 1 end
  for i = 1, #dst do got[dst[i]] = got[dst[i]] + 1 end
  for v = 1, n do out[v] = quirks and got[v] == 1 and 0 or 1 / got[v] end
  return nn.array(out, { n, 1 })
end

--- The graphs of some models side by side.
-- @tparam table pool of observe.pool
-- @tparam {int,...} models
function graphnet:stack(pool, models)
  local nodes, edges, src, into, dst, lengths, n = {}, {}, {}, {}, {}, {}, 0
  for i, id in ipairs(models) do
    local m = pool.models[id]
    append(nodes, m.nodes, 0)
    append(edges, m.edges, 0)
    append(src, m.src, n)
    append(dst, m.dst, n)
    lengths[i], n = m.n, n + m.n
  end
  for v = 1, n do into[v] = v end
  append(into, dst, 0)
  return { n = n, nodes = nn.array(nodes, { n, observe.node_features }),
    edges = nn.array(edges, { #src, observe.edge_features }), src = nn.index(src),
    into = nn.index(into), own = nn.zeros { n, self.half }, share = shares(n, dst, self.quirks),
    segments = nn.segments(lengths) }
end

--- @tparam table s of stack
-- @return array [models, embedding]: the mean of the ops' vectors
function graphnet:encode(s)
  local x = s.nodes
  for i = 1, #self do
    local r = self[i]
    local sent = r.node(x)
    local own = nn.concat({ sent, s.own }, 2)
    local received = nn.concat({ sent:gather(s.src), r.edge(s.edges) }, 2)
    x = r.reduce(nn.concat({ own, received }, 1)):scatter(s.into, s.n) * s.share
  end
  return x:segment_mean(s.segments)
end

return graphnet
