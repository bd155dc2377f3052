--- berth place: decides which device runs each op, and simulates the answer.
local berth = require "berth"
local fail = require "berth.cli.fail"
local inputs = require "berth.cli.inputs"
local json = require "berth.cli.json"
local options = require "berth.cli.options"
local report = require "berth.cli.report"

local place = {
  name = "place", use = "place GRAPH [TOPOLOGY] [options]", least = 1, most = 2,
  text = "Decides which device runs each op, and simulates one step of the answer.\n"
    .. "--links, --memory, --param-multiple, --quantum and --seed hold for the placer and for the simulator.",
  notes = inputs.notes,
  options = options.join(options.placing, options.shared, options.simulating, options.pricing, options.loading, {
    { name = "output", kind = "string", value = "FILE", text = "writes the placement (berth JSON)" },
    { name = "trace", kind = "string", value = "FILE", text = "writes a timeline that opens in Perfetto" },
    { name = "placed-graph", kind = "string", value = "FILE", text = "writes the graph with its devices, as .dot or .graphml" },
    options.json,
  }),
}

local function format_of(path)
  local format = ({ dot = "dot", graphml = "graphml" })[path:match("%.(%w+)$") or ""]
  if not format then fail.usage("--placed-graph %s: the name must end in .dot or .graphml", path) end
  return format
end

local function save(given, graph, placement, result, format)
  if given.output then fail.need(placement:save(given.output)) end
  if given.trace then fail.need(result:save_trace(given.trace)) end
  if format then fail.need(graph:save(given["placed-graph"], { format = format, placement = placement })) end
end

local function print_text(write, graph, topology, placement, result)
  write(tostring(graph))
  write(tostring(topology))
  write(tostring(placement))
  write(tostring(result))
  write("")
  for _, line in ipairs(report.devices(graph, topology, result)) do write(line) end
  local oom = report.out_of_memory(graph, topology, result)
  if oom then write(oom) end
end

local function solve(graph, topology, given)
  local placement, interrupted = fail.need(berth.place(graph, topology, given.placer, options.for_placing(given)))
  local result = fail.need(berth.simulate(graph, topology, placement, options.for_simulating(given)))
  return placement, result, interrupted
end

function place.run(positional, given, write, complain)
  local format = given["placed-graph"] and format_of(given["placed-graph"])
  local graph, topology = inputs.read(positional, given)
  local placement, result, interrupted = solve(graph, topology, given)
  save(given, graph, placement, result, format)
  if given.json then
    local first = { { "placer", placement.placer }, { "estimate_s", placement.estimate } }
    first[#first + 1] = { "options", report.options_object(given) }
    write(json.encode(report.result_object(first, graph, topology, placement, result)))
  else
    print_text(write, graph, topology, placement, result)
  end
  if interrupted then
    complain(interrupted)
    return fail.INTERRUPTED
  end
  return result.oom and fail.INFEASIBLE or 0
end

return place
