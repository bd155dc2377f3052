--- Checkpoints of a training: written every few updates, gone on from to the same bytes.
-- @module berth.agents.resume
local options = require "berth.options"
local checkpoint = require "berth.agents.checkpoint"

local resume = {}

local function state_of(run)
  local what = run.agent:header()
  what.at, what.tasks = run.at, {}
  for i, task in ipairs(run.tasks) do what.tasks[i] = task.kept end
  return what
end

local function write(run)
  if run.ranks and run.ranks.rank ~= 1 then return true end
  return checkpoint.write(run.o.checkpoint, run.policy.params, run.adam, state_of(run))
end

--- Writes the checkpoint if it is time: every `every` updates (10), and when a stage ends.
function resume.keep(run)
  if not run.o.checkpoint then return true end
  local stage = run.stages[run.at.stage]
  if run.at.updates % (run.o.every or 10) ~= 0 and run.at.episode < stage.episodes then return true end
  return write(run)
end

local function exists(path)
  local f = io.open(path, "rb")
  if f then f:close() end
  return f ~= nil
end

--- The run as its checkpoint says, or as it is.
function resume.begin(run)
  local path = run.o.checkpoint
  if not run.o.resume or not exists(path) then return run end
  local what, message, code = checkpoint.note(path)
  if not what then return nil, message, code end
  if what.kind ~= run.agent.kind or not what.at or #what.tasks ~= #run.tasks then
    options.fail("agent:train: checkpoint: %s is of agent %s with %d tasks, not %s with %d", path, what.kind,
      what.tasks and #what.tasks or 0, run.agent.kind, #run.tasks)
  end
  local done
  done, message, code = run.policy.params:load(path, { adam = run.adam })
  if not done then return nil, message, code end
  run.at = what.at
  for i, task in ipairs(run.tasks) do task.kept = what.tasks[i] end
  return run
end

return resume
