--- Contracts a graph description: ops with the same key become one.
-- Times, bytes and parameters add up; tensors inside a coarse op vanish, those alike in producer,
-- readers and flags become one. The partition must be acyclic: the caller sees to it
-- (emit.merge_keys). Results are in order of the first op of each key.
local coarsen = {}

-- Union of colocation groups that meet in one coarse op.
local function disjoint_groups()
  local parent = {}
  local function root(g)
    while parent[g] and parent[g] ~= g do g = parent[g] end
    return g
  end
  local function unite(a, b)
    a, b = root(a), root(b)
    if a ~= b then parent[math.max(a, b)] = math.min(a, b) end
  end
  return root, unite
end

-- A coarse op without work, as its first member is flagged.
local function new_op(name, op)
  return { name = name, kind = op.kind, flop = 0, bytes = 0, params = 0, workspace = 0,
    backward = op.backward, update = op.update, splittable = op.splittable }
end

-- Whether op b has more FLOP than a.
local function heavier(a, b) return b.flop > a end

-- Coarse op of every op; its kind is that of its heaviest member, its shape that of the only one
-- with FLOP or bytes.
local function merge_ops(graph, keys)
  local ops, where, index, heaviest = {}, {}, {}, {}
  for id, op in ipairs(graph.ops) do
    local key = keys[id]
    if not index[key] then
      index[key] = #ops + 1
      ops[index[key]] = new_op(key, op)
      heaviest[key] = op.flop
    end
    local into = ops[index[key]]
    where[id] = index[key]
    if heavier(heaviest[key], op) then into.kind, heaviest[key] = op.kind, op.flop end
    if op.flop + op.bytes > 0 then
      into.shape = into.flop + into.bytes == 0 and op.shape or nil
    end
    into.flop, into.bytes, into.params = into.flop + op.flop, into.bytes + op.bytes,
      into.params + op.params
  end
  return ops, where
end

-- Colocation groups with members in one coarse op become one group.
local function merge_groups(graph, ops, where)
  local root, unite = disjoint_groups()
  for id, op in ipairs(graph.ops) do
    local into = ops[where[id]]
    if op.group then
      if into.group then unite(into.group, op.group) end
      into.group = into.group or op.group
    end
  end
  for _, op in ipairs(ops) do op.group = op.group and root(op.group) end
end

-- Coarse ops with twins among their members are twins; the first pair counts.
local function merge_twins(graph, ops, where)
  for id, op in ipairs(graph.ops) do
    local a, b = where[id], op.twin and where[op.twin]
    if b and a ~= b and not ops[a].twin and not ops[b].twin then ops[a].twin, ops[b].twin = b, a end
  end
end

-- Coarse ops that read a tensor, without the one that makes it.
local function outside_readers(tensor, where)
  local to, seen = {}, { [where[tensor.from]] = true }
  for _, id in ipairs(tensor.to) do
    local into = where[id]
    if not seen[into] then to[#to + 1] = into end
    seen[into] = true
  end
  return to
end

-- Tensors alike in producer, readers and flags travel together: one tensor.
local function add_tensor(tensors, index, t, from, to)
  local flags = (t.batch and "b" or "") .. (t.gradient and "g" or "")
  local key = from .. ">" .. table.concat(to, ",") .. flags
  local into = index[key] and tensors[index[key]]
  if not into then
    into = { from = from, to = to, bytes = 0, resident = 0, batch = t.batch, gradient = t.gradient }
    index[key] = #tensors + 1
    tensors[index[key]] = into
  end
  into.bytes, into.resident = into.bytes + t.bytes, into.resident + t.resident
end

-- A tensor that stays inside is gone; the largest of them is the workspace of the op around it.
local function merge_tensors(graph, ops, where)
  local tensors, index = {}, {}
  for _, t in ipairs(graph.tensors) do
    local to, from = outside_readers(t, where), where[t.from]
    table.sort(to)
    if #to > 0 or #t.to == 0 then add_tensor(tensors, index, t, from, to)
    else ops[from].workspace = math.max(ops[from].workspace, t.bytes) end
  end
  return tensors
end

--- @tparam table graph description
-- @tparam table keys name of the coarse op of every op; the partition must be acyclic
function coarsen.contract(graph, keys)
  local ops, where = merge_ops(graph, keys)
  merge_groups(graph, ops, where)
  merge_twins(graph, ops, where)
  return { name = graph.name, dtype = graph.dtype, ops = ops,
    tensors = merge_tensors(graph, ops, where) }
end

return coarsen
