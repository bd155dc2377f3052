--- What an op group is: its ops in a few words, its time, its parameters and the gradients that it makes.
local groups = {}

local function stem_of(name) return name:match("^[^/]+") or name end

-- The first k parts of a dotted name, all of it if there are fewer.
local function head_of(stem, k)
  local at = 0
  for _ = 1, k do
    at = stem:find(".", at + 1, true)
    if not at then return stem end
  end
  return stem:sub(1, at - 1)
end

-- Heads of k parts, those of most time first.
local function heads(ops, k)
  local time, list = {}, {}
  for _, op in ipairs(ops) do
    local head = head_of(op.stem, k)
    if not time[head] then
      time[head] = 0
      list[#list + 1] = head
    end
    time[head] = time[head] + op.seconds
  end
  table.sort(list, function(a, b)
    if time[a] ~= time[b] then return time[a] > time[b] end
    return a < b
  end)
  return list
end

-- As many parts of names as leave three different ones, or the two of most time.
local function named(ops)
  local best = heads(ops, 1)
  for k = 2, 6 do
    local list = heads(ops, k)
    if #list > 3 then break end
    best = list
  end
  if #best <= 3 then return table.concat(best, ", ") end
  return ("%s, %s and %.0f more"):format(best[1], best[2], #best - 2)
end

local function passes(ops)
  local n = { forward = 0, backward = 0, update = 0 }
  for _, op in ipairs(ops) do n[op.pass] = n[op.pass] + 1 end
  return n
end

local function described(ops)
  local sum = { ops = {}, seconds = 0, parameters = 0, gradient_bytes = 0, passes = passes(ops) }
  for i, op in ipairs(ops) do
    sum.ops[i] = op.id
    sum.seconds, sum.parameters = sum.seconds + op.seconds, sum.parameters + op.params
    sum.gradient_bytes = sum.gradient_bytes + op.gradient
  end
  sum.what = ("%s: %.0f op%s"):format(named(ops), #ops, #ops == 1 and "" or "s")
  return sum
end

local function read_ops(d)
  local mean, out = d.cost:mean_ops(), {}
  for op in d.graph:ops() do
    local name = op.name and op.name ~= "" and op.name or ("op %.0f"):format(op.id)
    out[op.id] = { id = op.id, stem = stem_of(name), seconds = mean[op.id], params = op.params or 0, gradient = 0,
      pass = op.update and "update" or op.backward and "backward" or "forward" }
  end
  return out
end

-- What an update reads that depends on the batch is a gradient, where the graph does not say.
local function add_gradients(d, ops)
  for t in d.graph:tensors() do
    local is = t.gradient
    for _, to in ipairs(t.to) do is = is or ops[to].pass == "update" and ops[t.from].pass == "backward" end
    if is then ops[t.from].gradient = ops[t.from].gradient + t.bytes end
  end
end

--- The op groups of a problem, in its order: ops, seconds (all ops at the full batch, mean over devices), parameters and
-- gradient_bytes (bytes), passes (ops of each), what (words). O(n log n)
-- @tparam deploy d
function groups.of(d)
  local ops, out = read_ops(d), {}
  add_gradients(d, ops)
  for g, group in ipairs(d:groups()) do
    local own = {}
    for i, id in ipairs(group.ops) do own[i] = ops[id] end
    out[g] = described(own)
  end
  return out
end

return groups
