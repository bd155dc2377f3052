--- The search for a plan: baselines, search, repeated ops that the simulation agrees with, reasons by single changes.
local core = require "berth.core"
local interrupt = require "berth.interrupt"
local options = require "berth.options"
local reasons = require "berth.deploy.reasons"

local Run = {}
Run.__index = Run

local Stop = { __name = "berth.deploy.stop" }

local run = {}

local MOST_STARTS = 2

--- Passes its arguments on; ends the run for nil, message, code. An interrupt only ends the phase, once there is an answer.
function Run:need(value, message, code, why)
  if value ~= nil then return value, message, code end
  if code == "interrupted" and self.best then
    self.interrupted = true
    return nil
  end
  return error(setmetatable({ message = message, code = code, why = why }, Stop), 0)
end

--- What a method returns; nil if an interrupt ends it, or one before it, once there is an answer.
function Run:phase(method, ...)
  if self.interrupted then return nil end
  local fine, found = pcall(self[method], self, ...)
  if fine then return found end
  if not (interrupt.is(found) and self.best) then error(found, 0) end
  self.interrupted = true
  return nil
end

--- What f returns; or nil, message, code of the failure that ended it.
function run.protected(f, ...)
  local function after(fine, ...)
    if fine then return ... end
    local err = ...
    if getmetatable(err) ~= Stop then error(err, 0) end
    return nil, err.message, err.code, err.why
  end
  return after(pcall(f, ...))
end

--- The first is better: it fits and the other does not; or it takes less; or, where neither fits, less is missing.
function run.better(a, b)
  local fits = a.over == 0
  if fits ~= (b.over == 0) then return fits end
  if not fits and a.shortfall ~= b.shortfall then return a.shortfall < b.shortfall end
  return a.seconds < b.seconds
end

local function key_of(s)
  return table.concat(s.action, ",") .. (s.duplicate and ";" .. table.concat(s.duplicate, ",") or s.sfb)
end

--- The value of a strategy; each is simulated once. nil: interrupted
function Run:value(s)
  local key = key_of(s)
  local known = self.known[key]
  if known then return known end
  local value = self:need(self.d:evaluate(s))
  if not value then return nil end
  self.known[key], self.evaluations = value, self.evaluations + 1
  return value
end

function Run:offer(s, value, from)
  if self.best and not run.better(value, self.best.value) then return false end
  self.best = { strategy = s, value = value, from = from }
  local last = self.trace[#self.trace]
  if value.over == 0 and not (last and last.seconds <= value.seconds) then
    self.trace[#self.trace + 1] = { evaluations = self.evaluations, seconds = value.seconds, from = from }
  end
  return true
end

local function with_action(s, g, action)
  local copy = {}
  for i, a in ipairs(s.action) do copy[i] = i == g and action or a end
  return { action = copy, sfb = s.sfb }
end

-- ---- phases --------------------------------------------------------------------------------------------

-- One of all op groups alike, which only the best is told of.
local function is_uniform(name) return name:find "^uniform" ~= nil end

function Run:add_row(x, s)
  local row = { name = is_uniform(x.name) and "uniform" or x.name, strategy = s, value = x }
  local last = self.rows[#self.rows]
  if row.name ~= "uniform" or not last or last.name ~= "uniform" then self.rows[#self.rows + 1] = row
  elseif run.better(x, last.value) then self.rows[#self.rows] = row end
  self.first[#self.first + 1] = row
end

--- Values the baselines, in the order of the problem: rows, the best of all uniform strategies at their end; first: all of them.
-- Without repeated ops those that have some are no baselines.
function Run:baselines()
  for _, x in ipairs(self:need(self.d:baselines()) or {}) do
    if x.sfb == "none" or self.sfb ~= "none" then
      local s = { action = x.action, sfb = x.sfb }
      self.known[key_of(s)] = x
      self.evaluations = self.evaluations + 1
      self:offer(s, x, is_uniform(x.name) and "uniform" or x.name)
      self:add_row(x, s)
    end
  end
end

-- The best of them, each once.
local function starts(first)
  local list, out, seen = {}, {}, {}
  for i, row in ipairs(first) do list[i] = { row = row, at = i } end
  table.sort(list, function(a, b)
    if run.better(a.row.value, b.row.value) then return true end
    return not run.better(b.row.value, a.row.value) and a.at < b.at
  end)
  for _, x in ipairs(list) do
    local key = table.concat(x.row.strategy.action, ",")
    if not seen[key] and #out < MOST_STARTS then out[#out + 1] = { action = x.row.strategy.action } end
    seen[key] = true
  end
  return out
end

-- Points of a search that are below all before.
function Run:note(trace)
  local best = self.best.value.over == 0 and self.best.value.seconds or math.huge
  for _, point in ipairs(trace) do
    if point.seconds < best then
      best = point.seconds
      self.trace[#self.trace + 1] = { evaluations = self.evaluations + point.evaluations, seconds = best, from = self.method }
    end
  end
end

-- Searches begin with data parallelism; ours has the best baselines, too, and values uniform strategies again, by which it knows
-- which actions are good for many op groups.
local function begun(self)
  if self.method == "published" then return { start = { self.first[1].strategy } } end
  local first = starts(self.first)
  table.insert(first, 1, { action = self.first[1].strategy.action })
  return options.merge({ start = first }, self.guided and self.guided:guide(self.d, first))
end

-- One search under a rule for repeated ops.
local function search_under(self, rule, evaluations)
  if evaluations < 1 or self.interrupted then return end
  local given = options.merge(begun(self), self.searching, { method = self.method, evaluations = evaluations, sfb = rule,
    seconds = self.deadline and math.max(self.deadline - core.clock(), 1e-3) or nil })
  local found, message, code = self.d:search(given)
  if code == "infeasible" or not self:need(found, message, code) then return end
  self:note(found.trace)
  self.evaluations = self.evaluations + found.evaluations
  self.interrupted = self.interrupted or found.interrupted or nil
  local s = { action = found.action, sfb = found.sfb }
  local value = self:need(self.d:evaluate(s)) -- which the search has counted
  if not value then return end
  self.known[key_of(s)] = value
  self:offer(s, value, self.method)
end

local function some_repeat(first)
  for _, row in ipairs(first) do
    if row.value.repeated > 0 then return true end
  end
  return false
end

--- Where baselines repeat ops, two fifths of the evaluations go to strategies that repeat none: their best ones are elsewhere.
function Run:search(evaluations)
  local plain = some_repeat(self.first) and math.floor(0.4 * evaluations) or 0
  search_under(self, self.sfb, evaluations - plain)
  if plain > 0 then search_under(self, "none", plain) end
end

--- The best strategy with the ops that its rule repeats.
function Run:settle()
  local s = self.best.strategy
  if s.duplicate then return end
  local repeated = s.sfb == "none" and {} or self:need(self.d:repeated({ action = s.action }, s.sfb)) or {}
  self.best = { strategy = { action = s.action, duplicate = repeated }, value = self.best.value, from = self.best.from }
end

--- Ops that are repeated stay so where the simulation agrees.
function Run:guard(evaluations)
  self:settle()
  local best = self.best
  if #best.strategy.duplicate == 0 then return end
  local guarded, value, spent = self:need(self.d:guard(best.strategy, { evaluations = evaluations }))
  if not guarded then return end
  self.evaluations = self.evaluations + spent
  self:offer(guarded, value, best.from)
end

-- The value of a strategy if it is known, or may be simulated.
function Run:value_within(s, most)
  if not self.known[key_of(s)] and self.evaluations >= most then return nil end
  return self:value(s)
end

-- Those first that cost least; then those that do not fit.
local function closest_first(list)
  for i, r in ipairs(list) do r.at = i end
  table.sort(list, function(a, b)
    local ca, cb = a.change or math.huge, b.change or math.huge
    if ca ~= cb then return ca < cb end
    return a.at < b.at
  end)
  return list
end

local function reason_of(other, value, base)
  if value.over == 0 then return { what = other.what, action = other.action, change = value.seconds / base - 1 } end
  return { what = other.what, action = other.action, missing = value.shortfall, device = value.worst }
end

--- What single changes of op groups would cost, by op group: arrays of { what, action, change } or of { what, action, missing,
-- device }.
-- @tparam number most evaluations, of all so far
-- @tparam boolean adopt a change that turns out to be better becomes the best strategy
function Run:why(most, adopt)
  local out, s, base = {}, self.best.strategy, self.best.value.seconds
  local rule = s.duplicate and #s.duplicate > 0 and self.sfb or "none"
  for g = 1, #s.action do out[g] = {} end
  for _, g in ipairs(self.context.order) do
    for _, other in ipairs(reasons.alternatives(self.context, s.action, g)) do
      local changed = with_action({ action = s.action, sfb = rule }, g, other.action)
      local value = self:value_within(changed, most)
      if self.interrupted then return out end
      if value then
        if adopt then self:offer(changed, value, "single changes") end
        table.insert(out[g], reason_of(other, value, base))
      end
    end
    closest_first(out[g])
  end
  return out
end

--- @tparam deploy d
-- @tparam table given method, sfb, seconds, guided (an agent), groups (what they are), searching (options of the search alone)
function run.new(d, given)
  return setmetatable({ d = d, method = given.method, sfb = given.sfb, guided = given.guided, searching = given.searching,
    groups = given.groups, context = reasons.context(d, given.groups), known = {}, rows = {}, first = {}, evaluations = 0,
    trace = {}, deadline = given.seconds and core.clock() + given.seconds or nil }, Run)
end

return run
