--- Demonstrations: what the list scheduler does with whole units of ops, or the portfolio's answer,
-- shown to a policy that decides op by op.
-- @module berth.agents.demonstrate
local core = require "berth.core"
local evaluate = require "berth.agents.evaluate"
local tasks = require "berth.agents.tasks"

local demonstrate = {}
local ties_at_random = { how = "random-ties", epsilon = 0 }

local function teacher_op(e, ties)
  local ops, segments = e:candidates()
  return e:select(ops, segments, e:choose(e:teacher_ops(ties):log(1e-30), segments, ties_at_random))
end

-- A placement of each episode, by the teacher on units.
local function placements(task, n, seed, first, ties)
  local e = tasks.demonstrations(task, n)
  e:start(seed, first)
  while not e.done do
    local op = teacher_op(e, ties)
    e:assign(op, e:choose(e:teacher_devices(op, ties):log(1e-30), nil, ties_at_random))
  end
  return e:placements()
end

-- The portfolio's answer, without its search, for the judge of the task, as devices; nil: it has
-- none.
local function answer_of_portfolio(task)
  local sim = task.sim
  local p = require("berth.place").on_cost(task.judge, "portfolio", { links = sim.links,
    memory = sim.memory, param_multiple = sim.param_multiple, quantum = sim.quantum,
    judge = next(sim) and sim or nil, calls = 0 })
  return p and p:devices()
end

-- By the judge; infinite: out of memory, no route.
local function seconds_of(task, devices)
  if not devices then return math.huge end
  local times, _, out_of_memory = core.simulate_batch(task.judge, { devices }, task.sim)
  return times and not out_of_memory[1] and times[1] or math.huge
end

--- Before the first demonstration of a task: the portfolio's answer and one demonstration of units,
-- two calls, if there are as many left and the best is not the engine's. The better one counts as
-- seen; kept.taught is the answer, or
-- false if the demonstration is better.
-- @tparam table run of the trainer
-- @tparam table task
-- @tparam string ties
function demonstrate.teach(run, task, ties)
  task.kept.taught = false
  if task.kept.engine or evaluate.calls_left(run) < 2 then return end
  task.kept.engine = false
  run.at.calls = run.at.calls + 2
  local shown = placements(task, 1, run.agent.seed, 0, ties)[1]
  local answer = answer_of_portfolio(task)
  local of_units, of_answer = seconds_of(task, shown), seconds_of(task, answer)
  if of_answer < of_units then task.kept.taught = answer end
  local best = math.min(of_answer, of_units)
  if best < math.huge then evaluate.keep(task, best, task.kept.taught or shown) end
end

--- Runs the episodes e, which have been started: ops in the order of the teacher, each to where a
-- placement of units has it.
-- @tparam table task
-- @param e episodes
-- @tparam int seed
-- @tparam int first number of the first episode
-- @tparam string ties
-- @param[opt] taught devices of all ops, instead
function demonstrate.run(task, e, seed, first, ties, taught)
  local all = not taught and placements(task, e.count, seed, first, ties)
  while not e.done do
    local op = teacher_op(e, ties)
    local at, devices = op:totable(), {}
    for i = 1, #at do devices[i] = (taught or all[i])[at[i]] end
    e:devices(op)
    e:assign(op, devices)
  end
end

return demonstrate
