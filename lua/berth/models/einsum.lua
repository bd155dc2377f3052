--- Sharded einsum graphs in the manner of DOPPLER's (Yao et al., ICLR 2026): a tensor program whose
-- logical ops are each cut into up to 16 shard ops, one kernel per block, followed by "formation"
-- ops that sum the partial blocks where a contraction is cut, or gather blocks where the next op is
-- cut otherwise. Program inputs have no ops: they are everywhere at the start, as there.
--
-- Times are work: multiply-adds of a block's einsum, elements of an element-wise block or a
-- formation, one "second" each, for links of 1 B/s and the preset doppler; `comm` sets how large an
-- op's result is. Ids are in topological order.
local core = require "berth.core"
local options = require "berth.models.options"
local programs = require "berth.models.einsum_programs"

local einsum = {}

einsum.options = options.alone {
  program = { default = "random", kind = { "chain", "ffnn", "transformer", "random" } },
  seed = { default = 0, kind = "count", least = 0 },
  devices = { default = 4, kind = "count" },
  shards = { kind = "count", by = "program and devices" },
  layers = { kind = "count", by = "program" },
  width = { kind = "count", by = "program", least = 64 },
  comm = { default = "work", kind = { "work", "bytes" } },
}

local LAYERS = { chain = 3, ffnn = 2, transformer = 1, random = 12 }
local WIDTH = { chain = 16384, ffnn = 8192, transformer = 4096, random = 8192 }

local Builder = {}
Builder.__index = Builder

-- ---- blocks -------------------------------------------------------------------------------------

-- All index tuples of a grid, the last axis fastest.
local function each_cell(parts, f)
  local at = {}
  local function axis(k)
    if k > #parts then return f(at) end
    for i = 0, parts[k] - 1 do
      at[k] = i
      axis(k + 1)
    end
  end
  axis(1)
end

local function linear(parts, at)
  local out = 0
  for k = 1, #parts do out = out * parts[k] + at[k] end
  return out + 1
end

local function product(list)
  local out = 1.0
  for _, x in ipairs(list) do out = out * x end
  return out
end

local function equal(a, b)
  for k = 1, #a do
    if a[k] ~= b[k] then return false end
  end
  return true
end

--- One op; `inputs` are op ids, false is a program input; each producer counts once.
function Builder:emit(kind, work, size, inputs)
  local id = #self.ops + 1
  self.ops[id] = { name = ("%s%d.%d"):format(self.label, self.meta, id - self.first), kind = kind,
    seconds = work }
  self.size[id], self.meta_of[id], self.from[id] = self.comm == "bytes" and 4 * size or 4 * work,
    self.meta, {}
  local seen = {}
  for _, u in ipairs(inputs) do
    if u and not seen[u] then
      seen[u] = true
      self.from[id][#self.from[id] + 1] = u
    end
  end
  return id
end

--- Begins the next meta-op.
function Builder:begin(label)
  self.meta, self.label, self.first = self.meta + 1, label, #self.ops
end

--- A value that is there at the start. Its cut is whatever its readers want.
function Builder:input(...)
  local extents = { ... }
  self.parameters = self.parameters + product(extents)
  return { extents = extents, parts = nil, blocks = nil }
end

-- The old blocks that meet the cell `at` of the grid `parts`: cuts are powers of two, so on every
-- axis one refines the other.
local function overlapping(value, parts, at)
  local from, count = {}, {}
  for k, p in ipairs(parts) do
    local q = value.parts[k]
    from[k] = math.floor(at[k] * q / p)
    count[k] = math.max(1, q / p)
  end
  local out = {}
  each_cell(count, function(offset)
    local cell = {}
    for k = 1, #parts do cell[k] = from[k] + offset[k] end
    out[#out + 1] = value.blocks[linear(value.parts, cell)]
  end)
  return out
end

--- The value cut otherwise: a block that lies in an old one is read from there, others are formed.
function Builder:regrid(value, parts)
  if not value.blocks or equal(value.parts, parts) then return value end
  local size, blocks, begun = product(value.extents) / product(parts), {}, false
  each_cell(parts, function(at)
    local old = overlapping(value, parts, at)
    if #old > 1 and not begun then
      self:begin("gather")
      begun = true
    end
    blocks[linear(parts, at)] = #old == 1 and old[1] or self:emit("formation", size, size, old)
  end)
  return { extents = value.extents, parts = parts, blocks = blocks }
end

-- ---- cuts ---------------------------------------------------------------------------------------

-- Halves axes until there are `shards` blocks: the longest axis that may be cut, ties by chance.
local function cut(rng, labels, extent, shards, may_cut)
  local parts = {}
  for _, l in ipairs(labels) do parts[l] = 1 end
  while shards > 1 do
    local best, length, ties = nil, 1, 0
    for _, l in ipairs(labels) do
      local left = extent[l] / parts[l]
      if may_cut[l] and left >= 2 and left >= length then
        ties = left > length and 1 or ties + 1
        if left > length or rng:below(ties) == 1 then best = l end
        length = left
      end
    end
    if not best then break end
    parts[best], shards = parts[best] * 2, math.floor(shards / 2)
  end
  return parts
end

local function letters(text)
  local out = {}
  for l in text:gmatch("%a") do out[#out + 1] = l end
  return out
end

local function of(labels, map)
  local out = {}
  for i, l in ipairs(labels) do out[i] = map[l] end
  return out
end

-- Output labels, then those that are summed over.
local function all_labels(inputs, output)
  local all, seen = {}, {}
  for _, l in ipairs(output) do all[#all + 1], seen[l] = l, true end
  for _, list in ipairs(inputs) do
    for _, l in ipairs(list) do
      if not seen[l] then all[#all + 1], seen[l] = l, true end
    end
  end
  return all
end

local function extents_of(values, inputs)
  local extent = {}
  for i, value in ipairs(values) do
    for k, l in ipairs(inputs[i]) do extent[l] = value.extents[k] end
  end
  return extent
end

-- An op that works on blocks as they are: the cut of the first operand that is cut and has all
-- axes.
local function inherited(values, inputs, labels)
  for i, value in ipairs(values) do
    if value.blocks and #value.blocks > 1 and #inputs[i] == #labels then
      local parts = {}
      for k, l in ipairs(inputs[i]) do parts[l] = value.parts[k] end
      return parts
    end
  end
  return nil
end

-- ---- one einsum ---------------------------------------------------------------------------------

local function sum_partials(self, partial, output, parts, extent)
  local grid, blocks = of(output, parts), {}
  local size = product(of(output, extent)) / product(grid)
  self:begin("sum")
  each_cell(grid, function(at)
    local i = linear(grid, at)
    blocks[i] = self:emit("formation", size, size, partial[i])
  end)
  return blocks
end

-- Ids of the shards by output block.
local function shard_ops(self, kind, values, inputs, output, labels, parts, extent)
  local grid, partial, out_grid = of(labels, parts), {}, of(output, parts)
  local work = product(of(labels, extent)) / product(grid)
  local size = product(of(output, extent)) / product(out_grid)
  each_cell(grid, function(at)
    local index, reads = {}, {}
    for k, l in ipairs(labels) do index[l] = at[k] end
    for i, value in ipairs(values) do
      reads[i] = value.blocks and value.blocks[linear(value.parts, of(inputs[i], index))] or false
    end
    local o = linear(out_grid, of(output, index))
    partial[o] = partial[o] or {}
    table.insert(partial[o], self:emit(kind, work, size, reads))
  end)
  return partial
end

--- A logical op: einsum("ik,kj->ij", { a, b }). how: { cut = "split" (any axis, summed ones too),
-- "whole" (output axes alone), "same" (as its operand is cut), kind, label }.
function Builder:einsum(text, values, how)
  how = how or {}
  local left, right = text:match("^(.-)%->(.*)$")
  local inputs, output = {}, letters(right)
  for part in left:gmatch("[^,]+") do inputs[#inputs + 1] = letters(part) end
  local labels, extent = all_labels(inputs, output), extents_of(values, inputs)
  local parts = how.cut == "same" and inherited(values, inputs, labels)
  if not parts then
    local may = {}
    for k, l in ipairs(labels) do may[l] = how.cut ~= "whole" or k <= #output end
    parts = cut(self.rng, labels, extent, how.shards or self.shards, may)
  end
  local cut_values = {}
  for i, value in ipairs(values) do cut_values[i] = self:regrid(value, of(inputs[i], parts)) end
  self:begin(how.label or "einsum")
  local partial = shard_ops(self, how.kind or "einsummable", cut_values, inputs, output, labels,
    parts, extent)
  local blocks = {}
  if product(of(labels, parts)) > product(of(output, parts)) then
    blocks = sum_partials(self, partial, output, parts, extent)
  else
    for i, ids in ipairs(partial) do blocks[i] = ids[1] end
  end
  return { extents = of(output, extent), parts = of(output, parts), blocks = blocks }
end

-- ---- the graph ----------------------------------------------------------------------------------

local function tensors_of(self)
  local to, out = {}, {}
  for id = 1, #self.ops do
    for _, u in ipairs(self.from[id]) do
      to[u] = to[u] or {}
      table.insert(to[u], id)
    end
  end
  for u = 1, #self.ops do
    if to[u] then out[#out + 1] = { from = u, to = to[u], bytes = self.size[u] } end
  end
  return out
end

local function power_below(n)
  local p = 1
  while 2 * p <= n do p = 2 * p end
  return p
end

local function read(given)
  local o = options.read("einsum", given, einsum.options)
  -- shards for each device, as the published graphs have them
  local each = o.program == "transformer" and 1 or 4
  o.shards = o.shards or math.max(2, math.min(16, each * power_below(o.devices)))
  options.refuse(o.shards > 16 or power_below(o.shards) ~= o.shards, "einsum",
    "option shards is %.14g; a power of two of at most 16 is needed", o.shards)
  o.layers, o.width = o.layers or LAYERS[o.program], o.width or WIDTH[o.program]
  return o
end

--- Description for berth.graph, and a table about it: `meta[op]` the logical op (meta-op) it is a
-- shard of, numbered from 1; `metas` how many; `ops`, `tensors`, `edges`, `work` (sum of op times).
-- @tparam[opt] table given program, seed, devices, shards, layers, width, comm
function einsum.describe(given)
  local o = read(given)
  local self = setmetatable({ ops = {}, size = {}, meta_of = {}, from = {}, meta = 0, label = "",
    first = 0, parameters = 0, comm = o.comm, shards = o.shards, rng = core.rng(o.seed) }, Builder)
  programs[o.program](self, o)
  local tensors, work, edges = tensors_of(self), 0, 0
  for id, op in ipairs(self.ops) do work, edges = work + op.seconds, edges + #self.from[id] end
  return { name = "einsum-" .. o.program, ops = self.ops, tensors = tensors },
    { name = "einsum-" .. o.program, timed = true,
    ops = #self.ops, tensors = #tensors, edges = edges, work = work, meta = self.meta_of,
    metas = self.meta, parameters = self.parameters, flop_forward = 2 * work, options = o }
end

return einsum
