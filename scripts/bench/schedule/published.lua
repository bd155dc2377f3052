-- Generators and the search against published schedulers; see scripts/bench/schedule_published.
package.path = "scripts/bench/?.lua;" .. package.path
local core = require "berth.core"
local rows = require "schedule.rows"

-- By the file's name: chunks of a stage, and the generators that are compared. As their programs
-- count memory, B frees half of one chunk a stage, nothing of two.
local SCHEDULERS = {
  ["1F1B"] = { 1, "1f1b" }, ["ZB-1p heuristic"] = { 1, "zb-h1", "zb-1p" },
  ["ZB-2p heuristic"] = { 1, "zb-h2", "zb-2p" },
  ["ZB-V heuristic"] = { 2, "zb-v", "zb-v-greedy" },
}

local function problem_of(row)
  local v = SCHEDULERS[row.schedule][1]
  return { stages = tonumber(row.stages), microbatches = tonumber(row.microbatches), chunks = v,
    map = v == 2 and "zigzag" or "interleaved", objective = "span", forward = { row.F / v },
    backward = { row.B / v }, weight = { row.W / v }, p2p = { tonumber(row.comm) },
    activations = { 1 / v }, freed = v == 2 and 0 or 0.5,
    memory = { tonumber(row.mem_limit_in_microbatch_activations) } }
end

-- Steps by contender; nil: none within the memory.
local function contenders(row, calls)
  local out = {}
  local step, bound, cpu, problem = rows.search(problem_of(row), calls)
  out.search, out.bound = step, bound
  for i = 2, #SCHEDULERS[row.schedule] do
    local name = SCHEDULERS[row.schedule][i]
    local value = core.schedule_evaluate(assert(core.schedule_make(problem, name)))
    out[name] = value.outcome == "runs" and value.step or nil
  end
  return out, cpu
end

local function new_sum()
  return { rows = 0, below = 0, equal = 0, above = 0, over = 0, mean = 0, most = -math.huge, cpu = 0 }
end

-- Adds the step of one row, s above that of the file as a share.
local function add(sum, step, theirs, cpu)
  sum.rows, sum.cpu = sum.rows + 1, sum.cpu + cpu
  if not step then
    sum.over = sum.over + 1
    return
  end
  local above = step / theirs - 1
  local key = above < -1e-6 and "below" or above > 1e-6 and "above" or "equal"
  sum[key], sum.mean, sum.most = sum[key] + 1, sum.mean + above, math.max(sum.most, above)
end

local function print_row(row, found, theirs)
  local function percent(x) return x and ("%+.3f %%"):format(100 * (x / theirs - 1)) or "none" end
  print(("%-16s p %s m %s F %g B %g W %g p2p %g: search %s, bound %s"):format(row.schedule,
    row.stages, row.microbatches, row.F, row.B, row.W, row.comm, percent(found.search),
    percent(found.bound)))
end

local function print_sum(scheduler, name, sum, json)
  local n = math.max(sum.rows - sum.over, 1)
  local mean, most = 100 * sum.mean / n, 100 * math.max(sum.most, -1)
  if json then
    print(('{"scheduler":"%s","contender":"%s","rows":%d,"below":%d,"equal":%d,"above":%d,'
      .. '"over":%d,"mean_percent":%.4f,"most_percent":%.4f,"cpu_s":%.2f}'):format(scheduler, name,
      sum.rows, sum.below, sum.equal, sum.above, sum.over, mean, most, sum.cpu))
  else
    print(("%-16s %-12s %5d %5d %5d %5d %5d %+8.3f %+8.3f %7.1f"):format(scheduler, name, sum.rows,
      sum.below, sum.equal, sum.above, sum.over, mean, most, sum.cpu))
  end
end

local o = rows.options(arg, { calls = "number", every = "number", rows = "flag", json = "flag" })
local sums, seen = {}, {}
for _, row in ipairs(rows.read(arg[1])) do
  local known, name = SCHEDULERS[row.schedule], row.schedule
  seen[name] = (seen[name] or 0) + 1
  if known and (seen[name] - 1) % (o.every or 1) == 0 then
    local found, cpu = contenders(row, o.calls)
    local theirs = tonumber(row.longest_stage_time)
    sums[name] = sums[name] or { search = new_sum() }
    add(sums[name].search, found.search, theirs, cpu)
    for i = 2, #known do
      sums[name][known[i]] = sums[name][known[i]] or new_sum()
      add(sums[name][known[i]], found[known[i]], theirs, 0)
    end
    if o.rows then print_row(row, found, theirs) end
  end
end
if not o.json then
  print(("%-16s %-12s %5s %5s %5s %5s %5s %8s %8s %7s"):format("scheduler", "contender", "rows",
    "below", "equal", "above", "over", "mean %", "most %", "cpu s"))
end
for _, name in ipairs { "1F1B", "ZB-1p heuristic", "ZB-2p heuristic", "ZB-V heuristic" } do
  for i = 1, sums[name] and #SCHEDULERS[name] or 0 do
    local contender = i == 1 and "search" or SCHEDULERS[name][i]
    print_sum(name, contender, sums[name][contender], o.json)
  end
end
