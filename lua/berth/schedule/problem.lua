--- Options of pipeline problems: the core's, with costs by stage, by layer or from a file.
--
-- The core prices chunks. Users have costs of a stage, of layers, or of a graph's devices: these
-- become costs of chunks here.
local core = require "berth.core"
local layers = require "berth.schedule.layers"
local maps = require "berth.schedule.maps"
local options = require "berth.base.options"

local problem = {}

local DEFAULTS = { chunks = "of the generator, or 1", map = "of the generator, or interleaved",
  stages = "of costs by stage; else must be given" }
local LISTS = { "forward", "backward", "weight", "p2p", "activations", "memory", "extra" }

local rows = {}
for _, row in ipairs(core.options "schedule.problem") do
  rows[#rows + 1] = options.merge(row, { default = DEFAULTS[row.key] or row.default })
end
options.declare("schedule.make", options.join(rows, {
  { key = "costs", type = "table", default = "{ 1, 1, 1 }", text = "s of F, B and W of a stage, "
    .. "shared evenly by its chunks; or an array of these, by stage; or what "
    .. "berth.schedule.costs gives" },
  { key = "layers", type = "table", default = "none", text = "layers of the model, an array "
    .. "of berth.help \"schedule.layer\"; instead of costs" },
  { key = "split", type = "numbers or layout", default = "the least largest chunk",
    text = "of layers: how many each chunk has, or a Megatron layout" },
}))

-- ---- shape --------------------------------------------------------------------------------------

-- Stages that costs are of, nil: of any.
local function stages_of(costs)
  if not costs then return nil end
  if costs.forward then return #costs.forward > 1 and #costs.forward or nil end
  return type(costs[1]) == "table" and #costs or nil
end

local function shape(fn, given, generator)
  local o = options.merge(given)
  if type(o.costs) == "table" and o.costs.layers then
    options.refuse(o.layers, "%s: layers: are given already, by costs", fn)
    o.layers, o.costs = o.costs.layers, nil
  end
  o.stages = o.stages or stages_of(o.costs)
  o.chunks = o.chunks or generator and (generator.chunks > 0 and generator.chunks or 2) or 1
  if o.chunks > 1 then o.map = o.map or generator and generator.map or nil end
  for _, key in ipairs { "stages", "microbatches" } do
    options.refuse(not o[key], "%s: %s: is missing", fn, key)
  end
  return o
end

-- ---- costs --------------------------------------------------------------------------------------

local TIMES = { "forward", "backward", "weight" }

local function check_costs(fn, row, where)
  options.expect(row, "table", "%s: %s", fn, where)
  options.refuse(#row ~= 3, "%s: %s: expected { F, B, W }, three times in s, got %d numbers", fn,
    where, #row)
  for i = 1, 3 do options.expect(row[i], "number", "%s: %s[%d]", fn, where, i) end
end

-- { F, B, W } or an array of these as lists by key.
local function by_key(fn, costs)
  local list, out = type(costs[1]) == "table" and costs or { costs }, {}
  for s, row in ipairs(list) do
    check_costs(fn, row, list == costs and ("costs[%d]"):format(s) or "costs")
  end
  for i, key in ipairs(TIMES) do
    out[key] = {}
    for s, row in ipairs(list) do out[key][s] = row[i] end
  end
  return out
end

-- A list by stage as one by chunk, each with its part.
local function shared(o, list, parts)
  if #list ~= o.stages then return { list[1] / parts } end
  local out = {}
  for c = 1, o.stages * o.chunks do
    out[c] = list[maps.stage_of(o.map or "interleaved", o.stages, c)] / parts
  end
  return out
end

-- The one number of a list, if it has one.
local function uniform(list)
  for i = 2, #list do
    if list[i] ~= list[1] then return nil end
  end
  return list[1]
end

-- Costs of stages or chunks. A bidirectional pipeline has the whole model twice.
local function from_costs(fn, o)
  local costs = o.costs.forward and o.costs or by_key(fn, o.costs)
  local n, chunks = #costs.forward, o.stages * o.chunks
  options.refuse(n ~= 1 and n ~= o.stages and n ~= chunks,
    "%s: costs: %d rows, expected %d (one per stage)%s", fn, n, o.stages,
    o.chunks > 1 and (" or %d (one per chunk)"):format(chunks) or "")
  local parts = (n == chunks and n > 1 or o.map == "bidirectional") and 1 or o.chunks
  for _, key in ipairs { "forward", "backward", "weight", "activations" } do
    local list = costs[key]
    if list and o[key] == nil then o[key] = n == chunks and list or shared(o, list, parts) end
  end
  if parts ~= o.chunks then o.activations = o.activations or 1 end
  if costs.p2p and o.p2p == nil then
    o.p2p = #costs.p2p == chunks - 1 and costs.p2p or uniform(costs.p2p)
    options.refuse(not o.p2p,
      "%s: p2p: costs have it by stage, with %d chunks a stage it needs %d numbers by boundary",
      fn, o.chunks, chunks - 1)
  end
  if costs.extra and o.extra == nil then o.extra = costs.extra end
end

local function refuse_both(fn, o, what)
  for _, key in ipairs(TIMES) do
    options.refuse(o[key], "%s: %s: is given already, by %s", fn, key, what)
  end
end

-- Sets times by chunk from `layers` or `costs`.
local function price(fn, o)
  options.refuse(o.layers and o.costs, "%s: costs: are given already, by layers", fn)
  if o.layers then
    refuse_both(fn, o, "layers")
    return layers.price(fn, o)
  end
  options.refuse(o.split, "%s: split: requires layers", fn)
  if not o.costs then
    for _, key in ipairs(TIMES) do
      if o[key] then return end
    end
    o.costs = { 1, 1, 1 }
  end
  refuse_both(fn, o, "costs")
  from_costs(fn, o)
end

-- ---- to the core and back -----------------------------------------------------------------------

local function core_options(o)
  local out = {}
  for _, row in ipairs(core.options "schedule.problem") do
    out[row.key] = o[row.key]
  end
  return out
end

--- A problem as Lua has it: every array in full, `chunk` [stages][chunks], `stage` [chunks of the
-- model], `work` [stages] s; `handle` is the core's.
function problem.read(handle)
  local out = core.schedule_read(handle)
  out.handle = handle
  return out
end

--- @tparam string fn for messages
-- @tparam table given options as declared above
-- @tparam[opt] table generator descriptor: its chunks and map are the defaults
-- @treturn[1] table as problem.read gives it, with layers and split
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code
function problem.of(fn, given, generator)
  local o = shape(fn, options.read(fn, "schedule.make", given), generator)
  price(fn, o)
  for _, key in ipairs(LISTS) do
    if type(o[key]) == "number" then o[key] = { o[key] } end
    if o[key] ~= nil then options.expect(o[key], "table", "%s: %s", fn, key) end
  end
  local handle, message, code = core.schedule_problem(core_options(o))
  if not handle then return nil, message, code end
  return options.merge(problem.read(handle), { layers = o.layers, split = o.split,
    layout = o.layout })
end

return problem
