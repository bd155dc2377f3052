--- Carries out what a scheduler returns: pauses, refusals, rates, starts, a wake, in this order.
local interrupt = require "berth.interrupt"
local options = require "berth.options"

local plan = {}

local KEYS = { pause = true, refuse = true, rate = true, start = true, wake = true }
local ENTRY = {
  refuse = { job = true, cause = true }, rate = { job = true, rate = true },
  start = { job = true, machines = true, amounts = true, rate = true },
}

-- Why something is wrong, to whom the error is worded by: see simulate.lua.
local function wrong(format, ...) error({ plan = format:format(...) }, 0) end

local function check_keys(where, t, legal)
  for _, key in ipairs(options.sorted_keys(t)) do
    if not legal[key] then wrong("%s: unknown key '%s'", where, tostring(key)) end
  end
end

local function list_of(given, key)
  local list = given[key]
  if list == nil then return {} end
  if type(list) ~= "table" then wrong("plan.%s: expected an array, got %s", key, type(list)) end
  local n = 0
  for name in pairs(list) do
    if type(name) ~= "number" then wrong("plan.%s: expected an array of entries, got a table with '%s'", key, tostring(name)) end
    n = n + 1
  end
  for i = 1, n do
    if list[i] == nil then wrong("plan.%s[%d]: expected an entry, got nil", key, i) end
  end
  return list
end

local function entry_of(key, i, entry)
  if key == "refuse" and type(entry) == "number" then return { job = entry } end
  if type(entry) ~= "table" then wrong("plan.%s[%d]: expected a table, got %s", key, i, type(entry)) end
  check_keys(("plan.%s[%d]"):format(key, i), entry, ENTRY[key])
  return entry
end

-- The core raises mistakes, with the place in the caller's code, and gives back what does not fit.
local function decide(where, f, ...)
  local fine, done, message = pcall(f, ...)
  if fine and done then return end
  local text = tostring(fine and message or done)
  wrong("%s: %s", where, (text:gsub("^.*cluster:[%a_]+: ", ""):gsub("^cluster: ", "")))
end

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
  if type(given) ~= "table" then wrong("expected a plan or nil, got %s", type(given)) end
  check_keys("plan", given, KEYS)
  for i, j in ipairs(list_of(given, "pause")) do
    decide(("plan.pause[%d]"):format(i), core.pause, core, j)
    view:enter(j)
    log:stop(j, view.now)
  end
  for i, entry in ipairs(list_of(given, "refuse")) do
    local x = entry_of("refuse", i, entry)
    decide(("plan.refuse[%d]"):format(i), core.refuse, core, x.job, x.cause)
    view:leave(x.job)
  end
  for i, entry in ipairs(list_of(given, "rate")) do
    local x = entry_of("rate", i, entry)
    decide(("plan.rate[%d]"):format(i), core.set_rate, core, x.job, x.rate)
  end
  for i, entry in ipairs(list_of(given, "start")) do
    start(view, log, ("plan.start[%d]"):format(i), entry_of("start", i, entry))
  end
  if given.wake ~= nil then decide("plan.wake", core.wake, core, given.wake or nil) end
end

return plan
