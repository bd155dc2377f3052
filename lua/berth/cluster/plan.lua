--- Checks and carries out what schedulers return: a table of lists of entries. What is wrong is
-- raised as { plan = words }, for the caller, which adds the scheduler and the event.
local interrupt = require "berth.base.interrupt"
local options = require "berth.base.options"

local plan = {}

function plan.wrong(format, ...) error({ plan = format:format(...) }, 0) end

local wrong = plan.wrong

local function check_keys(where, t, legal)
  for _, key in ipairs(options.sorted_keys(t)) do
    if not legal[key] then wrong("%s: unknown key '%s'", where, tostring(key)) end
  end
end

-- The list of that name, without holes; empty if there is none.
local function list_of(given, key)
  local list, n = given[key], 0
  if list == nil then return {} end
  if type(list) ~= "table" then wrong("plan.%s: expected an array, got %s", key, type(list)) end
  for name in pairs(list) do
    if type(name) ~= "number" then
      wrong("plan.%s: expected an array of entries, got a table with '%s'", key, tostring(name))
    end
    n = n + 1
  end
  for i = 1, n do
    if list[i] == nil then wrong("plan.%s[%d]: expected an entry, got nil", key, i) end
  end
  return list
end

-- A job that is paused or refused may stand alone.
local function entry_of(where, entry, decision)
  if decision.alone and type(entry) == "number" then return { job = entry } end
  if type(entry) ~= "table" then
    wrong("%s: expected %s, got %s", where, decision.alone and "a job or a table" or "a table",
      type(entry))
  end
  check_keys(where, entry, decision.keys)
  return entry
end

--- Takes a decision of the core, which raises mistakes, with the place in the caller's code, and
-- gives back what does not fit.
function plan.decide(where, f, ...)
  local fine, done, message = pcall(f, ...)
  if fine and done ~= nil then return end
  if not fine and interrupt.is(done) then error(done, 0) end
  local text = tostring(fine and message or done)
  wrong("%s: %s", where,
    (text:gsub("^.*cluster:[%a_]+: ", ""):gsub("^.-run:%a+: ", ""):gsub("^cluster: ",
      ""):gsub("^ps: ", ""):gsub("^pacml: ", "")))
end

--- What a kind of cluster takes: decisions in the order in which they are carried out.
-- @tparam table list array of { name; keys (set of those of an entry; nil: it is no list but one
--  value), alone (an entry may be a job), act = function(where, entry) }
function plan.kind(list)
  list.legal = {}
  for _, decision in ipairs(list) do list.legal[decision.name] = true end
  return list
end

--- @tparam table kind of plan.kind
function plan.carry_out(kind, given)
  if type(given) ~= "table" then wrong("expected a plan or nil, got %s", type(given)) end
  check_keys("plan", given, kind.legal)
  for _, decision in ipairs(kind) do
    local name = decision.name
    if not decision.keys then
      if given[name] ~= nil then decision.act("plan." .. name, given[name]) end
    else
      for i, entry in ipairs(list_of(given, name)) do
        local where = ("plan.%s[%d]"):format(name, i)
        decision.act(where, entry_of(where, entry, decision))
      end
    end
  end
end

return plan
