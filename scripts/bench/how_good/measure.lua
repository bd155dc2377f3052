-- What every placer makes of a pair, the best of them, and the thorough bound, for docs/how-good.md.
local berth = require "berth"
local members = require "berth.portfolio"
local measure = {}

measure.REFINED = "portfolio + anneal"

-- Placers that know no queues for whole links or fair shares plan with one channel out and one in per device.
local function planned_links(links) return (links == "route" or links == "fair") and "duplex" or links end

local function simulation(pair) return { links = pair.links, memory = pair.memory } end

-- Each placer gets what it reads of this.
local function options_of(placer, pair, opts)
  return members.read_by(placer, { links = planned_links(pair.links), memory = pair.memory, judge = simulation(pair), threads = 1,
    calls = opts.calls, tries = opts.tries, seed = opts.seed })
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

local function place(cost, pair, placer, opts)
  local row = { name = placer }
  local p = timed(row, berth.place, cost, placer, options_of(placer, pair, opts))
  return p and judged(row, cost, pair, p) or row
end

-- Annealing from what the portfolio has found; its time counts, too.
local function refine(cost, pair, found, opts)
  local row = { name = measure.REFINED, cpu = found.cpu, error = found.error, code = found.code }
  if not found.placement then return row end
  local given = options_of("anneal", pair, opts)
  given.start, given.calls = found.placement, opts.refine
  local p = timed(row, berth.place, cost, "anneal", given)
  return p and judged(row, cost, pair, p) or row
end

local function holds(row) return row.makespan ~= nil and not row.oom end

local function best_of(rows)
  local best
  for _, row in ipairs(rows) do
    if holds(row) and (not best or row.makespan < best.makespan) then best = row end
  end
  return best
end

-- The best of all these placements under another order of the ready ops than first in, first out.
local function other_order(cost, pair, rows)
  local best, rule
  for _, dispatch in ipairs { "light-first", "blevel" } do
    local run = simulation(pair)
    run.bound, run.dispatch = false, dispatch
    for _, row in ipairs(rows) do
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

--- All names that `measure.pair` gives a row for.
function measure.placers()
  local names = berth.placers()
  names[#names + 1] = measure.REFINED
  return names
end

--- Rows of all placers.
-- @tparam table pair with graph (label), devices (label), links, memory
-- @tparam graph g
-- @tparam topology t
-- @tparam table opts seed, calls (of the searches), refine (calls behind the portfolio), tries
function measure.pair(pair, g, t, opts)
  local cost = assert(berth.cost(g, t))
  local out, by_name = { pair = pair, ops = #g, devices = #t, rows = {} }, {}
  for _, placer in ipairs(berth.placers()) do
    by_name[placer] = place(cost, pair, placer, opts)
    out.rows[#out.rows + 1] = by_name[placer]
  end
  out.rows[#out.rows + 1] = refine(cost, pair, by_name.portfolio, opts)
  out.best = assert(best_of(out.rows), pair.graph .. ": nobody has an answer that keeps memory")
  out.other, out.rule = other_order(cost, pair, out.rows)
  local from = os.clock()
  out.bound = assert(berth.bounds(cost, { thorough = true, memory = pair.memory }))
  out.bound_cpu = os.clock() - from
  check(pair, out.best, out.bound)
  return out
end

--- Step time over the best found, over the bound; nil: no answer that keeps memory.
function measure.ratios(result, row)
  if not holds(row) then return nil end
  return row.makespan / result.best.makespan, math.max(1, row.makespan / result.bound.best)
end

return measure
