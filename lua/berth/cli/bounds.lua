--- berth bounds: how fast can it be at best?
local berth = require "berth"
local fail = require "berth.cli.fail"
local inputs = require "berth.cli.inputs"
local json = require "berth.cli.json"
local options = require "berth.cli.options"
local report = require "berth.cli.report"
local text = require "berth.cli.text"

local function shared(...)
  local out = {}
  for _, name in ipairs { ... } do
    for _, option in ipairs(options.shared) do
      if option.name == name then out[#out + 1] = option end
    end
  end
  return out
end

local bounds = {
  name = "bounds", use = "bounds GRAPH [TOPOLOGY] [options]", least = 1, most = 2,
  text = "Lower bounds of the makespan: no placement, on any links, is faster.",
  notes = inputs.notes,
  options = options.join(shared("memory", "param-multiple"), options.pricing, options.loading, { options.json }),
}

local NAMES = { { "critical_path", "critical path" }, { "work", "work" }, { "memory", "memory" } }

local function table_lines(b)
  local rows = { { "bound", "makespan" } }
  for _, name in ipairs(NAMES) do
    if b[name[1]] then rows[#rows + 1] = { name[2], report.format(b[name[1]], "seconds") } end
  end
  rows[#rows + 1] = { "best: " .. b.name, report.format(b.best, "seconds") }
  return text.align(rows, { true })
end

function bounds.run(positional, given, write)
  local graph, topology = inputs.read(positional, given)
  local b = fail.need(berth.bounds(graph, topology, options.for_bounds(given)))
  if given.json then
    write(json.encode(json.object { { "berth", berth.version }, { "graph", graph.name }, { "topology", topology.name },
      { "critical_path_s", b.critical_path }, { "work_s", b.work }, { "memory_s", b.memory }, { "bound_s", b.best },
      { "bound_name", b.name } }))
    return 0
  end
  for _, line in ipairs(table_lines(b)) do write(line) end
  return 0
end

return bounds
