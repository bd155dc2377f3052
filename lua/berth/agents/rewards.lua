--- How good episodes were: makespans to advantages, per task.
-- @module berth.agents.rewards
local rewards = {}

--- What is remembered of the makespans of a task: plain numbers, so that a checkpoint can keep it.
function rewards.new() return { count = 0, sum = 0, mean = 0, spread = 0 } end

local function note(seen, x, decay)
  seen.count, seen.sum = seen.count + 1, seen.sum + x
  seen.smooth = seen.smooth and decay * seen.smooth + (1 - decay) * x or x
  seen.best = math.min(seen.best or x, x)
  local before = seen.mean
  seen.mean = before + (x - before) / seen.count
  seen.spread = seen.spread + (x - before) * (x - seen.mean)
end

local function mean_of(list)
  local sum = 0
  for i = 1, #list do sum = sum + list[i] end
  return sum / #list
end

local function deviation_of(list, mean)
  local sum = 0
  for i = 1, #list do sum = sum + (list[i] - mean) * (list[i] - mean) end
  return math.sqrt(sum / #list)
end

-- Out of memory counts as twice the worst that ran.
local function finite(list, seen)
  local worst, out = seen.worst or 0, {}
  for i = 1, #list do
    if list[i] < math.huge then worst = math.max(worst, list[i]) end
  end
  seen.worst = worst
  for i = 1, #list do out[i] = list[i] < math.huge and list[i] or 2 * worst end
  return out
end

local baseline = {
  all = function(seen) return seen.sum / seen.count end,
  exponential = function(seen) return seen.smooth end,
  batch = function(_, list) return mean_of(list) end,
  best = function(seen) return seen.best end,
}

local divisor = {
  none = function(_, _, o) return o.unit end,
  running = function(seen) return math.sqrt(seen.spread / seen.count) end,
  batch = function(_, list) return deviation_of(list, mean_of(list)) end,
}

--- (baseline - makespan) / divisor of each episode; the history includes them.
-- @tparam table seen of rewards.new
-- @tparam {number,...} makespans s
-- @tparam table o baseline, normalise, decay, unit
function rewards.advantages(seen, makespans, o)
  local list, out = finite(makespans, seen), {}
  for i = 1, #list do note(seen, list[i], o.decay) end
  local base, by = baseline[o.baseline](seen, list), divisor[o.normalise](seen, list, o)
  for i = 1, #list do out[i] = by > 0 and (base - list[i]) / by or 0 end
  return out
end

--- Weight of every step of every episode: its advantage, discounted from the end, a mean over
-- `total` episodes.
function rewards.weights(advantages, steps, gamma, total)
  local out = {}
  for i = 1, #advantages do
    for h = 1, steps do out[#out + 1] = gamma ^ (steps - h) * advantages[i] / total end
  end
  return out
end

return rewards
