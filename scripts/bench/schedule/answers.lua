-- The search and the bounds on cells of schedules; see scripts/bench/schedule_answers.
package.path = "scripts/bench/?.lua;" .. package.path
local rows = require "schedule.rows"

-- Placements: 1; V, I (two chunks a stage), and with another number of them V4, I3.
local function shape_of(placement)
  local letter, chunks = placement:match "^([VI]?)(%d*)$"
  if not letter then error("unknown placement " .. placement) end
  return letter == "V" and "zigzag" or "interleaved", tonumber(chunks) or 2
end

local function problem_of(row)
  local map, chunks = shape_of(row.placement)
  local adds = tonumber(row.mem_F_adds)
  return {
    stages = tonumber(row.p), microbatches = tonumber(row.m), chunks = chunks, map = map,
    objective = row.objective,
    forward = { tonumber(row.F_chunk) }, backward = { tonumber(row.B_chunk) },
    weight = { tonumber(row.W_chunk) }, p2p = { tonumber(row.comm) }, activations = { adds },
    freed = tonumber(row.mem_B_frees) / adds, memory = { tonumber(row.limit_units) },
  }
end

-- ---- the sets of parameters ---------------------------------------------------------------------

-- The sets of a file's rows csv54, each once: stages, micro-batches, times of a stage, p2p.
local function sets_of(list)
  local out, seen = {}, {}
  for _, row in ipairs(list) do
    local _, chunks = shape_of(row.placement)
    local set = { p = tonumber(row.p), m = tonumber(row.m), F = chunks * row.F_chunk,
      B = chunks * row.B_chunk, W = chunks * row.W_chunk, comm = tonumber(row.comm) }
    local key = ("%g %g %g %g %g %g"):format(set.p, set.m, set.F, set.B, set.W, set.comm)
    if row.set == "csv54" and not seen[key] then out[#out + 1], seen[key] = set, true end
  end
  return out
end

-- Rows of every set with the placements and limits of `text`, V@1,I@1.5: F adds 2 in units of which
-- a stage at 1x has 2 p; of one chunk a stage B frees half, of several nothing.
local function rows_of_sets(sets, text)
  local out = {}
  for item in text:gmatch "[^,]+" do
    local placement, share = item:match "^(%w+)@([%d.]+)$"
    if not tonumber(share) then error("--sets: expected PLACEMENT@LIMIT, got " .. item) end
    local _, chunks = shape_of(placement)
    for i, set in ipairs(sets) do
      out[#out + 1] = { id = ("%s-%d"):format(item, i), set = "sets", group = item, status = "",
        objective = "span", placement = placement, p = set.p, m = set.m, comm = set.comm,
        F_chunk = set.F / chunks, B_chunk = set.B / chunks, W_chunk = set.W / chunks,
        mem_F_adds = 2 / chunks, mem_B_frees = chunks == 1 and 1 or 0,
        limit_units = 2 * set.p * share, work = set.m * (set.F + set.B + set.W) }
    end
  end
  return out
end

-- ---- sums ---------------------------------------------------------------------------------------

local function less(a, b) return a < b * (1 - 1e-9) - 0.51e-3 end

-- Adds one cell to the sums of its group.
local function add(group, row, step, bound, cpu)
  local work, best, lower = tonumber(row.work), tonumber(row.best), tonumber(row.lower_bound)
  local open = row.status:match "^open" ~= nil
  group.cells = group.cells + 1
  group.open = group.open + (open and 1 or 0)
  group.cpu = group.cpu + cpu
  if lower and less(bound, lower - 0.51) then group.low = group.low + 1 end
  if lower and less(lower, bound) then group.raised = group.raised + 1 end
  local key = not best and "unknown" or less(step or math.huge, best) and "below"
    or less(best, step or math.huge) and "above" or "equal"
  group[key] = group[key] + 1
  if key == "below" and open then group.open_below = group.open_below + 1 end
  if step then
    group.found = group.found + 1
    group.bubble = group.bubble + (1 - work / step)
    group.gap = group.gap + (step / bound - 1)
  end
  group.bound = group.bound + (1 - work / bound)
  group.best = group.best + (best and 1 - work / best or 0)
  return key
end

local function new_group(name)
  local g = { name = name }
  for _, key in ipairs { "cells", "found", "open", "open_below", "below", "equal", "above", "unknown",
    "low", "raised", "bubble", "bound", "best", "gap", "cpu" } do
    g[key] = 0
  end
  return g
end

local function group_of(row)
  if row.group then return row.group end
  local share = row.set == "csv54" and row.id:match "%-([%d.]+)$" or row.objective
  return ("%s %s %s"):format(row.set, row.placement, share)
end

-- Means over the cells with a schedule, and over all.
local function means(g)
  local n, found = g.cells, math.max(g.found, 1)
  return g.bound / n, g.bubble / found, g.unknown == 0 and g.best / n or nil, g.gap / found
end

-- ---- output -------------------------------------------------------------------------------------

local function line(g)
  local bound, bubble, best, gap = means(g)
  local function percent(x) return x and ("%.3f"):format(100 * x) or "-" end
  return ("%-22s %5d %5d/%-5d %5d %5d %5d %4d %5d %8s %8s %8s %7s %8.1f"):format(g.name, g.cells,
    g.open_below, g.open, g.below, g.equal, g.above, g.low, g.raised, percent(bound),
    percent(bubble), percent(best), percent(gap), g.cpu)
end

local function json(g)
  local bound, bubble, best, gap = means(g)
  return ('{"group":"%s","cells":%d,"found":%d,"open":%d,"open_below":%d,"below":%d,"equal":%d,'
    .. '"above":%d,"bounds_below":%d,"bounds_above":%d,"bound_bubble":%.5f,"bubble":%.5f,'
    .. '"best_bubble":%s,"gap":%.5f,"cpu_s":%.2f}'):format(g.name, g.cells, g.found, g.open,
    g.open_below, g.below, g.equal, g.above, g.low, g.raised, bound, bubble,
    best and ("%.5f"):format(best) or "null", gap, g.cpu)
end

local function chosen(list, o)
  local out = {}
  for i, row in ipairs(list) do
    if (i - 1) % (o.every or 1) == 0 and (not o.id or row.id == o.id) then out[#out + 1] = row end
  end
  if #out == 0 then error("no such cell: " .. tostring(o.id)) end
  return out
end

local o = rows.options(arg, { calls = "number", every = "number", id = "text", sets = "text",
  json = "flag" })
local list = rows.read(arg[1])
if o.sets then list = rows_of_sets(sets_of(list), o.sets) end
local groups, names, all = {}, {}, new_group "all"
for _, row in ipairs(chosen(list, o)) do
  local name = group_of(row)
  if not groups[name] then groups[name], names[#names + 1] = new_group(name), name end
  local step, bound, cpu = rows.search(problem_of(row), o.calls)
  local key = add(groups[name], row, step, bound, cpu)
  add(all, row, step, bound, cpu)
  if key == "above" or not step then
    io.stderr:write(("%s: %s\n"):format(row.id,
      step and ("above by %.4f %%"):format(100 * (step / row.best - 1)) or "nothing found"))
  end
end
if not o.sets then table.sort(names) end
names[#names + 1] = "all"
groups.all = all
if not o.json then
  print(("%-22s %5s %11s %5s %5s %5s %4s %5s %8s %8s %8s %7s %8s"):format("group", "cells",
    "open below", "below", "equal", "above", "low", "raise", "bound %", "bubble %", "best %",
    "gap %", "cpu s"))
end
for _, name in ipairs(names) do print((o.json and json or line)(groups[name])) end
