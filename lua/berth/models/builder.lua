--- Records the forward pass of a model as ops on values; backward.lua and emit.lua turn the record
-- into a graph.
--
-- A value is what flows: { op = producing op, elements, shape (without the batch), needs_grad,
-- readers }. A weight is what persists: { name, count, uses }; ops that share one (tied embeddings)
-- share a device.
local backward = require "berth.models.backward"
local emit = require "berth.models.emit"
local coarsen = require "berth.models.coarsen"

local builder = {}
local Builder = {}
Builder.__index = Builder

--- A recorder for one model.
-- @tparam string name of the graph
-- @tparam table o checked options (batch, dtype, training, optimizer, granularity, colocate)
function builder.new(name, o)
  local self = { name = name, options = o, batch = o.batch + 0.0, dtype = o.dtype,
    arithmetic = o.arithmetic, ops = {}, weights = {}, scopes = {} }
  return setmetatable(self, Builder)
end

--- Names made by f are prefixed by "name."; at granularity "block" its ops become one. Returns what
-- f returns.
function Builder:scope(name, f, ...)
  self.scopes[#self.scopes + 1] = name
  local result = f(...)
  self.scopes[#self.scopes] = nil
  return result
end

-- Sizes are floats in every interpreter: 64-bit integers would wrap.
local function floats(shape)
  local out, product = {}, 1.0
  for i, d in ipairs(shape) do
    out[i] = d + 0.0
    product = product * d
  end
  return out, product
end

--- A value of batch x shape elements.
function Builder:value(op, shape, needs_grad)
  local sizes, product = floats(shape)
  return { op = op, shape = sizes, elements = self.batch * product, needs_grad = needs_grad,
    readers = {}, grads = {} }
end

--- A parameter tensor of `count` numbers, updated by one optimiser op.
function Builder:weight(name, count)
  local weight = { name = self:full_name(name), block = self:block(), count = count + 0.0,
    uses = {}, grads = {} }
  self.weights[#self.weights + 1] = weight
  return weight
end

--- The name with the scopes in front of it.
function Builder:full_name(name)
  if #self.scopes == 0 then return name end
  return table.concat(self.scopes, ".") .. "." .. name
end

--- The outermost scope, which is one op at granularity "block".
function Builder:block()
  return self.scopes[1] or ""
end

-- Elements of all values.
local function total(values)
  local n = 0
  for _, v in ipairs(values) do n = n + v.elements end
  return n
end

local function macs_of(p) return p.m * p.n * p.k * (p.copies or 1) end

-- An op with a weight needs a gradient, and so does one behind it.
local function any_needs_grad(op)
  if op.weight then return true end
  for _, v in ipairs(op.inputs) do
    if v.needs_grad then return true end
  end
  return false
end

-- Elements that an op moves: inputs, outputs and weight, each once.
local function traffic(op)
  local n = total(op.inputs) + total(op.outputs)
  return op.weight and n + op.weight.count or n
end

--- Adds a forward op; returns the list of its output values, one for each shape.
--
-- name, kind, inputs (values); shape, or shapes for several outputs; macs or flop; product: { m, n,
-- k, copies } that the op computes, which gives macs; area: pixels under the window of a
-- convolution; attention: the shape of a fused attention op; weight; saves:
-- true for each input that the backward op reads; saves_output: it reads the output; split: the
-- gradients of input and weight are two ops, each as heavy as this one; inplace: writes over its
-- first free input; pass: the gradient of every input is the output's gradient itself; grad_flop:
-- FLOP of the single backward op (default: as forward); reserve: elements kept for the backward op
-- alone; moved: elements moved to and from memory, when not all of inputs, outputs and weight;
-- cell, deferred: the gradient of the weight is one op for all ops that share it; it reads the
-- inputs in enters_weight.
function Builder:multi(o)
  local op = o
  op.id = #self.ops + 1
  op.block = self:block()
  op.name = self:full_name(o.name)
  op.inputs = o.inputs or {}
  op.macs = (o.product and macs_of(o.product) or o.macs or 0) + 0.0
  op.flop = (o.flop or 2 * op.macs) + 0.0
  op.saves = o.saves or {}
  local needs_grad = any_needs_grad(op)
  op.computes = o.product or o.attention
  op.outputs = {}
  for i, shape in ipairs(o.shapes or { o.shape }) do
    op.outputs[i] = self:value(op, shape, needs_grad)
  end
  for _, v in ipairs(op.inputs) do v.readers[#v.readers + 1] = op end
  if op.weight then op.weight.uses[#op.weight.uses + 1] = op end
  op.moved = o.moved or traffic(op)
  self.ops[op.id] = op
  return op.outputs
end

--- The same for an op with one output, which it returns.
function Builder:op(o)
  return self:multi(o)[1]
end

--- Where data enters the graph: free of cost, no gradient.
function Builder:input(name, shape)
  return self:op { name = name, kind = "input", shape = shape, moved = 0 }
end

local function sum(ops, field)
  local n = 0
  for _, op in ipairs(ops) do n = n + op[field] end
  return n
end

-- Numbers in all weights.
local function count_parameters(weights)
  local n = 0
  for _, w in ipairs(weights) do n = n + w.count end
  return n
end

-- "forward", "backward" or "update".
local function pass_of(op)
  return op.update and "update" or op.backward and "backward" or "forward"
end

-- The table about a model: parameters, FLOP by pass, bytes of saved activations, sizes.
local function information(self, graph)
  local flop = { forward = 0, backward = 0, update = 0 }
  for _, op in ipairs(graph.ops) do flop[pass_of(op)] = flop[pass_of(op)] + op.flop end
  return {
    name = self.name,
    parameters = count_parameters(self.weights),
    parameter_bytes = count_parameters(self.weights) * self.dtype,
    macs_forward = sum(self.ops, "macs"),
    flop_forward = flop.forward,
    flop_backward = flop.backward,
    flop_update = flop.update,
    flop = flop.forward + flop.backward + flop.update,
    activation_bytes = emit.saved_bytes(graph),
    ops = #graph.ops,
    tensors = #graph.tensors,
    options = self.options,
  }
end

-- Whole numbers that "%.14g" prints in full become integers where there are such: every interpreter
-- then prints the same.
local function plain(t)
  for key, value in pairs(t) do
    if type(value) == "number" and value < 1e14 and value == math.floor(value) then
      t[key] = math.floor(value)
    end
  end
  return t
end

local function plain_graph(graph)
  for _, op in ipairs(graph.ops) do
    plain(op)
    plain(op.shape or {})
  end
  for _, tensor in ipairs(graph.tensors) do plain(tensor) end
  return graph
end

--- The finished model: a description for berth.graph, and a table about it.
function Builder:finish()
  local tape = backward.run(self)
  local graph = emit.graph(self, tape)
  local about = information(self, graph)
  if self.options.granularity ~= "op" then
    graph = coarsen.contract(graph, emit.merge_keys(self, tape, self.options.granularity))
    about.ops, about.tensors = #graph.ops, #graph.tensors
  end
  about.options = plain(about.options)
  return plain_graph(graph), plain(about)
end

return builder
