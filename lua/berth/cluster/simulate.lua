--- Jobs on machines under a scheduler, from the first arrival to the last end.
local bounds = require "berth.cluster.bounds"
local core = require "berth.core"
local gang = require "berth.cluster.gang"
local interrupt = require "berth.base.interrupt"
local options = require "berth.base.options"
local plan = require "berth.cluster.plan"
local result = require "berth.cluster.result"
local scheduler = require "berth.cluster.scheduler"
local trace = require "berth.cluster.trace"
local view = require "berth.cluster.view"

local NAME = "cluster.simulate"
local FN = "berth." .. NAME
local KIND = { fn = FN, what = "scheduler", events = { "arrival", "finish", "slot", "wake" },
  when = "at %.6g s" }

-- ---- plans --------------------------------------------------------------------------------------

local function rate_of(v, where, x)
  local fine, found = pcall(v.rate, v, x.job, x.machines, x.amounts)
  if not fine and interrupt.is(found) then error(found, 0) end
  if not fine then plan.wrong("%s: rate: %s", where, tostring(found)) end
  if type(found) ~= "number" then
    plan.wrong("%s: rate: expected a number, got %s", where, type(found))
  end
  return found
end

-- Pauses, refusals, rates, starts, a wake, in this order.
local function decisions_of(v, log)
  local c, decide = v.core, plan.decide
  return plan.kind {
    { name = "pause", keys = { job = true }, alone = true, act = function(where, x)
      decide(where, c.pause, c, x.job)
      log:stop(x.job, c.now)
    end },
    { name = "refuse", keys = { job = true, cause = true }, alone = true, act = function(where, x)
      decide(where, c.refuse, c, x.job, x.cause)
    end },
    { name = "rate", keys = { job = true, rate = true }, act = function(where, x)
      decide(where, c.set_rate, c, x.job, x.rate)
      log.fast = log.fast or x.rate > 1
    end },
    { name = "start", keys = { job = true, machines = true, amounts = true, rate = true },
      act = function(where, x)
      local rate = x.rate
      if rate == nil then rate = rate_of(v, where, x) end
      decide(where, c.start, c, x.job, x.machines, { amounts = x.amounts, rate = rate })
      log:start(x.job, x.machines, c.now, x.amounts)
      log.fast = log.fast or rate > 1
    end },
    { name = "wake", act = function(where, time) decide(where, c.wake, c, time or nil) end },
    { name = "stop", act = function(where, yes)
      if yes ~= true then plan.wrong("%s: expected true or nil, got %s", where, tostring(yes)) end
      c:stop()
    end },
  }
end

-- ---- runs ---------------------------------------------------------------------------------------

-- The log is kept at all events, whichever the scheduler handles.
local function with_books(c, log, handlers)
  local out = {}
  for _, event in ipairs(KIND.events) do
    out[event] = function(job)
      if event == "finish" then log:stop(job, c.now) end
      if handlers[event] then handlers[event](job) end
      log:count(c)
    end
  end
  return out
end

-- A table of methods.
local function simulate_methods(rows, c, s, o, cluster)
  local v, log = view.new(c, rows, core.rng(o.seed or 0), o.rate), result.log()
  local function now()
    v.now, v.n_waiting = c.now, c.n_waiting
    return v.now
  end
  local handlers = scheduler.functions { kind = KIND, scheduler = s, view = v, now = now,
    decisions = decisions_of(v, log) }
  local done, message, code = c:run(with_books(c, log, handlers))
  if not done then return nil, message, code end
  log:count(c)
  local r = result.new(c, rows, { runs = log.runs, counts = log.counts },
    { scheduler = scheduler.name(KIND, s), seed = o.seed or 0, cluster = cluster, given = o })
  if not o.rate and not log.fast then bounds.add(r.summary, c, rows, log.runs) end
  return r
end

-- One of the core's.
local function simulate_gang(rows, c, name, o, cluster)
  local done, message, code, amounts = gang.run(FN, c, rows, name, o)
  if not done then return nil, message, code end
  local log = { runs = function() return done:runs(amounts) end,
    counts = function() return done:counts(amounts) end }
  local r = result.new(c, rows, log, { scheduler = name, seed = o.seed or 0, cluster = cluster,
    given = o })
  local by_place = o.rate or gang.has(name, "speeds") or gang.has(name, "types")
  if not by_place then bounds.add(r.summary, c, rows) end
  return r
end

--- Plays a trace.
-- @tparam table jobs array of { arrival (s), work, deadline (s after arrival), kind, machines or
--  gpus, name, ... } by arrival, or a table of arrays of these
-- @tparam table|number cluster machines, capacity, horizon (s), slot (s), slack (s)
-- @tparam table|string who the scheduler: methods arrival(self, view, job), finish(self, view,
--  job), slot(self, view), wake(self, view), which return a plan or nil, and begin(self, view)
--  before all; or the name of a gang scheduler
-- @tparam[opt] table opts seed (0) of view.rng, rate (function(job, machines, amounts): work per
--  s); of gang schedulers placement, and what the scheduler takes
-- @treturn[1] result records, summary, runs; save_csv, save_jsonl, save_trace
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code
-- @raise mistakes in what is given; what the scheduler raises, with the event, and plans that do
--  not fit
local function simulate(jobs, cluster, who, opts)
  local o
  if type(who) ~= "string" then
    scheduler.check(KIND, who)
    o = options.read(FN, NAME, opts, "methods")
  elseif gang.is_one(who) then
    o = options.read(FN, NAME, opts, who)
  else
    options.fail("%s: no scheduler '%s' (there are %s)", FN, who,
      options.names_text(who, gang.names))
  end
  local rows = trace.rows(FN, jobs)
  local c, message, code = trace.cluster(FN, rows, cluster)
  if not c then return nil, message, code end
  local run = type(who) == "string" and simulate_gang or simulate_methods
  return run(rows, c, who, o, cluster)
end

return simulate
