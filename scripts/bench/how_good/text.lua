-- Writes the results of how_good.measure as the Markdown of docs/how-good.md: first all that is the same at each run, then times.
-- Its prose is in how_good.words.
local berth = require "berth"
local lineup = require "how_good.lineup"
local measure = require "how_good.measure"
local words = require "how_good.words"
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

-- The entries as good as the reference; itself, if there is none.
local function winners(result)
  if result.best.makespan < result.found.makespan then return "reference" end
  local names = {}
  for i, row in ipairs(result.rows) do
    if measure.ratios(result, row) == 1 and not result.entries[i].reference then names[#names + 1] = row.name end
  end
  if #names == 0 then return ("%s, seed %d"):format(result.found.name, result.found.seed) end
  if #names <= 2 then return table.concat(names, "; ") end
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

local function from_to(least, most)
  local low, high = ("%.3f"):format(least), ("%.3f"):format(most)
  return low == high and low or low .. " to " .. high
end

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

-- The geometric means of the pairs that all answer, seed by seed: least and most.
local function over_seeds(results, i, shared)
  local sums = {}
  for _, result in ipairs(results) do
    for k, row in ipairs(shared[result] and result.runs[i] or {}) do
      local ratio = measure.ratios(result, row)
      sums[k] = sums[k] or { log = 0, n = 0 }
      if ratio then add(sums[k], ratio) end
    end
  end
  local least, most
  for _, sum in ipairs(sums) do
    local mean = sum.n > 0 and math.exp(sum.log / sum.n)
    if mean then least, most = math.min(least or mean, mean), math.max(most or mean, mean) end
  end
  return least and from_to(least, most) or "-"
end

local function summary(results, i, shared)
  local s = { best = 0, near = 0, answers = 0, oom = 0, refused = 0, worst = 0, cpu = 0, slowest = 0 }
  s.to_best, s.to_bound, s.common = { log = 0, n = 0 }, { log = 0, n = 0 }, { log = 0, n = 0 }
  for _, result in ipairs(results) do
    local row = result.rows[i]
    local to_best, to_bound = measure.ratios(result, row)
    s.name, s.cpu, s.reference = row.name, s.cpu + row.cpu, result.entries[i].reference
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
  s.seeds = over_seeds(results, i, shared)
  s.order = s.common.n > 0 and s.common.log / s.common.n or s.to_best.log / math.max(1, s.to_best.n)
  return s
end

-- The reference last, then by the mean.
local function before(a, b)
  if a.reference ~= b.reference then return b.reference == true end
  return a.order == b.order and a.at < b.at or a.order < b.order
end

local function summaries(results)
  local out, shared, n = {}, common(results)
  for i in ipairs(results[1].rows) do
    out[i] = summary(results, i, shared)
    out[i].at = i
  end
  table.sort(out, before)
  return out, n
end

local function placers_table(out, sums, n)
  header(out, { "placer", ("to the best, on the %d pairs that all answer"):format(n), "seeds",
    "to the best, all its answers", "to the bound, all its answers", "worst", "best", "within 1 %", "answers", "oom",
    "refused" })
  for _, s in ipairs(sums) do
    table_row(out, { s.name, geometric(s.common), s.seeds, geometric(s.to_best), geometric(s.to_bound), ("%.2f"):format(s.worst),
      s.best, s.near, s.answers, s.oom, s.refused })
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
    local cells = { results[1].entries[i].reference and "reference" or first.name }
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

-- ---- published, gaps, seeds ---------------------------------------------------------------------------------

local function published(out, results)
  local rows = {}
  for _, result in ipairs(results) do
    local known, unit = result.pair.published, result.pair.unit
    if known then
      local best, bound = result.best.makespan / unit.seconds, result.bound.best / unit.seconds
      rows[#rows + 1] = { result.id, ("%.4f"):format(known.best), ("%.4f"):format(best), ("%.5f"):format(best / known.best),
        ("%.4f"):format(known.bound), ("%.4f"):format(bound), ("%.5f"):format(bound / known.bound) }
    end
  end
  if #rows == 0 then return end
  out[#out + 1] = "## Beside published values\n\n" .. words.published
  header(out, { "pair", "published, x 1e10", "found here", "ratio", "published bound", "bound here", "ratio" })
  for _, row in ipairs(rows) do table_row(out, row) end
  out[#out + 1] = ""
end

local function share(seconds, gaps) return seconds and ("%.1f %%"):format(100 * seconds / gaps.bound) or "-" end

local function gaps(out, results, about)
  local values = { wide = ("%.3g"):format(100 * (measure.WIDE - 1)), calls = lineup.thousands(about.calls) }
  out[#out + 1] = "## Whose the gap is\n"
  local rows = {}
  for _, result in ipairs(results) do
    local k = result.gaps
    if k then
      rows[#rows + 1] = { result.id, k.bound_name, share(k.gap, k), share(k.placement, k), share(k.queue_rule, k),
        k.found and k.found.rule or k.best_rule, share(k.open, k) }
    end
  end
  if #rows == 0 then return line(out, "No gap is above %s %%.", values.wide) end
  out[#out + 1] = words.with(words.gaps, values)
  header(out, { "pair", "bound", "gap", "placement", "queue rule", "fastest rule", "open" })
  for _, row in ipairs(rows) do table_row(out, row) end
end

-- Least and most over the seeds that have an answer.
local function range(result, i)
  local least, most
  for _, row in ipairs(result.runs[i]) do
    local ratio = measure.ratios(result, row)
    if ratio then least, most = math.min(least or ratio, ratio), math.max(most or ratio, ratio) end
  end
  if not least then return result.rows[i].oom and "oom" or "refused" end
  return from_to(least, most)
end

local function spread(out, results, about)
  local last = about.seed + about.seeds - 1
  out[#out + 1] = "## Over seeds\n"
  if about.seeds == 1 then return line(out, "Seed %d alone.", about.seed) end
  out[#out + 1] = words.with(words.spread, { first = tostring(about.seed), last = tostring(last) })
  local head, entries = { "pair" }, {}
  for i, entry in ipairs(results[1].entries) do
    if entry.seeded then
      head[#head + 1] = entry.name
      entries[#entries + 1] = i
    end
  end
  header(out, head)
  for _, result in ipairs(results) do
    local cells = { result.id }
    for _, i in ipairs(entries) do cells[#cells + 1] = range(result, i) end
    table_row(out, cells)
  end
end

-- ---- the document -------------------------------------------------------------------------------------------

local function times(out, results, sums, about)
  out[#out + 1] = "## Times of this run\n"
  line(out, "%s, %s; machine yardstick %s ([Speed](results/speed.md)).\nCPU seconds of placing alone, one thread;", about.date,
    about.interpreter, about.yardstick)
  line(out, "of the reference its own calls. Seed %d;", about.seed)
  out[#out + 1] = "other seeds take as long again.\n"
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
-- @tparam table about command, seed, seeds, calls, refine, tries, skipped (ids), date, interpreter, yardstick
function text.document(results, about)
  local out = { words.introduction(#results, about, measure.WIDE) }
  local sums, n = summaries(results)
  out[#out + 1] = "## The placers\n"
  placers_table(out, sums, n)
  out[#out + 1] = "\n## The pairs\n"
  pairs_table(out, results)
  out[#out + 1] = "\n" .. words.pairs
  published(out, results)
  gaps(out, results, about)
  out[#out + 1] = "\n## Step time over the best found\n"
  matrix(out, results, "best")
  out[#out + 1] = "\n## Step time over the lower bound\n"
  matrix(out, results, "bound")
  out[#out + 1] = ""
  spread(out, results, about)
  out[#out + 1] = "\n## Without an answer\n"
  refusals(out, results)
  out[#out + 1] = ""
  times(out, results, sums, about)
  return table.concat(out, "\n") .. "\n"
end

return text
