--- Options of training: what is legal, what is recommended, what was published.
-- @module berth.agents.settings
local check = require "berth.agents.check"
local options = require "berth.base.options"
local rewards = require "berth.agents.rewards"

local settings = {}

--- What a stage, a call of train and an agent may say, later ones first.
settings.legal = { "batch", "baseline", "clip", "decay", "entropy", "epsilon", "gamma", "how", "normalise", "parts",
  "published_marks", "rate", "teacher", "ties", "unit" }

settings.recommended = { batch = 8, baseline = "batch", clip = 1, decay = 0.9, entropy = 0, epsilon = 0, gamma = 1,
  how = "sample", normalise = "batch", published_marks = false, rate = { 3e-3, 0 }, teacher = "units",
  ties = "textbook", unit = 1 }
settings.published = { batch = 1, baseline = "all", clip = false, decay = 0.9, entropy = 0, epsilon = { 0.2, 0 }, gamma = 0.99,
  how = "greedy", normalise = "none", published_marks = true, rate = 1e-4,
  teacher = "critical-path", ties = "code", unit = 1 }

local stage_defaults = {
  recommended = { I = { epsilon = { 0.5, 0 } }, II = { rate = { 1e-3, 0 } }, III = { rate = { 1e-3, 0 } } },
  published = { I = { rate = 1e-3, epsilon = { 1, 0 }, entropy = 1e-3 }, II = {}, III = {} },
}
settings.stages = {
  recommended = { { stage = "I", episodes = 1600 }, { stage = "II", episodes = 2000 } },
  published = { { stage = "I", episodes = 2000 }, { stage = "II", episodes = 2000 } },
}

-- A number, or { from, to } over the stage.
local function check_course(fn, key, value, most)
  if type(value) ~= "table" then return check.number(fn, key, value, 0, most) end
  for _, at in ipairs(options.sorted_keys(value)) do
    if at ~= 1 and at ~= 2 then options.fail("%s: %s: expected a number or { from, to }, got key %s", fn, key, tostring(at)) end
  end
  check.number(fn, key .. "[1]", value[1], 0, most)
  check.number(fn, key .. "[2]", value[2], 0, most)
end

local function choice(known)
  return function(fn, key, value) check.choice(fn, key, value, known) end
end

local function number(least, most)
  return function(fn, key, value) check.number(fn, key, value, least, most) end
end

local function course_to(most)
  return function(fn, key, value) check_course(fn, key, value, most) end
end

local function whole(fn, key, value) check.whole(fn, key, value, 1, 1e6) end

local checks = { baseline = choice(rewards.baselines), normalise = choice(rewards.divisors),
  how = choice { sample = true, greedy = true }, teacher = choice { units = true, ["critical-path"] = true },
  ties = choice { textbook = true, code = true }, rate = course_to(10), epsilon = course_to(1), entropy = course_to(1e6),
  gamma = number(0, 1), decay = number(0, 1), unit = number(1e-30, 1e30), batch = whole, parts = whole,
  published_marks = check.flag }

function checks.clip(fn, key, value)
  if value ~= false then check.number(fn, key, value, 1e-30, 1e30) end
end

--- Raises for a setting that can mean nothing; those that are not given are not looked at.
function settings.check_given(fn, given)
  for _, key in ipairs(settings.legal) do
    if given[key] ~= nil then checks[key](fn, key, given[key]) end
  end
  return given
end

--- Raises for what makes no sense together; gives the settings.
function settings.check(fn, o)
  settings.check_given(fn, o)
  local compares = o.baseline == "batch" or o.normalise == "batch"
  if compares and (o.batch == 1 or o.stage ~= "I" and o.episodes == 1) then
    options.fail("%s: batch: one episode has no mean to be better than: use baseline \"all\" and normalise \"running\"", fn)
  end
  return o
end

local searchers = { anneal = true, ["local"] = true, brkga = true }
local search_options = { "placer", "calls", "seconds", "seed", "restarts", "threads", "judge", "objective", "steepest",
  "population", "elite", "mutants", "bias", "links", "memory", "param_multiple", "quantum" }

-- The stage whose seconds the best is kept by.
local function last_judge(stages)
  local last
  for _, entry in ipairs(type(stages) == "table" and stages or {}) do
    if type(entry) == "table" and entry.stage ~= "I" then last = entry.stage end
  end
  return last
end

local function check_search(fn, search, stages)
  check.type(fn, "search", search, "table")
  if last_judge(stages) == "III" then options.fail("%s: search: asks the simulator: not after stage III", fn) end
  fn = fn .. ": search"
  options.check(fn, search, search_options)
  if search.placer ~= nil then check.choice(fn, "placer", search.placer, searchers) end
  if search.calls ~= nil then check.whole(fn, "calls", search.calls, 1, 1e12) end
end

-- Each task has a last look, and its search.
local function check_calls(fn, o, tasks)
  if o.calls == nil then return end
  check.whole(fn, "calls", o.calls, 1, 1e15)
  local least = tasks * (1 + (o.search and (o.search.calls or 1000) or 0))
  if o.calls >= least then return end
  options.fail("%s: calls: %.0f are too few: %.0f for a last look at each task%s", fn, o.calls, least,
    o.search and " and its search" or "")
end

--- Raises for options of a training, other than stages and settings, that can mean nothing.
-- @tparam string fn
-- @tparam table o
-- @tparam int tasks how many
function settings.check_training(fn, o, tasks)
  for _, key in ipairs { "progress", "objective" } do
    if o[key] ~= nil then check.type(fn, key, o[key], "function") end
  end
  if o.checkpoint ~= nil then check.type(fn, "checkpoint", o.checkpoint, "string") end
  if o.resume ~= nil then check.flag(fn, "resume", o.resume) end
  if o.every ~= nil then
    check.whole(fn, "every", o.every, 1, 1e15)
    if not o.checkpoint then options.fail("%s: every: means nothing without checkpoint", fn) end
  end
  if o.search ~= nil then check_search(fn, o.search, o.stages) end
  check_calls(fn, o, tasks)
  settings.check_given(fn, o)
end

--- Is it the name of a setting?
function settings.is(key) return checks[key] ~= nil end

--- Those keys of a table that are settings.
function settings.of(given)
  local out = {}
  for _, key in ipairs(settings.legal) do out[key] = (given or {})[key] end
  return out
end

local function stage(fn, preset, entry, own, given)
  local legal = options.merge(settings.legal)
  legal[#legal + 1], legal[#legal + 2] = "stage", "episodes"
  check.type(fn, "stage", entry, "table")
  options.check(fn, entry, legal)
  check.choice(fn, "stage", entry.stage, { I = true, II = true, III = true })
  check.whole(fn, "episodes", entry.episodes or 1000, 1, 1e12)
  local o = options.merge(settings[preset], stage_defaults[preset][entry.stage], own, given, settings.of(entry))
  o.stage, o.episodes = entry.stage, entry.episodes or 1000
  return settings.check(fn, o)
end

--- The stages of a training with all they need.
-- @tparam string preset "recommended" or "published"
-- @tparam ?table list of { stage =, episodes =, settings }
-- @tparam table own settings of the agent
-- @tparam table given settings of this call
function settings.read(preset, list, own, given)
  local out = {}
  if list ~= nil then check.type("agent:train", "stages", list, "table") end
  if list and #list == 0 then options.fail("agent:train: stages: expected at least one stage") end
  for i, entry in ipairs(list or settings.stages[preset]) do
    out[i] = stage(("agent:train: stages[%d]"):format(i), preset, entry, own, given)
  end
  return out
end

--- The value of a number or { from, to } at this part (0 to 1) of the stage.
function settings.at(course, part)
  if type(course) ~= "table" then return course end
  return course[1] + (course[2] - course[1]) * part
end

return settings
