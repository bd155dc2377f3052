--- From records to a description for berth.graph: plain ops and tensors with ids. Forward ops come
-- first, then backward ops, then updates. Sizes are elements times bytes per number (dtype).
-- Memory: params are what an op keeps for the whole step (its weight, or the optimiser state of its
-- update), resident is what a tensor takes while it is live.
local emit = {}

-- Ids are positions: forward ops, then the tape.
local function assign_ids(self, tape)
  for i, op in ipairs(self.ops) do op.id = i end
  for i, op in ipairs(tape) do op.id = #self.ops + i end
end

-- Group numbers by first use; a group of one is none.
local function weight_groups(self, tape)
  local group_of, size = {}, {}
  local function join(op, key)
    group_of[op] = key
    size[key] = (size[key] or 0) + 1
  end
  for _, op in ipairs(self.ops) do
    if op.weight then join(op, op.weight) end
  end
  local whole_layer = self.options.colocate == "layer"
  for _, op in ipairs(tape) do
    local forward = op.forward
    if op.grouped or (whole_layer and forward.weight) then join(op, forward.weight)
    elseif whole_layer then
      if not group_of[forward] then join(forward, forward) end
      join(op, forward)
    end
  end
  return group_of, size
end

-- Group numbers by key, in order of first use.
local function numbered(self, tape, group_of, size)
  local number, next_number = {}, 1
  local function visit(op)
    local key = group_of[op]
    if key and size[key] > 1 and not number[key] then
      number[key] = next_number
      next_number = next_number + 1
    end
  end
  for _, op in ipairs(self.ops) do visit(op) end
  for _, op in ipairs(tape) do visit(op) end
  return number
end

-- A weight counts at its first use; optimiser state at the update.
local function persistent_bytes(self, op)
  if op.phase == "update" then return op.state end
  if op.phase == "backward" then return 0 end
  if op.weight and op.weight.uses[1] == op then return op.weight.count * self.dtype end
  return 0
end

-- Without an optimiser the gradients stay: they count as persistent where they are made.
local function kept_gradients(self, op)
  local bytes = 0
  if self.options.optimizer ~= "none" or op.phase ~= "backward" then return 0 end
  for _, v in ipairs(op.outputs) do
    if v.weight then bytes = bytes + v.elements * self.dtype end
  end
  return bytes
end

-- The fields of an op as berth.graph takes them.
local function describe_op(self, op, number, group_of)
  local key = group_of[op]
  return {
    name = op.name, kind = op.kind, flop = op.flop, bytes = op.moved * self.dtype,
    shape = op.computes,
    params = persistent_bytes(self, op) + kept_gradients(self, op),
    group = key and number[key] or nil,
    twin = op.twin and op.twin.id or nil,
    backward = op.phase == "backward", update = op.phase == "update",
    splittable = op.phase ~= "update",
  }
end

-- An op that works in place overwrites the first input that no other op reads: that tensor takes no
-- memory of its own.
local function overwritten(op, inputs, dead)
  if not op.inplace then return end
  for _, v in ipairs(inputs) do
    if #v.readers == 1 and not v.kept and not v.weight and v.op.kind ~= "input" then
      dead[v] = true
      return
    end
  end
end

-- The set of all values that are overwritten in place.
local function overwritten_values(self, tape)
  local dead = {}
  for _, op in ipairs(self.ops) do overwritten(op, op.inputs, dead) end
  for _, op in ipairs(tape) do overwritten(op, op.reads, dead) end
  return dead
end

-- Ids of the readers, each once.
local function reader_ids(value)
  local to, seen = {}, {}
  for _, op in ipairs(value.readers) do
    if not seen[op] then to[#to + 1] = op.id end
    seen[op] = true
  end
  return to
end

-- Bytes that a tensor takes while it is live; 0 where it overwrites, or is counted with its op.
local function resident(self, value, dead)
  if dead[value] then return 0 end
  if value.weight and self.options.optimizer == "none" then return 0 end
  return value.elements * self.dtype
end

-- The fields of a tensor; gradients of weights do not depend on the batch size.
local function describe_tensor(self, value, dead)
  return {
    from = value.op.id, to = reader_ids(value), bytes = value.elements * self.dtype,
    resident = resident(self, value, dead), batch = value.weight == nil or value.rows,
    gradient = value.weight ~= nil,
  }
end

--- Plain tables as berth.graph takes them: forward ops first, then backward, then updates.
function emit.graph(self, tape)
  assign_ids(self, tape)
  local group_of, size = weight_groups(self, tape)
  local number = numbered(self, tape, group_of, size)
  local dead = overwritten_values(self, tape)
  local graph = { name = self.name, dtype = self.arithmetic, ops = {}, tensors = {} }
  local function add(op)
    graph.ops[op.id] = describe_op(self, op, number, group_of)
    for _, v in ipairs(op.outputs) do
      graph.tensors[#graph.tensors + 1] = describe_tensor(self, v, dead)
    end
  end
  for _, op in ipairs(self.ops) do add(op) end
  for _, op in ipairs(tape) do add(op) end
  for id, op in ipairs(graph.ops) do
    if op.twin then graph.ops[op.twin].twin = id end
  end
  return graph
end

--- Bytes that forward ops leave in memory for backward ops.
function emit.saved_bytes(graph)
  local bytes = 0
  for _, t in ipairs(graph.tensors) do
    local saved = false
    for _, id in ipairs(t.to) do saved = saved or graph.ops[id].backward end
    if saved and not graph.ops[t.from].backward then bytes = bytes + t.resident end
  end
  return bytes
end

-- Kinds that a fused kernel absorbs into the op before: element-wise, or a pass over rows.
local CHEAP = {
  batch_norm = true, layer_norm = true, rms_norm = true, relu = true, gelu = true, tanh = true,
  silu_mul = true, add = true, softmax = true, rope = true,
}

-- How many forward ops read a value.
local function forward_readers(value, first_backward)
  local n = 0
  for _, op in ipairs(value.readers) do
    if op.id < first_backward then n = n + 1 end
  end
  return n
end

-- A cheap op joins the producer of an input that no other forward op reads: the union has one exit,
-- so it stays acyclic.
local function layer_names(self)
  local layer = {}
  for _, op in ipairs(self.ops) do
    layer[op] = op.name
    for _, v in ipairs(CHEAP[op.kind] and op.inputs or {}) do
      if v.op.kind ~= "input" and forward_readers(v, #self.ops + 1) == 1 then
        layer[op] = layer[v.op]
        break
      end
    end
  end
  return layer
end

-- Keys of granularity "layer": a layer forward, backward and its update are three ops.
local function layer_keys(self, tape)
  local layer, keys = layer_names(self), {}
  for id, op in ipairs(self.ops) do keys[id] = layer[op] end
  for _, op in ipairs(tape) do keys[op.id] = layer[op.forward] .. "/" .. op.phase end
  return keys
end

-- Keys of granularity "block": ops outside blocks stay alone.
local function block_keys(self, tape)
  local keys = {}
  for id, op in ipairs(self.ops) do keys[id] = op.block ~= "" and op.block or op.name end
  for _, op in ipairs(tape) do
    keys[op.id] = (op.block ~= "" and op.block or op.forward.name) .. "/" .. op.phase
  end
  return keys
end

--- For each op the name of the coarse op that it becomes part of.
function emit.merge_keys(self, tape, granularity)
  return (granularity == "block" and block_keys or layer_keys)(self, tape)
end

return emit
