--- What commands print about graphs, topologies and results.
local berth = require "berth"
local json = require "berth.cli.json"
local text = require "berth.cli.text"

local report = {}

local function format(value, unit)
  if value == nil or value ~= value then return "-" end
  return berth.format(value, unit)
end

local function percent(gap)
  if not gap or gap ~= gap then return "-" end
  return string.format("%.1f %%", 100 * gap)
end

report.format, report.percent = format, percent

local function array(t, n)
  local out = {}
  for i = 1, n do out[i] = t[i] == nil and json.null or t[i] end
  return out
end

local function count_ops(graph, topology, result)
  local n = {}
  for d = 1, #topology do n[d] = 0 end
  for i = 1, #graph do n[result.device[i]] = n[result.device[i]] + 1 end
  return n
end

--- One row for each device.
function report.devices(graph, topology, result)
  local rows, ops = { { "device", "ops", "busy", "share", "peak memory", "limit" } }, count_ops(graph, topology, result)
  for d = 1, #topology do
    local device = topology:device(d)
    local limit = device.memory == math.huge and "none" or format(device.memory, "bytes")
    local share = result.makespan > 0 and result.busy[d] / result.makespan or 0
    rows[d + 1] = { device.name, string.format("%.0f", ops[d]), format(result.busy[d], "seconds"), percent(share),
      result.memory ~= "none" and format(result.peak_memory[d], "bytes") or "-", limit }
  end
  return text.align(rows, { true })
end

--- A sentence about running out of memory, or nil.
function report.out_of_memory(graph, topology, result)
  local oom = result.oom
  if not oom then return nil end
  local name = graph:op(oom.op).name
  local op = name and name ~= "" and string.format("op %.0f %q", oom.op, name) or string.format("op %.0f", oom.op)
  return string.format("out of memory: %s needs %s more on %s at %s", op, format(oom.shortfall, "bytes"),
    topology:device(oom.device).name, format(oom.time, "seconds"))
end

--- JSON object of { op, device, time, shortfall }; null without one.
function report.oom_object(oom)
  if not oom then return json.null end
  return json.object { { "op", oom.op }, { "device", oom.device }, { "time_s", oom.time }, { "shortfall_bytes", oom.shortfall } }
end

--- JSON object of a run: the version, the members in `own`, then what every run has.
function report.result_object(own, graph, topology, placement, result)
  local members = {
    { "berth", berth.version }, { "graph", graph.name }, { "ops", #graph }, { "topology", topology.name },
    { "devices", #topology }, { "makespan_s", result.makespan }, { "bound_s", result.bound }, { "bound_name", result.bound_name },
    { "gap", result.gap }, { "memory", result.memory },
    { "peak_memory_bytes", result.memory ~= "none" and array(result.peak_memory, #topology) or json.null },
    { "busy_s", array(result.busy, #topology) }, { "out_of_memory", report.oom_object(result.oom) },
    { "placement", array(placement, #graph) },
  }
  for i, member in ipairs(own) do table.insert(members, i + 1, member) end
  return json.object(members)
end

--- JSON object of the options that were given, names sorted.
function report.options_object(options)
  local names, members = {}, {}
  for name in pairs(options) do names[#names + 1] = name end
  table.sort(names)
  for i, name in ipairs(names) do members[i] = { name, options[name] } end
  return json.object(members)
end

return report
