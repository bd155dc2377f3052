--- What placements take: the simulator's answer or the objective's, counted; the best is kept.
-- @module berth.agents.evaluate
local core = require "berth.core"
local options = require "berth.base.options"
local parts = require "berth.agents.parts"
local tasks = require "berth.agents.tasks"

local evaluate = {}

function evaluate.mean(list)
  local sum = 0
  for i = 1, #list do sum = sum + list[i] end
  return sum / #list
end

--- Calls that may still be made: each task keeps one for the last look, and those of its search.
function evaluate.calls_left(run)
  if not run.o.calls then return math.huge end
  local last = 1 + (run.o.search and (run.o.search.calls or 1000) or 0)
  return run.o.calls - run.at.calls - last * #run.tasks
end

-- Placements of all episodes of the parts, in order.
local function placements_of(list)
  local out = {}
  for _, part in ipairs(list) do
    for i = 1, part.count do out[#out + 1] = part.episodes:placement(i) end
  end
  return out
end

local function ask_objective(run, list)
  local placements = placements_of(list)
  if #placements == 0 then return {} end
  local times, message, code = run.o.objective(placements)
  if times == nil then return nil, message or "the objective gave nothing", code or "callback" end
  if type(times) ~= "table" or #times ~= #placements then
    options.fail("agent:train: objective: expected %d numbers of seconds, got %s", #placements,
      type(times) == "table" and ("%.0f"):format(#times) or core.kind(times))
  end
  for i = 1, #times do
    local x = times[i]
    options.refuse(type(x) ~= "number" or x ~= x or x < 0,
      "agent:train: objective: [%d]: expected seconds, got %s", i, tostring(x))
  end
  return times
end

local function ask_simulator(task, list)
  local out = {}
  for _, part in ipairs(list) do
    local times, message, code = {}, nil, nil
    if part.count > 0 then times, message, code = part.episodes:simulate(task.judge, task.sim) end
    if not times then return nil, message, code end
    for i = 1, #times do out[#out + 1] = times[i] end
  end
  return out
end

-- Seconds of the episodes of this process's parts.
local function own_times(run, stage, task, list)
  if stage.stage == "III" then return ask_objective(run, list) end
  return ask_simulator(task, list)
end

-- The better one is kept.
local function keep(task, seconds, placement)
  if task.kept.best and seconds >= task.kept.best then return end
  task.kept.best, task.kept.placement = seconds, placement
end

evaluate.keep = keep

local function decode(text)
  local out = {}
  for id in text:gmatch("%d+") do out[#out + 1] = tonumber(id) end
  return out
end

local function encode(list)
  local out = {}
  for i = 1, #list do out[i] = ("%.0f"):format(list[i]) end
  return table.concat(out, ",")
end

local function best_of(times)
  local best = 1
  for i = 2, #times do
    if times[i] < times[best] then best = i end
  end
  return best
end

local function own_placement(batch, i)
  for _, part in ipairs(batch) do
    if i > part.before and i <= part.before + part.count then
      return part.episodes:placement(i - part.before)
    end
  end
end

-- The placement of episode i of the batch, on every process.
local function fetch(run, batch, i)
  local mine = own_placement(batch, i)
  if not run.ranks then return mine end
  return decode(run.ranks:broadcast(mine and encode(mine) or "", parts.owner(run, batch, i)))
end

--- Seconds of all episodes of a batch.
-- @tparam table batch of parts.own
function evaluate.times(run, stage, task, batch)
  local times, message, code = own_times(run, stage, task, batch)
  if not times then return nil, message, code end
  times = parts.gather(run, times, batch.before, batch.all)
  run.at.calls = run.at.calls + batch.all
  -- Seconds of an engine and of the simulator do not compare: the best is of the last of them.
  if task.kept.engine ~= (stage.stage == "III") then
    task.kept.engine, task.kept.best, task.kept.placement = stage.stage == "III", nil, nil
  end
  local best = best_of(times)
  if times[best] < (task.kept.best or math.huge) then
    keep(task, times[best], fetch(run, batch, best))
  end
  return times
end

-- By the judge of the best; one process sends the others what it takes.
local function greedy(run, task)
  local stage = { stage = task.kept.engine and "III" or "II" }
  local policy, e = run.policy, tasks.episodes(task, 1)
  e:start(run.agent.seed, 0)
  policy:rollout(task.view, policy:encode(task.view), e, { how = "greedy", epsilon = 0 })
  local first = not run.ranks or run.ranks.rank == 1
  local times, message, code = {}, nil, nil
  if first then
    times, message, code = own_times(run, stage, task, { { episodes = e, count = 1 } })
  end
  if not times then return nil, message, code end
  times = parts.gather(run, times, 0, 1)
  run.at.calls, task.greedy = run.at.calls + 1, times[1]
  keep(task, times[1], e:placement(1))
  return true
end

-- A search from the best placement, its calls counted.
local function search(run, task)
  local place = require("berth.place").on_cost
  local given = run.o.search
  local placer = given.placer or "anneal"
  local o = options.merge({ calls = 1000, seed = run.agent.seed, judge = task.sim }, given,
    { start = task.kept.placement })
  o.placer = nil
  if next(o.judge) == nil then o.judge = nil end
  local p, message, code = place(task.judge, placer, o)
  if not p then return nil, message, code end
  run.at.calls, task.searched = run.at.calls + o.calls, p.estimate
  if p.estimate then keep(task, p.estimate, p:devices()) end
  return true
end

--- After the last update: one greedy episode of each task, and the search if one is given.
function evaluate.last(run)
  for _, task in ipairs(run.tasks) do
    local done, message, code = greedy(run, task)
    if done and run.o.search and not task.kept.engine then
      done, message, code = search(run, task)
    end
    if not done then return nil, message, code end
  end
  return true
end

return evaluate
