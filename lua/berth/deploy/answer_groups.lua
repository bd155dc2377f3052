--- What an op group is: its ops in a few words, its time, its parameters and the gradients that it
-- makes.
local words = require "berth.deploy.answer_words"
local sort = require "berth.base.sort"

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
  sort.falling(list, time)
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

-- "3 forward, 2 backward, 1 update"; where the graph has no backward ops, "5 ops, 1
-- update".
local function counted(n, has_backward)
  local out = {}
  local function add(count, word)
    out[#out + 1] = count > 0 and ("%.0f %s"):format(count, word) or nil
  end
  if has_backward then
    add(n.forward, "forward")
    add(n.backward, "backward")
  else
    add(n.forward, n.forward == 1 and "op" or "ops")
  end
  add(n.update, n.update == 1 and "update" or "updates")
  return table.concat(out, ", ")
end

local function described(ops, has_backward)
  local sum = { ops = {}, seconds = 0, parameters = 0, gradient_bytes = 0, passes = passes(ops) }
  for i, op in ipairs(ops) do
    sum.ops[i] = op.id
    sum.seconds, sum.parameters = sum.seconds + op.seconds, sum.parameters + op.params
    sum.gradient_bytes = sum.gradient_bytes + op.gradient
  end
  sum.parameters, sum.gradient_bytes = words.whole(sum.parameters), words.whole(sum.gradient_bytes)
  sum.what = ("%s: %s"):format(named(ops), counted(sum.passes, has_backward))
  return sum
end

local function read_ops(d)
  local mean, role, out, has_backward = d.cost:mean_ops(), d.analysis.role, {}, false
  for op in d.graph:ops() do
    local name = op.name and op.name ~= "" and op.name or ("op %.0f"):format(op.id)
    local is_update = role[op.id] == "update" or role[op.id] == "scatter"
    has_backward = has_backward or op.backward == true
    out[op.id] = { id = op.id, stem = stem_of(name), seconds = mean[op.id], params = op.params or 0,
      gradient = 0, pass = is_update and "update" or op.backward and "backward" or "forward" }
  end
  return out, has_backward
end

local function add_gradients(d, ops)
  local gradient = d.analysis.gradient
  for t in d.graph:tensors() do
    if gradient[t.id] then ops[t.from].gradient = ops[t.from].gradient + t.bytes end
  end
end

--- The op groups of a problem, in its order: ops, seconds (all ops at the full batch, mean over
-- devices), parameters and gradient_bytes (bytes), passes (ops of each), what (words), reduces
-- (replicas have gradients to sum). O(n log n)
-- @tparam deploy d
function groups.of(d)
  local ops, has_backward = read_ops(d)
  local out = {}
  add_gradients(d, ops)
  for g, group in ipairs(d:groups()) do
    local own = {}
    for i, id in ipairs(group.ops) do own[i] = ops[id] end
    out[g] = described(own, has_backward)
    out[g].reduces = group.reduces
  end
  return out
end

return groups
