--- A linear network with real numbers: one step in one place, and one as compiled.
local merged = require "support.merged"

-- Batch tensors are tables from sample to row, others matrices; a replica that gets other rows
-- fails.
local net = {}

-- ---- matrices -----------------------------------------------------------------------------

local function product(a, b) -- rows of a may have holes
  local c = {}
  for i, row in pairs(a) do
    c[i] = {}
    for j = 1, #b[1] do
      local s = 0
      for k = 1, #row do s = s + row[k] * b[k][j] end
      c[i][j] = s
    end
  end
  return c
end

local function transposed(a)
  local t = {}
  for j = 1, #a[1] do
    t[j] = {}
    for i = 1, #a do t[j][i] = a[i][j] end
  end
  return t
end

local function sorted(t)
  local keys = {}
  for k in pairs(t) do keys[#keys + 1] = k end
  table.sort(keys)
  return keys
end

-- Sum over the rows that are there of outer products; n x m even if none is.
local function outer(a, b, n, m)
  local c = {}
  for i = 1, n do
    c[i] = {}
    for j = 1, m do
      local s = 0
      for _, r in ipairs(sorted(a)) do s = s + a[r][i] * b[r][j] end
      c[i][j] = s
    end
  end
  return c
end

local function combined(a, b, factor)
  local c = {}
  for i, row in pairs(a) do
    c[i] = {}
    for j = 1, #row do c[i][j] = row[j] + factor * b[i][j] end
  end
  return c
end

local function scaled(a, factor)
  local c = {}
  for i, row in pairs(a) do
    c[i] = {}
    for j = 1, #row do c[i][j] = factor * row[j] end
  end
  return c
end

-- ---- the graph ----------------------------------------------------------------------------

-- Layer l: y = x W(l). Loss: mean square of y - target, halved. The update of some layers is a
-- sparse one: it reads the factors. Ops: x, target; W, forward of each layer; loss; gradient of
-- weights, of inputs, update of each layer from the last.
function net.new(rng, batch, layers)
  local sizes = {}
  for l = 1, layers + 1 do sizes[l] = 1 + rng:below(3) end
  local function random(n, m)
    local a = {}
    for i = 1, n do
      a[i] = {}
      for j = 1, m do a[i][j] = rng:normal() end
    end
    return a
  end
  local self = { batch = batch, n = layers, sizes = sizes, x = random(batch, sizes[1]),
    target = random(batch, sizes[layers + 1]),
    weights = {}, sparse = {}, rule = {}, ops = {}, tensors = {} }
  for l = 1, layers do
    self.weights[l], self.sparse[l] = random(sizes[l], sizes[l + 1]), rng:below(4) == 1
  end
  return self
end

local function add_op(self, name, rule, flags)
  local op = merged({ name = name, seconds = 1 + #self.ops % 3 }, flags)
  self.ops[#self.ops + 1], self.rule[#self.ops + 1] = op, rule
end

local function add_tensor(self, from, to, bytes, batch)
  self.tensors[#self.tensors + 1] = { from = from, to = to, bytes = bytes, batch = batch,
    gradient = not batch }
end

-- Rules: inputs by order, sizes of what they make -> value.
local function forward_rule(inputs) return product(inputs[1], inputs[2]) end
local function back_rule(inputs) return product(inputs[1], transposed(inputs[2])) end

local function add_update(self, l)
  local function gradient(x, dy) return outer(x, dy, self.sizes[l], self.sizes[l + 1]) end
  if self.sparse[l] then
    local function sparse_rule(inputs)
      return combined(inputs[3], gradient(inputs[1], inputs[2]), -0.1)
    end
    return add_op(self, "u" .. l, sparse_rule, { kind = "ScatterSub" })
  end
  add_op(self, "w" .. l, function(inputs) return gradient(inputs[1], inputs[2]) end,
    { backward = true })
  add_op(self, "u" .. l, function(inputs) return combined(inputs[1], inputs[2], -0.1) end,
    { update = true })
end

local function is_update(op) return op.update or op.kind == "ScatterSub" end

function net.graph(self, berth)
  local n, batch = self.n, self.batch
  add_op(self, "x", function() return self.x end, { kind = "input" })
  add_op(self, "target", function() return self.target end, { kind = "input" })
  for l = 1, n do
    add_op(self, "W" .. l, function() return self.weights[l] end, { kind = "Variable", params = 8 })
    add_op(self, "f" .. l, forward_rule)
  end
  add_op(self, "loss", function(inputs) return scaled(combined(inputs[1], inputs[2], -1),
    1 / batch) end, { backward = true })
  for l = n, 1, -1 do
    if l > 1 then add_op(self, "b" .. l, back_rule, { backward = true }) end
    add_update(self, l)
  end
  local function learner(l) return (self.sparse[l] and "u" or "w") .. l end
  for l = 1, n do -- in the order of the inputs of each op
    local before = l == 1 and "x" or "f" .. l - 1
    add_tensor(self, before, { "f" .. l, learner(l) }, batch * 8 * self.sizes[l], true)
  end
  add_tensor(self, "f" .. n, "loss", batch * 8 * self.sizes[n + 1], true)
  add_tensor(self, "target", "loss", batch * 8 * self.sizes[n + 1], true)
  for l = n, 1, -1 do
    local to = l > 1 and { learner(l), "b" .. l } or { learner(l) }
    add_tensor(self, l == n and "loss" or "b" .. l + 1, to, batch * 8 * self.sizes[l + 1], true)
  end
  for l = 1, n do
    local to = { "f" .. l, "u" .. l }
    if l > 1 then to[3] = "b" .. l end
    self.tensors[#self.tensors + 1] = { from = "W" .. l, to = to,
      bytes = 8 * self.sizes[l] * self.sizes[l + 1] }
  end
  for l = n, 1, -1 do
    if not self.sparse[l] then
      add_tensor(self, "w" .. l, "u" .. l, 8 * self.sizes[l] * self.sizes[l + 1], false)
    end
  end
  return assert(berth.graph { ops = self.ops, tensors = self.tensors })
end

local function result(self, graph, op, inputs) return self.rule[op](inputs), graph end

--- The updated weights by op, computed in one place.
function net.serial(self, graph)
  local value, updated = {}, {}
  for _, op in ipairs(graph:topo_order()) do
    local inputs = {}
    for k, t in ipairs(graph:inputs(op)) do inputs[k] = value[graph:tensor(t).from] end
    value[op] = result(self, graph, op, inputs)
    if is_update(graph:op(op)) then updated[op] = value[op] end
  end
  return updated
end

-- ---- compiled -----------------------------------------------------------------------------

local Step = {}
Step.__index = Step

-- The samples of an op on a device: those of its op group's action; an input's are its first
-- reader's.
local function rows_of(s, op, device)
  local first = s.graph:outputs(op)[1]
  if s.graph:op(op).kind == "input" then op = s.graph:tensor(first).to[1] end
  local action = s.actions[s.strategy.action[s.group_of[op]]]
  local key = action.set .. action.shares
  s.owners[key] = s.owners[key] or s.d:owners(action.set, action.shares)
  local rows = {}
  for sample, owner in ipairs(s.owners[key]) do
    if owner == device then rows[sample] = true end
  end
  return rows
end

local function all_rows(s)
  local rows = {}
  for sample = 1, s.net.batch do rows[sample] = true end
  return rows
end

local function rows_of_replica(s, v)
  local c = s.c
  local whole = c.samples[v] == s.net.batch
  return whole and all_rows(s) or rows_of(s, c.origin[v], c.devices[v])
end

local function taken(value, rows)
  local part = {}
  for sample in pairs(rows) do part[sample] = value[sample] end
  return part
end

local function count(t)
  local n = 0
  for _ in pairs(t) do n = n + 1 end
  return n
end

-- The rows that readers of an auxiliary tensor want.
local function wanted(s, tensor)
  local reader = s.c.graph:tensor(tensor).to[1]
  if s.c.part[reader] == "replica" then return rows_of_replica(s, reader) end
  if s.c.part[reader] == "split" then -- as published: what all of its outputs want
    local rows = {}
    for _, out in ipairs(s.c.graph:outputs(reader)) do
      for sample in pairs(wanted(s, out)) do rows[sample] = true end
    end
    return rows
  end
  return wanted(s, s.c.graph:outputs(reader)[1])
end

local function joined(list)
  local all = {}
  for _, value in ipairs(list) do
    for sample, row in pairs(value) do
      assert(all[sample] == nil or all[sample] == row, "a sample comes twice")
      all[sample] = row
    end
  end
  return all
end

-- What replicas of the maker of a tensor have of it.
local function of_replicas(s, source)
  local list = {}
  for id = 1, s.c.graph.n_tensors do
    local from = s.c.graph:tensor(id).from
    if s.c.source[id] == source and s.c.part[from] == "replica" then
      list[#list + 1] = s.value[id]
    end
  end
  return list
end

local function added(list)
  local sum = list[1]
  for k = 2, #list do sum = combined(sum, list[k], 1) end
  return sum
end

-- A gradient that is waited for is reduced in place.
local function read(s, v, tensor)
  local source, from = s.c.source[tensor], s.c.graph:tensor(tensor).from
  local reduced = s.waits[v] and s.graph:op(s.c.origin[v]).update and s.c.part[from] == "replica"
    and s.graph:tensor(source).gradient
  return reduced and added(of_replicas(s, source)) or s.value[tensor]
end

local function check_rows(s, v, value, source)
  if not s.graph:tensor(source).batch then return end
  local rows = rows_of_replica(s, v)
  assert(count(value) == count(rows), "a replica reads other samples than its own")
  for sample in pairs(rows) do assert(value[sample], "a replica misses a sample") end
end

local function run_replica(s, v)
  local op, inputs = s.c.origin[v], {}
  local by_source = {}
  for _, tensor in ipairs(s.c.graph:inputs(v)) do by_source[s.c.source[tensor]] = tensor end
  for k, source in ipairs(s.graph:inputs(op)) do
    inputs[k] = by_source[source] and read(s, v, by_source[source]) or {}
    check_rows(s, v, inputs[k], source)
  end
  local value = result(s.net, s.graph, op, inputs)
  if s.graph:op(op).kind == "input" then value = taken(value, rows_of_replica(s, v)) end
  for _, out in ipairs(s.c.graph:outputs(v)) do s.value[out] = value end
  if is_update(s.graph:op(op)) then table.insert(s.updated, { op = op, value = value }) end
end

local function run_split(s, v)
  local value = s.value[s.c.graph:inputs(v)[1]]
  for _, out in ipairs(s.c.graph:outputs(v)) do
    local part = taken(value, wanted(s, out))
    local share = s.c.graph:tensor(out).bytes / s.graph:tensor(s.c.source[out]).bytes
    assert(math.abs(count(part) - share * s.net.batch) < 1e-6,
      "a piece has other samples than its size says")
    s.value[out] = part
  end
end

local function run_concat(s, v)
  local out, list = s.c.graph:outputs(v)[1], {}
  for k, tensor in ipairs(s.c.graph:inputs(v)) do list[k] = s.value[tensor] end
  if s.waits[v] then list = of_replicas(s, s.c.source[out]) end
  s.value[out] = joined(list)
end

local function run_sum(s, v)
  local list = {}
  for k, tensor in ipairs(s.c.graph:inputs(v)) do list[k] = s.value[tensor] end
  s.value[s.c.graph:outputs(v)[1]] = added(list)
end

local run = { replica = run_replica, split = run_split, concat = run_concat, sum = run_sum,
  bucket = function() end }

--- The updated weights of every replica of every update: an array of { op, value }.
-- @tparam table self
-- @tparam graph graph
-- @tparam deploy d
-- @tparam table strategy
-- @tparam table compiled
function net.step(self, graph, d, strategy, compiled)
  local s = setmetatable({ net = self, graph = graph, d = d, strategy = strategy, c = compiled,
    group_of = d:group_of(),
    actions = d:actions(), owners = {}, value = {}, updated = {}, waits = {} }, Step)
  for k = 1, compiled.graph.n_collectives do
    for _, v in ipairs(compiled.graph:collective(k).consumers) do s.waits[v] = true end
  end
  for _, v in ipairs(compiled.graph:topo_order()) do run[compiled.part[v]](s, v) end
  return s.updated
end

return net
