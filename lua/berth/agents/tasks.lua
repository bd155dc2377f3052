--- Tasks of a training: a graph on a topology as the agent sees it, and the judge that times its
-- placements.
-- @module berth.agents.tasks
local core = require "berth.core"
local options = require "berth.base.options"
local rewards = require "berth.agents.rewards"

local tasks = {}

options.declare("agents.tasks", options.join({
  { key = "graph", type = "graph", default = "none; must be given", required = true,
    text = "whose ops are placed" },
  { key = "topology", type = "topology", default = "none; must be given", required = true,
    text = "on whose devices" },
  { key = "name", type = "string", default = "none", text = "of the task, in reports" },
  { key = "cost", type = "cost or table", default = "none",
    text = "prices of the graph, or options of berth.cost" },
  { key = "judge", type = "table", default = "the task's cost",
    text = "graph, topology and options of berth.simulate by which placements are timed" },
}, options.rows("assignment", "unit contract")))

-- judge = { graph =, topology =, simulator's options }: cost and options.
local function judge_of(t, cost)
  local given, rest = t.judge or {}, {}
  for _, key in ipairs(options.sorted_keys(given)) do
    if key ~= "graph" and key ~= "topology" then rest[key] = given[key] end
  end
  if not given.graph and not given.topology then return cost, rest end
  local judge, message, code = core.cost(given.graph or t.graph, given.topology or t.topology)
  if not judge then return nil, message, code end
  return judge, rest
end

local function env_of(cost, t, features)
  return core.assignment(cost, options.merge(features, { unit = t.unit, contract = t.contract }))
end

-- Raises what the first batch would raise.
local function check_judge(fn, judge, sim, ops)
  if #judge.graph ~= ops then
    options.fail("%s: judge: graph: has %d ops, the task has %d", fn, #judge.graph, ops)
  end
  local ok, message = pcall(core.simulate_batch, judge, {}, sim)
  if not ok then
    options.fail("%s: judge: %s", fn, tostring(message):gsub("^.-: berth%.simulate_batch: ", ""))
  end
end

local function one(policy, t, i, features)
  local fn = ("agent:train: tasks[%d]"):format(i)
  options.expect(t, "table", "agent:train: tasks[%d]", i)
  options.read(fn, "agents.tasks", t)
  local cost, message, code = core.priced(fn, t.graph, t.topology, t.cost)
  if not cost then return nil, message, code end
  local env, judge, sim
  env, message, code = env_of(cost, t, features)
  if not env then return nil, message, code end
  if env.steps == 0 then return nil, "there is nothing to decide: all ops are pinned", "invalid" end
  judge, sim, code = judge_of(t, cost)
  if not judge then return nil, sim, code end
  check_judge(fn, judge, sim, env.ops)
  return { name = t.name, env = env, features = features, unit = t.unit, view = policy:view(env),
    judge = judge, sim = sim, batches = {}, kept = { rewards = rewards.new() } }
end

--- @tparam table policy
-- @tparam table list of tables with the options declared above
-- @tparam table features options of berth.assignment
-- @treturn[1] table
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code
function tasks.read(policy, list, features)
  options.refuse(type(list) ~= "table" or #list == 0,
    "agent:train: tasks: expected a table of tasks")
  local out = {}
  for i, t in ipairs(list) do
    local task, message, code = one(policy, t, i, features)
    if not task then return nil, ("agent:train: tasks[%d]: %s"):format(i, message), code end
    out[i] = task
  end
  return out
end

--- n episodes of the task; the same object each time.
function tasks.episodes(task, n)
  task.batches[n] = task.batches[n] or task.env:episodes(n)
  return task.batches[n]
end

--- n episodes of the same task on contracted units, for the teacher.
function tasks.demonstrations(task, n)
  if not task.units then
    task.units = assert(core.assignment(task.env.cost,
      options.merge(task.features, { unit = task.unit, contract = true })))
    task.shown = {}
  end
  task.shown[n] = task.shown[n] or task.units:episodes(n)
  return task.shown[n]
end

return tasks
