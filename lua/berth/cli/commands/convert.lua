--- berth convert: from any readable format to any writable one.
local berth = require "berth"
local fail = require "berth.cli.fail"
local formats = require "berth.io.formats"
local options = require "berth.cli.options"
local sources = require "berth.cli.sources"

local convert = {
  name = "convert", use = "convert GRAPH OUTPUT [options]", least = 2, most = 2,
  text = "Reads a graph in any format and writes it in another. OUTPUT is a file, or - for "
    .. "standard output.",
  options = options.join({
    { name = "to", kind = "choice", value = "FORMAT", choices = formats.saved,
      text = "format of the output; default: by its ending " .. formats.endings(formats.saved) },
    options.file("placement", "a placement, for " .. table.concat(formats.shown, ", ")),
    options.output("topology", "writes the topology that the input holds (berth JSON)", "json"),
  }, options.loading),
  notes = "GRAPH is a file or model:NAME[,option=value...]; berth models lists the names.\nexit: 0 "
    .. "done, 2 bad input or usage",
}

-- Raises if --topology is given and the input has no devices.
local function save_topology(path, topology, input)
  if not path then return end
  if not topology then fail.usage("--topology: %s holds no topology", input) end
  fail.need(topology:save(path))
end

--- @return exit code: 0; whatever fails raises
-- A trailing line end is cut for standard output, since `write` adds one.
function convert.run(positional, given, write)
  local input, output = positional[1], positional[2]
  fail.refuse(output == "-" and given.topology == "-",
    "--topology: the graph is on standard output already")
  local to = given.to or fail.need(formats.of_path(output))
  local placement = given.placement and fail.need(berth.load_placement(given.placement))
  if placement and not formats.shows(to) then
    fail.usage("--placement: requires --to %s", table.concat(formats.shown, ", "))
  end
  local graph, topology = sources.graph(input, options.for_loading(given))
  save_topology(given.topology, topology, input)
  if output == "-" then
    write((fail.need(graph:to_string(to, { placement = placement })):gsub("\n$", "")))
    return 0
  end
  fail.need(graph:save(output, { format = to, placement = placement }))
  write("written: " .. output)
  return 0
end

return convert
