--- What a policy in Lua sees of a run, and how what it returns is carried out.
local core = require "berth.core"
local options = require "berth.options"

local view = {}
local View = { __name = "berth.pdors.view" }
View.__index = View

--- @param problem of berth.pdors.problem
-- @param run the core's
function view.new(problem, run, seed)
  return setmetatable({ problem = problem, run = run, rng = core.rng(seed), slot = 0, slots = problem.slots,
    machines = problem.machines, resources = problem.resources, slot_seconds = problem.slot_seconds }, View)
end

--- The job's own table, as in the problem.
function View:job(j) return self.problem.jobs[j] end
--- Jobs that arrived and are neither done nor refused, by arrival.
function View:active() return self.run:active() end
--- Samples that are left of a job.
function View:left(j) return self.run:left(j) end
--- What is not assigned yet in this slot: an array per machine.
function View:free() return self.run:free() end
--- Places of a job in the last slot in which it had any: { { machine, workers, servers }, ... }.
function View:places(j) return self.run:places(j) end
function View:record(j) return self.run:record(j) end
function View:speed(j, places) return self.problem:speed(j, places) end
function View:utility(j, slots) return self.problem:utility(j, slots) end

-- ---- plans ----------------------------------------------------------------------------------------------

local LEGAL = { assign = true, refuse = true }
local ENTRY = { assign = { job = true, places = true }, refuse = { job = true, cause = true } }

-- Why something is wrong, to whom the error is worded by: see run.lua.
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
  for name in pairs(list) do
    if type(name) ~= "number" then wrong("plan.%s: expected an array of entries, got a table with '%s'", key, tostring(name)) end
  end
  return list
end

local function entry_of(key, i, entry)
  if key == "refuse" and type(entry) == "number" then return { job = entry } end
  if type(entry) ~= "table" then wrong("plan.%s[%d]: expected a table, got %s", key, i, type(entry)) end
  check_keys(("plan.%s[%d]"):format(key, i), entry, ENTRY[key])
  return entry
end

local function decide(where, f, ...)
  local fine, done, message = pcall(f, ...)
  if fine and done then return end
  wrong("%s: %s", where, (tostring(fine and message or done):gsub("^.-run:%a+: ", ""):gsub("^ps: ", "")))
end

--- @tparam table given { assign = { { job, places = { { machine, workers, servers }, ... } }, ... },
-- refuse = { job or { job, cause } } }
function View:carry_out(given)
  if type(given) ~= "table" then wrong("expected a plan or nil, got %s", type(given)) end
  check_keys("plan", given, LEGAL)
  for i, entry in ipairs(list_of(given, "refuse")) do
    local x = entry_of("refuse", i, entry)
    decide(("plan.refuse[%d]"):format(i), self.run.refuse, self.run, x.job, x.cause)
  end
  for i, entry in ipairs(list_of(given, "assign")) do
    local x = entry_of("assign", i, entry)
    decide(("plan.assign[%d]"):format(i), self.run.assign, self.run, x.job, x.places)
  end
end

return view
