--- What commands print about graphs, topologies and results: lines of text and members of JSON
-- objects. Times are in s and sizes in bytes in JSON, with units in text.
local berth = require "berth"
local core = require "berth.core"
local json = require "berth.base.json_writer"
local options = require "berth.base.options"
local schema = require "berth.base.schema"
local align = require "berth.base.align"
local rates = require "berth.topology.rates"
local utilisation = require "berth.sim.utilisation"
local sort = require "berth.base.sort"

local report = {}

-- "-" for nil and NaN. graph: one without units has numbers without them.
local function format(value, unit, graph)
  if value == nil or value ~= value then return "-" end
  return berth.format(value, unit, graph and graph.unitless)
end

--- A placement, with its estimate in the units of the graph.
-- @tparam graph graph
-- @tparam placement placement
-- @tparam[opt] table rows of the portfolio that it is the best of
function report.placement(graph, placement, rows)
  local text = tostring(placement)
  if rows then text = text:gsub("%)$", (", the best of %d)"):format(#rows)) end
  if not graph.unitless or not placement.estimate then return text end
  local bare = ", estimate " .. format(placement.estimate, "seconds", graph)
  return (text:gsub(", estimate [^(]+", bare .. (text:find "%(" and " " or "")))
end

-- "12.3 %" of 0.123; "-" for nil and NaN.
local function percent(gap)
  if not gap or gap ~= gap then return "-" end
  return core.sprintf("%.1f %%", 100 * gap)
end

report.format, report.percent = format, percent

-- Entries 1 to n; nil becomes null, since an array of JSON has no holes.
local function array(t, n)
  local out = {}
  for i = 1, n do out[i] = t[i] == nil and json.null or t[i] end
  return out
end

-- [devices] number of ops on each.
local function count_ops(graph, topology, result)
  local n = {}
  for d = 1, #topology do n[d] = 0 end
  for i = 1, #graph do n[result.device[i]] = n[result.device[i]] + 1 end
  return n
end

--- Lines about graph and topology: what they are, and by which rates FLOP are priced.
function report.inputs(graph, topology, form)
  return { tostring(graph), tostring(topology), rates.line(graph, topology, form) }
end

-- "optimal: the bound (exact) is reached", or by what the bound is and how to seek a larger one.
local function bound_line(result, tighter)
  local name = result.bound_name
  if result.gap < 1e-9 then return ("optimal: the bound (%s) is reached"):format(name) end
  local hint = #tighter > 0 and "; a larger one may be found by " .. table.concat(tighter, " or ")
  return ("bound by %s%s"):format(name, hint or "")
end

--- Lines about a result: the rules that held, step time and bound, where the bound is from.
-- @tparam result result
-- @tparam[opt] table tighter options that may give a larger bound
function report.outcome(result, tighter)
  local o = result.options
  local out = { ("rules: links %s, memory %s, dispatch %s"):format(o.links, o.memory, o.dispatch),
    tostring(result) }
  if result.bound and not result.oom then
    out[3] = bound_line(result, tighter or { "berth bounds --thorough" })
  end
  return out
end

--- One row for each device.
function report.devices(graph, topology, result)
  local rows, ops = { { "device", "ops", "busy", "share", "peak memory", "limit" } },
    count_ops(graph, topology, result)
  for d = 1, #topology do
    local device = topology:device(d)
    local limit = device.memory == math.huge and "none" or format(device.memory, "bytes", graph)
    local share = result.makespan > 0 and result.busy[d] / result.makespan or 0
    local peak = result.memory ~= "none" and format(result.peak_memory[d], "bytes", graph) or "-"
    rows[d + 1] = { device.name, string.format("%.0f", ops[d]),
      format(result.busy[d], "seconds", graph), percent(share), peak, limit }
  end
  return align.lines(rows, { true })
end

-- Communication that is exposed, and that overlaps with computing.
local function communication(graph, result)
  if result.communication == 0 then return {} end
  return { "", string.format("communication %s: %s exposed, %s overlapped",
    format(result.communication, "seconds", graph), format(result.exposed, "seconds", graph),
    format(result.overlapped, "seconds", graph)) }
end

-- Those first that need the largest part of the step for their bytes.
local function busiest(graph, topology, result, n)
  local rows = { { "busiest links", "bytes", "needs", "utilisation", "busy", "most at once" } }
  for i, use in ipairs(utilisation.of(topology, result)) do
    if i > n then break end
    rows[i + 1] = { use.from .. " to " .. use.to, format(use.bytes, "bytes", graph),
      format(use.need, "seconds", graph), percent(use.share),
      format(use.busy, "seconds", graph), string.format("%.0f", use.most) }
  end
  return #rows > 1 and align.lines(rows, { true }) or {}
end

-- The collectives that took longest.
local function collectives(graph, result, n)
  local order = sort.ids(#result.collectives)
  local function time(k) return result.collectives[k].finish - result.collectives[k].start end
  sort.falling(order, time)
  local rows = { { "longest collectives", "algorithm", "devices", "bytes", "start", "time" } }
  for i = 1, math.min(n, #order) do
    local c = result.collectives[order[i]]
    rows[i + 1] = { string.format("%.0f %s", order[i], graph:collective(order[i]).kind),
      c.algorithm,
      string.format("%.0f", #c.devices), format(c.bytes, "bytes", graph),
      format(c.start, "seconds", graph), format(time(order[i]), "seconds", graph) }
  end
  return #rows > 1 and align.lines(rows, { true, true }) or {}
end

--- What went over the links: a line, then tables, each behind an empty line.
function report.traffic(graph, topology, result)
  local out = communication(graph, result)
  for _, lines in ipairs { busiest(graph, topology, result, 5), collectives(graph, result, 5) } do
    if #lines > 0 then out[#out + 1] = "" end
    for _, line in ipairs(lines) do out[#out + 1] = line end
  end
  return out
end

--- JSON members about the links and what went over them.
function report.traffic_members(graph, topology, result)
  local links, list, exposed, overlapped = {}, {}, {}, {}
  for k, link in ipairs(result.links) do
    links[k] = json.object(json.fields(link, "bytes busy_s=busy peak_sharing"))
  end
  for k, c in ipairs(result.collectives) do
    list[k] = json.object(options.join({ { "kind", graph:collective(k).kind } },
      json.fields(c, "algorithm bytes devices start_s=start finish_s=finish priced_s=seconds")))
  end
  for d = 1, #topology do
    exposed[d], overlapped[d] = result.overlap[d].exposed, result.overlap[d].overlapped
  end
  return options.join(
    json.fields(result, "communication_s=communication exposed_s=exposed overlapped_s=overlapped"),
    { { "device_exposed_s", exposed }, { "device_overlapped_s", overlapped }, { "links", links },
      { "collectives", list } })
end

--- A sentence about running out of memory, or nil.
function report.out_of_memory(graph, topology, result)
  local oom = result.oom
  if not oom then return nil end
  local name = graph:op(oom.op).name
  local op = name and name ~= "" and string.format('op %.0f "%s"', oom.op, core.escape(name))
    or string.format("op %.0f", oom.op)
  return string.format("out of memory: %s needs %s more on %s at %s", op,
    format(oom.shortfall, "bytes", graph), topology:device(oom.device).name,
    format(oom.time, "seconds", graph))
end

--- JSON object of { op, device, time, shortfall }; null without one.
function report.oom_object(oom)
  if not oom then return json.null end
  return json.object(json.fields(oom, "op device time_s=time shortfall_bytes=shortfall"))
end

local function device_names(topology)
  local names = {}
  for device in topology:devices() do names[device.id] = device.name end
  return names
end

-- Devices alike have one entry.
local function rate_object(rate)
  return json.object(json.fields(rate, "type devices form flops dtype arithmetic text"))
end

--- JSON array of the rates by which FLOP are priced; empty without a dtype.
function report.rates(graph, topology, form)
  local list = rates.of(graph, topology, form)
  for i, rate in ipairs(list) do list[i] = rate_object(rate) end
  return list
end

--- JSON object of a run: the members in `own`, then what every run has.
-- @tparam string document its name in base.schema
function report.result_object(document, own, graph, topology, placement, result, form)
  return schema.document(document)(options.join(own,
    { { "graph", graph.name }, { "ops", #graph }, { "topology", topology.name },
      { "devices", #topology } },
    json.fields(result, "makespan_s=makespan bound_s=bound bound_name gap memory"),
    { { "peak_memory_bytes", result.memory ~= "none" and array(result.peak_memory, #topology)
        or json.null },
      { "busy_s", array(result.busy, #topology) },
      { "out_of_memory", report.oom_object(result.oom) },
      { "placement", array(placement, #graph) }, { "device_names", device_names(topology) },
      { "rates", report.rates(graph, topology, form) } }))
end

--- JSON object of the options that were given, names sorted.
function report.options_object(given)
  local members = {}
  for i, name in ipairs(options.sorted_keys(given)) do members[i] = { name, given[name] } end
  return json.object(members)
end

return report
