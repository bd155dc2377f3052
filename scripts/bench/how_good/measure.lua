-- The results of every placer on a pair, the best of them, the thorough bound, and the parts of the
-- gap, for docs/how-good.md.
local berth = require "berth"
local lineup = require "how_good.lineup"
local members = require "berth.place.portfolio"
local measure = {}

--- The gap is split from here on.
measure.WIDE = 1.05

local function simulation(pair) return { links = pair.links, memory = pair.memory } end

-- Each placer gets those of these options that it uses.
local function options_of(entry, pair, seed)
  local out = members.read_by(entry.placer, { links = pair.links, memory = pair.memory, judge = simulation(pair),
    threads = 1, calls = entry.calls, seed = seed })
  out.tries = entry.tries
  return out
end

local function judged(row, cost, pair, p)
  local run = simulation(pair)
  run.bound = false
  local r = assert(berth.simulate(cost, p, run))
  row.placement, row.makespan, row.oom = p, r.makespan, r.oom
  return row
end

local function timed(row, f, ...)
  local from = os.clock()
  local p, message, code = f(...)
  row.cpu = (row.cpu or 0) + os.clock() - from
  row.error, row.code = not p and message or nil, not p and code or nil
  return p
end

local function place(cost, pair, entry, seed)
  local row = { name = entry.name, seed = seed }
  local p = timed(row, berth.place, cost, entry.placer, options_of(entry, pair, seed))
  return p and judged(row, cost, pair, p) or row
end

-- From the best result of the others, so that it is never worse; its time is that of its own calls.
local function refine(cost, pair, entry, start, seed)
  local row, given = { name = entry.name, seed = seed }, options_of(entry, pair, seed)
  given.start = start.placement
  local p = timed(row, berth.place, cost, entry.placer, given)
  return p and judged(row, cost, pair, p) or row
end

-- One row for every entry that `wanted` accepts.
local function all_rows(cost, pair, entries, seed, wanted)
  local rows = {}
  for i, entry in ipairs(entries) do
    if wanted(entry) then rows[i] = place(cost, pair, entry, seed) end
  end
  return rows
end

local function holds(row) return row.makespan ~= nil and not row.oom end

-- [i]: the rows of entry i, one for each seed, if it reads one.
local function with_seeds(cost, pair, entries, rows, opts)
  local runs = {}
  for i, entry in ipairs(entries) do runs[i] = entry.seeded and { rows[i] } or nil end
  for seed = opts.seed + 1, opts.seed + opts.seeds - 1 do
    local others = all_rows(cost, pair, entries, seed, function(entry) return entry.seeded end)
    for i, row in pairs(others) do table.insert(runs[i], row) end
  end
  return runs
end

-- All rows; those of other seeds than the first are last.
local function everything(rows, runs)
  local list = {}
  for i, row in ipairs(rows) do list[i] = row end
  for i in ipairs(rows) do
    for k = 2, runs[i] and #runs[i] or 0 do list[#list + 1] = runs[i][k] end
  end
  return list
end

local function best_of(list)
  local best
  for _, row in ipairs(list) do
    if holds(row) and (not best or row.makespan < best.makespan) then best = row end
  end
  return best
end

-- The best of all these placements under another order of the ready ops than first in, first out.
local function other_order(cost, pair, list)
  local best, rule
  for _, dispatch in ipairs { "light-first", "blevel" } do
    local run = simulation(pair)
    run.bound, run.dispatch = false, dispatch
    for _, row in ipairs(list) do
      local r = row.placement and assert(berth.simulate(cost, row.placement, run))
      if r and not r.oom and (not best or r.makespan < best) then best, rule = r.makespan, dispatch end
    end
  end
  return best, rule
end

local function check(pair, best, bound)
  if bound.best > best.makespan * (1 + 1e-9) then
    error(("%s: bound %.17g (%s) is above %.17g by %s"):format(pair.graph, bound.best, bound.name, best.makespan, best.name), 0)
  end
end

-- Whose the gap of the best placement is.
local function split(cost, pair, out, opts)
  if out.best.makespan <= measure.WIDE * out.bound.best then return nil end
  return assert(berth.gaps(cost, out.best.placement, { links = pair.links, memory = pair.memory, calls = opts.calls,
    seed = opts.seed }))
end

--- All names that `measure.pair` gives a row for.
function measure.names(opts)
  local names = {}
  for i, entry in ipairs(lineup.rows(opts)) do names[i] = entry.name end
  return names
end

-- The rows of all entries, and the best of them; and all runs, those of other seeds included.
local function run_all(cost, pair, out, opts)
  local entries = out.entries
  local reference = entries[#entries]
  out.rows = all_rows(cost, pair, entries, opts.seed, function(entry) return not entry.reference end)
  out.runs = with_seeds(cost, pair, entries, out.rows, opts)
  local list = everything(out.rows, out.runs)
  out.found = assert(best_of(list), pair.graph .. ": nobody has an answer that keeps memory")
  out.rows[#entries] = refine(cost, pair, reference, out.found, opts.seed)
  list[#list + 1] = out.rows[#entries]
  out.best = best_of(list)
  return list
end

--- Rows of all placers.
-- @tparam table pair with graph (label), devices (label), links, memory, cost
-- @tparam graph g
-- @tparam topology t
-- @tparam table opts seed, seeds (from that on, so many), calls, refine, tries (as for lineup.rows)
-- @treturn table entries (of the rows), rows, runs (of rows that read a seed, seed by seed), found (the best but for the
--  reference), best, other and rule (the best under another order), bound, gaps (nil: not wide)
function measure.pair(pair, g, t, opts)
  local cost = assert(berth.cost(g, t, pair.cost))
  local out = { pair = pair, ops = #g, devices = #t, entries = lineup.rows(opts) }
  local list = run_all(cost, pair, out, opts)
  out.other, out.rule = other_order(cost, pair, list)
  local from = os.clock()
  out.bound = assert(berth.bounds(cost, { thorough = true, memory = pair.memory, links = pair.links }))
  out.bound_cpu = os.clock() - from
  check(pair, out.best, out.bound)
  out.gaps = split(cost, pair, out, opts)
  return out
end

--- Step time over the best found, over the bound; nil: no answer that keeps memory.
function measure.ratios(result, row)
  if not holds(row) then return nil end
  return row.makespan / result.best.makespan, math.max(1, row.makespan / result.bound.best)
end

return measure
