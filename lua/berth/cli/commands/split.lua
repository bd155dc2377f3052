--- berth split: pipeline stages with the smallest largest load, or the least latency.
local berth = require "berth"
local fail = require "berth.cli.fail"
local inputs = require "berth.cli.inputs"
local json = require "berth.base.json_writer"
local schema = require "berth.base.schema"
local options = require "berth.cli.options"
local report = require "berth.cli.report"
local align = require "berth.base.align"

-- --search-memory is the rule of the search; --memory, which the other commands share, would be
-- taken for that of the simulator, which does not run here.
local own = options.join(options.of("split", "objective cpu"), {
  options.flag("improve", "max-load: afterwards ops move one by one; the answer may not be "
    .. "contiguous"),
  options.changed("split", "memory", { name = "search-memory" }),
}, options.of("split", "visits"), {
  options.file("placement", "values this placement (or single:N) instead of seeking one"),
  options.output("output", "writes the placement (berth JSON)", "json"),
})

local CIRCLE = "latency infinite: stages wait for one another in a circle, so one sample alone "
  .. "never ends; --objective latency, or a split without --improve, has none"

local NOTES = [[
A split is contiguous if no data return to a stage from a later one. "Proven the best of these": no
contiguous split has a smaller largest load; other splits may (--improve tries some). "bound": the
search was cut by --visits, and no contiguous split is below it.
All accelerators must be alike, all CPUs, and the links of all pairs (one bandwidth, one latency): a
stage then costs the same on each. On unlike links or devices use berth place, whose placers price
each link.
"latency infinite": stages wait for one another in a circle, so that one sample alone never ends; a
pipeline of many samples still runs, at the largest load a sample.]]

local split = {
  name = "split", use = "split GRAPH [TOPOLOGY] [options]", least = 1, most = 2,
  text = "Pipeline stages, one per device: the exact optimum of contiguous splits. "
    .. "dnn-partitioning files: --cpus adds CPUs.",
  notes = NOTES .. "\n\n" .. inputs.notes,
  options = options.join(inputs.topology_options, own, options.pricing, options.loading,
    { options.json }),
}

-- Raises for options of the search with --placement.
local function only_seeking(given)
  if not given.placement then return end
  for _, name in ipairs { "objective", "improve", "search-memory", "visits", "output" } do
    if given[name] ~= nil then fail.usage("split: --%s means nothing with --placement", name) end
  end
end

-- The table of berth.split or berth.split_measure, and the placement.
local function seek(given, graph, topology)
  if given.placement then
    local placement = inputs.placement("split", given.placement, graph, topology)
    local opts = { cpu = given.cpu, cost = options.for_pricing(given) }
    return fail.need(berth.split_measure(graph, topology, placement, opts)), placement
  end
  fail.refuse(given.improve and given.objective == "latency",
    "split: --improve is for the objective max-load")
  local opts = { objective = given.objective, cpu = given.cpu, memory = given["search-memory"],
    visits = given.visits, cost = options.for_pricing(given) }
  if given.improve then opts.contiguous = false end
  local found = fail.need(berth.split(graph, topology, opts))
  return found, found.placement
end

-- A row per device: number of ops, load.
local function device_lines(topology, found, placement)
  local count, rows = {}, { { "device", "ops", "load" } }
  for i = 1, #placement do count[placement[i]] = (count[placement[i]] or 0) + 1 end
  for d = 1, #topology do
    rows[#rows + 1] = { topology:device(d).name, tostring(count[d] or 0),
      report.format(found.loads[d], "seconds", found) }
  end
  return align.lines(rows, { true })
end

-- The fields of berth.split by their names in the document "split"; what a measured placement does
-- not have (bound, ideals, ...) is left out.
local function write_json(write, graph, topology, found, placement)
  local devices = {}
  for i = 1, #placement do devices[i] = placement[i] end
  write(json.encode(schema.document "split" (options.join(
    { { "graph", graph.name }, { "topology", topology.name } },
    json.fields(found, "objective max_load_s=max_load latency_s=latency bound_s=bound proven "
      .. "contiguous contiguous_load_s=contiguous_load complete units ideals visits loads_s=loads "
      .. "over missing_bytes=missing"), { { "devices", devices } }))))
end

--- @return exit code: 0, or 1 if a device holds more than its memory
function split.run(positional, given, write)
  only_seeking(given)
  local graph, topology = inputs.read(positional, given)
  local found, placement = seek(given, graph, topology)
  if given.output then fail.need(placement:save(given.output)) end
  if given.json then
    write_json(write, graph, topology, found, placement)
  else
    write(tostring(found))
    for _, line in ipairs(device_lines(topology, found, placement)) do write(line) end
    if not found.latency then write(CIRCLE) end
  end
  return found.over and fail.INFEASIBLE or 0
end

return split
