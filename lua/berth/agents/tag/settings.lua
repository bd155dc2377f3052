--- Settings of the training of TAG's agent.
-- @module berth.agents.tag.settings
local check = require "berth.agents.check"
local options = require "berth.base.options"

local settings = {}

--- calls: of the search of a game; states: strategies of a game that are learned from; groups: questions about each;
-- changes: of these, how many are answered by trying each action, too; batch: states in one step of Adam; passes: how often each
-- state is seen; share: of the time that games may take; rounds: of games and steps in turns; ops: of a model at most.
settings.search = { teacher = "search", calls = 1200, states = 8, groups = 10, changes = 1, batch = 4, passes = 8,
  share = 0.35, rounds = 1, rate = { 1e-3, 0 }, clip = 1, ops = 300, op_groups = 60 }
settings.visits = { teacher = "visits", calls = 800, states = 12, groups = 16, changes = 0, batch = 1, passes = 4,
  share = 0.5, rounds = 4, rate = 1e-4, clip = 0.6, ops = 300, op_groups = 40 }
settings.names = options.sorted_keys(settings.search)

local whole = { calls = { 1, 1e9 }, states = { 1, 1e4 }, groups = { 1, 1e4 }, batch = { 1, 1e4 }, passes = { 1, 1e4 },
  rounds = { 1, 1e4 }, ops = { 20, 1e5 }, op_groups = { 2, 1e4 }, changes = { 0, 1e4 } }
local numbers = { share = { 0, 1 }, clip = { 1e-30, 1e30 } }

local function check_rate(fn, rate)
  if type(rate) ~= "table" then return check.number(fn, "rate", rate, 0, 10) end
  check.number(fn, "rate[1]", rate[1], 0, 10)
  check.number(fn, "rate[2]", rate[2], 0, 10)
end

--- All settings of a training; raises for what can mean nothing.
function settings.complete(fn, given)
  local teacher = given.teacher or "search"
  check.choice(fn, "teacher", teacher, { search = true, visits = true })
  local o = options.merge(settings[teacher], given)
  for _, key in ipairs(options.sorted_keys(whole)) do check.whole(fn, key, o[key], whole[key][1], whole[key][2]) end
  for _, key in ipairs(options.sorted_keys(numbers)) do check.number(fn, key, o[key], numbers[key][1], numbers[key][2]) end
  check_rate(fn, o.rate)
  return o
end

--- The rate at this part (0 to 1) of the training.
function settings.rate(o, part)
  if type(o.rate) ~= "table" then return o.rate end
  return o.rate[1] + (o.rate[2] - o.rate[1]) * part
end

return settings
