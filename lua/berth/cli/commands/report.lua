--- berth report: one HTML file about a step, or one figure of it as SVG.
local berth = require "berth"
local fail = require "berth.cli.fail"
local inputs = require "berth.cli.inputs"
local options = require "berth.cli.options"
local placers = require "berth.cli.placers"
local report = require "berth.cli.report"
local typed = require "berth.cli.typed"
local registry = require "berth.place.registry"
local write_file = require "berth.base.write"

local KINDS = { "gantt", "memory", "links", "placers", "graph" }

local placement_option = options.file("placement",
  inputs.placement_option.text .. "; default: --placer decides")

local command = {
  name = "report", use = "report GRAPH [TOPOLOGY] --output FILE [options]", least = 1, most = 2,
  text = "Places and simulates one step, and writes what happened as one HTML file: schedule, "
    .. "memory against its limit,\n"
    .. "links, placers with their gaps, the graph. Nothing is loaded from elsewhere.",
  notes = placers.notes .. "\n\n" .. inputs.notes,
  options = options.join(inputs.topology_options, {
    options.output("output", "the file that is written, e.g. step.html", "html"),
    { name = "figure", kind = "choice", value = "KIND", choices = KINDS,
      text = "writes this figure alone, as SVG" },
    { name = "title", kind = "string", value = "TEXT",
      text = "heading of the page; default: graph and topology" },
    { name = "compare", kind = "string", value = "A,B,C", names = registry.forms,
      text = "shows these placers beside each other" },
    options.flag("times", "also shows how long placing took"),
    options.flag("thorough", "bounds as in berth bounds --thorough"),
    placement_option,
  }, options.placing, options.shared, options.simulating, options.pricing, options.loading),
}

-- The cost is made once: it is no option of placing and simulating.
local function without_cost(given)
  given.cost = nil
  return given
end

local function place_options(given, placer)
  return placers.common_links(placer, without_cost(options.for_placing(given)))
end

-- The placement, and the rows of the portfolio if that made it.
local function solve(cost, given, placer)
  if given.placement then
    return inputs.placement("report", given.placement, cost.graph, cost.topology)
  elseif placer and placer ~= "portfolio" then
    return (fail.need(berth.place(cost, placer, place_options(given, placer))))
  end
  local p, rows, code, why = berth.portfolio(cost, place_options(given, placer))
  if not p then return fail.need(nil, rows, code, why) end
  return p, rows
end

-- Rows of --compare, placed and simulated with the same options.
local function compare(cost, given)
  local list = placers.list("--compare", given.compare)
  local place = { links = given.links, memory = given.memory,
    param_multiple = given["param-multiple"], quantum = given.quantum, seed = given.seed }
  return fail.need(berth.compare(cost, list,
    { place = place, simulate = without_cost(options.for_simulating(given)) }))
end

-- The bounds of --thorough, or nil.
local function bounds(cost, given)
  if not given.thorough then return nil end
  return fail.need(berth.bounds(cost, {
    thorough = true, links = given.links, memory = given.memory,
    param_multiple = given["param-multiple"],
  }))
end

-- Writes the page, or the one figure of --figure.
local function save(given, what)
  if not given.figure then return fail.need(berth.report(given.output, what)) end
  local text = fail.need(berth.figure(given.figure, what))
  fail.need(write_file(given.output, text))
end

-- Raises for options that exclude each other or lack another.
local function check(given, placer)
  if not given.output then fail.usage("report: --output is needed: the file that is written") end
  fail.refuse(given.placement and given.placer, "--placer: --placement %s decides already",
    given.placement)
  local no_rows = given.placement or placer and placer ~= "portfolio"
  fail.refuse(given.figure == "placers" and no_rows and not given.compare,
    "--figure placers: nothing is compared: add --compare single,heft")
  fail.refuse(given.thorough and (given.noise or given.quantum),
    "--thorough: no bound holds with --noise or --quantum")
end

--- Writes the page or the figure, and prints the result of the step.
-- @return exit code: 0, or 1 if the step runs out of memory
function command.run(positional, given, write, _, words)
  local placer = given.placer and placers.read("--placer", given.placer)
  check(given, placer)
  fail.unless_writable("output", given.output)
  local graph, topology = inputs.read(positional, given)
  local cost = fail.need(berth.cost(graph, topology, options.for_pricing(given)))
  local placement, rows = solve(cost, given, placer)
  local result = fail.need(berth.simulate(cost, placement,
    without_cost(options.for_simulating(given, placement))))
  save(given, { result = result, placement = placement, rows = rows,
    compare = given.compare and compare(cost, given) or nil, bounds = bounds(cost, given),
    title = given.title, times = given.times, command = typed.command("report", words, "output") })
  write(tostring(result))
  local oom = report.out_of_memory(graph, topology, result)
  if oom then write(oom) end
  write("written: " .. given.output)
  return result.oom and fail.INFEASIBLE or 0
end

return command
