--- Jobs on machines under a scheduler, from the first arrival to the last end.
local core = require "berth.core"
local gang = require "berth.cluster.gang"
local interrupt = require "berth.base.interrupt"
local options = require "berth.base.options"
local plan = require "berth.cluster.plan"
local result = require "berth.cluster.result"
local trace = require "berth.cluster.trace"
local view = require "berth.cluster.view"

local NAME = "cluster.simulate"
local FN = "berth." .. NAME
local EVENTS = { "arrival", "finish", "slot", "wake" }

local function check_scheduler(s)
  local any = false
  if type(s) ~= "table" then options.fail("%s: scheduler: expected a table or a name, got %s", FN, core.kind(s)) end
  for _, event in ipairs(EVENTS) do
    local f = s[event]
    if f ~= nil and type(f) ~= "function" then
      options.fail("%s: scheduler.%s: expected a function, got %s", FN, event, type(f))
    end
    any = any or f ~= nil
  end
  if not any then options.fail("%s: scheduler: has none of the methods %s", FN, table.concat(EVENTS, ", ")) end
end

-- What a scheduler raises comes with its name and the event; values that are no text, and interrupts, as they are.
local function blame(name, event, job, time, err)
  if type(err) == "table" and err.plan then err = err.plan end
  if type(err) ~= "string" or interrupt.is(err) then error(err, 0) end
  local what = job and ("%s of job %.0f"):format(event, job) or event
  options.fail("%s: %s, %s at %.6g s: %s", FN, name, what, time, err)
end

local function ask(s, v, log, event, job)
  local answer = s[event](s, v, job)
  if answer ~= nil then plan.carry_out(v, log, answer) end
end

local function play(s, v, log, name)
  local c = v.core
  repeat
    local kind, time, job = c:next()
    v.now = time
    if kind == "arrival" then v:enter(job) elseif kind == "finish" then log:stop(job, time) end
    if s[kind] and kind ~= "over" then
      local fine, err = pcall(ask, s, v, log, kind, job)
      if not fine then blame(name, kind, job, time, err) end
    end
    log:count(time, v)
  until kind == "over"
end

-- A table of methods.
local function simulate_methods(rows, c, s, o, cluster)
  local name = type(s.name) == "string" and s.name or "scheduler"
  local v = view.new(c, rows, core.rng(o.seed or 0), o.rate)
  local log = result.log()
  if s.begin then
    local fine, err = pcall(s.begin, s, v)
    if not fine then blame(name, "begin", nil, 0, err) end
  end
  play(s, v, log, name)
  return result.new(c, rows, { runs = log.runs, counts = log.counts },
    { scheduler = name, seed = o.seed or 0, cluster = cluster, given = o })
end

-- One of the core's.
local function simulate_gang(rows, c, name, o, cluster)
  local done, message, code, amounts = gang.run(FN, c, rows, name, o)
  if not done then return nil, message, code end
  local log = { runs = function() return done:runs(amounts) end, counts = function() return done:counts(amounts) end }
  local r = result.new(c, rows, log, { scheduler = name, seed = o.seed or 0, cluster = cluster, given = o })
  if r.summary.done + r.summary.refused == #rows then
    local jct, makespan, refused = done:bounds(c)
    if not refused then r.summary.bound_jct, r.summary.bound_makespan = jct, makespan end
  end
  return r
end

--- Plays a trace.
-- @tparam table jobs array of { arrival (s), work, deadline (s after arrival), kind, machines or gpus, name, ... } by arrival,
-- or a table of arrays of these
-- @tparam table|number cluster machines, capacity, horizon (s), slot (s), slack (s)
-- @tparam table|string scheduler methods arrival(self, view, job), finish(self, view, job), slot(self, view), wake(self, view),
-- which return a plan or nil, and begin(self, view) before all; or the name of a gang scheduler (docs/cluster.md)
-- @tparam[opt] table opts seed (0) of view.rng, rate (function(job, machines, amounts): work per s); of gang schedulers
-- placement, and what the scheduler takes
-- @treturn[1] result records, summary, runs; save_csv, save_jsonl, save_trace
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code
-- @raise mistakes in what is given; what the scheduler raises, with the event, and plans that do not fit
local function simulate(jobs, cluster, scheduler, opts)
  local o
  if type(scheduler) ~= "string" then
    o = options.read(FN, NAME, opts, "methods")
    check_scheduler(scheduler)
  elseif gang.is_one(scheduler) then
    o = options.read(FN, NAME, opts, scheduler)
  else
    options.fail("%s: no scheduler '%s' (there are %s)", FN, scheduler, table.concat(gang.names, ", "))
  end
  local rows = trace.rows(FN, jobs)
  local c, message, code = trace.cluster(FN, rows, cluster)
  if not c then return nil, message, code end
  local run = type(scheduler) == "string" and simulate_gang or simulate_methods
  return run(rows, c, scheduler, o, cluster)
end

return simulate
