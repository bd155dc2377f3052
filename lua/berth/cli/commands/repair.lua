--- berth repair: changes a placement as little as makes it keep memory.
local answer = require "berth.cli.answer"
local berth = require "berth"
local fail = require "berth.cli.fail"
local inputs = require "berth.cli.inputs"
local options = require "berth.cli.options"

local repair = {
  name = "repair", use = "repair GRAPH [TOPOLOGY] --placement FILE [options]", least = 1, most = 2,
  text = "Changes a placement as little as makes it keep memory, groups, pins and types, and "
    .. "simulates the answer.",
  notes = inputs.notes,
  options = options.join(inputs.topology_options, { inputs.placement_option }, options.shared,
    options.simulating, options.pricing, options.loading, answer.options, { options.json }),
}

--- Repairs first and simulates then: the result that is shown is that of the repaired placement.
-- @return exit code of answer.show: 0, or 1 if the simulated step runs out of memory
function repair.run(positional, given, write)
  answer.check(given)
  local graph, topology = inputs.read(positional, given)
  local placement = inputs.placement("repair", given.placement, graph, topology)
  local mended = fail.need(berth.repair(graph, topology, placement, options.for_repair(given)))
  local result = fail.need(berth.simulate(graph, topology, mended, options.for_simulating(given)))
  return answer.show(write, given, { document = "repair",
    graph = graph, topology = topology, placement = mended, result = result })
end

return repair
