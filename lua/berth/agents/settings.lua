--- Options of training: what is legal, what is recommended, what was published.
-- @module berth.agents.settings
require "berth.agents.checkpoint" -- declares its options
local check = require "berth.agents.check"
local options = require "berth.base.options"
local presets = require "berth.agents.presets"

local settings = {}

-- ---- descriptors --------------------------------------------------------------------------------

-- Each with its values in the presets, and those of stages that have others.
local rows = {
  { key = "batch", type = "whole", low = 1, high = 1e6, recommended = 8, published = 1,
    text = "episodes in lock-step for one step of Adam" },
  { key = "rate", type = "course", high = 10, recommended = { 3e-3, 0 }, published = 1e-4,
    text = "of Adam", stages = { recommended = { II = { 1e-3, 0 }, III = { 1e-3, 0 } },
      published = { I = 1e-3 } } },
  { key = "how", type = "choice", recommended = "sample", published = "greedy",
    text = "how an action is chosen", choices = {
      { name = "sample",
        text = "Drawn from the softmax mixed with epsilon of uniform, with the log probability of "
          .. "the mixture." },
      { name = "greedy", text = "The likeliest, with epsilon a uniform one, with the log "
        .. "probability of the policy alone." } } },
  { key = "epsilon", type = "course", high = 1, recommended = 0, published = { 0.2, 0 },
    text = "share of uniform choices; teachers units and portfolio do not read it in stage I",
    stages = { recommended = { I = { 0.5, 0 } }, published = { I = { 1, 0 } } } },
  { key = "gamma", type = "number", high = 1, recommended = 1, published = 0.99,
    text = "discount from the last step back" },
  { key = "baseline", type = "choice", recommended = "batch", published = "all",
    text = "what a reward is compared with", choices = {
    { name = "batch", text = "Mean of the batch." },
    { name = "all", text = "Mean of all episodes so far, the current ones included." },
    { name = "exponential", text = "Mean with weights that fall by decay." },
    { name = "best", text = "The best seen." } } },
  { key = "decay", type = "number", high = 1, recommended = 0.9, published = 0.9,
    text = "of the baseline exponential" },
  { key = "normalise", type = "choice", recommended = "batch", published = "none",
    text = "what advantages are divided by",
    choices = {
      { name = "none", text = "The option unit." },
      { name = "batch", text = "The deviation of the batch." },
      { name = "running", text = "The deviation of all so far." } } },
  { key = "unit", type = "number", low = 1e-30, high = 1e30, recommended = 1, published = 1,
    text = "normalise none: s that advantages are divided by" },
  { key = "entropy", type = "course", high = 1e6, recommended = 0, published = 0,
    text = "weight of the entropies' sum over an episode",
    stages = { published = { I = 1e-3 } } },
  { key = "clip", type = "number", low = 1e-30, high = 1e30, off = true, recommended = 1,
    published = false, text = "norm of the gradient; false: none" },
  { key = "parts", type = "whole", low = 1, high = 1e6, default = "by the batch",
    text = "a batch is cut into so many parts of consecutive episodes" },
  { key = "teacher", type = "choice", recommended = "portfolio", published = "critical-path",
    text = "of stage I. The joint network and policies that do not follow always have "
      .. "critical-path", choices = {
        { name = "portfolio",
          text = "The better of the portfolio's answer and of one demonstration of units, by the "
            .. "judge, which the policy follows op by op. It counts as seen: the best of the "
            .. "training is never worse." },
        { name = "units",
          text = "The list scheduler on contracted units shows whole placements, which the policy "
            .. "follows op by op." },
        { name = "critical-path",
          text = "What the list scheduler would do next, at states that the policy's own episodes "
            .. "visit." } } },
  { key = "ties", type = "choice", recommended = "textbook", published = "code",
    text = "of the teacher", choices = {
      { name = "textbook", text = "All of the best are marked." },
      { name = "code", text = "Of k equals, the first k candidates, as the published "
        .. "program." } } },
  { key = "published_marks", type = "flag", recommended = false, published = true,
    text = "all tied choices of the teacher weigh 1 together, not each; teacher units does not "
      .. "read it" },
}

options.declare("agents.train", options.join({
  { key = "stages", type = "table", default = "by the preset",
    text = "array of { stage =, episodes =, and settings }: I imitation, II simulator, III "
      .. "measured times" },
  { key = "calls", type = "whole", low = 1, high = 1e15, default = "no limit",
    text = "simulator calls of all stages" },
  { key = "every", type = "whole", low = 1, high = 1e15, default = "10",
    text = "updates between checkpoints" },
  { key = "ranks", type = "ranks", default = "none",
    text = "processes that share each batch: berth.agents.ranks" },
  { key = "objective", type = "function", default = "none",
    text = "of stage III: placements to their seconds" },
  { key = "search", type = "table", default = "none",
    text = "a search begins from the best placement: placer (anneal, local, brkga), calls, and "
      .. "options of berth.place" },
}, options.rows "agents.checkpoint"))

local values = presets.declare("agents.settings", { "recommended", "published" }, rows)
settings.recommended, settings.published = values.recommended, values.published

-- By preset and stage: what differs there.
local stage_defaults = { recommended = { I = {}, II = {}, III = {} },
  published = { I = {}, II = {}, III = {} } }
for _, row in ipairs(rows) do
  for preset, stages in pairs(row.stages or {}) do
    for stage, x in pairs(stages) do stage_defaults[preset][stage][row.key] = x end
  end
end

--- Settings of a stage, a call of train and an agent; the first overrides the others.
settings.legal = options.keys "agents.settings"
settings.stages = {
  recommended = { { stage = "I", episodes = 1600 }, { stage = "II", episodes = 2000 } },
  published = { { stage = "I", episodes = 2000 }, { stage = "II", episodes = 2000 } },
}

--- Raises for values that are not legal; settings that are not given are not checked.
function settings.check_given(fn, given)
  return options.check_values(fn, "agents.settings", given)
end

--- Raises for what makes no sense together; gives the settings.
function settings.check(fn, o)
  settings.check_given(fn, o)
  local compares = o.baseline == "batch" or o.normalise == "batch"
  if compares and (o.batch == 1 or o.stage ~= "I" and o.episodes == 1) then
    options.fail("%s: batch: one episode has no mean to be better than: use baseline \"all\" and "
      .. "normalise \"running\"", fn)
  end
  return o
end

options.declare("agents.search", options.join({
  { key = "placer", type = "choice", default = "anneal", text = "that searches", choices = {
    { name = "anneal", text = "Annealing." }, { name = "brkga", text = "A genetic algorithm." },
    { name = "local", text = "Local search." } } },
  { key = "calls", type = "whole", low = 1, high = 1e12, default = "1000",
    text = "of the simulator, for each task" },
}, options.rows("place", "seconds seed restarts threads judge objective steepest population elite "
  .. "mutants bias links memory param_multiple quantum")))

-- The stage whose seconds the best is kept by.
local function last_judge(stages)
  local last
  for _, entry in ipairs(type(stages) == "table" and stages or {}) do
    if type(entry) == "table" and entry.stage ~= "I" then last = entry.stage end
  end
  return last
end

local function check_search(fn, search, stages)
  options.expect(search, "table", "%s: search", fn)
  options.refuse(last_judge(stages) == "III", "%s: search: runs the simulator: not after stage III",
    fn)
  fn = fn .. ": search"
  options.read(fn, "agents.search", search)
end

-- Each task has a last look, and its search.
local function check_calls(fn, o, tasks)
  if o.calls == nil then return end
  local least = tasks * (1 + (o.search and (o.search.calls or 1000) or 0))
  if o.calls >= least then return end
  options.fail("%s: calls: %.0f are too few: %.0f for a last look at each task%s", fn, o.calls,
    least, o.search and " and its search" or "")
end

--- Raises for options of a training, other than stages and settings, that are not legal.
-- @tparam string fn
-- @tparam table o
-- @tparam int tasks how many
function settings.check_training(fn, o, tasks)
  options.check_values(fn, "agents.train", o)
  if o.every and not o.checkpoint then options.fail("%s: every: requires checkpoint", fn) end
  if o.search ~= nil then check_search(fn, o.search, o.stages) end
  check_calls(fn, o, tasks)
  settings.check_given(fn, o)
end

local known = options.by_key "agents.settings"

--- Is it the name of a setting?
function settings.is(key) return known[key] ~= nil end

--- Those keys of a table that are settings.
function settings.of(given)
  local out = {}
  for _, key in ipairs(settings.legal) do out[key] = (given or {})[key] end
  return out
end

options.declare("agents.stage", options.join(options.rows "agents.settings", {
  { key = "stage", type = "name", default = "none; must be given",
    text = "I imitation, II simulator, III measured times" },
  { key = "episodes", type = "whole", low = 1, high = 1e12, default = "1000", text = "how many" },
}))

local function stage(fn, preset, entry, own, given)
  options.expect(entry, "table", "%s: stage", fn)
  options.check(fn, entry, "agents.stage")
  check.choice(fn, "stage", entry.stage, { I = true, II = true, III = true })
  check.whole(fn, "episodes", entry.episodes or 1000, 1, 1e12)
  local o = options.merge(settings[preset], stage_defaults[preset][entry.stage], own, given,
    settings.of(entry))
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
  if list ~= nil then options.expect(list, "table", "agent:train: stages") end
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
