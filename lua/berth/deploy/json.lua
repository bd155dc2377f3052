--- Plans as JSON: docs/deploy.md, "Saved plans".
local options = require "berth.base.options"
local writer = require "berth.base.json_writer"
local schema = require "berth.base.schema"

local json = {}

json.FORMAT = "berth deploy plan"

-- Options of the problem and of the search, in this order.
json.problem_options = { "op_groups", "grouping", "split", "seed", "uneven", "duplicates", "strict",
  "redundant", "device_groups", "sets", "bucket", "bucket_bytes", "split_gradients", "positional",
  "gather", "free_auxiliary", "input_at_first", "order", "cost", "sim" }
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

local function batches_of(points)
  local out = {}
  for i, point in ipairs(points) do out[i] = point.batch end
  return out
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
  if given.points then members[#members + 1] = { "points", batches_of(given.points) } end
  if #again > 0 then members[#members + 1] = { "given_again", again } end
  return writer.object(members)
end

local function reason_objects(list)
  local out = {}
  for i, r in ipairs(list) do
    out[i] = writer.object { { "what", r.what }, { "change", r.change },
      { "missing_bytes", r.missing }, { "device", r.device } }
  end
  return out
end

local function group_object(g)
  return writer.object { { "what", g.what }, { "ops", g.ops }, { "time_s", g.seconds },
    { "parameter_bytes", g.parameters }, { "gradient_bytes", g.gradient_bytes },
    { "devices", g.devices }, { "option", g.option }, { "shares", g.shares },
    { "samples", g.samples or writer.null }, { "repeated", g.repeated },
    { "passes", writer.object { { "forward", g.passes.forward }, { "backward", g.passes.backward },
      { "update", g.passes.update } } },
    { "reasons", reason_objects(g.reasons) } }
end

local function baseline_object(row)
  return writer.object { { "name", row.name }, { "detail", row.detail }, { "step_s", row.seconds },
    { "fits", row.fits }, { "missing_bytes", row.missing },
    { "device", row.device } }
end

local function trace_object(point)
  return writer.object { { "evaluations", point.evaluations }, { "step_s", point.seconds },
    { "from", point.from } }
end

local function each(list, f)
  local out = {}
  for i, x in ipairs(list) do out[i] = f(x) end
  return out
end

local function op_names(graph)
  local names = {}
  for op in graph:ops() do names[op.id] = op.name or "" end
  return names
end

--- The object of an answer, for base.json_writer; members `first` come after the format.
function json.object(a, first)
  local graph, topology = a.problem.graph, a.problem.topology
  local members = { { "format", json.FORMAT } }
  for _, member in ipairs(first or {}) do members[#members + 1] = member end
  for _, member in ipairs {
    { "graph", writer.object { { "name", graph.name }, { "ops", #graph },
      { "tensors", graph.n_tensors } } },
    { "topology", writer.object { { "name", topology.name }, { "devices", a.device_names } } },
    { "batch", a.batch }, { "physics", a.physics }, { "options", options_of(a.given) },
    { "step_s", a.seconds }, { "bound_s", a.bound }, { "bound_name", a.bound_name },
    { "gap", a.gap }, { "speedup_dp", a.speedup }, { "speedup_uniform", a.speedup_uniform },
    { "from", a.from }, { "evaluations", a.evaluations }, { "reason_evaluations",
      a.reason_evaluations }, { "interrupted", a.interrupted or false }, { "notes", a.notes },
    { "groups", each(a.groups, group_object) }, { "repeated_ops", a.chosen.duplicate },
    { "baselines", each(a.baselines, baseline_object) }, { "peak_memory_bytes", a.peaks },
    { "memory_bytes", a.limits }, { "trace", each(a.trace, trace_object) },
    { "op_names", op_names(graph) },
  } do members[#members + 1] = member end
  return schema.document "deploy" (members)
end

function json.encode(a) return writer.encode(json.object(a)) end

return json
