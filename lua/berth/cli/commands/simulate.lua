--- berth simulate: runs one step of a placed graph.
local berth = require "berth"
local fail = require "berth.cli.fail"
local inputs = require "berth.cli.inputs"
local json = require "berth.base.json_writer"
local options = require "berth.cli.options"
local report = require "berth.cli.report"
local align = require "berth.base.align"
local sort = require "berth.base.sort"

local simulate = {
  name = "simulate", use = "simulate GRAPH [TOPOLOGY] --placement FILE [options]", least = 1,
  most = 2, text = "Runs one step of a placed graph and prints times, memory and what sets the "
    .. "makespan.",
  notes = inputs.notes,
  options = options.join(inputs.topology_options, {
    inputs.placement_option,
    options.count("critical", "lists the N longest ops of the chain that sets the makespan"),
  }, options.shared, options.simulating, options.pricing, options.loading, {
    options.output("trace", "writes a timeline that opens in Perfetto (ui.perfetto.dev)", "json"),
    options.json,
  }),
}

-- The n longest ops of the critical chain, longest first.
local function longest(result, n)
  local ops = result:critical_path()
  local function time(op) return result.finish[op] - result.start[op] end
  sort.falling(ops, time)
  for i = #ops, n + 1, -1 do ops[i] = nil end
  return ops
end

-- A row for each op of longest().
local function chain(graph, topology, result, n)
  local ops = longest(result, n)
  local rows = { { "op", "kind", "device", "start", "time" } }
  for i, id in ipairs(ops) do
    local op = graph:op(id)
    rows[i + 1] = { op.name or string.format("op %.0f", op.id), op.kind or "",
      topology:device(result.device[op.id]).name,
      report.format(result.start[id], "seconds", graph),
      report.format(result.finish[id] - result.start[id], "seconds", graph) }
  end
  return align.lines(rows, { true, true })
end

-- Lines: graph, topology, result, devices, traffic, and with --critical the longest ops.
local function print_text(write, graph, topology, result, given)
  for _, line in ipairs(report.inputs(graph, topology)) do write(line) end
  write(tostring(result))
  write("")
  for _, line in ipairs(report.devices(graph, topology, result)) do write(line) end
  for _, line in ipairs(report.traffic(graph, topology, result)) do write(line) end
  local oom = report.out_of_memory(graph, topology, result)
  if oom then write(oom) end
  if not given.critical then return end
  write("")
  for _, line in ipairs(chain(graph, topology, result, given.critical)) do write(line) end
end

-- The JSON member of --critical, or none.
local function critical_member(graph, result, given)
  if not given.critical then return {} end
  local list = longest(result, given.critical)
  for i, id in ipairs(list) do
    list[i] = json.object { { "op", id }, { "name", graph:op(id).name },
      { "device", result.device[id] }, { "start_s", result.start[id] },
      { "time_s", result.finish[id] - result.start[id] } }
  end
  return { { "critical_ops", list } }
end

--- The trace is written before anything is printed, so that a path that fails prints no result.
-- @return exit code: 0, or 1 if the step runs out of memory
function simulate.run(positional, given, write)
  local graph, topology = inputs.read(positional, given)
  local placement = inputs.placement("simulate", given.placement, graph, topology)
  local result = fail.need(berth.simulate(graph, topology, placement,
    options.for_simulating(given)))
  if given.trace then fail.need(result:save_trace(given.trace)) end
  if given.json then
    local first = critical_member(graph, result, given)
    first[#first + 1] = { "options", report.options_object(given) }
    for _, member in ipairs(report.traffic_members(graph, topology, result)) do
      first[#first + 1] = member
    end
    write(json.encode(report.result_object("simulate", first, graph, topology, placement, result)))
  else
    print_text(write, graph, topology, result, given)
  end
  return result.oom and fail.INFEASIBLE or 0
end

return simulate
