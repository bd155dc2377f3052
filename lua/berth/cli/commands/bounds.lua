--- berth bounds: how fast can it be at best? Lower bounds of the makespan (berth.bounds), and with
-- --split what part of a placement's gap is due to the queue rule, to the placement, or open
-- (berth.gaps).
local args = require "berth.cli.args"
local core = require "berth.core"
local berth = require "berth"
local fail = require "berth.cli.fail"
local inputs = require "berth.cli.inputs"
local json = require "berth.base.json_writer"
local schema = require "berth.base.schema"
local options = require "berth.cli.options"
local report = require "berth.cli.report"
local align = require "berth.base.align"

-- The shared options of these names.
local function shared(...)
  local out = {}
  for _, name in ipairs { ... } do
    for _, option in ipairs(options.shared) do
      if option.name == name then out[#out + 1] = option end
    end
  end
  return out
end

local own = options.join(options.of("bounds", "thorough effort gap"), {
  { name = "makespan", kind = "seconds", value = "TIME",
    text = "of a placement: how many times the optimum it is at most" },
  options.flag("guarantees", "what is proved of placers, and why what does not hold here does not"),
  options.flag("split", "what of a placement's gap is due to the queue rule, to the placement, or "
    .. "open"),
  options.file("placement", "split: this one (or single:N); default: the portfolio's"),
}, options.prefixed("split: ", options.of("gaps", "calls")))

local bounds = {
  name = "bounds", use = "bounds GRAPH [TOPOLOGY] [options]", least = 1, most = 2,
  text = "Lower bounds of the makespan: no placement is faster, on any links, or with --links on "
    .. "these.",
  notes = inputs.notes,
  options = options.join(inputs.topology_options, own, shared("links", "memory", "param-multiple",
    "seed"), options.pricing,
    options.loading, { options.json }),
}

local NAMES = {
  { "critical_path", "critical path" }, { "transfers", "transfers" }, { "lp", "linear program" },
  { "work", "work" }, { "memory", "memory" }, { "clusters", "serial clusters" },
  { "intervals", "intervals" }, { "link_cut", "link cut" },
}

-- A row for each bound that was computed, the best one last.
local function table_lines(b)
  local rows = { { "bound", "makespan" } }
  for _, name in ipairs(NAMES) do
    if b[name[1]] then rows[#rows + 1] = { name[2], report.format(b[name[1]], "seconds", b) } end
  end
  local best = ("best: %s (level %s)"):format(b.name, b.level)
  rows[#rows + 1] = { best, report.format(b.best, "seconds", b) }
  return align.lines(rows, { true })
end

-- The document "bounds"; a bound that was not computed is left out.
local function write_json(b, graph, topology, write)
  local guarantees = {}
  for i, k in ipairs(b.guarantees) do
    guarantees[i] = json.object(json.fields(k, "name placers ratio limit_s=limit valid why"))
  end
  write(json.encode(schema.document "bounds" (options.join(
    { { "graph", graph.name }, { "topology", topology.name } },
    json.fields(b, "critical_path_s=critical_path transfers_s=transfers lp_s=lp work_s=work "
      .. "memory_s=memory clusters_s=clusters intervals_s=intervals link_cut_s=link_cut "
      .. "bound_s=best bound_name=name level achieved rho path_rho closed"),
    { { "guarantees", guarantees } }))))
end

-- ---- --split ------------------------------------------------------------------------------------

-- Raises for options that only the other mode reads.
local function only_with_split(given)
  for _, name in ipairs { "placement", "calls", "seed" } do
    fail.refuse(given[name] ~= nil and not given.split,
      "bounds: --%s means nothing without --split", name)
  end
  for _, name in ipairs { "thorough", "effort", "gap", "makespan", "guarantees" } do
    fail.refuse(given[name] ~= nil and given.split, "bounds: --%s means nothing with --split", name)
  end
end

-- The document "bounds --split": the parts of the gap in s, which add up to gap_s.
local function split_json(k, graph, topology)
  local rules = {}
  for i, row in ipairs(k.rules) do
    rules[i] = json.object { { "dispatch", row.rule }, { "makespan_s", row.makespan } }
  end
  return json.encode(schema.document "bounds --split" (options.join(
    { { "graph", graph.name }, { "topology", topology.name } },
    json.fields(k, "bound_s=bound bound_name makespan_s=makespan"),
    { { "rules", rules }, { "best_rule", k.best_rule } },
    json.fields(k.found, "found_fifo_s=fifo found_s=makespan found_rule=rule"),
    json.fields(k, "gap_s=gap placement_s=placement queue_rule_s=queue_rule open_s=open closed"))))
end

-- Runs --split, with the placement that was given or with the portfolio's.
local function split(given, graph, topology, write)
  local placement = given.placement and inputs.placement("bounds", given.placement, graph, topology)
    or nil
  local k = fail.need(berth.gaps(graph, topology, placement, options.for_gaps(given)))
  write(given.json and split_json(k, graph, topology) or tostring(k))
  return 0
end

-- The makespan of --makespan as a multiple of the optimum at most; below 1 - 1e-9 it is no makespan
-- of this graph.
local function achieved_line(makespan, achieved, graph)
  local time = report.format(makespan, "seconds", graph)
  if achieved < 1 - 1e-9 then return time .. " is below the bound: no schedule takes so little" end
  return core.sprintf("%s is at most %.3g times the optimum", time, achieved)
end

local HINT = "--thorough seeks a larger bound; up to 64 ops, berth place --placer exact, too"

-- The guarantees that hold, or all, with the reasons.
local function guarantees_text(list, all)
  local some = { unitless = list.unitless }
  for _, one in ipairs(list) do
    if all or one.valid then some[#some + 1] = one end
  end
  if #some == 0 then return "no guarantee of a placer holds here (--guarantees: why)" end
  return tostring(setmetatable(some, getmetatable(list)))
end

-- Reasons are wrapped; rows of the table are not.
local function write_guarantees(list, all, write)
  for line in (guarantees_text(list, all) .. "\n"):gmatch "(.-)\n" do
    local parts = line:find ": " and args.wrap(line, align.COLUMNS - 2) or { line }
    for i, part in ipairs(parts) do write((i > 1 and "  " or "") .. part) end
  end
end

--- @return exit code
function bounds.run(positional, given, write)
  only_with_split(given)
  local graph, topology = inputs.read(positional, given)
  if given.split then return split(given, graph, topology, write) end
  local b = fail.need(berth.bounds(graph, topology, options.for_bounds(given)))
  if given.json then
    write_json(b, graph, topology, write)
    return 0
  end
  for _, line in ipairs(table_lines(b)) do write(line) end
  if b.achieved then write(achieved_line(given.makespan, b.achieved, graph)) end
  if given.thorough or given.effort or given.guarantees then
    write("")
    write_guarantees(b.guarantees, given.guarantees, write)
  else write(HINT) end
  return 0
end

return bounds
