--- What placements take: the simulator's answer or the objective's, counted; the best is kept.
-- @module berth.agents.evaluate
local options = require "berth.options"
local tasks = require "berth.agents.tasks"

local evaluate = {}

function evaluate.mean(list)
  local sum = 0
  for i = 1, #list do sum = sum + list[i] end
  return sum / #list
end

local function ask_objective(run, e)
  local placements = e:placements()
  local times, message, code = run.o.objective(placements)
  if times == nil then return nil, message or "the objective gave nothing", code or "callback" end
  if type(times) ~= "table" or #times ~= #placements then
    options.fail("agent:train: objective: expected %d numbers of seconds", #placements)
  end
  for i = 1, #times do
    local x = times[i]
    if type(x) ~= "number" or x ~= x or x < 0 then options.fail("agent:train: objective: [%d]: expected seconds", i) end
  end
  return times
end

local function own_times(run, stage, task, e)
  if stage.stage == "III" then return ask_objective(run, e) end
  return e:simulate(task.judge, task.sim)
end

local function keep(task, seconds, placement)
  if task.kept.best and seconds >= task.kept.best then return end
  task.kept.best, task.kept.placement = seconds, placement
end

-- Times of all processes' episodes, and the placement of the best if this process has it.
local function exchange(run, times, part)
  local slots = {}
  for i = 1, part.all do slots[i] = 0 end
  for i = 1, part.count do slots[part.before + i] = times[i] end
  return run.ranks:numbers(slots)
end

local function owner(run, n, i)
  local least, more = math.floor(n / run.ranks.size), n % run.ranks.size
  local first = more * (least + 1)
  if i <= first then return math.floor((i - 1) / (least + 1)) + 1 end
  return more + math.floor((i - first - 1) / least) + 1
end

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

-- The placement of episode i of the batch, on every process.
local function fetch(run, part, i)
  local mine = i > part.before and i <= part.before + part.count
  local placement = mine and part.episodes:placement(i - part.before)
  if not run.ranks then return placement end
  return decode(run.ranks:broadcast(mine and encode(placement) or "", owner(run, part.all, i)))
end

--- Seconds of all episodes of a batch.
-- @tparam table part episodes (nil if none are this process's), before, count, all
function evaluate.times(run, stage, task, part)
  local times, message, code = {}, nil, nil
  if part.count > 0 then times, message, code = own_times(run, stage, task, part.episodes) end
  if not times then
    if run.ranks then error(message, 0) end
    return nil, message, code
  end
  if run.ranks then times = exchange(run, times, part) end
  run.at.calls = run.at.calls + part.all
  -- Seconds of an engine and of the simulator do not compare: the best is of the last of them.
  if task.kept.engine ~= (stage.stage == "III") then
    task.kept.engine, task.kept.best, task.kept.placement = stage.stage == "III", nil, nil
  end
  local best = best_of(times)
  if times[best] < (task.kept.best or math.huge) then keep(task, times[best], fetch(run, part, best)) end
  return times
end

local function greedy(run, stage, task)
  local policy, e = run.policy, tasks.episodes(task, 1)
  e:start(run.agent.seed, 0)
  policy:rollout(task.view, policy:encode(task.view), e, { how = "greedy", epsilon = 0 })
  local times, message, code = own_times(run, stage, task, e)
  if not times then return nil, message, code end
  if run.ranks then times = { run.ranks:numbers { run.ranks.rank == 1 and times[1] or 0 }[1] } end
  run.at.calls, task.greedy = run.at.calls + 1, times[1]
  keep(task, times[1], e:placement(1))
  return true
end

-- A search from the best placement, its calls counted.
local function search(run, task)
  local place = require("berth.place").on_cost
  local given = run.o.search
  local placer = given.placer or "anneal"
  local o = options.merge({ calls = 1000, seed = run.agent.seed, judge = task.sim }, given, { start = task.kept.placement })
  o.placer = nil
  if next(o.judge) == nil then o.judge = nil end
  local p, message, code = place(task.judge, placer, o)
  if not p then return nil, message, code end
  run.at.calls, task.searched = run.at.calls + o.calls, p.estimate
  if p.estimate then keep(task, p.estimate, p:devices()) end
  return true
end

--- After the last update: one greedy episode of each task, and the search if asked for.
function evaluate.last(run)
  local stage = run.stages[#run.stages]
  for _, task in ipairs(run.tasks) do
    local done, message, code = greedy(run, stage, task)
    if done and run.o.search and not task.kept.engine then done, message, code = search(run, task) end
    if not done then return nil, message, code end
  end
  return true
end

return evaluate
