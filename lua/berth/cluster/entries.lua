--- Reads what a scheduler returns: a table of lists of entries, each with its keys. What is wrong is raised as { plan = words },
-- for whoever knows the scheduler and the event.
local interrupt = require "berth.base.interrupt"
local options = require "berth.base.options"

local entries = {}

function entries.wrong(format, ...) error({ plan = format:format(...) }, 0) end

local wrong = entries.wrong

local function check_keys(where, t, legal)
  for _, key in ipairs(options.sorted_keys(t)) do
    if not legal[key] then wrong("%s: unknown key '%s'", where, tostring(key)) end
  end
end

--- @tparam table legal set of keys
function entries.check(given, legal)
  if type(given) ~= "table" then wrong("expected a plan or nil, got %s", type(given)) end
  check_keys("plan", given, legal)
end

--- The list of that name, without holes; empty if there is none.
function entries.list(given, key)
  local list, n = given[key], 0
  if list == nil then return {} end
  if type(list) ~= "table" then wrong("plan.%s: expected an array, got %s", key, type(list)) end
  for name in pairs(list) do
    if type(name) ~= "number" then wrong("plan.%s: expected an array of entries, got a table with '%s'", key, tostring(name)) end
    n = n + 1
  end
  for i = 1, n do
    if list[i] == nil then wrong("plan.%s[%d]: expected an entry, got nil", key, i) end
  end
  return list
end

--- @tparam table legal set of keys of an entry; a job that is refused may stand alone
function entries.entry(key, i, entry, legal)
  if key == "refuse" and type(entry) == "number" then return { job = entry } end
  if type(entry) ~= "table" then wrong("plan.%s[%d]: expected a table, got %s", key, i, type(entry)) end
  check_keys(("plan.%s[%d]"):format(key, i), entry, legal)
  return entry
end

--- Takes a decision of the core, which raises mistakes, with the place in the caller's code, and gives back what does not fit.
function entries.decide(where, f, ...)
  local fine, done, message = pcall(f, ...)
  if fine and done then return end
  if not fine and interrupt.is(done) then error(done, 0) end
  local text = tostring(fine and message or done)
  wrong("%s: %s", where, (text:gsub("^.*cluster:[%a_]+: ", ""):gsub("^.-run:%a+: ", ""):gsub("^cluster: ", ""):gsub("^ps: ", "")))
end

return entries
