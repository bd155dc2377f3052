-- Judges of graph transforms: groups by a union-find of its own, conservation and reachability read off the public fields of the
-- graphs. Shares nothing with the library.
local reference = {}

local jit = rawget(_G, "jit")
if jit then jit.off(true, true) end -- thousands of traces, made and thrown away, would cost more than they save

-- ---- groups ---------------------------------------------------------------------------------------------------------------

--- A union-find over 1..n.
function reference.sets(n)
  local parent = {}
  for i = 1, n do parent[i] = i end
  local sets = {}
  function sets.find(i)
    while parent[i] ~= i do i = parent[i] end
    return i
  end
  function sets.union(a, b)
    a, b = sets.find(a), sets.find(b)
    if a ~= b then parent[math.max(a, b)] = math.min(a, b) end
    return a ~= b
  end
  --- The lowest member of the set of each, and the size of that set.
  function sets.partition()
    local low, size = {}, {}
    for i = 1, n do
      low[i] = sets.find(i)
      size[low[i]] = (size[low[i]] or 0) + 1
    end
    return low, size
  end
  return sets
end

--- The sets that the groups of a graph make; ops without a group stand alone.
function reference.groups_of(g)
  local sets, first = reference.sets(#g), {}
  for op in g:ops() do
    if op.group then
      first[op.group] = first[op.group] or op.id
      sets.union(first[op.group], op.id)
    end
  end
  return sets
end

--- The published rule without limits: every op with exactly one consumer, op by op, shares a device with it.
-- @param control false: tensors of no bytes are not seen
function reference.coplaced(g, control)
  local sets = reference.groups_of(g)
  for i = 1, #g do
    local consumer, several
    for _, k in ipairs(g:outputs(i)) do
      local tensor = g:tensor(k)
      if control or tensor.bytes > 0 then
        for _, to in ipairs(tensor.to) do
          several = several or (consumer ~= nil and consumer ~= to)
          consumer = to
        end
      end
    end
    if consumer and not several then sets.union(i, consumer) end
  end
  return sets
end

--- Names as frameworks give them: names[i] is the array of op i. Ops with a name in common are together.
function reference.colocated(g, names)
  local sets, first = reference.groups_of(g), {}
  for i = 1, #g do
    for _, name in ipairs(names[i] or {}) do
      first[name] = first[name] or i
      sets.union(first[name], i)
    end
  end
  return sets
end

--- Nothing, or how the groups of g differ from the sets; groups must be numbered from 1 by their lowest op.
function reference.group_faults(g, sets)
  local low, size = sets.partition()
  local number, count, faults = {}, 0, {}
  for i = 1, #g do
    local want
    if size[low[i]] > 1 then
      if not number[low[i]] then
        count = count + 1
        number[low[i]] = count
      end
      want = number[low[i]]
    end
    if g:op(i).group ~= want then
      faults[#faults + 1] = ("op %d is in group %s, not %s"):format(i, tostring(g:op(i).group), tostring(want))
    end
  end
  return faults
end

-- ---- contraction ----------------------------------------------------------------------------------------------------------

local function close(a, b) return math.abs(a - b) <= 1e-9 * math.max(1, math.abs(a), math.abs(b)) end

local function arcs_of(g)
  local arcs, list = {}, {}
  for tensor in g:tensors() do
    for _, to in ipairs(tensor.to) do
      local key = tensor.from .. ">" .. to
      if not arcs[key] then list[#list + 1] = { tensor.from, to } end
      arcs[key] = true
    end
  end
  return arcs, list
end

local function check_map(faults, old, new, map)
  local hit = {}
  for i = 1, #old do
    if not (map[i] and map[i] >= 1 and map[i] <= #new) then
      faults[#faults + 1] = ("op %d goes to %s"):format(i, tostring(map[i]))
      return
    end
    hit[map[i]] = true
  end
  local lowest = 0
  for i = 1, #old do
    if hit[map[i]] == true then
      hit[map[i]] = i
      if map[i] ~= lowest + 1 then faults[#faults + 1] = ("op %d: new ops are not numbered by their lowest op"):format(i) end
      lowest = map[i]
    end
  end
  if #map ~= #old then faults[#faults + 1] = "the map is longer than the graph" end
  for k = 1, #new do
    if not hit[k] then faults[#faults + 1] = ("nothing goes to new op %d"):format(k) end
  end
end

local function sums_of(g, members)
  local sum = { seconds = 0, flop = 0, bytes = 0, params = 0, workspace = 0 }
  for _, i in ipairs(members) do
    local op = g:op(i)
    sum.seconds = sum.seconds + (op.seconds or 0)
    sum.flop, sum.bytes, sum.params = sum.flop + (op.flop or 0), sum.bytes + (op.bytes or 0), sum.params + op.params
    sum.workspace = math.max(sum.workspace, op.workspace)
    sum.pin, sum.group = sum.pin or op.pin, sum.group or op.group
  end
  return sum
end

local function check_ops(faults, old, new, map)
  local members = {}
  for k = 1, #new do members[k] = {} end
  for i = 1, #old do table.insert(members[map[i]], i) end
  for k = 1, #new do
    local want, op = sums_of(old, members[k]), new:op(k)
    for _, field in ipairs { "seconds", "flop", "bytes", "params", "workspace" } do
      if not close(op[field] or 0, want[field]) then
        faults[#faults + 1] = ("new op %d: %s is %.17g, not %.17g"):format(k, field, op[field] or 0, want[field])
      end
    end
    if op.pin ~= want.pin then faults[#faults + 1] = ("new op %d: pin"):format(k) end
    for _, i in ipairs(members[k]) do
      local group = old:op(i).group
      if group and want.group and group ~= want.group then faults[#faults + 1] = ("new op %d: of two groups"):format(k) end
    end
  end
end

-- What leaves stays as it was: by producer, bytes and consumers. Inner tensors become one that nobody reads.
local function check_tensors(faults, old, new, map, keep)
  local function key(from, bytes, resident, to)
    local seen, list = {}, {}
    for _, op in ipairs(to) do
      if not seen[op] then list[#list + 1] = op end
      seen[op] = true
    end
    table.sort(list)
    return ("%d %.17g %.17g>%s"):format(from, bytes, resident, table.concat(list, ","))
  end
  local count, inner = {}, {}
  for tensor in old:tensors() do
    local from, outside = map[tensor.from], {}
    for _, to in ipairs(tensor.to) do
      if map[to] ~= from then outside[#outside + 1] = map[to] end
    end
    if #outside > 0 or #tensor.to == 0 then
      local k = key(from, tensor.bytes, tensor.resident, outside)
      count[k] = (count[k] or 0) + 1
    else
      inner[from] = (inner[from] or 0) + tensor.resident
    end
  end
  for tensor in new:tensors() do
    local k = key(tensor.from, tensor.bytes, tensor.resident, tensor.to)
    if (count[k] or 0) > 0 then
      count[k] = count[k] - 1
    elseif #tensor.to == 0 and inner[tensor.from] and close(inner[tensor.from], tensor.resident) then
      inner[tensor.from] = nil
    else
      faults[#faults + 1] = "a tensor that was not there: " .. k
    end
  end
  for k, n in pairs(count) do
    if n ~= 0 then faults[#faults + 1] = "a tensor is gone: " .. k end
  end
  for from, bytes in pairs(inner) do
    if keep and bytes > 0 then faults[#faults + 1] = ("new op %d: %.17g bytes of inner tensors are gone"):format(from, bytes) end
  end
end

--- Faults of a contraction: the map is total, onto and in order, the graph has no cycle, and nothing is lost.
-- @param keep inner tensors stay as bytes that nobody reads
function reference.contraction_faults(old, new, map, keep)
  local faults = {}
  check_map(faults, old, new, map)
  if #faults > 0 then return faults end
  check_ops(faults, old, new, map)
  check_tensors(faults, old, new, map, keep)
  if not reference.acyclic(new) then faults[#faults + 1] = "there is a cycle" end
  return faults
end

function reference.acyclic(g)
  local left, next_, ready, done = {}, {}, {}, 0
  for i = 1, #g do left[i], next_[i] = 0, {} end
  for _, arc in ipairs(select(2, arcs_of(g))) do
    left[arc[2]] = left[arc[2]] + 1
    table.insert(next_[arc[1]], arc[2])
  end
  for i = 1, #g do
    if left[i] == 0 then ready[#ready + 1] = i end
  end
  while #ready > 0 do
    local op = table.remove(ready)
    done = done + 1
    for _, to in ipairs(next_[op]) do
      left[to] = left[to] - 1
      if left[to] == 0 then ready[#ready + 1] = to end
    end
  end
  return done == #g
end

-- Is there a way from a to b that is not the arc itself?
local function another_way(g, a, b)
  local _, list = arcs_of(g)
  local next_, seen = {}, {}
  for _, arc in ipairs(list) do
    next_[arc[1]] = next_[arc[1]] or {}
    table.insert(next_[arc[1]], arc[2])
  end
  local stack = {}
  for _, to in ipairs(next_[a] or {}) do
    if to ~= b then stack[#stack + 1] = to end
  end
  while #stack > 0 do
    local op = table.remove(stack)
    if op == b then return true end
    if not seen[op] then
      seen[op] = true
      for _, to in ipairs(next_[op] or {}) do stack[#stack + 1] = to end
    end
  end
  return false
end

--- Arcs between ops that `may` be one and could be contracted without closing a cycle; may(a, b): tables of the two ops.
function reference.contractible(g, may)
  local found = {}
  for _, arc in ipairs(select(2, arcs_of(g))) do
    if may(g:op(arc[1]), g:op(arc[2])) and not another_way(g, arc[1], arc[2]) then
      found[#found + 1] = ("%d > %d"):format(arc[1], arc[2])
    end
  end
  return found
end

return reference
