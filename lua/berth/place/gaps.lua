--- Why a step takes longer than its bound: the queue rule, the placement, or what neither explains.
-- Prints as a table.
local align = require "berth.base.align"
local core = require "berth.core"
local options = require "berth.base.options"
local percent = require "berth.base.percent"
local place = require "berth.place"
local proved = require "berth.bound.proved"

local RULES = { "fifo", "light-first", "light-class", "blevel" }
local SEARCHED = { "fifo", "light-first", "light-class" }
local SMALL, NODES = 16, 20000 -- ops, and partial schedules, with which an exact answer is sought
local CALLS = 2000

options.declare("gaps", options.join(options.rows("bounds", "links memory param_multiple"), {
  { key = "calls", type = "whole", default = ("%d"):format(CALLS), high = 2 ^ 31 - 1,
    text = "placements that each of six searches evaluates; 0: no search" },
}, options.rows("place", "seed"), {
  { key = "place", type = "table", default = "none",
    text = "more options of the portfolio, if no placement is given" },
}, options.rows("bounds", "cost")))

-- What simulations, the search and the bound have in common.
local function common(given)
  return { links = given.links, memory = given.memory, param_multiple = given.param_multiple }
end

local function bound_of(cost, given)
  return core.bounds(cost, {
    thorough = true, links = given.links, memory = given.memory,
    param_multiple = given.param_multiple,
  })
end

-- ---- the placement under every rule -------------------------------------------------------------

local function run(cost, placement, given, rule)
  return core.simulate(cost, placement,
    options.merge(common(given), { dispatch = rule, bound = false }))
end

-- A run out of memory does not count.
local function under_rules(cost, placement, given)
  local rows = {}
  for i, rule in ipairs(RULES) do
    local r, message, code = run(cost, placement, given, rule)
    if not r then return nil, message, code end
    rows[i] = { rule = rule, makespan = not r.oom and r.makespan or nil, oom = r.oom }
  end
  return rows
end

local function least(rows)
  local best = rows[1]
  for _, row in ipairs(rows) do
    if row.makespan and row.makespan < (best.makespan or math.huge) then best = row end
  end
  return best
end

-- ---- better placements --------------------------------------------------------------------------

local function anneal(cost, given, rule, start)
  return place.on_cost(cost, "anneal", {
    links = given.links, memory = given.memory, param_multiple = given.param_multiple,
    seed = given.seed, calls = given.calls or CALLS, start = start, judge = { dispatch = rule },
  })
end

local function keep(found, placement, rows)
  local best = least(rows)
  found.fifo = math.min(found.fifo, rows[1].makespan or math.huge)
  if best.makespan and best.makespan < found.makespan then
    found.makespan, found.rule, found.placement = best.makespan, best.rule, placement
  end
end

-- Under each rule, from the placement and from a start of its own; every answer is run under all
-- rules. The placement itself counts as found.
local function search(cost, placement, given, rows)
  local found = { makespan = math.huge, fifo = math.huge }
  keep(found, placement, rows)
  for _, rule in ipairs(SEARCHED) do
    for _, start in ipairs { placement, false } do
      local p, message, code = anneal(cost, given, rule, start or nil)
      if code == "interrupted" then return nil, "interrupted", "interrupted" end
      if not p and code ~= "infeasible" then return nil, message, code end
      if p then
        local under
        under, message, code = under_rules(cost, p, given)
        if not under then return nil, message, code end
        keep(found, p, under)
      end
    end
  end
  return found
end

-- ---- small graphs -------------------------------------------------------------------------------

-- Exact on free links, in an order of its own; where its devices run as fast under a rule, that
-- rule has the name. On other links only its bound counts. None: the graph is too large for it, has
-- collectives, or nothing fits.
local function solve(cost, given)
  if #cost.graph > SMALL then return nil end
  local p, summary, code = core.exact(cost, {
    memory = given.memory, param_multiple = given.param_multiple, seed = given.seed, nodes = NODES,
  })
  if not p then return nil, summary, code end
  if (given.links or "free") ~= "free" then return { summary = summary } end
  local r, message
  r, message, code = core.simulate(cost, p,
    options.merge(common(given), { dispatch = "planned", bound = false }))
  if not r then return nil, message, code end
  return { placement = p, makespan = not r.oom and r.makespan or math.huge, summary = summary }
end

local function take_exact(cost, given, found, exact)
  local rows, message, code = under_rules(cost, exact.placement, given)
  if not rows then return nil, message, code end
  keep(found, exact.placement, rows)
  if exact.makespan < found.makespan * (1 - 1e-12) then
    found.makespan, found.rule, found.placement = exact.makespan, "planned", exact.placement
  end
  return true
end

-- ---- printing -----------------------------------------------------------------------------------

local function time(x, self) return core.format(x, "seconds", self.unitless) end

local mt = { __name = "berth.gaps" }

local function part(self, name, seconds)
  return { name, time(seconds, self), self.bound > 0 and percent(seconds / self.bound) or "-", "" }
end

-- What to give to get the better of the rules.
local function hint(self)
  local best
  for _, row in ipairs(self.rules) do best = row.rule == self.best_rule and row.makespan or best end
  if not best or best >= self.makespan then return "" end
  return core.sprintf('\n%s runs this placement in %.1f %% less: dispatch = "%s" (--dispatch %s)',
    self.best_rule, 100 * (1 - best / self.makespan), self.best_rule, self.best_rule)
end

function mt.__tostring(self)
  local lines = { { "", "step time", "of the bound", "" },
    { "bound", time(self.bound, self), "", self.bound_name } }
  for _, row in ipairs(self.rules) do
    lines[#lines + 1] = { row.rule, row.makespan and time(row.makespan, self) or "-", "",
      row.makespan and "" or "out of memory" }
  end
  if self.found then
    lines[#lines + 1] = { "best found, fifo", time(self.found.fifo, self), "", "" }
    lines[#lines + 1] = { "best found", time(self.found.makespan, self), "", self.found.rule }
  end
  lines[#lines + 1] = part(self, "gap", self.gap)
  if self.found then lines[#lines + 1] = part(self, "placement", self.placement) end
  lines[#lines + 1] = part(self, "queue rule", self.queue_rule)
  local open = part(self, self.found and "open" or "placement or open", self.open)
  if self.closed then
    open[4] = "closed: " .. (self.found and "the best found is optimal" or "this is optimal")
  end
  lines[#lines + 1] = open
  return align.text(lines) .. hint(self)
end

-- ---- the call -----------------------------------------------------------------------------------

local function split(rows, b, found)
  local fifo, best = rows[1].makespan, least(rows)
  local with_fifo, with_any = fifo, best.makespan
  if found then with_fifo, with_any = found.fifo, found.makespan end
  local low = math.min(b.best, with_any) -- the bound, rounding apart
  return setmetatable({
    closed = with_any <= low * (1 + 1e-9), unitless = b.unitless,
    bound = low, bound_name = b.name, makespan = fifo, rules = rows, best_rule = best.rule,
    found = found, gap = fifo - low, placement = found and fifo - with_fifo or nil,
    queue_rule = with_fifo - with_any, open = with_any - low,
  }, mt)
end

-- The thorough bounds, or what is proved exactly, now or when the placement was made here. (Of
-- another the memory that it was made with is unknown.)
local function best_bound(cost, made, given, exact)
  local b, message, code, why = bound_of(cost, given)
  if not b then return nil, message, code, why end
  local known = made and proved.bound(made, options.merge(common(given), given.place),
    common(given))
  local best = math.max(known or 0, exact and exact.summary.bound or 0)
  if best <= b.best then return b end
  return { best = best, name = proved.name, unitless = b.unitless }
end

-- The first simulation reports what is wrong with it, in its own name.
local function check_placement(cost, placement, given)
  if placement == nil then return end
  local ok, message = pcall(run, cost, placement, given, "fifo")
  if ok then return end
  error(type(message) == "string" and message:gsub("berth%.simulate: placement:",
    "berth.gaps: placement:", 1) or message, 0)
end

local function on_cost(cost, placement, given)
  check_placement(cost, placement, given)
  local b, found, made, message, code, why
  if placement == nil then
    placement, message, code, why = place.on_cost(cost, nil,
      options.merge(common(given), given.place))
    if not placement then return nil, message, code, why end
    if code == "interrupted" then return nil, "interrupted", code end
    made = placement
  end
  local rows
  rows, message, code = under_rules(cost, placement, given)
  if not rows then return nil, message, code end
  if rows[1].oom then
    return nil, ("berth.gaps: first in, first out the placement runs out of memory at op %d")
      :format(rows[1].oom.op), "infeasible"
  end
  local exact
  exact, message, code = solve(cost, given)
  if code == "interrupted" then return nil, message, code end
  b, message, code, why = best_bound(cost, made, given, exact)
  if not b then return nil, message, code, why end
  if given.calls ~= 0 then
    found, message, code = search(cost, placement, given, rows)
    if not found then return nil, message, code end
    if exact and exact.placement then
      local ok
      ok, message, code = take_exact(cost, given, found, exact)
      if not ok then return nil, message, code end
    end
  end
  return split(rows, b, found)
end

--- Splits the first-in-first-out makespan of a placement against the thorough bound: `gap` =
-- `placement` (search finds a faster one, first in, first out) + `queue_rule` (and one that is
-- faster under another rule) + `open` (bound or search: unknown).
-- @tparam graph g
-- @tparam topology t
-- @param[opt] placement a placement or array of devices; nil: the portfolio's
-- @tparam[opt] table opts as declared above
-- @treturn[1] table makespan, bound, bound_name, rules, best_rule, found, closed, gap, queue_rule,
--  placement, open (s)
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code
-- @usage print(berth.gaps(g, t, p, { calls = 1000 }))
return function(...)
  local cost, rest, code = options.priced("berth.gaps", 2, ...)
  if not cost then return nil, rest, code end
  return on_cost(cost, rest[1], options.read("berth.gaps", "gaps", rest[2]))
end
