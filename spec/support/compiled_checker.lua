--- Checks compiled graphs of berth.deploy by what Lua sees of them: origin, part, samples, devices, source, tensors, collectives.
local checker = {}

local function fail(...) error(string.format(...), 0) end

local function carries(t) return t.bytes > 0 or t.batch or t.gradient end

-- What the analysis says is not asked: batch flags are the graph's, updates its flags.
local function describe(graph, compiled)
  local x = { graph = graph, c = compiled, replicas = {}, tensors = {}, readers = {}, waits = {} }
  for i = 1, #graph do x.replicas[i] = {} end
  for t in compiled.graph:tensors() do x.tensors[t.id] = t end
  for v = 1, #compiled.graph do
    if compiled.part[v] == "replica" then
      local list = x.replicas[compiled.origin[v]]
      list[#list + 1] = v
    end
  end
  for k = 1, compiled.graph.n_collectives do
    for _, v in ipairs(compiled.graph:collective(k).consumers) do
      x.waits[v] = x.waits[v] or {}
      table.insert(x.waits[v], k)
    end
  end
  return x
end

local function check_replicas(x, batch)
  x.shared = {}
  for op, list in ipairs(x.replicas) do
    local sum, whole, seen = 0, 0, {}
    for _, v in ipairs(list) do
      local device, n = x.c.devices[v], x.c.samples[v]
      if seen[device] then fail("op %d has two replicas on device %d", op, device) end
      seen[device] = true
      sum, whole = sum + n, whole + (n == batch and 1 or 0)
    end
    if #list == 0 then fail("op %d has no replica", op) end
    x.shared[op] = whole < #list
    if whole < #list and sum ~= batch then fail("op %d: replicas do %d of %d samples", op, sum, batch) end
    if x.shared[op] and x.graph:op(op).update then fail("update %d is shared out", op) end
  end
end

-- Samples that a tensor of the compiled graph holds; nil where its bytes do not tell.
local function samples_of(x, t, batch)
  local all = x.graph:tensor(x.c.source[t.id]).bytes
  if x.c.part[t.from] == "replica" then return x.c.samples[t.from] end
  if all == 0 then return nil end
  local n = t.bytes / all * batch
  local whole = math.floor(n + 0.5)
  if math.abs(n - whole) > 1e-6 * (1 + n) then fail("tensor %d holds %g samples", t.id, n) end
  return whole
end

-- What the replica of its maker has of a tensor.
local function share_of(x, t, of, batch, split)
  if not x.shared[of.from] then return 1 end
  if of.batch then return x.c.samples[t.from] / batch end
  return split and carries(of) and 1 / #x.replicas[of.from] or 1
end

local function check_bytes(x, batch, split)
  for id, t in ipairs(x.tensors) do
    local of = x.graph:tensor(x.c.source[id])
    if of.from ~= x.c.origin[t.from] then fail("tensor %d is not of op %d", id, of.from) end
    if x.c.part[t.from] == "replica" then
      local due = of.bytes * share_of(x, t, of, batch, split)
      if math.abs(t.bytes - due) > 1e-9 * of.bytes then fail("tensor %d has %g B", id, t.bytes) end
    end
    samples_of(x, t, batch)
  end
end

local function sum(x, ids, batch)
  local n = 0
  for _, id in ipairs(ids) do n = n + (samples_of(x, x.tensors[id], batch) or 0) end
  return n
end

local function is_gathered(x, v, source)
  for _, k in ipairs(x.waits[v] or {}) do
    local c = x.c.graph:collective(k)
    local of, found = x.graph:tensor(source), 0
    for _, m in ipairs(c.members) do
      if x.c.part[m] == "replica" and x.c.origin[m] == of.from then found = found + 1 end
    end
    if c.kind == "allgather" and found == #x.replicas[of.from] then
      return math.abs(c.bytes * #c.members - of.bytes) <= 1e-9 * of.bytes
    end
  end
  return false
end

local function check_auxiliary(x, v, batch)
  local g, part = x.c.graph, x.c.part[v]
  local inputs, outputs = g:inputs(v), g:outputs(v)
  if part == "split" then
    local given, taken = sum(x, inputs, batch), sum(x, outputs, batch)
    if #inputs ~= 1 or taken > given then fail("split %d: %d samples from %d inputs make %d", v, given, #inputs, taken) end
  elseif part == "concat" and not (sum(x, outputs, batch) == batch and is_gathered(x, v, x.c.source[outputs[1]])) then
    local given, taken = sum(x, inputs, batch), sum(x, outputs, batch)
    if given ~= taken then fail("concat %d: %d samples make %d", v, given, taken) end
  elseif part == "sum" then
    local of = x.graph:tensor(x.c.source[outputs[1]])
    if #inputs ~= #x.replicas[of.from] then fail("sum %d adds up %d of %d", v, #inputs, #x.replicas[of.from]) end
  end
end

-- In how many AllReduces that v waits for every replica's part of the tensor is a member's.
local function count_reductions(x, v, source)
  local n, of = 0, x.graph:tensor(source)
  for _, k in ipairs(x.waits[v] or {}) do
    local c, found = x.c.graph:collective(k), 0
    for _, m in ipairs(c.kind == "allreduce" and c.members or {}) do
      if x.c.part[m] == "replica" then found = found + (x.c.origin[m] == of.from and 1 or 0)
      else
        for _, id in ipairs(x.c.graph:inputs(m)) do found = found + (x.c.source[id] == source and 1 or 0) end
      end
    end
    if found == #x.replicas[of.from] then n = n + 1 end
  end
  return n
end

local function check_read(x, v, source, id, batch)
  local of, t, op = x.graph:tensor(source), x.tensors[id], x.c.origin[v]
  if of.batch then
    local n = samples_of(x, t, batch)
    if n and n ~= x.c.samples[v] then fail("op %d reads %d samples of tensor %d, needs %d", v, n, source, x.c.samples[v]) end
  elseif x.shared[of.from] and not x.shared[op] then
    local reduced = count_reductions(x, v, source)
    local due = x.c.part[t.from] == "sum" and 0 or 1
    if due == 1 and x.c.devices[t.from] ~= x.c.devices[v] then fail("op %d reads a partial gradient of another device", v) end
    if (reduced > 0) ~= (due > 0) then fail("op %d: tensor %d is reduced %d times", v, source, reduced) end
  elseif x.c.part[t.from] ~= "replica" then fail("op %d reads tensor %d from no replica", v, source) end
end

local function check_reads(x, v, batch)
  local by_source = {}
  for _, id in ipairs(x.c.graph:inputs(v)) do
    local source = x.c.source[id]
    if by_source[source] then fail("op %d reads tensor %d twice", v, source) end
    by_source[source] = id
  end
  for _, source in ipairs(x.graph:inputs(x.c.origin[v])) do
    local id, t = by_source[source], x.graph:tensor(source)
    by_source[source] = nil
    if not id and not (t.batch and x.c.samples[v] == 0) then fail("op %d does not read tensor %d", v, source) end
    if id and carries(t) then check_read(x, v, source, id, batch) end
  end
  if next(by_source) then fail("op %d reads tensor %d, its op does not", v, (next(by_source))) end
end

--- Raises what is wrong.
-- @tparam graph graph that was compiled, with flags on tensors and updates
-- @tparam table compiled what d:compile gave
-- @tparam number batch
-- @tparam boolean split partial gradients count as one of as many parts as there are replicas
function checker.check(graph, compiled, batch, split)
  local x = describe(graph, compiled)
  check_replicas(x, batch)
  check_bytes(x, batch, split)
  for v = 1, #compiled.graph do
    if compiled.part[v] == "replica" then check_reads(x, v, batch) else check_auxiliary(x, v, batch) end
    if compiled.graph:op(v).pin ~= compiled.devices[v] then fail("op %d is not pinned to its device", v) end
  end
  compiled.graph:topo_order()
end

return checker
