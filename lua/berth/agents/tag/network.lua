--- TAG's heterogeneous network (tag.md, section 8): op groups and device groups exchange messages,
-- along five types of edges, what they are; a decoder scores actions.
--
-- Departs: normalisations are LayerNorm (the published batch norms never saw their statistics
-- updated), also of what attention queries and answers; uneven shares and local costs are further
-- inputs of the decoder.
-- @module berth.agents.tag.network
local nn = require "berth.nn"
local attention = require "berth.agents.tag.attention"
local sizes = require "berth.agents.tag.sizes"

local network = {}
network.__index = network

-- Edge types: whose rows they are in a view, where they come from and where they go.
local kinds = {
  { name = "link", raw = "link", from = "devices", into = "devices" },
  { name = "prev", raw = "edge", from = "ops", into = "ops" },
  { name = "succ", raw = "edge", from = "ops", into = "ops" },
  { name = "place", raw = "place", from = "ops", into = "devices" },
  { name = "serve", raw = "place", from = "devices", into = "ops" },
}

local function input(p, name, n_in, n_out)
  local linear = nn.linear(p, name, n_in, n_out, { activation = "tanh", init = "xavier" })
  local norm = nn.norm(p, name .. ".norm", n_out)
  return function(x) return norm(linear(x)) end
end

local function layer(p, name, o, last)
  local self, width = { attention = {} }, o.heads * o.nodes
  for i, kind in ipairs(kinds) do
    self.attention[i] = attention.new(p, name .. "." .. kind.name, o)
  end
  local opts = { activation = last and "none" or "tanh", init = "xavier" }
  for _, where in ipairs { "ops", "devices" } do
    self[where] = nn.linear(p, name .. "." .. where, width, o.nodes, opts)
  end
  return self
end

-- Linear maps of parts of what is joined, which is what one of the whole would be.
local function parts(p, name, widths, n_out)
  local total, maps = 0, {}
  for _, width in ipairs(widths) do total = total + width end
  local weight, bias, at = p:add(name .. ".weight", { total, n_out }, "xavier"),
    p:add(name .. ".bias", { n_out }, "zeros"), 0
  for i, width in ipairs(widths) do
    local first = at + 1
    at = at + width
    local last = at
    maps[i] = function(x) return x:matmul(weight:slice(1, first, last)) end
  end
  return maps, bias
end

local function decoder(p, o)
  local self, h = {}, o.nodes
  self.device, self.device_bias = parts(p, "decoder.device", { h, 1 }, h)
  self.set = nn.linear(p, "decoder.set", h, h, { activation = "tanh", init = "xavier" })
  self.joint, self.joint_bias = parts(p, "decoder.joint",
    { h, h, sizes.choice + (o.costs and sizes.local_costs or 0) }, h)
  if o.costs then
    self.all = nn.linear(p, "decoder.all", h, h, { activation = "tanh", init = "xavier" })
  end
  self.score = nn.linear(p, "decoder.score", h, 1, { init = { "orthogonal", 0.1 } })
  if o.costs then self.straight = p:add("decoder.straight", { sizes.local_costs, 1 }, "zeros") end
  return self
end

--- @tparam table o nodes, edges, heads, layers, costs, seed
function network.new(o)
  local p, f = nn.parameters { seed = o.seed or 0 }, sizes.features
  local self = setmetatable({ params = p, sizes = o, layers = {}, edges = {} }, network)
  self.ops, self.devices = input(p, "ops", f.op, o.nodes), input(p, "devices", f.device, o.nodes)
  for i, kind in ipairs(kinds) do self.edges[i] = input(p, kind.name, f[kind.raw], o.edges) end
  for i = 1, o.layers do self.layers[i] = layer(p, ("layer%d"):format(i), o, i == o.layers) end
  self.decoder = decoder(p, o)
  if o.costs then self.decoder.straight:set(-1, 1, 1) end
  return self
end

local function edges_of(self, view)
  local out = {}
  for i, kind in ipairs(kinds) do
    local list = view.lists[kind.name]
    if list.count > 0 then
      out[i] = { from = list.from, into = list.into,
        features = self.edges[i](view[kind.raw]:gather(list.rows)) }
    end
  end
  return out
end

-- The mean of what comes along the types of edges that end there; a type without an edge says
-- nothing.
local function gather_messages(one, x, edges, where)
  local sum, n = nil, 0
  for i, kind in ipairs(kinds) do
    if kind.into == where then
      n = n + 1
      local messages = edges[i] and one.attention[i](x[kind.from], x[where], edges[i])
      sum = sum and messages and sum + messages or sum or messages
    end
  end
  return sum and sum:scale(1 / n)
end

local function next_layer(one, x, edges)
  local out = {}
  for _, where in ipairs { "ops", "devices" } do
    local received = gather_messages(one, x, edges, where)
    out[where] = received and x[where] + one[where](received) or x[where]
  end
  return out
end

--- @tparam table view of berth.agents.tag.view
-- @treturn table ops [copies op groups, nodes], devices [copies device groups, nodes]
function network:encode(view)
  local x = { ops = self.ops(view.op), devices = self.devices(view.device) }
  local edges = edges_of(self, view)
  for _, one in ipairs(self.layers) do x = next_layer(one, x, edges) end
  return x
end

-- [copies, sets, nodes]: what the network thinks of device sets.
local function set_vectors(self, x, view)
  local d, h = self.decoder, self.sizes.nodes
  local own = (d.device[1](x.devices) + d.device_bias):reshape { view.copies, 1, view.device_groups,
    h }
  local marks = d.device[2](view.marks):reshape { 1, view.sets, view.device_groups, h }
  return d.set((own + marks):tanh()):mean(3)
end

-- [copies op groups + copies, nodes]: op groups, then what all of a strategy are.
local function op_vectors(self, x, view)
  local all = x.ops:reshape({ view.copies, view.op_groups, self.sizes.nodes }):mean(2)
  return nn.concat({ x.ops, self.decoder.all and self.decoder.all(all) or all }, 1)
end

--- Log probabilities of actions.
-- @tparam table x of encode
-- @tparam table view
-- @tparam table query of berth.agents.tag.choices: set, op (rows), features, costs, into (segments)
-- @treturn array [rows]
function network:decode(x, view, query)
  local d = self.decoder
  local sets = d.joint[1](set_vectors(self, x, view):reshape { -1, self.sizes.nodes })
  local ops = d.joint[2](op_vectors(self, x, view)) + d.joint_bias
  local features = query.features
  if self.sizes.costs then features = nn.concat({ query.features, query.costs }, 2) end
  local y = d.score((sets:gather(query.set) + ops:gather(query.op) + d.joint[3](features)):tanh())
  if self.sizes.costs then y = y + query.costs:matmul(d.straight) end
  return y:reshape({ -1 }):segment_log_softmax(query.into)
end

return network
