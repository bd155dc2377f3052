--- The search for a plan: baselines, search, repeated ops that the simulation agrees with, reasons
-- by single changes.
local core = require "berth.core"
local interrupt = require "berth.base.interrupt"
local options = require "berth.base.options"
local placed = require "berth.deploy.placed"
local reasons = require "berth.deploy.reasons"
local words = require "berth.deploy.answer_words"

local Run = {}
Run.__index = Run

local Stop = { __name = "berth.deploy.stop" }

local run = {}

--- Passes its arguments on; ends the run for nil, message, code. An interrupt only ends the phase,
-- once there is an answer.
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

--- The first is better: it fits and the other does not; or it takes less; or, where neither fits,
-- less is missing.
function run.better(a, b)
  local fits = a.over == 0
  if fits ~= (b.over == 0) then return fits end
  if not fits and a.shortfall ~= b.shortfall then return a.shortfall < b.shortfall end
  return a.seconds < b.seconds
end

local function key_of(s)
  return table.concat(s.action, ",") .. (s.duplicate and ";" .. table.concat(s.duplicate,
    ",") or s.sfb)
end

-- Of what cannot reach its tensors, or ends later than can be counted.
local NEVER = { seconds = math.huge, over = 0 }

--- The value of a strategy; each is simulated once. nil: interrupted
function Run:value(s)
  local key = key_of(s)
  local known = self.known[key]
  if known then return known end
  local value, message, code = self.d:evaluate(s)
  if code == "unreachable" then value = NEVER end
  if not self:need(value, message, code) then return nil end
  self.known[key], self.evaluations = value, self.evaluations + 1
  return value
end

function Run:offer(s, value, from)
  if self.best and not run.better(value, self.best.value) then return false end
  self.best = { strategy = s, value = value, from = from }
  local last = self.trace[#self.trace]
  if value.over == 0 and not (last and last.seconds <= value.seconds) then
    self.trace[#self.trace + 1] = { evaluations = self.evaluations, seconds = value.seconds,
      from = from }
  end
  return true
end

local function with_action(action, g, a)
  local copy = options.merge(action)
  copy[g] = a
  return copy
end

-- ---- phases -------------------------------------------------------------------------------------

-- A uniform strategy; only the best one is reported.
local function is_uniform(name) return name:find "^uniform" ~= nil end

function Run:add_row(x, s)
  local row = { name = is_uniform(x.name) and "uniform" or x.name, strategy = s, value = x }
  local last = self.rows[#self.rows]
  if row.name ~= "uniform" or not last or last.name ~= "uniform" then
    self.rows[#self.rows + 1] = row
  elseif run.better(x, last.value) then self.rows[#self.rows] = row end
  self.first[#self.first + 1] = row
end

--- Values the baselines, in the order of the problem: rows, the best of all uniform strategies at
-- their end; first: all of them. Without repeated ops those that have some are no baselines.
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

-- What placing refuses, but a deployment may have.
local REFUSED = { infeasible = true, invalid = true, unsupported = true, unreachable = true }

local function dp_fits(rows)
  for _, row in ipairs(rows) do
    if row.name == "dp" then return row.value.over == 0 end
  end
  return false
end

--- Where data parallelism does not fit, memory decides: the answer of berth.place is one more
-- baseline, if there is one.
function Run:placement(sim)
  if dp_fits(self.rows) then return end
  local s, message, code = placed(self.d, sim)
  if not s and REFUSED[code] then return end
  if not self:need(s, message, code) then return end
  s.sfb = "none"
  local value = self:value(s)
  if not value or value == NEVER then return end
  self:offer(s, value, "placement")
  self:add_row(options.merge(value, { name = "placement" }), s)
  self.placed = s
end

-- Points of a search that are below all before.
function Run:note(trace)
  local best = self.best and self.best.value.over == 0 and self.best.value.seconds or math.huge
  for _, point in ipairs(trace) do
    if point.seconds < best then
      best = point.seconds
      self.trace[#self.trace + 1] = { evaluations = self.evaluations + point.evaluations,
        seconds = best, from = self.method }
    end
  end
end

-- The published search begins with data parallelism, all others with the baselines, whose values
-- are known.
local function begun(self, calls)
  if self.method == "published" then
    return { start = self.first[1] and { self.first[1].strategy } }
  end
  return options.merge({ baselines = true, start = self.placed and { self.placed } },
    self.guided and self.guided:guide(self.d, nil, calls))
end

function Run:search(calls)
  if calls < 1 then return end
  local given = options.merge(begun(self, calls), self.searching,
    { method = self.method, calls = calls,
    sfb = self.sfb, seconds = self.deadline and math.max(self.deadline - core.clock(), 1e-3)
    or nil })
  local found, message, code, why = self.d:search(given)
  if code == "infeasible" and self.best or not self:need(found, message, code, why) then return end
  self:note(found.trace)
  self.evaluations = self.evaluations + found.evaluations
  self.interrupted = self.interrupted or found.interrupted or nil
  local s = { action = found.action, duplicate = found.duplicate or {} }
  local value = self:need(self.d:evaluate(s)) -- which the search has counted
  if not value then return end
  self.known[key_of(s)] = value
  self:offer(s, value, self.method)
end

--- The best strategy with the ops that its rule repeats.
function Run:add_duplicates()
  local s = self.best.strategy
  if s.duplicate then return end
  local repeated = s.sfb == "none" and {} or self:need(self.d:repeated({ action = s.action },
    s.sfb)) or {}
  self.best = { strategy = { action = s.action, duplicate = repeated }, value = self.best.value,
    from = self.best.from }
end

--- Ops that are repeated stay so where the simulation agrees.
function Run:guard(calls)
  self:add_duplicates()
  local best = self.best
  if #best.strategy.duplicate == 0 then return end
  local guarded, value, spent = self:need(self.d:guard(best.strategy, { calls = calls }))
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

-- Repeated ops of all op groups but g, and of g those of `list`.
local function repeated_with(self, g, duplicate, list)
  local out, group = {}, self.context.group_of
  for _, op in ipairs(duplicate) do
    if group[op] ~= g then out[#out + 1] = op end
  end
  for _, op in ipairs(list) do
    if group[op] == g then out[#out + 1] = op end
  end
  table.sort(out)
  return out
end

-- A strategy in which op group g alone is done in another way; it repeats the ops of the rule
-- there, or nothing.
function Run:changed(s, g, other)
  local action = with_action(s.action, g, other.action)
  local rule = self.sfb ~= "none" and other.repeats ~= false
  local by_rule = rule and self:need(self.d:repeated({ action = action }, self.sfb)) or {}
  return { action = action, duplicate = repeated_with(self, g, s.duplicate or {}, by_rule) }
end

-- Other ways for op group g: other actions, and its ops repeated or not.
function Run:others(s, g)
  local list, rule = reasons.alternatives(self.context, s.action, g), self.sfb ~= "none"
  local now, with = key_of(s), rule and key_of(self:changed(s, g, { action = s.action[g] }))
  local without = rule and key_of(self:changed(s, g, { action = s.action[g], repeats = false }))
  if with ~= without and now ~= with then
    table.insert(list, 1, { action = s.action[g], what = "ops repeated instead" })
  end
  if with ~= without and now ~= without then
    table.insert(list, 1, { action = s.action[g], repeats = false,
      what = "no op repeated instead" })
  end
  return list
end

local function reason_of(other, value, base)
  if value.over == 0 then
    return { what = other.what, action = other.action, change = words.ratio(value.seconds,
      base) - 1 }
  end
  return { what = other.what, action = other.action, missing = value.shortfall,
    device = value.worst }
end

--- What single changes of op groups would cost, by op group: arrays of { what, action, change } or
-- of { what, action, missing, device }.
-- @tparam number most evaluations, of all so far
-- @tparam boolean adopt a change that turns out to be better becomes the best strategy
function Run:why(most, adopt)
  local out, s, base = {}, self.best.strategy, self.best.value.seconds
  for g = 1, #s.action do out[g] = {} end
  for _, g in ipairs(self.context.order) do
    for _, other in ipairs(self:others(s, g)) do
      local changed = self:changed(s, g, other)
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
-- @tparam table given method, sfb, seconds, guided (an agent), groups (what they are), searching
--  (options of the search alone)
function run.new(d, given)
  return setmetatable({ d = d, method = given.method, sfb = given.sfb, guided = given.guided,
    searching = given.searching, groups = given.groups, context = reasons.context(d, given.groups),
    known = {}, rows = {}, first = {}, evaluations = 0, trace = {}, deadline = given.seconds
    and core.clock() + given.seconds or nil }, Run)
end

return run
