--- One update: a batch of episodes, what they are worth, one step of Adam.
-- @module berth.agents.update
local nn = require "berth.nn"
local demonstrate = require "berth.agents.demonstrate"
local evaluate = require "berth.agents.evaluate"
local rewards = require "berth.agents.rewards"
local settings = require "berth.agents.settings"
local tasks = require "berth.agents.tasks"

local update = {}

local function slice(list, before, count)
  local out = {}
  for i = 1, count do out[i] = list[before + i] end
  return out
end

-- What this process does of a batch: how many episodes there are before its own, and how many are its own.
local function share(run, n)
  if not run.ranks then return 0, n end
  return run.ranks:share(n)
end

local function at_present(run, stage, part)
  local now = stage.episodes > 1 and run.at.episode / stage.episodes or 0
  return { how = stage.how, epsilon = settings.at(stage.epsilon, now), entropy = settings.at(stage.entropy, now) * part,
    ties = stage.ties, published_marks = stage.published_marks }, settings.at(stage.rate, now)
end

-- The gradient of all processes, clipped, and Adam.
local function step(run, stage, rate)
  local p = run.policy.params
  if run.ranks then p:set_flat("gradients", run.ranks:sum(p:flat("gradients"))) end
  if stage.clip then p:clip(stage.clip) end
  run.adam:step(rate)
end

local function learn(run, f)
  local loss = run.tape:record(f)
  run.loss = loss:item()
  run.tape:backward(loss)
end

-- What the loss of the demonstrations at hand needs: each step's weight is the same.
local function demonstrated(run, task, state, e, o, first)
  demonstrate.run(task, e, run.agent.seed, first, o.ties)
  local log = e:log()
  local weights = nn.full({ #log.op }, 1 / e.count)
  return function()
    return run.policy:loss(task.view, state, log, weights, { how = "greedy", epsilon = 0, entropy = o.entropy })
  end
end

local function marked(run, task, state, e, o)
  local seen = run.policy:imitate(task.view, state, e, { how = "greedy", epsilon = o.epsilon, ties = o.ties })
  return function() return run.policy:imitation_loss(task.view, state, seen, o) end
end

local function imitation(run, stage, task, n)
  local before, count = share(run, n)
  local o, rate = at_present(run, stage, 1)
  if count > 0 then
    local state = run.tape:record(run.policy.encode, run.policy, task.view)
    local e = tasks.episodes(task, count)
    e:start(run.agent.seed, run.at.episodes + before)
    local watch = stage.teacher == "units" and run.policy.follows and demonstrated or marked
    local loss = watch(run, task, state, e, o, run.at.episodes + before)
    learn(run, function() return loss():scale(count / n) end)
  end
  step(run, stage, rate)
end

local function reinforce(run, stage, task, n)
  local before, count = share(run, n)
  local o, rate = at_present(run, stage, count / n)
  local e, state
  if count > 0 then
    state, e = run.tape:record(run.policy.encode, run.policy, task.view), tasks.episodes(task, count)
    e:start(run.agent.seed, run.at.episodes + before)
    run.policy:rollout(task.view, state, e, o)
  end
  local times, message, code = evaluate.times(run, stage, task, { episodes = e, before = before, count = count, all = n })
  if not times then
    run.tape:clear()
    return nil, message, code
  end
  local gains = rewards.advantages(task.kept.rewards, times, stage)
  if count > 0 then
    local weights = rewards.weights(slice(gains, before, count), task.view.steps or task.env.steps, stage.gamma, n)
    learn(run, function() return run.policy:loss(task.view, state, e:log(), nn.array(weights, { #weights }), o) end)
  end
  step(run, stage, rate)
  return evaluate.mean(times)
end

--- @tparam table run of the trainer
-- @tparam table stage its settings
-- @tparam table task
-- @tparam int n episodes
-- @treturn[1] ?number mean makespan, s; nil: imitation
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code
function update.run(run, stage, task, n)
  run.policy.params:zero_gradients()
  if stage.stage == "I" then return imitation(run, stage, task, n) end
  return reinforce(run, stage, task, n)
end

return update
