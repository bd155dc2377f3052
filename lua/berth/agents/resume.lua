--- Checkpoints of a training: written every few updates; resuming gives the same bytes.
-- @module berth.agents.resume
local options = require "berth.base.options"
local checkpoint = require "berth.agents.checkpoint"
local record = require "berth.agents.record"
local settings = require "berth.agents.settings"

local resume = {}

local function size_of(task)
  return ("%.0f ops on %.0f devices"):format(task.env.ops, task.env.devices)
end

local function state_of(run)
  local what = run.agent:header()
  what.at, what.tasks, what.sizes = run.at, {}, {}
  for i, task in ipairs(run.tasks) do what.tasks[i], what.sizes[i] = task.kept, size_of(task) end
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
  if run.at.updates % (run.o.every or 10) ~= 0 and run.at.episode < stage.episodes then
    return true
  end
  return write(run)
end

local function shown(x)
  return x == nil and "nothing" or type(x) == "table" and record.write(x) or tostring(x)
end

-- Options of two agents that make them go different ways; training's own may change.
local function other_option(then_given, now_given)
  for _, key in ipairs(options.sorted_keys(options.merge(then_given, now_given))) do
    local a, b = shown(then_given[key]), shown(now_given[key])
    if a ~= b and not settings.is(key) then
      return ("the agent had %s = %s, now it is %s"):format(tostring(key), a, b)
    end
  end
end

-- What keeps a run from going on from a checkpoint; nil: nothing.
local function obstacle(run, what)
  if what.kind ~= run.agent.kind then
    return ("is of an agent %s, not %s"):format(what.kind, run.agent.kind)
  end
  if type(what.at) ~= "table" or type(what.tasks) ~= "table" or type(what.sizes) ~= "table" then
    return "holds an agent, but no training to go on with: load it with berth.agents.load"
  end
  if #what.tasks ~= #run.tasks then
    return ("is of %d tasks, not %d"):format(#what.tasks, #run.tasks)
  end
  for i, task in ipairs(run.tasks) do
    if what.sizes[i] ~= size_of(task) then
      return ("task %d was %s, now it is %s"):format(i, tostring(what.sizes[i]), size_of(task))
    end
  end
  return other_option(what.options or {}, run.agent.options)
end

--- The run as of its checkpoint, or as it is.
function resume.begin(run)
  local path = run.o.checkpoint
  if not run.o.resume or not checkpoint.exists(path) then return run end
  local what, message, code = checkpoint.note(path)
  if not what then return nil, message, code end
  local why = obstacle(run, what)
  if why then return nil, ("agent:train: checkpoint: %s: %s"):format(path, why), "invalid" end
  local done
  done, message, code = run.policy.params:load(path, { adam = run.adam })
  if not done then return nil, message, code end
  run.at = what.at
  for i, task in ipairs(run.tasks) do task.kept = what.tasks[i] end
  return run
end

return resume
