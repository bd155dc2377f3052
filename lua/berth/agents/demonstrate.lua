--- Demonstrations: what the list scheduler does with whole units of ops, shown to a policy that
-- decides op by op.
-- @module berth.agents.demonstrate
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

--- Runs the episodes e, which have been started: ops in the order of the teacher, each to where a
-- placement of units has it.
-- @tparam table task
-- @param e episodes
-- @tparam int seed
-- @tparam int first number of the first episode
-- @tparam string ties
function demonstrate.run(task, e, seed, first, ties)
  local all = placements(task, e.count, seed, first, ties)
  while not e.done do
    local op = teacher_op(e, ties)
    local at, devices = op:totable(), {}
    for i = 1, #at do devices[i] = all[i][at[i]] end
    e:devices(op)
    e:assign(op, devices)
  end
end

return demonstrate
