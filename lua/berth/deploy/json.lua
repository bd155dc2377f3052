--- Plans as JSON: docs/deploy.md, "Saved plans".
local options = require "berth.base.options"
local writer = require "berth.base.json_writer"
local schema = require "berth.base.schema"
local rates = require "berth.topology.rates"

local json = {}

json.FORMAT = "berth deploy plan"

-- Options of the problem and of the search, in this order.
json.problem_options = { "op_groups", "group_bytes", "grouping", "split", "seed", "uneven",
  "duplicates", "strict", "redundant", "device_groups", "sets", "bucket", "bucket_bytes",
  "split_gradients", "positional", "gather", "free_auxiliary", "input_at_first", "order", "cost",
  "sim" }
json.search_options = { "sfb", "method", "prior", "calls", "seconds" }

-- May hold what has no JSON, and then has to be given again.
json.given_again = { "points", "analysis", "cost", "sim" }

local plain

-- Arrays as they are, tables with names by sorted keys.
plain = function(x)
  if type(x) ~= "table" then return x end
  if #x > 0 or next(x) == nil then
    local out = {}
    for i, item in ipairs(x) do out[i] = plain(item) end
    return out
  end
  local members = {}
  for i, key in ipairs(options.sorted_keys(x)) do members[i] = { tostring(key), plain(x[key]) } end
  return writer.object(members)
end

-- Is there JSON for it?
local function is_plain(x)
  local kind = type(x)
  if kind ~= "table" then return kind == "number" or kind == "string" or kind == "boolean" end
  for _, value in pairs(x) do
    if not is_plain(value) then return false end
  end
  return true
end

local function each(list, f)
  local out = {}
  for i, x in ipairs(list) do out[i] = f(x) end
  return out
end

-- A function of a table: the object of its fields.
local function object_of(names)
  return function(x) return writer.object(writer.fields(x, names)) end
end

local function options_of(given)
  local members, again = {}, {}
  for _, list in ipairs { json.problem_options, json.search_options } do
    for _, key in ipairs(list) do
      if given[key] ~= nil and is_plain(given[key]) then
        members[#members + 1] = { key, plain(given[key]) }
      end
    end
  end
  for _, key in ipairs(json.given_again) do
    if given[key] ~= nil and not is_plain(given[key]) then again[#again + 1] = key end
  end
  if given.points then
    members[#members + 1] = { "points", each(given.points, function(point) return point.batch end) }
  end
  if #again > 0 then members[#members + 1] = { "given_again", again } end
  return writer.object(members)
end

local reason_object = object_of "what change missing_bytes=missing device"
local passes_object = object_of "forward backward update"
local baseline_object = object_of "name detail step_s=seconds fits missing_bytes=missing device"
local trace_object = object_of "evaluations step_s=seconds from"

local function group_object(g)
  return writer.object(options.join(
    writer.fields(g, "what ops time_s=seconds parameter_bytes=parameters gradient_bytes devices "
      .. "option shares samples repeated"),
    { { "passes", passes_object(g.passes) }, { "reasons", each(g.reasons, reason_object) } }))
end

local rate_object = object_of "type devices form flops dtype arithmetic text"

local function op_names(graph)
  local names = {}
  for op in graph:ops() do names[op.id] = op.name or "" end
  return names
end

--- The object of an answer, for base.json_writer; members `first` come after the format.
function json.object(a, first)
  local graph, topology = a.problem.graph, a.problem.topology
  local cost = a.given.cost
  local form = type(cost) == "table" and cost.form or nil
  return schema.document "deploy" (options.join({ { "format", json.FORMAT } }, first or {}, {
    { "graph", writer.object { { "name", graph.name }, { "ops", #graph },
      { "tensors", graph.n_tensors } } },
    { "topology", writer.object { { "name", topology.name }, { "devices", a.device_names } } },
    { "batch", a.batch }, { "physics", a.physics }, { "options", options_of(a.given) },
  }, writer.fields(a, "step_s=seconds bound_s=bound bound_name gap speedup_dp=speedup "
    .. "speedup_dp_runs=speedup_runs speedup_uniform speedup_uniform_runs "
    .. "from evaluations reason_evaluations"), {
    { "interrupted", a.interrupted or false }, { "notes", a.notes },
    { "groups", each(a.groups, group_object) }, { "repeated_ops", a.chosen.duplicate },
    { "baselines", each(a.baselines, baseline_object) }, { "peak_memory_bytes", a.peaks },
    { "memory_bytes", a.limits }, { "trace", each(a.trace, trace_object) },
    { "op_names", op_names(graph) },
    { "rates", each(rates.of(graph, topology, form), rate_object) },
  }))
end

function json.encode(a) return writer.encode(json.object(a)) end

return json
