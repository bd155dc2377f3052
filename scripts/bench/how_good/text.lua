-- Writes the results of how_good.measure as the Markdown of docs/how-good.md: first all that is the same at each run, then times.
local berth = require "berth"
local measure = require "how_good.measure"
local text = {}

local function line(out, ...) out[#out + 1] = (...):format(select(2, ...)) end

local function table_row(out, cells) out[#out + 1] = "| " .. table.concat(cells, " | ") .. " |" end

local function header(out, cells)
  table_row(out, cells)
  out[#out + 1] = ("|---"):rep(#cells) .. "|"
end

local function step_time(pair, seconds)
  if pair.unit then return ("%.4f"):format(seconds / pair.unit.seconds) .. " x " .. pair.unit.name end
  return ("%.4g ms"):format(1e3 * seconds)
end

local function percent(ratio) return ("%.1f %%"):format(100 * math.max(0, ratio - 1)) end

-- ---- the pairs ------------------------------------------------------------------------------------------

local function winners(result)
  local names = {}
  for _, row in ipairs(result.rows) do
    if measure.ratios(result, row) == 1 then names[#names + 1] = row.name end
  end
  if #names <= 3 then return table.concat(names, ", ") end
  return ("%s and %d more"):format(names[1], #names - 1)
end

local function pair_row(out, result)
  local pair = result.pair
  local faster = result.other and result.other < result.best.makespan
  table_row(out, {
    result.id, pair.graph, result.ops, (pair.devices:gsub("^N ", result.devices .. " ")), pair.links,
    step_time(pair, result.best.makespan), winners(result),
    step_time(pair, result.bound.best) .. ", " .. result.bound.name, percent(result.best.makespan / result.bound.best),
    faster and ("%.3f, %s"):format(result.other / result.best.makespan, result.rule) or "-",
  })
end

local function pairs_table(out, results)
  header(out, { "pair", "graph", "ops", "devices", "links", "best step time", "found by", "lower bound", "gap", "other order" })
  for _, result in ipairs(results) do pair_row(out, result) end
end

-- ---- the placers -----------------------------------------------------------------------------------------

local function geometric(sum) return sum.n > 0 and ("%.3f"):format(math.exp(sum.log / sum.n)) or "-" end

local function add(sum, ratio)
  sum.log, sum.n = sum.log + math.log(ratio), sum.n + 1
end

-- Pairs on which every placer has an answer that keeps memory.
local function common(results)
  local set, n = {}, 0
  for _, result in ipairs(results) do
    set[result] = true
    for _, row in ipairs(result.rows) do
      if not measure.ratios(result, row) then set[result] = nil end
    end
    n = n + (set[result] and 1 or 0)
  end
  return set, n
end

local function summary(results, i, shared)
  local s = { best = 0, near = 0, answers = 0, oom = 0, refused = 0, worst = 0, cpu = 0, slowest = 0 }
  s.to_best, s.to_bound, s.common = { log = 0, n = 0 }, { log = 0, n = 0 }, { log = 0, n = 0 }
  for _, result in ipairs(results) do
    local row = result.rows[i]
    local to_best, to_bound = measure.ratios(result, row)
    s.name, s.cpu = row.name, s.cpu + row.cpu
    if row.cpu > s.slowest then s.slowest, s.slowest_at = row.cpu, result.id end
    if to_best then
      add(s.to_best, to_best)
      add(s.to_bound, to_bound)
      if shared[result] then add(s.common, to_best) end
      s.answers, s.worst = s.answers + 1, math.max(s.worst, to_best)
      s.best, s.near = s.best + (to_best == 1 and 1 or 0), s.near + (to_best <= 1.01 and 1 or 0)
    elseif row.oom then
      s.oom = s.oom + 1
    else
      s.refused = s.refused + 1
    end
  end
  s.order = s.common.n > 0 and s.common.log / s.common.n or s.to_best.log / math.max(1, s.to_best.n)
  return s
end

local function summaries(results)
  local out, shared, n = {}, common(results)
  for i in ipairs(results[1].rows) do
    out[i] = summary(results, i, shared)
    out[i].at = i
  end
  table.sort(out, function(a, b) return a.order == b.order and a.at < b.at or a.order < b.order end)
  return out, n
end

local function placers_table(out, sums, n)
  header(out, { "placer", ("to the best, on the %d pairs that all answer"):format(n), "to the best, all its answers",
    "to the bound, all its answers", "worst, to the best", "best", "within 1 %", "answers", "oom", "refused" })
  for _, s in ipairs(sums) do
    table_row(out, { s.name, geometric(s.common), geometric(s.to_best), geometric(s.to_bound), ("%.2f"):format(s.worst), s.best,
      s.near, s.answers, s.oom, s.refused })
  end
end

-- ---- every placer on every pair ---------------------------------------------------------------------------

local function cell(result, row, which)
  local to_best, to_bound = measure.ratios(result, row)
  if not to_best then return row.oom and "oom" or "refused" end
  local shown = ("%.3f"):format(which == "best" and to_best or to_bound)
  return to_best == 1 and "**" .. shown .. "**" or shown
end

local function matrix(out, results, which)
  local head = { "placer" }
  for _, result in ipairs(results) do head[#head + 1] = result.id end
  header(out, head)
  for i, first in ipairs(results[1].rows) do
    local cells = { first.name }
    for _, result in ipairs(results) do cells[#cells + 1] = cell(result, result.rows[i], which) end
    table_row(out, cells)
  end
end

local function without_answer(result, row)
  if row.error then return ("%s: %s"):format(row.code, row.error) end
  if not row.oom then return nil end
  return ("oom: device %d at op %d, %s too much, at %s"):format(row.oom.device, row.oom.op,
    berth.format(row.oom.shortfall, "bytes"), step_time(result.pair, row.oom.time))
end

local function refusals(out, results)
  local rows = {}
  for _, result in ipairs(results) do
    for _, row in ipairs(result.rows) do
      local why = without_answer(result, row)
      if why then rows[#rows + 1] = { result.id, row.name, (why:gsub("|", "\\|")) } end
    end
  end
  if #rows == 0 then return line(out, "Every placer has an answer that keeps memory on every pair.") end
  header(out, { "pair", "placer", "what it says" })
  for _, row in ipairs(rows) do table_row(out, row) end
end

-- ---- how to read it -----------------------------------------------------------------------------------------

local INTRODUCTION = [[
# How good is an answer?

What each placer makes of %d pairs of a graph and a topology: its step time over the best that any of them found, and over a
proved lower bound. Made by one command, which writes this file anew (a few CPU minutes):

    %s

berth %s, seed %d. All but the last section is the same, byte by byte, at each run.%s

## How to read it

- *Step time*: what the simulator says of the placement on these devices with these links, ready ops first in, first out.
  *To the best*: over the shortest that any placer of this table found on the pair. Bold: the shortest itself.
- *To the bound*: over the largest lower bound of `berth.bounds(g, t, { thorough = true })`, named in the table of the pairs. No
  schedule that keeps memory is shorter, whatever the order of the ops and whatever the links (without preemption, and each op
  run once), so a step time is at most so many times the optimum. What is above 1 may be a placement that nobody found, a bound
  that is not sharp, the queue, or transfers in one another's way.
- *Other order*: the shortest step time of any of these placements, over the best, if devices take the shortest ready op first
  (`light-first`) or that of the longest remaining path (`blevel`) instead. Below 1: that much is the queue's; no placer looked
  for it. `-`: not shorter.
- *oom*: the placer answers, but the simulation runs out of memory. *Refused*: it has no answer. Why is told in a table below.
- Means are geometric: twice as long on one pair and half as long on another is 1. A placer that does not answer everywhere has
  its means over fewer pairs; compare in the column of the pairs that all answer, by which the table is sorted.
- *anneal*, *local* and other searches look at %d simulations, *%s* at %d from the portfolio's answer;
  *critical-path* draws its ties once; *exact* proves nothing at these sizes and gives the best of its list schedules. Published
  variants are left out.
- With `free`, `pair`, `duplex` and `channel` the placers plan with these links. `route` and `fair` are for simulation: there they
  plan with `duplex`, while portfolio and searches judge by the true links. What links mean: [placers.md](placers.md).
- These are %d pairs, chosen to be unlike, not a sample of anything. On your own graph: `berth.compare(g, t)`.
]]

local function introduction(out, results, about)
  local left = #about.skipped > 0
    and (" Left out, as their files are not there: pairs %s."):format(table.concat(about.skipped, ", ")) or ""
  line(out, INTRODUCTION, #results, about.command, berth.version, about.seed, left, about.calls, measure.REFINED, about.refine,
    #results)
end

local FILES = [[
DOPPLER: the graphs of its repository, times as they are in the files, without unit and without memory. Profiled ops: the
dnn-partitioning graphs, with its groups. The others are built in: models priced by the data sheets of the devices
([models](models.md), [devices](devices.md)), layers of 20 ops with lognormal times, and a tiled factorisation.
]]

local function times(out, results, sums, about)
  out[#out + 1] = "## Times of this run\n"
  line(out, "%s, %s; machine yardstick %s (results.md, Speed). CPU seconds of placing alone, one thread;", about.date,
    about.interpreter, about.yardstick)
  line(out, "those of the portfolio are counted in *%s*, too.\n", measure.REFINED)
  header(out, { "placer", "all pairs, CPU s", "longest, CPU s", "on pair" })
  for _, s in ipairs(sums) do
    table_row(out, { s.name, ("%.2f"):format(s.cpu), ("%.3f"):format(s.slowest), s.slowest_at or "-" })
  end
  local bounds = { cpu = 0, slowest = 0 }
  for _, result in ipairs(results) do
    bounds.cpu = bounds.cpu + result.bound_cpu
    if result.bound_cpu > bounds.slowest then bounds.slowest, bounds.at = result.bound_cpu, result.id end
  end
  table_row(out, { "thorough bounds", ("%.2f"):format(bounds.cpu), ("%.3f"):format(bounds.slowest), bounds.at or "-" })
end

--- The whole document.
-- @tparam table results of measure.pair, each with its id
-- @tparam table about command, seed, calls, refine, skipped (ids), date, interpreter, yardstick
function text.document(results, about)
  local out = {}
  local sums, n = summaries(results)
  introduction(out, results, about)
  out[#out + 1] = "## The placers\n"
  placers_table(out, sums, n)
  out[#out + 1] = "\n## The pairs\n"
  pairs_table(out, results)
  out[#out + 1] = "\n" .. FILES
  out[#out + 1] = "## Step time over the best found\n"
  matrix(out, results, "best")
  out[#out + 1] = "\n## Step time over the lower bound\n"
  matrix(out, results, "bound")
  out[#out + 1] = "\n## Without an answer\n"
  refusals(out, results)
  out[#out + 1] = ""
  times(out, results, sums, about)
  return table.concat(out, "\n") .. "\n"
end

return text
