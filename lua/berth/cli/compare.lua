--- berth compare: many placers on one graph, best first.
local berth = require "berth"
local fail = require "berth.cli.fail"
local inputs = require "berth.cli.inputs"
local json = require "berth.cli.json"
local options = require "berth.cli.options"
local report = require "berth.cli.report"

local compare = {
  name = "compare", use = "compare GRAPH [TOPOLOGY] [options]", least = 1, most = 2,
  text = "Runs placers, simulates each answer and prints them with their gap to the lower bound, best first.",
  notes = inputs.notes,
  options = options.join({
    { name = "placers", kind = "string", value = "A,B,C", text = "names, of berth.placers(); default: all" },
  }, options.shared, options.simulating, options.pricing, options.loading, { options.json }),
}

local function names(list)
  if not list then return nil end
  local out = {}
  for name in list:gmatch("[^,]+") do out[#out + 1] = name end
  if #out == 0 then fail.usage("--placers: at least one name is needed; there are %s", table.concat(berth.placers(), " ")) end
  return out
end

local function place_options(given)
  local out = options.for_placing(given)
  out.cost = nil
  return out
end

local function simulate_options(given)
  local out = options.for_simulating(given)
  out.cost = nil
  return out
end

local function is_feasible(rows)
  for _, row in ipairs(rows) do
    if not row.error then return true end
  end
  return false
end

local function row_object(row)
  return json.object { { "placer", row.name }, { "makespan_s", row.makespan }, { "gap", row.gap }, { "estimate_s", row.estimate },
    { "peak_memory_bytes", row.peak }, { "placing_s", row.seconds }, { "error", row.error } }
end

local function print_json(write, graph, topology, rows, given)
  local list = {}
  for i, row in ipairs(rows) do list[i] = row_object(row) end
  write(json.encode(json.object { { "berth", berth.version }, { "graph", graph.name }, { "topology", topology.name },
    { "best", rows.best and rows.best.name }, { "options", report.options_object(given) }, { "placers", list } }))
end

function compare.run(positional, given, write)
  local wanted = names(given.placers)
  local graph, topology = inputs.read(positional, given)
  local cost = fail.need(berth.cost(graph, topology, options.for_pricing(given)))
  local rows = fail.need(berth.compare(cost, wanted,
    { place = place_options(given), simulate = simulate_options(given) }))
  if given.json then
    print_json(write, graph, topology, rows, given)
  else
    write("graph      " .. tostring(graph))
    write("topology   " .. tostring(topology))
    write("")
    write(tostring(rows))
  end
  return is_feasible(rows) and 0 or fail.INFEASIBLE
end

return compare
