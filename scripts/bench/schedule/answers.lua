-- The search and the bounds on cells of schedules; see scripts/bench/schedule_answers.
local core = require "berth.core"

-- A file of comma-separated values with a header: rows by column. Quoted cells may hold commas.
local function rows_of(path)
  local names, rows = nil, {}
  for line in io.lines(path) do
    local row = {}
    local rest = line .. ","
    while rest ~= "" do
      local cell, after = rest:match '^"([^"]*)",(.*)$'
      if not cell then cell, after = rest:match "^([^,]*),(.*)$" end
      row[#row + 1], rest = cell, after
    end
    if not names then
      names = row
    else
      local by_name = {}
      for i, name in ipairs(names) do by_name[name] = row[i] end
      rows[#rows + 1] = by_name
    end
  end
  return rows
end

-- Placements: 1; V, I (two chunks a stage), and with another number of them V4, I3.
local function problem_of(row)
  local letter, chunks = row.placement:match "^([VI]?)(%d*)$"
  local adds = tonumber(row.mem_F_adds)
  return assert(core.schedule_problem {
    stages = tonumber(row.p), microbatches = tonumber(row.m),
    chunks = tonumber(chunks) or 2, map = letter == "V" and "zigzag" or "interleaved",
    objective = row.objective,
    forward = { tonumber(row.F_chunk) }, backward = { tonumber(row.B_chunk) },
    weight = { tonumber(row.W_chunk) }, p2p = { tonumber(row.comm) }, memory = { adds },
    freed = tonumber(row.mem_B_frees) / adds, limit = { tonumber(row.limit_units) },
  }), (tonumber(chunks) or 2) * 3 * row.p * row.m
end

-- So many schedules that small and large problems take about as long.
local function calls_for(actions)
  return math.floor(math.min(math.max(1.5e8 / actions, 2000), 200000))
end

local function options_of(arguments)
  local o, i = { every = 1 }, 2
  while arguments[i] do
    local key = arguments[i]:match "^%-%-(%a+)$"
    if key == "json" then
      o.json = true
    elseif key == "calls" or key == "every" then
      i = i + 1
      o[key] = assert(tonumber(arguments[i]), "--" .. key .. ": expected a number")
    else
      error("unknown argument " .. arguments[i])
    end
    i = i + 1
  end
  return o
end

local function less(a, b) return a < b * (1 - 1e-9) - 0.51e-3 end

-- Adds one cell to the sums of its group.
local function add(group, row, report, bound, cpu)
  local work, best, lower = tonumber(row.work), tonumber(row.best), tonumber(row.lower_bound)
  local open = row.status:match "^open" ~= nil
  group.cells = group.cells + 1
  group.open = group.open + (open and 1 or 0)
  group.cpu = group.cpu + cpu
  if lower and less(bound, lower - 0.51) then group.low = group.low + 1 end
  if lower and less(lower, bound) then group.raised = group.raised + 1 end
  local step = report and report.step or math.huge
  local key = not best and "unknown" or less(step, best) and "below"
    or less(best, step) and "above" or "equal"
  group[key] = group[key] + 1
  if key == "below" and open then group.open_below = group.open_below + 1 end
  if report then
    group.bubble = group.bubble + (1 - work / step)
    group.gap = group.gap + (step / bound - 1)
  end
  group.bound = group.bound + (1 - work / bound)
  group.best = group.best + (best and 1 - work / best or 0)
  return key
end

local function new_group(name)
  local g = { name = name }
  for _, key in ipairs { "cells", "open", "open_below", "below", "equal", "above", "unknown", "low",
    "raised", "bubble", "bound", "best", "gap", "cpu" } do
    g[key] = 0
  end
  return g
end

local function group_of(row)
  local share = row.set == "csv54" and row.id:match "%-([%d.]+)$" or row.objective
  return ("%s %s %s"):format(row.set, row.placement, share)
end

local function line(g)
  local function mean(key) return 100 * g[key] / g.cells end
  return ("%-22s %5d %5d/%-5d %5d %5d %5d %4d %5d %8.3f %8.3f %8.3f %7.3f %8.1f"):format(g.name,
    g.cells, g.open_below, g.open, g.below, g.equal, g.above, g.low, g.raised, mean "bound",
    mean "bubble", mean "best", mean "gap", g.cpu)
end

local function json(g)
  return ('{"group":"%s","cells":%d,"open":%d,"open_below":%d,"below":%d,"equal":%d,"above":%d,'
    .. '"bounds_below":%d,"bounds_above":%d,"bound_bubble":%.5f,"bubble":%.5f,"best_bubble":%.5f,'
    .. '"gap":%.5f,"cpu_s":%.2f}'):format(g.name, g.cells, g.open, g.open_below, g.below, g.equal,
    g.above, g.low, g.raised, g.bound / g.cells, g.bubble / g.cells, g.best / g.cells,
    g.gap / g.cells, g.cpu)
end

local o = options_of(arg)
local groups, names, all = {}, {}, new_group "all"
for i, row in ipairs(rows_of(arg[1])) do
  if (i - 1) % o.every == 0 then
    local problem, actions = problem_of(row)
    local from = os.clock()
    local bound = core.schedule_bound(problem).best
    local _, report = core.schedule_search(problem, { calls = o.calls or calls_for(actions) })
    if type(report) ~= "table" then report = nil end
    local cpu = os.clock() - from
    local name = group_of(row)
    if not groups[name] then
      groups[name], names[#names + 1] = new_group(name), name
    end
    local key = add(groups[name], row, report, bound, cpu)
    add(all, row, report, bound, cpu)
    if key == "above" then
      io.stderr:write(("above: %s %.4f %%\n"):format(row.id,
        report and 100 * (report.step / row.best - 1) or math.huge))
    end
  end
end
table.sort(names)
names[#names + 1] = "all"
groups.all = all
if not o.json then
  print(("%-22s %5s %11s %5s %5s %5s %4s %5s %8s %8s %8s %7s %8s"):format("group", "cells",
    "open below", "below", "equal", "above", "low", "raise", "bound %", "bubble %", "best %",
    "gap %", "cpu s"))
end
for _, name in ipairs(names) do print((o.json and json or line)(groups[name])) end
