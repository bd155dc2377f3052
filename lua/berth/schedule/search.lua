--- Search of a pipeline's schedule, its lower bounds, and of the split of layers together with it.
local core = require "berth.core"
local interrupt = require "berth.base.interrupt"
local layers = require "berth.schedule.layers"
local object = require "berth.schedule.object"
local options = require "berth.base.options"
local problem = require "berth.schedule.problem"

local search = {}

local FN = "berth.schedule.search"

local CALLS = 20000 -- of all splits together
local BUDGET = { calls = true, seconds = true, seed = true }

-- The core's default for an exact search without options.
local EXACT, STATES = "berth.schedule.exact", 2000000

local exact_rows = {}
for i, row in ipairs(options.rows("schedule.search", "calls seconds")) do
  exact_rows[i] = row.key == "calls" and options.merge(row, { text = "states that are expanded at "
    .. "most", default = ("%d"):format(STATES) }) or row
end
options.declare("schedule.exact", exact_rows)

-- Options of the problem, and of the search.
local function parted(fn, opts)
  options.expect(opts, "table", "%s: options", fn)
  local of_problem, budget = {}, {}
  for key, value in pairs(opts) do
    if BUDGET[key] then budget[key] = value else of_problem[key] = value end
  end
  return of_problem, options.read(fn, fn:match "berth%.(.*)", budget)
end

-- A schedule of one problem by a function of the core, with what it proved.
local function run_by(search_core, fn, opts, budget)
  local p, message, code = problem.of(fn, opts)
  if not p then return nil, message, code end
  local handle, report
  handle, report, code = search_core(p.handle, budget)
  if not handle then return nil, report, code end
  local s = object.of(handle, p)
  s.bound, s.proven, s.calls = report.bound, report.proven, report.calls
  s.interrupted = report.interrupted
  return s
end

local function run(opts, budget) return run_by(core.schedule_search, FN, opts, budget) end

--- The shortest schedule within the limits, with proof, of small problems: up to 400 actions.
-- @tparam table opts options of berth.schedule.make; calls (states), seconds
-- @treturn[1] schedule with proven, bound, calls, interrupted
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code
-- @usage print(berth.schedule.exact { stages = 3, microbatches = 6, memory = 3 })
function search.exact(opts)
  local of_problem, budget = parted(EXACT, opts)
  budget = options.merge({ calls = STATES }, budget)
  return run_by(core.schedule_exact, EXACT, of_problem, budget)
end

--- Bounds of a problem: no schedule within its limits has a shorter step.
-- @tparam schedule|table what a schedule, or options of berth.schedule.make
-- @treturn[1] table best, work, stage, pair, area, chain, s
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code
function search.bound(what)
  options.expect(what, "table", "berth.schedule.bound: schedule or options")
  local p, message, code = what.problem
  if not p then p, message, code = problem.of("berth.schedule.bound", what) end
  if not p then return nil, message, code end
  return core.schedule_bound(p.handle)
end

-- ---- layers -------------------------------------------------------------------------------------

-- Splits are walked by the bound of their schedules, which costs no evaluation; of equal ones the
-- more even is kept. The KEPT best ones and as many neighbours of the best share a quarter of the
-- calls, the FINAL best of these another; the best has the rest.
local WALKS, STEPS, KEPT, FINAL = 4, 200, 12, 4

-- One layer from one chunk to another; those between shift.
local function moved(split, from, to)
  local out = options.copy(split)
  out[from], out[to] = out[from] - 1, out[to] + 1
  return out
end

-- A neighbour, with several chunks: half of the time a chunk of the busiest stage loses a layer.
local function neighbour(rng, p)
  local busiest, from, to = 1
  for stage = 2, p.stages do
    if p.work[stage] > p.work[busiest] then busiest = stage end
  end
  repeat
    local own = p.chunk[busiest]
    from = rng:uniform() < 0.5 and own[rng:below(#own)] or rng:below(#p.split)
    from = (from - 1) % #p.split + 1 -- of the model, where there are two copies of it
    to = rng:below(#p.split)
  until from ~= to and p.split[from] > 0
  return moved(p.split, from, to)
end

-- The problem of a split, with its bound; nil: a stage cannot hold a chunk.
local function bounded(opts, split)
  local p, message, code = problem.of(FN, options.merge(opts, { split = split }))
  if not p then return nil, message, code end
  p.bound, p.squares = core.schedule_bound(p.handle).best, 0
  for c, f in ipairs(p.forward) do
    local work = f + p.backward[c] + p.weight[c]
    p.squares = p.squares + work * work
  end
  return p
end

local function before(a, b)
  if math.abs(a.bound - b.bound) > 1e-9 * b.bound then return a.bound < b.bound end
  return a.squares < b.squares
end

-- Adds a problem to those with the least bounds, in their order.
local function keep(list, known, p)
  local key = table.concat(p.split, " ")
  if known[key] then return end
  known[key] = true
  local at = #list + 1
  while at > 1 and before(p, list[at - 1]) do at = at - 1 end
  table.insert(list, at, p)
  list[KEPT + 1] = nil
end

-- The splits with the least bounds that walks from the first ones meet.
local function walked(opts, first, rng, over)
  local list, known, now = {}, {}, {}
  for i, split in ipairs(layers.first(first)) do
    now[i] = bounded(opts, split)
    if now[i] then keep(list, known, now[i]) end
  end
  for walk = 1, #list > 0 and #first.split > 1 and WALKS or 0 do
    local p = list[math.min(walk, #list)]
    for step = 1, STEPS do
      if over() then return list end
      local other = bounded(opts, neighbour(rng, p))
      if other and not before(p, other) then
        p = other
        keep(list, known, p)
      end
      core.progress("splitting", ((walk - 1) * STEPS + step) / (WALKS * STEPS))
    end
  end
  return list
end

local function better(a, b)
  if not a or b and b.step <= a.step then return b end
  return a
end

-- What is best until calls or seconds are used, or an interrupt. state: best, used, message, code.
local function try_splits(opts, first, budget, state)
  local total, rng, begin = budget.calls or CALLS, core.rng(budget.seed or 0), core.clock()
  local function left() return budget.seconds and budget.seconds - (core.clock() - begin) end
  local list = walked(opts, first, rng, function()
    return budget.seconds and left() < 0.75 * budget.seconds
  end)
  local function try(p, calls, seconds)
    local s, message, code = run(options.merge(opts, { split = p.split }), options.merge(budget,
      { calls = math.max(math.floor(calls), 1), seconds = seconds and math.max(seconds, 0) }))
    state.best, state.message, state.code = better(state.best, s), message, code
    state.used = state.used + (s and s.calls or 0)
    if s and s.interrupted or code == "interrupted" then error("interrupted", 0) end
    return s
  end
  local n, tried = #list, {}
  for i = 1, #first.split > 1 and 2 * n or n do
    local p = list[i] or state.best and bounded(opts, neighbour(rng, state.best.problem))
    if p and (not state.best or p.bound < state.best.step) then
      tried[#tried + 1] = try(p, total / 8 / n, budget.seconds and left() / 2 / (2 * n - i + 1))
    end
    core.progress("trying splits", i / (2 * n))
  end
  table.sort(tried, function(x, y)
    if x.step ~= y.step then return x.step < y.step end
    return x.problem.layout < y.problem.layout
  end)
  for i = 1, math.min(FINAL, #tried) do
    try(tried[i].problem, total / 4 / FINAL, budget.seconds and left() / 2 / (FINAL - i + 1))
  end
  if state.best then try(state.best.problem, total - state.used, left()) end
end

local function jointly(opts, budget)
  local first, message, code = problem.of(FN, opts)
  if not first then return nil, message, code end
  local state = { used = 0, message = FN .. ": no split holds the layers", code = "infeasible" }
  local fine, why = pcall(try_splits, opts, first, budget, state)
  local s = state.best
  local stopped = not fine and interrupt.is(why) and (s or state.code == "interrupted")
  if not fine and not stopped then error(why, 0) end
  if not s then return nil, state.message, state.code end
  s.bound = core.schedule_bound_splits(s.problem.handle, layers.lists(s.problem), s.step)
  s.calls, s.proven = state.used, s.bound ~= nil and s.step <= s.bound * (1 + 1e-9)
  s.interrupted = not fine
  return s
end

--- The best schedule found within the limits of memory; of layers without a split, their split with
-- it. A budget or an interrupt ends it with the best so far.
-- @tparam table opts options of berth.schedule.make; calls, seconds, seed
-- @treturn[1] schedule with bound, proven, calls, interrupted
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code
-- @usage print(berth.schedule.search { stages = 8, microbatches = 32, memory = 8 })
function search.run(opts)
  local of_problem, budget = parted(FN, opts)
  local has_layers = opts.layers or type(opts.costs) == "table" and opts.costs.layers
  if has_layers and opts.split == nil then return jointly(of_problem, budget) end
  return run(of_problem, budget)
end

return search
