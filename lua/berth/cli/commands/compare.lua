--- berth compare: many placers on one graph, best first.
local berth = require "berth"
local fail = require "berth.cli.fail"
local inputs = require "berth.cli.inputs"
local json = require "berth.base.json_writer"
local schema = require "berth.base.schema"
local options = require "berth.cli.options"
local placers = require "berth.cli.placers"
local registry = require "berth.place.registry"
local report = require "berth.cli.report"

local compare = {
  name = "compare", use = "compare GRAPH [TOPOLOGY] [options]", least = 1, most = 2,
  text = "Runs placers, simulates each answer and prints them with their gap to the lower bound, "
    .. "best first.",
  notes = placers.notes .. "\n\n" .. inputs.notes,
  options = options.join(inputs.topology_options, {
    options.flag("times", "also prints how long placing took"),
    { name = "placers", also = "placer", kind = "string", value = "A,B,C", names = registry.forms,
      text = "see below; default: all names of berth.placers()" },
    options.flag("thorough", "gaps to the thorough bounds, as in berth bounds --thorough"),
  }, options.shared, options.simulating, options.pricing, options.loading, { options.json }),
}

-- The cost is made once for all placers, so it is no option here and below.
local function place_options(given)
  local out = options.for_placing(given)
  out.cost = nil
  return out
end

-- The same of berth.simulate.
local function simulate_options(given)
  local out = options.for_simulating(given)
  out.cost = nil
  return out
end

-- Whether a placer has an answer that keeps memory.
local function fits(row)
  return not row.error and not row.oom
end

-- The first row is the best: if it does not fit, none does.
local function best_name(rows)
  return fits(rows.best[1]) and rows.best[1].name or nil
end

-- The JSON object of a placer; a refusal has its message, code and obstacle.
local function row_object(row, given)
  local members = { { "placer", row.name }, { "makespan_s", row.makespan },
    { "bound_s", row.bound }, { "bound_name", row.bound_name }, { "gap", row.gap },
    { "estimate_s", row.estimate }, { "peak_memory_bytes", row.peak },
    { "out_of_memory", report.oom_object(row.oom) } }
  for _, member in ipairs(json.refusal(row.error, row.code, row.why)) do
    members[#members + 1] = member
  end
  if given.times then members[#members + 1] = { "placing_s", row.seconds } end
  return json.object(members)
end

local function print_json(write, graph, topology, rows, given)
  local list = {}
  for i, row in ipairs(rows.best) do list[i] = row_object(row, given) end
  write(json.encode(schema.document "compare" { { "graph", graph.name },
    { "topology", topology.name }, { "best", best_name(rows) },
    { "options", report.options_object(given) }, { "placers", list } }))
end

--- Prints the comparison; --json: the document "compare".
-- @return exit code: 0, 1 if no placer fits, 130 after an interrupt (what was done is printed)
function compare.run(positional, given, write, complain)
  local wanted = given.placers and placers.list("--placers", given.placers)
  local graph, topology = inputs.read(positional, given)
  local cost = fail.need(berth.cost(graph, topology, options.for_pricing(given)))
  local rows = fail.need(berth.compare(cost, wanted,
    { place = place_options(given), simulate = simulate_options(given),
      thorough = given.thorough }))
  if given.json then
    print_json(write, graph, topology, rows, given)
  else
    for _, line in ipairs(report.inputs(graph, topology)) do write(line) end
    write("")
    write(rows:to_string { seconds = given.times or nil })
  end
  if rows.interrupted then
    complain(rows.interrupted)
    return fail.INTERRUPTED
  end
  return fits(rows.best[1]) and 0 or fail.INFEASIBLE
end

return compare
