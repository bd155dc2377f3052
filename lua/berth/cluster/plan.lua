--- Carries out what a scheduler returns: pauses, refusals, rates, starts, a wake, in this order.
local entries = require "berth.cluster.entries"
local interrupt = require "berth.base.interrupt"

local plan = {}
local wrong, decide = entries.wrong, entries.decide

local KEYS = { pause = true, refuse = true, rate = true, start = true, wake = true }
local ENTRY = {
  refuse = { job = true, cause = true }, rate = { job = true, rate = true },
  start = { job = true, machines = true, amounts = true, rate = true },
}

local function start(view, log, where, x)
  local rate = x.rate
  if rate == nil then
    local fine, found = pcall(view.rate, view, x.job, x.machines, x.amounts)
    if not fine and interrupt.is(found) then error(found, 0) end
    if not fine then wrong("%s: rate: %s", where, tostring(found)) end
    if type(found) ~= "number" then wrong("%s: rate: expected a number, got %s", where, type(found)) end
    rate = found
  end
  decide(where, view.core.start, view.core, x.job, x.machines, { amounts = x.amounts, rate = rate })
  view:leave(x.job)
  log:start(x.job, x.machines, view.now)
end

--- @tparam table given { pause = { job }, refuse = { job or { job, cause } }, rate = { { job, rate } },
-- start = { { job, machines, amounts, rate } }, wake = s or false }
function plan.carry_out(view, log, given)
  local core = view.core
  entries.check(given, KEYS)
  for i, j in ipairs(entries.list(given, "pause")) do
    decide(("plan.pause[%d]"):format(i), core.pause, core, j)
    view:enter(j)
    log:stop(j, view.now)
  end
  for i, entry in ipairs(entries.list(given, "refuse")) do
    local x = entries.entry("refuse", i, entry, ENTRY.refuse)
    decide(("plan.refuse[%d]"):format(i), core.refuse, core, x.job, x.cause)
    view:leave(x.job)
  end
  for i, entry in ipairs(entries.list(given, "rate")) do
    local x = entries.entry("rate", i, entry, ENTRY.rate)
    decide(("plan.rate[%d]"):format(i), core.set_rate, core, x.job, x.rate)
  end
  for i, entry in ipairs(entries.list(given, "start")) do
    start(view, log, ("plan.start[%d]"):format(i), entries.entry("start", i, entry, ENTRY.start))
  end
  if given.wake ~= nil then decide("plan.wake", core.wake, core, given.wake or nil) end
end

return plan
