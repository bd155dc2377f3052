--- What commands do with a placement that they have found: print it, simulated, and write it.
-- Used by berth place and berth repair. Files are written before anything is printed, so that an
-- error in writing leaves no output that looks complete.
local cli = require "berth.cli.options"
local fail = require "berth.cli.fail"
local formats = require "berth.io.formats"
local json = require "berth.base.json_writer"
local report = require "berth.cli.report"

local answer = {}

answer.options = {
  cli.output("output", "writes the placement (berth JSON)", "json"),
  cli.output("trace", "writes a timeline that opens in Perfetto (ui.perfetto.dev)", "json"),
  cli.output("placed-graph",
    "writes the graph with its devices, as " .. formats.endings(formats.shown)),
}

--- Raises unless the file names are legal: --placed-graph needs a format that shows devices.
function answer.check(given)
  local path = given["placed-graph"]
  if path and not formats.shows(formats.of_path(path)) then
    fail.usage("--placed-graph %s: the name must end in one of %s", path,
      formats.endings(formats.shown))
  end
end

-- Writes the files that options name.
local function save(given, graph, placement, result)
  if given.output then fail.need(placement:save(given.output)) end
  if given.trace then fail.need(result:save_trace(given.trace)) end
  local path = given["placed-graph"]
  if path then fail.need(graph:save(path, { placement = placement })) end
end

-- Lines: graph, topology, placement, result, then a table of devices.
local function print_text(write, graph, topology, placement, result)
  for _, line in ipairs(report.inputs(graph, topology)) do write(line) end
  write(report.placement(graph, placement))
  local links = result.options.links
  if placement.links and placement.links ~= links then
    write(("planned with links %s, simulated with %s"):format(placement.links, links))
  end
  write(tostring(result))
  write("")
  for _, line in ipairs(report.devices(graph, topology, result)) do write(line) end
  local oom = report.out_of_memory(graph, topology, result)
  if oom then write(oom) end
end

--- Writes the files of the options, and prints.
-- @tparam function write
-- @tparam table given options of the command
-- @tparam table found document (its name in base.schema), graph, topology, placement, result;
--  members: more of the JSON object
-- @treturn number exit code
function answer.show(write, given, found)
  local graph, topology, placement, result = found.graph, found.topology, found.placement,
    found.result
  save(given, graph, placement, result)
  if given.json then
    local first = { { "placer", placement.placer }, { "estimate_s", placement.estimate },
      { "planned_links", placement.links } }
    for _, member in ipairs(found.members or {}) do first[#first + 1] = member end
    first[#first + 1] = { "options", report.options_object(given) }
    write(json.encode(report.result_object(found.document, first, graph, topology, placement,
      result)))
  else
    print_text(write, graph, topology, placement, result)
  end
  return result.oom and fail.INFEASIBLE or 0
end

return answer
