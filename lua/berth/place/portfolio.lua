--- The default placer: several fast placers, judged by the step simulator; the best answer that
-- keeps memory stays. Never worse, under the simulation that judges, than any member whose answer
-- keeps memory. Same input and seed, same answer.
local align = require "berth.base.align"
local core = require "berth.core"
local labels = require "berth.place.labels"
local options = require "berth.base.options"
local priced = require "berth.base.priced"
local own_placer = require "berth.place.own_placer"
local percent = require "berth.base.percent"
local pipeline = require "berth.place.pipeline"
local proved = require "berth.bound.proved"
local refusals = require "berth.place.refusals"
local registry = require "berth.place.registry"

local portfolio = { label = labels.of }

--- Keys of the options of the placer "portfolio": those of berth.portfolio, but for how its rows
-- are judged.
portfolio.legal = {}
for _, key in ipairs(options.keys "portfolio") do
  if key ~= "thorough" then portfolio.legal[#portfolio.legal + 1] = key end
end

--- Whether berth.portfolio takes the option.
function portfolio.reads(key)
  for _, legal in ipairs(portfolio.legal) do
    if legal == key then return true end
  end
  return false
end

-- What is of the run, not of its members.
local of_the_run = { members = true, calls = true, threads = true, seconds = true, judge = true }

--- The options of `given`, which are for all placers, that the placer reads.
-- @tparam string placer
-- @tparam table given
-- @tparam[opt] table own the placer's own options
function portfolio.only_read(placer, given, own)
  local out = {}
  for key, value in pairs(given) do
    if registry.reads(placer, key) then out[key] = value end
  end
  out.cost = nil
  return registry.common_links(placer, out, own)
end

--- The same for all that can stand for a placer: of a pipeline it is the placer among its stages
-- that reads them.
function portfolio.read_by(placer, given)
  local name, own = placer, nil
  if pipeline.is(placer) then
    -- which its stages read; its placer decides
    name, own = pipeline.placer(placer), { links = given.links }
  end
  if type(name) == "table" then name, own = name[1], own or name[2] end
  if type(name) ~= "string" then name = "policy" end
  if name ~= "portfolio" then return portfolio.only_read(name, given, own) end
  local out = {}
  for _, key in ipairs(portfolio.legal) do out[key] = given[key] end
  out.cost = nil
  return out
end

--- Raises for an option that the placer would not read.
-- @tparam string placer
-- @tparam table given
-- @tparam[opt] string where for the message
function portfolio.check_read(placer, given, where)
  for _, key in ipairs(options.sorted_keys(given)) do
    if not registry.reads(placer, key) then
      options.fail("%s: option '%s' means nothing to %s, only to: %s", where or "berth.place",
        tostring(key), placer, table.concat(registry.readers(key), ", "))
    end
  end
end

-- ---- members ------------------------------------------------------------------------------------

local function check_member(placer, i)
  local name = type(placer) == "table" and not pipeline.is(placer) and placer[1] or placer
  options.refuse(name == "portfolio", "berth.portfolio: members[%d]: is a portfolio itself", i)
  local known = type(placer) == "string" or type(placer) == "table" or type(placer) == "function"
    or own_placer.is(placer)
  options.refuse(not known,
    "berth.portfolio: members[%d]: expected a name, a policy or a pipeline, got %s", i,
    core.kind(placer))
  if type(placer) == "table" and type(name) == "string" then
    local where = ("berth.portfolio: members[%d]"):format(i)
    options.check_named(where, placer)
    portfolio.check_read(name, placer[2] or {}, where)
  end
end

-- What is written in Lua is called from there, on this thread; the rest runs in the core.
local function member(placer, i, common, place)
  check_member(placer, i)
  local name, own = placer, nil
  if type(placer) == "table" and not pipeline.is(placer) then name, own = placer[1], placer[2] end
  if type(name) == "string" and not portfolio.searches(name) and not (own and own.seconds) then
    return { name = labels.of(placer), placer = name,
      options = options.merge(portfolio.only_read(name, common, own), own) }
  end
  local given = portfolio.read_by(placer, common)
  return { name = labels.of(placer), run = function(cost) return place(cost, placer, given) end }
end

local function members(list, common, place)
  if list == nil then return nil end
  options.expect(list, "array", "berth.portfolio: members")
  local out = {}
  for i = 1, #list do out[i] = member(list[i], i, common, place) end
  for _, key in ipairs(options.sorted_keys(list)) do
    options.refuse(not out[key], "berth.portfolio: members: unknown key '%s'", tostring(key))
  end
  return out
end

--- The options of the judge, with the common ones as defaults.
local function judge(given, common)
  if given == nil then return nil end
  options.expect(given, "table", "berth.portfolio: judge")
  local same = { param_multiple = common.param_multiple }
  if given.preset == nil then -- which has its own
    same.links, same.memory, same.quantum = common.links, common.memory, common.quantum
  end
  return options.merge(same, given)
end

portfolio.judge = judge

--- Does the placer search?
function portfolio.searches(placer)
  return registry.by_name[placer] ~= nil and registry.reads(placer, "calls")
end

-- ---- what every member reached ------------------------------------------------------------------

local mt = { __name = "berth.portfolio", __index = {} }

local function class(row) return row.error and 3 or row.oom and 2 or 1 end

-- What holds before what runs out of memory before what fails; then by step time; then as listed.
local function rank(rows)
  local best, at = {}, {}
  for i, row in ipairs(rows) do best[i], at[row] = row, i end
  table.sort(best, function(a, b)
    local ca, cb = class(a), class(b)
    if ca ~= cb then return ca < cb end
    if ca < 3 and a.makespan ~= b.makespan then return a.makespan < b.makespan end
    return at[a] < at[b]
  end)
  return best
end

local function gap(row, bound)
  if not bound or not row.makespan or row.oom then return nil end
  return row.makespan == bound and 0 or row.makespan / bound - 1
end

local function so_far(rows)
  local n = 0
  for _, row in ipairs(rows) do n = n + (row.code == "interrupted" and 0 or 1) end
  if n == #rows then return "interrupted: the best so far, in the search after all placers" end
  return ("interrupted: the best of %d of %d placers"):format(n, #rows)
end

-- Placer and options such that berth.place gives the same placement.
local function own_options(row, common, given, judged_by)
  if not row.placer then return nil end
  if given then return given.options end
  local searches = portfolio.searches(row.placer) and { judge = judged_by } or nil
  return options.merge(portfolio.only_read(row.placer, common), row.options, searches)
end

-- What a member proves holds for all.
local function share_proofs(rows, judged_by)
  for _, row in ipairs(rows) do
    local best = row.placement and row.options and proved.bound(row.placement, row.options,
      judged_by)
    if best and rows.bound and best > rows.bound then
      rows.bound, rows.bound_name = best, proved.name
    end
  end
end

local function finish(rows, common, judge_options, given, judged_by)
  for i, row in ipairs(rows) do
    row.options = own_options(row, common, given and given[i], judged_by)
  end
  share_proofs(rows, judge_options)
  for _, row in ipairs(rows) do row.gap = gap(row, rows.bound) end
  rows.best = rank(rows)
  rows.interrupted = rows.interrupted and so_far(rows) or nil
  rows.winner = rows.winner and rows[rows.winner]
  return setmetatable(rows, mt)
end

local function time(x, bare) return x and core.format(x, "seconds", bare) or "-" end

local function gap_text(x) return x and percent(math.max(x, 0)) or "-" end

local function note(row, shared)
  if row.error then return refusals.short(row, shared) end
  return row.oom and ("out of memory: %s are missing"):format(core.format(row.missing, "bytes"))
    or ""
end

local function cells(row, with_seconds, shared, bare)
  local out = { row.name, time(row.makespan, bare), gap_text(row.gap) }
  if with_seconds then out[#out + 1] = time(row.seconds) end
  out[#out + 1] = note(row, shared)
  return out
end

--- The name of the bound of rows, with its level where it has one.
function portfolio.bound_name(rows)
  if not rows.bound_level or rows.bound_name == proved.name then return rows.bound_name end
  return ("%s, %s"):format(rows.bound_name, rows.bound_level)
end

local function summary(rows)
  local bound = rows.bound
    and ("bound %s (%s)"):format(time(rows.bound, rows.unitless), portfolio.bound_name(rows))
  local won = rows.winner
  if not won then
    local why = rows.refusal or "no answer keeps memory"
    return bound and why .. "; " .. bound or why
  end
  local text = ("best: %s, step time %s"):format(won.name, time(won.makespan, rows.unitless))
  return bound and ("%s, gap %s; %s"):format(text, gap_text(won.gap), bound) or text
end

options.declare("portfolio rows:to_string", {
  { key = "seconds", type = "flag", default = "false",
    text = "adds the time of placing, which no two runs share" },
})

--- The rows as text, best first, and who won. `{ seconds = true }` adds the time of placing and
-- judging, which no two runs share.
function mt.__index.to_string(self, opts)
  opts = options.read("portfolio rows:to_string", "portfolio rows:to_string", opts)
  local head = { "member", "step time", "gap" }
  if opts.seconds then head[#head + 1] = "placing" end
  head[#head + 1] = ""
  local lines, shared = { head }, refusals.shared(self)
  for _, row in ipairs(self.best) do
    lines[#lines + 1] = cells(row, opts.seconds, shared, self.unitless)
  end
  return align.text(lines) .. "\n" .. summary(self)
end

function mt.__tostring(self) return self:to_string() end

-- ---- running ------------------------------------------------------------------------------------

--- Runs the members on a cost. If that is interrupted, the best answer so far is kept, and
-- `rows.interrupted` is set.
-- @tparam function place (cost, placer, options): that of berth.place
-- @treturn[1] placement
-- @treturn[1] table one row per member: name, makespan, gap, seconds, placement, oom, missing; or
--  error, code, why
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code
-- @treturn[2] ?table obstacle
-- @treturn[2] ?table rows
function portfolio.run(cost, given, place)
  local common = {}
  for key, value in pairs(given) do
    if not of_the_run[key] and key ~= "cost" then common[key] = value end
  end
  local call = options.merge(common, {
    members = members(given.members, common, place), judge = judge(given.judge, common),
    calls = given.calls, threads = given.threads, seconds = given.seconds,
  })
  local unitless = priced.unitless(cost)
  local rows, message, code, why = core.portfolio(cost, call)
  if rows then rows.unitless = unitless end
  if rows then finish(rows, common, call.judge or common, call.members, call.judge) end
  if rows and rows.winner then return rows.winner.placement, rows end
  if rows then rows.refusal = message end
  return nil, message, code, why, rows
end

--- The level of its bounds, as options of berth.bounds: million steps, about a tenth of the time of
-- the search.
function portfolio.level(cost) return { effort = math.max(30, math.ceil(0.03 * #cost.graph)) } end

-- The rows' bound, and the gaps to it, by bounds of this level where these are larger, with the
-- memory of the judge.
local function tighten(cost, rows, given, level)
  if not rows.bound then return end
  local by = given.judge or {}
  local b, message, code = core.bounds(cost, {
    thorough = level.thorough, effort = level.effort,
    memory = by.preset and (by.memory or "none") or by.memory or given.memory,
    param_multiple = by.param_multiple or given.param_multiple, links = by.links or not by.preset
    and given.links or nil,
  })
  if code == "interrupted" then
    rows.interrupted = "interrupted: the gaps are not by the best bounds"
  end
  if not b then return nil, message, code end
  rows.bound_level = b.level
  if b.best <= rows.bound then return end
  rows.bound, rows.bound_name = b.best, b.name
  for _, row in ipairs(rows) do row.gap = gap(row, rows.bound) end
end

local function searched(rows) return rows[#rows].placer == "anneal" and rows[#rows].placement end

local function with_bound(cost, thorough, given, p, rows, ...)
  if not p or rows.interrupted then return p, rows, ... end
  if thorough then tighten(cost, rows, given, { thorough = true })
  elseif searched(rows) then tighten(cost, rows, given, portfolio.level(cost)) end
  return p, rows, ...
end

--- berth.portfolio, with the function `place` that portfolio.run takes before its arguments.
function portfolio.portfolio(place, ...)
  local cost, rest, code = options.priced("berth.portfolio", 1, ...)
  if not cost then return nil, rest, code end
  local given = options.merge(options.check("berth.portfolio", rest[1], "portfolio"))
  local thorough = given.thorough
  options.refuse(thorough ~= nil and type(thorough) ~= "boolean",
    "berth.portfolio: thorough: expected true or false, got %s", core.kind(thorough))
  given.thorough = nil
  return with_bound(cost, thorough, given, portfolio.run(cost, given, place))
end

return portfolio
