--- Reverse sweep over the recorded forward ops: backward ops, their gradient values, and one update
-- per weight.
--
-- A backward record is { name, kind, forward, reads (values), outputs (gradient values), flop,
-- moved, grouped, phase }. Gradient values look like forward ones, so emit.lua treats both alike.
local backward = {}

-- The gradient of a value, made by op: as many elements.
local function gradient(of, op)
  return { op = op, elements = of.elements, readers = {}, gradient_of = of }
end

-- Notes that the op reads the value, on both sides.
local function read(op, value)
  op.reads[#op.reads + 1] = value
  value.readers[#value.readers + 1] = op
end

-- Appends a backward record of the forward op; its name is "FORWARD/SUFFIX".
local function new_op(tape, forward, suffix, fields)
  local op = fields or {}
  op.name = forward.name .. "/" .. suffix
  op.kind = forward.kind .. "_" .. suffix
  op.forward, op.block, op.phase = forward, op.block or forward.block, "backward"
  op.reads, op.outputs = {}, {}
  op.flop, op.moved = op.flop or 0, op.moved or 0
  tape[#tape + 1] = op
  return op
end

-- The block of all values, or nil if they are of several.
local function same_block(values)
  local block = values[1].op.block
  for _, v in ipairs(values) do
    if v.op.block ~= block then return nil end
  end
  return block
end

-- "sum_grad", numbered where the op has several outputs.
local function sum_name(value)
  local outputs = value.op.outputs
  for i, out in ipairs(#outputs > 1 and outputs or {}) do
    if out == value then return string.format("sum_grad%d", i) end
  end
  return "sum_grad"
end

-- The sum of what the readers of one value send back; made where they are, if they are in one
-- block.
local function sum_of(tape, value, parts)
  if #parts == 1 then return parts[1] end
  local n = #parts
  local op = new_op(tape, value.op, sum_name(value), { flop = (n - 1) * value.elements,
    moved = (n + 1) * value.elements })
  op.kind, op.block, op.inplace = "add", same_block(parts) or value.op.block, true
  for _, part in ipairs(parts) do read(op, part) end
  op.outputs[1] = gradient(value, op)
  return op.outputs[1]
end

-- What a split op computes for the gradients of its input and of its weight, and a single one for
-- those of both: of [m, k] times [k, n]. A convolution sums the gradient of a pixel of its input
-- over the channels and windows that it is in, so with the pixels of its output.
local function input_product(forward)
  local p, area = forward.product, forward.area or 1
  return p and { m = p.m, n = p.k / area, k = p.n * area, copies = p.copies }
end

local function weight_product(forward)
  local p = forward.product
  return p and { m = p.k, n = p.n, k = p.m, copies = p.copies }
end

local function both_gradients(forward)
  local p, a = forward.product, forward.attention
  if forward.cell then return input_product(forward) end
  if p then return { m = p.m, n = p.n, k = p.k, copies = p.copies, gradients = true } end
  if not a then return nil end
  local out = { backward = true }
  for key, value in pairs(a) do out[key] = value end
  return out
end

-- The backward op reads the inputs and the output that the forward op saves.
local function read_saved(op, forward)
  for i, v in ipairs(forward.inputs) do
    if forward.saves[i] then read(op, v); op.moved = op.moved + v.elements end
  end
  if forward.saves_output then
    read(op, forward.outputs[1])
    op.moved = op.moved + forward.outputs[1].elements
  end
end

-- It reads the gradients of the forward op's outputs.
local function read_gradients(op, dys)
  for _, dy in ipairs(dys) do read(op, dy); op.moved = op.moved + dy.elements end
end

-- It makes the gradient of a value.
local function give(op, value)
  local dx = gradient(value, op)
  op.outputs[#op.outputs + 1] = dx
  value.grads[#value.grads + 1] = dx
  op.moved = op.moved + value.elements
end

-- It makes the gradients of all inputs that need one.
local function give_inputs(op, forward)
  for _, v in ipairs(forward.inputs) do
    if v.needs_grad then give(op, v) end
  end
end

-- rows: numbers in the touched rows alone; nil: the whole weight.
local function weight_gradient(op, weight, rows)
  local dw = { op = op, elements = rows or weight.count, readers = {}, weight = weight,
    rows = rows ~= nil }
  op.outputs[#op.outputs + 1] = dw
  weight.grads[#weight.grads + 1] = dw
  op.moved = op.moved + dw.elements
end

-- Whether any input needs a gradient: not of data.
local function wants_input_gradient(forward)
  for _, v in ipairs(forward.inputs) do
    if v.needs_grad then return true end
  end
  return false
end

-- One op makes the gradient of the weight for all ops that share it; it reads `gates` and saved
-- inputs of each.
local function defer(forward, gates)
  local weight = forward.weight
  weight.cells = weight.cells or {}
  weight.cells[#weight.cells + 1] = { forward = forward, gates = gates,
    flop = forward.grad_weight_flop or forward.flop }
end

-- A linear layer or convolution: two products of the forward's size; the second alone reads the
-- saved input.
local function split(tape, forward, dys)
  if wants_input_gradient(forward) then
    local op = new_op(tape, forward, "grad_input", { flop = forward.flop, grouped = true,
      computes = input_product(forward) })
    read_gradients(op, dys)
    op.moved = op.moved + forward.weight.count
    give_inputs(op, forward)
  end
  if forward.deferred then return defer(forward, dys[1]) end
  local op = new_op(tape, forward, "grad_weight",
    { flop = forward.grad_weight_flop or forward.flop, computes = weight_product(forward) })
  if forward.grad_rows then op.kind = forward.kind .. "_grad_rows" end
  read_gradients(op, dys)
  read_saved(op, forward)
  weight_gradient(op, forward.weight, forward.grad_rows)
  forward.twin = op
end

-- Identity on the way back (residual sum): one free op whose only output all inputs take.
local function pass(tape, forward, dys)
  local op = new_op(tape, forward, "grad", { inplace = true })
  read(op, dys[1])
  local shared = gradient(forward.outputs[1], op)
  op.outputs[1] = shared
  for _, v in ipairs(forward.inputs) do
    if v.needs_grad then v.grads[#v.grads + 1] = shared end
  end
  forward.twin = op
end

-- One backward op for all gradients: the rule for every kind without one of its own.
local function single(tape, forward, dys)
  local products = forward.product and not forward.cell and 2 or 1
  local flop = forward.grad_flop or products * forward.flop
  local op = new_op(tape, forward, "grad", { flop = flop, inplace = forward.inplace,
    grouped = forward.weight ~= nil, computes = both_gradients(forward) })
  read_gradients(op, dys)
  read_saved(op, forward)
  op.moved = op.moved + (forward.grad_traffic or 0)
  if forward.weight then op.moved = op.moved + forward.weight.count end
  give_inputs(op, forward)
  if forward.weight and not forward.cell then weight_gradient(op, forward.weight) end
  forward.twin = op
  return op
end

-- What only the backward op of the same op reads (LSTM gates).
local function reserve(forward)
  local kept = { op = forward, elements = forward.reserve, readers = {}, kept = true }
  forward.outputs[#forward.outputs + 1] = kept
  read(forward.twin, kept)
  forward.twin.moved = forward.twin.moved + kept.elements
end

-- One step of a recurrent layer: gates' gradients leave for the layer's one weight-gradient op.
local function cell(tape, forward, dys)
  local op = single(tape, forward, dys)
  local gates = { op = op, elements = forward.gate_elements, readers = {} }
  op.outputs[#op.outputs + 1] = gates
  op.moved = op.moved + gates.elements
  defer(forward, gates)
end

-- Rows of all cells are summed over.
local function joint_product(cells)
  local all
  for _, c in ipairs(cells) do
    local p = weight_product(c.forward)
    if not p then return nil end
    all = all or { m = p.m, n = p.n, k = 0 }
    all.k = all.k + p.k
  end
  return all
end

-- The one gradient op of a weight that several ops deferred.
local function deferred_weight_gradient(tape, weight)
  local op = new_op(tape, weight.uses[1], "grad_weight")
  op.name, op.block = weight.name .. "/grad_weight", weight.block
  op.computes = joint_product(weight.cells)
  for _, c in ipairs(weight.cells) do
    op.flop = op.flop + c.flop
    read(op, c.gates)
    op.moved = op.moved + c.gates.elements
    for i, v in ipairs(c.forward.inputs) do
      if c.forward.enters_weight[i] then read(op, v); op.moved = op.moved + v.elements end
    end
  end
  weight_gradient(op, weight)
end

-- The loss starts the sweep: it reads its own output instead of gradients.
local function loss(tape, forward)
  local op = single(tape, forward, {})
  read(op, forward.outputs[1])
end

-- The gradient of each output that has readers which send one back, summed.
local function output_gradients(tape, forward)
  local dys = {}
  for _, out in ipairs(forward.outputs) do
    if #out.grads > 0 then dys[#dys + 1] = sum_of(tape, out, out.grads) end
  end
  return dys
end

-- The backward ops of one forward op.
local function differentiate(tape, forward)
  if forward.kind == "loss" then return loss(tape, forward) end
  if not forward.outputs[1].needs_grad then return end
  local dys = output_gradients(tape, forward)
  if #dys == 0 then error("op " .. forward.name .. ": nothing sends a gradient back to it") end
  if forward.cell then cell(tape, forward, dys)
  elseif forward.split then split(tape, forward, dys)
  elseif forward.pass then pass(tape, forward, dys)
  else single(tape, forward, dys) end
  if forward.reserve then reserve(forward) end
end

-- Optimiser: FLOP per parameter, bytes of state per parameter in fp32: none; a velocity; the two
-- moments of Adam (D. Kingma, J. Ba, "Adam: A Method for Stochastic Optimization", 2015,
-- algorithm 1).
local OPTIMIZERS = {
  sgd = { flop = 2, state = 0 },
  momentum = { flop = 4, state = 4 },
  adam = { flop = 12, state = 8 },
}

--- Bytes of optimiser state per parameter: fp32 moments, and an fp32 copy of the weights when they
-- are narrower.
function backward.state_bytes(optimizer, dtype)
  local rule = OPTIMIZERS[optimizer]
  if not rule then return 0 end
  return rule.state + (dtype < 4 and 4 or 0)
end

-- Numbers that the update changes, how many gradients each of them has, and whether they are rows
-- of a table.
local function touched(weight)
  if not weight.grads[1].rows then return weight.count, #weight.grads, false end
  local n = 0
  for _, dw in ipairs(weight.grads) do n = n + dw.elements end
  return n, 1, true
end

-- The update op of a weight: reads its gradients, moves weight and state to and from memory.
local function update(tape, self, weight)
  local rule = OPTIMIZERS[self.options.optimizer]
  local state = backward.state_bytes(self.options.optimizer, self.dtype)
  local count, parts, rows = touched(weight)
  local op = {
    name = weight.name .. "/update", kind = (rows and "scatter_" or "") .. self.options.optimizer,
    forward = weight.uses[1], block = weight.block, phase = "update", grouped = true, reads = {},
    outputs = {}, flop = (rule.flop + parts - 1) * count,
    moved = (parts + 2) * count + 2 * count * state / self.dtype,
    state = state * weight.count,
  }
  for _, dw in ipairs(weight.grads) do read(op, dw) end
  tape[#tape + 1] = op
end

--- The backward and update records of a model, in order; none for inference.
function backward.run(self)
  local tape = {}
  if not self.options.training then return tape end
  for i = #self.ops, 1, -1 do differentiate(tape, self.ops[i]) end
  for i = #self.weights, 1, -1 do
    if self.weights[i].cells then deferred_weight_gradient(tape, self.weights[i]) end
  end
  if self.options.optimizer == "none" then return tape end
  for i = #self.weights, 1, -1 do update(tape, self, self.weights[i]) end
  return tape
end

return backward
