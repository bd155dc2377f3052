--- Training: batches of episodes, what they are worth, one step of Adam after each.
--
-- A policy has params (nn.parameters), view(env), encode(view), rollout(view, state, episodes,
-- options), loss(view, state, log, weights, options), imitate(view, state, episodes, options) ->
-- seen with seen.log, and imitation_loss(view, state, seen, options). encode and the losses run on
-- a tape; losses are means over the episodes.
-- @module berth.agents.trainer
local nn = require "berth.nn"
local options = require "berth.base.options"
local interrupt = require "berth.base.interrupt"
local checkpoint = require "berth.agents.checkpoint"
local evaluate = require "berth.agents.evaluate"
local ranks = require "berth.agents.ranks"
local resume = require "berth.agents.resume"
local settings = require "berth.agents.settings"
local tasks = require "berth.agents.tasks"
local update = require "berth.agents.update"

local trainer = {}

local function check_stage(fn, o, stage, i)
  options.refuse(stage.stage == "III" and not o.objective,
    "%s: stages[%d]: stage III needs objective, a function of placements that gives their seconds",
    fn, i)
  if o.ranks and stage.parts and stage.parts % o.ranks.size ~= 0 then
    options.fail("%s: stages[%d]: parts: %.0f of them cannot be split evenly over %.0f ranks", fn,
      i, stage.parts, o.ranks.size)
  end
end

local function read_options(agent, given)
  local fn = "agent:train"
  local o = options.check(fn, given, options.join(options.keys "agents.train", settings.legal))
  checkpoint.check(fn, o)
  local stages = settings.read(agent.preset, o.stages, agent.settings, settings.of(o))
  ranks.check(fn, o.ranks)
  for i, stage in ipairs(stages) do check_stage(fn, o, stage, i) end
  return o, stages
end

local function size_of_update(run, stage)
  local n = math.min(stage.batch, stage.episodes - run.at.episode)
  if stage.stage ~= "I" then n = math.min(n, evaluate.calls_left(run)) end
  local least = stage.stage ~= "I" and (stage.baseline == "batch" or stage.normalise == "batch")
    and 2 or 1
  return n >= least and n or 0
end

local function report_progress(run, stage, mean)
  if not run.o.progress then return end
  local task = run.tasks[run.current]
  run.o.progress { stage = stage.stage, episode = run.at.episode, calls = run.at.calls,
    task = run.current, mean = mean, best = task.kept.best, loss = run.loss }
end

local function one_update(run, stage, n)
  run.current = run.at.updates % #run.tasks + 1
  local mean, message, code = update.run(run, stage, run.tasks[run.current], n)
  if not mean and message then return nil, message, code end
  run.at.episode, run.at.episodes, run.at.updates = run.at.episode + n, run.at.episodes + n,
    run.at.updates + 1
  local kept
  kept, message, code = resume.keep(run)
  if not kept then return nil, message, code end
  report_progress(run, stage, mean or nil)
  return true
end

local function all_stages(run)
  while run.at.stage <= #run.stages do
    local stage = run.stages[run.at.stage]
    local n = size_of_update(run, stage)
    while n > 0 do
      local done, message, code = one_update(run, stage, n)
      if not done then return nil, message, code end
      n = size_of_update(run, stage)
    end
    run.at.stage, run.at.episode = run.at.stage + 1, 0
  end
  return true
end

local function report(run, interrupted)
  local at = run.at
  local out = { episodes = at.episodes, updates = at.updates, calls = at.calls,
    interrupted = interrupted, tasks = {} }
  for i, task in ipairs(run.tasks) do
    out.tasks[i] = { name = task.name, best = task.kept.best, placement = task.kept.placement,
      greedy = task.greedy, searched = task.searched }
  end
  return out
end

local function all(run)
  local done, message, code = all_stages(run)
  if not done then return nil, message, code end
  return evaluate.last(run)
end

-- Processes that have read different checkpoints, or one of them none, would go on as different
-- agents.
local function check_alike(run)
  if not run.ranks then return end
  local updates = {}
  for r = 1, run.ranks.size do updates[r] = r == run.ranks.rank and run.at.updates or 0 end
  updates = run.ranks:numbers(updates)
  for r = 2, #updates do
    if updates[r] ~= updates[1] then
      options.fail("agent:train: resume: rank 1 resumes after %.0f updates, rank %.0f after %.0f: "
        .. "all must read one checkpoint", updates[1], r, updates[r])
    end
  end
end

local function start(agent, list, given)
  local o, stages = read_options(agent, given)
  local first = type(list) == "table" and list[1]
  -- its devices: what some networks are tied to
  local topology = type(first) == "table" and first.topology
  options.refuse(not topology, "agent:train: tasks: expected { { graph =, topology = }, ... }")
  local policy = agent:network(#topology)
  local read, message, code = tasks.read(policy, list, agent.features)
  if not read then return nil, message, code end
  local run = { agent = agent, policy = policy, o = o, stages = stages, tasks = read, tapes = {},
    ranks = o.ranks, adam = nn.adam(policy.params), at = { stage = 1, episode = 0, episodes = 0,
      updates = 0, calls = 0 } }
  run, message, code = resume.begin(run)
  if run then check_alike(run) end
  return run, message, code
end

-- What stops one process stops all: at their next exchange the others raise, or report, the same.
local function stopped(run, message, kind)
  if kind ~= "interrupted" then
    if run.ranks then error(message, 0) end
    return nil, message, kind
  end
  if run.ranks then run.ranks:stop(message) end
  return report(run, message)
end

local function is_interrupt(run, message)
  return interrupt.is(message) or (run.ranks and run.ranks.stopped)
end

--- Trains an agent on tasks in turn, an update each.
-- @tparam agent agent
-- @tparam table list tasks: { graph =, topology =, name =, cost =, unit =, contract =, judge = {
--  graph =, simulator's } }
-- @tparam[opt] table given stages, calls, checkpoint, every, resume, ranks, progress, objective,
--  search, and settings
-- @treturn[1] table episodes, updates, calls, interrupted (message), tasks: best, placement,
--  greedy, searched
-- @treturn[2] nil
-- @treturn[2] string message; raised if there are ranks
-- @treturn[2] string code
function trainer.train(agent, list, given)
  local run, message, code = start(agent, list, given)
  if not run then
    if given and given.ranks then error(message, 0) end
    return nil, message, code
  end
  local ran, done, why, kind = pcall(all, run)
  if not ran then
    if not is_interrupt(run, done) then error(done, 0) end
    return stopped(run, "interrupted", "interrupted")
  end
  if not done then return stopped(run, why, kind) end
  return report(run)
end

return trainer
