--- What the published agent sees of a job and the cluster: pac-ml.md, section 8. Graphs are looked
-- at once per model.
-- @module berth.agents.pacml.observe
local observe = {}

observe.node_features, observe.edge_features, observe.graph_features = 5, 2, 17

local function largest(list)
  local best, at = 0, 0
  for i = 1, #list do
    if list[i] > best then best, at = list[i], i end
  end
  return best, at
end

local function mean(list)
  local sum = 0
  for i = 1, #list do sum = sum + list[i] end
  return #list > 0 and sum / #list or 0
end

local function median(list)
  local sorted, n = {}, #list
  for i = 1, n do sorted[i] = list[i] end
  table.sort(sorted)
  if n == 0 then return 0 end
  return n % 2 == 1 and sorted[(n + 1) / 2] or (sorted[n / 2] + sorted[n / 2 + 1]) / 2
end

local function ratios(list, most)
  local out = {}
  for i = 1, #list do out[i] = most > 0 and list[i] / most or 0 end
  return out
end

local function seconds_of(op)
  local s = op.seconds
  return type(s) == "table" and s[1] or s or 0
end

-- Parameters and what is made; of a backward op, those of its twin.
local function memory_of(g, op)
  if op.backward and op.twin then op = g:op(op.twin) end
  local bytes = op.params
  for _, k in ipairs(g:outputs(op.id)) do bytes = bytes + g:tensor(k).resident end
  return bytes
end

-- Nodes on the shortest path from the first source; 0: there is none.
local function depths(g, n)
  local depth, queue, head = {}, {}, 1
  for v = 1, n do depth[v] = 0 end
  for v = 1, n do
    if #g:predecessors(v) == 0 then
      queue[1], depth[v] = v, 1
      break
    end
  end
  while queue[head] do
    local v = queue[head]
    head = head + 1
    for _, w in ipairs(g:successors(v)) do
      if depth[w] == 0 then depth[w], queue[#queue + 1] = depth[v] + 1, w end
    end
  end
  return depth
end

local function edges_of(g)
  local src, dst, bytes = {}, {}, {}
  for t in g:tensors() do
    for _, to in ipairs(t.to) do
      src[#src + 1], dst[#dst + 1], bytes[#bytes + 1] = t.from, to, t.bytes
    end
  end
  return src, dst, bytes
end

local function columns(...)
  local lists, flat = { ... }, {}
  for i = 1, #lists[1] do
    for c = 1, #lists do flat[#flat + 1] = lists[c][i] end
  end
  return flat
end

local function marks(n, at)
  local out = {}
  for i = 1, n do out[i] = i == at and 1 or 0 end
  return out
end

-- The graph of a model as numbers, and the six ratios of its job.
local function look_at(g, quirks)
  local seconds, memory, n = {}, {}, 0
  for op in g:ops() do
    n = n + 1
    seconds[n], memory[n] = seconds_of(op), memory_of(g, op)
  end
  local depth, src, dst, bytes = depths(g, n), edges_of(g)
  local most_s, at_s = largest(seconds)
  local most_m, at_m = largest(memory)
  local most_b, at_b = largest(bytes)
  local s, m, b = ratios(seconds, most_s), ratios(memory, most_m), ratios(bytes, most_b)
  return {
    n = n, src = src, dst = dst,
    nodes = columns(s, marks(n, not quirks and at_s or 0), m, marks(n, at_m),
      ratios(depth, (largest(depth)))),
    edges = columns(b, marks(#b, at_b)),
    ratios = { mean(s), median(s), mean(m), median(m), mean(b), median(b) },
  }
end

local function range(list)
  local low, high = list[1], list[1]
  for i = 2, #list do low, high = math.min(low, list[i]), math.max(high, list[i]) end
  return { low = low, high = high }
end

-- Constant over the pool: 1.
local function within(x, r) return r.high > r.low and (x - r.low) / (r.high - r.low) or 1 end

local function measured(env, models)
  local ops, deps, sequential, memory, bytes = {}, {}, {}, {}, {}
  for i, m in ipairs(models) do
    ops[i], deps[i], sequential[i] = m.n, #m.src, env.sequential[i]
    memory[i], bytes[i] = env.models[i].memory, env.models[i].bytes
  end
  return ops, deps, sequential, memory, bytes
end

--- The models of an environment as the agent sees them.
-- @param env environment with models (each with graph, memory, bytes), sequential, most
-- @tparam table o quirks (the feature "is the longest op" is always 0), betas { low, high } of the
--  workload
-- @treturn table pool: most, width (numbers of a job and the cluster), models
function observe.pool(env, o)
  local models = {}
  for i, m in ipairs(env.models) do models[i] = look_at(m.graph, o.quirks) end
  local ops, deps, sequential, memory, bytes = measured(env, models)
  local total = range(sequential)
  local betas = { low = o.betas[1], high = o.betas[2] }
  local pool = { models = models, most = env.most, width = observe.graph_features + env.most + 1,
    betas = betas, deadlines = { low = betas.low * total.low, high = betas.high * total.high },
    sequential = sequential }
  for i, m in ipairs(models) do
    m.job = { within(ops[i], range(ops)), within(deps[i], range(deps)),
      within(sequential[i], total),
      within(memory[i], range(memory)), within(bytes[i], range(bytes)) }
  end
  return pool
end

local function clipped(x) return math.max(0, math.min(1, x)) end

--- Features of the present job and the cluster: 17 numbers and the mask.
-- @tparam table pool
-- @param run
-- @tparam {0|1,...} mask of actions 0 to most
-- @tparam[opt] table out numbers are put behind `at` there
-- @tparam[opt] int at 0
-- @treturn table out
function observe.job(pool, run, mask, out, at)
  out, at = out or {}, at or 0
  local m, beta = pool.models[run.model], run.beta
  local j, t = m.job, m.ratios
  out[at + 1], out[at + 2], out[at + 3] = j[1], j[2], j[3]
  out[at + 4] = clipped(within(beta * pool.sequential[run.model], pool.deadlines))
  out[at + 5], out[at + 6] = clipped(within(beta, pool.betas)), beta
  out[at + 7], out[at + 8], out[at + 9] = j[4], j[5], 1
  for i = 1, 6 do out[at + 9 + i] = t[i] end
  out[at + 16] = (run.servers - run.free) / run.servers
  out[at + 17] = run.running / run.servers
  for a = 1, pool.most + 1 do out[at + 17 + a] = mask[a] end
  return out
end

return observe
