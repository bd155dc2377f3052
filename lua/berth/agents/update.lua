--- One update: a batch of episodes, what they are worth, one step of Adam.
-- @module berth.agents.update
local nn = require "berth.nn"
local demonstrate = require "berth.agents.demonstrate"
local evaluate = require "berth.agents.evaluate"
local parts = require "berth.agents.parts"
local rewards = require "berth.agents.rewards"
local settings = require "berth.agents.settings"

local update = {}

local function slice(list, before, count)
  local out = {}
  for i = 1, count do out[i] = list[before + i] end
  return out
end

-- Settings as they are now, for a part of so many of the batch's n episodes.
local function at_present(run, stage, count, n)
  local now = stage.episodes > 1 and run.at.episode / stage.episodes or 0
  return { how = stage.how, epsilon = settings.at(stage.epsilon, now),
    entropy = settings.at(stage.entropy, now) * count / n, ties = stage.ties,
    published_marks = stage.published_marks }, settings.at(stage.rate, now)
end

-- What f, on the tape of the part, adds to the gradients. Other processes need it by itself, one
-- process adds to what there is.
local function learn(run, part, f)
  local p = run.policy.params
  local loss = part.tape:record(f)
  part.loss = loss:item()
  part.tape:backward(loss)
  if not run.ranks then return end
  part.gradient = p:flat("gradients")
  p:zero_gradients()
end

local function gradients(run, batch)
  local out = {}
  for i, part in ipairs(batch) do out[i] = part.gradient or nn.zeros { run.policy.params.size } end
  return run.ranks:add_up(out)
end

local function total_loss(run, batch)
  local own, sum = {}, 0
  for i, part in ipairs(batch) do own[i] = part.loss or 0 end
  local all = parts.gather(run, own, batch.first, batch.cut)
  for i = 1, #all do sum = sum + all[i] end
  return sum
end

-- The gradient of all parts, clipped, and Adam.
local function step(run, stage, batch)
  local p = run.policy.params
  local _, rate = at_present(run, stage, 1, 1)
  run.loss = total_loss(run, batch)
  if run.ranks then p:set_flat("gradients", gradients(run, batch)) end
  if stage.clip then p:clip(stage.clip) end
  run.adam:step(rate)
end

-- Starts the episodes of a part; what the policy computes before the first step.
local function begin(run, task, part)
  part.episodes:start(run.agent.seed, run.at.episodes + part.before)
  return part.tape:record(run.policy.encode, run.policy, task.view)
end

-- What the loss of the demonstrations at hand needs: each step's weight is the same.
local function demonstrated(run, task, state, part, o)
  local e = part.episodes
  demonstrate.run(task, e, run.agent.seed, run.at.episodes + part.before, o.ties,
    task.kept.taught)
  local log = e:log()
  local weights = nn.full({ #log.op }, 1 / e.count)
  return function()
    return run.policy:loss(task.view, state, log, weights,
      { how = "greedy", epsilon = 0, entropy = o.entropy })
  end
end

local function marked(run, task, state, part, o)
  local seen = run.policy:imitate(task.view, state, part.episodes,
    { how = "greedy", epsilon = o.epsilon, ties = o.ties })
  return function() return run.policy:imitation_loss(task.view, state, seen, o) end
end

local function imitation(run, stage, task, batch)
  local follows = stage.teacher ~= "critical-path" and run.policy.follows
  local watch = follows and demonstrated or marked
  local o = at_present(run, stage, 1, 1)
  if follows and stage.teacher == "portfolio" and task.kept.taught == nil then
    demonstrate.teach(run, task, o.ties)
  end
  for _, part in ipairs(batch) do
    if part.episodes then
      local loss = watch(run, task, begin(run, task, part), part, o)
      learn(run, part, function() return loss():scale(part.count / batch.all) end)
    end
  end
  step(run, stage, batch)
end

local function rollouts(run, stage, task, batch)
  for _, part in ipairs(batch) do
    if part.episodes then
      part.state = begin(run, task, part)
      run.policy:rollout(task.view, part.state, part.episodes,
        (at_present(run, stage, part.count, batch.all)))
    end
  end
end

local function credit(run, stage, task, batch, part, gains)
  local o = at_present(run, stage, part.count, batch.all)
  local own, steps = slice(gains, part.before, part.count), task.view.steps or task.env.steps
  local weights = rewards.weights(own, steps, stage.gamma, batch.all)
  learn(run, part, function()
    return run.policy:loss(task.view, part.state, part.episodes:log(),
      nn.array(weights, { #weights }), o)
  end)
  part.state = nil
end

local function clear(batch)
  for _, part in ipairs(batch) do part.tape:clear() end
end

local function reinforce(run, stage, task, batch)
  rollouts(run, stage, task, batch)
  local times, message, code = evaluate.times(run, stage, task, batch)
  if not times then
    clear(batch)
    return nil, message, code
  end
  local gains = rewards.advantages(task.kept.rewards, times, stage)
  for _, part in ipairs(batch) do
    if part.episodes then credit(run, stage, task, batch, part, gains) end
  end
  step(run, stage, batch)
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
  local batch = parts.own(run, stage, task, n)
  if stage.stage == "I" then return imitation(run, stage, task, batch) end
  return reinforce(run, stage, task, batch)
end

return update
