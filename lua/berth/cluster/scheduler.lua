--- The scheduler seam in Lua, for all kinds of clusters: a table of methods, which events are
-- handed to and which return plans.
local core = require "berth.core"
local interrupt = require "berth.base.interrupt"
local options = require "berth.base.options"
local plan = require "berth.cluster.plan"

local scheduler = {}

--- Raises unless s is a table of methods.
-- @tparam table kind fn (for errors), what (the argument's name), events (names of methods), needs
--  (one that must be there; nil)
function scheduler.check(kind, s)
  local any = false
  options.refuse(type(s) ~= "table", "%s: %s: expected a name or a table of methods, got %s",
    kind.fn, kind.what, core.kind(s))
  local function check(event)
    local f = s[event]
    options.refuse(f ~= nil and type(f) ~= "function" or f == nil and event == kind.needs,
      "%s: %s.%s: expected a function, got %s", kind.fn, kind.what, event, core.kind(f))
    return f ~= nil
  end
  check "begin"
  for _, event in ipairs(kind.events) do any = check(event) or any end
  if not any then
    options.fail("%s: %s: has none of the methods %s", kind.fn, kind.what,
      table.concat(kind.events, ", "))
  end
end

function scheduler.name(kind, s) return type(s.name) == "string" and s.name or kind.what end

-- What a scheduler raises comes with its name and the event; values that are no text, and
-- interrupts, as they are.
local function blame(run, event, job, err)
  if type(err) == "table" and err.plan then err = err.plan end
  if type(err) ~= "string" or interrupt.is(err) then error(err, 0) end
  local what = job and ("%s of job %.0f"):format(event, job) or event
  options.fail("%s: %s, %s %s: %s", run.kind.fn, scheduler.name(run.kind, run.scheduler), what,
    core.sprintf(run.kind.when, run.now()), err)
end

local function ignore() end

local function ask(run, event, job)
  local take = event == "begin" and ignore or run.take
  run.now()
  take(event, job, run.scheduler[event](run.scheduler, run.view, job))
end

local function protected(run, event, job)
  local fine, err = pcall(ask, run, event, job)
  if not fine then blame(run, event, job, err) end
end

--- Calls `begin`, and gives the core's loop a function of the job for each event of which there is
-- a method.
-- @tparam table run kind (as for check; when: the time, to format), scheduler (checked), view (what
--  methods get), now (gives the time, called before each event), decisions (of plan.kind); or take
--  (function(event, job, answer, ...)), which carries out what a method returns if that is not a
--  plan or nil
-- @treturn table functions by event
function scheduler.functions(run)
  local s, out = run.scheduler, {}
  run.take = run.take or function(_, _, answer)
    if answer ~= nil then plan.carry_out(run.decisions, answer) end
  end
  for _, event in ipairs(run.kind.events) do
    out[event] = s[event] and function(job) protected(run, event, job) end
  end
  if s.begin then protected(run, "begin") end
  return out
end

--- Methods of a view that are those of what it has under a key.
function scheduler.forward(class, key, names)
  for _, name in ipairs(names) do
    class[name] = function(self, ...) return self[key][name](self[key], ...) end
  end
end

return scheduler
