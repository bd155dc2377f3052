--- Parts of a batch: each has its episodes, its own run of the tape and its gradient, and gradients
-- are added in the order of the parts. So processes that share the parts of a batch hold the bytes
-- of one process that has all of them.
-- @module berth.agents.parts
local nn = require "berth.nn"

local parts = {}

-- Of a loss at once: what it takes is some kilobytes a row.
local MOST_ROWS = 300000

-- So few parts that none of them holds more rows.
local function least(policy, view, n)
  if not policy.rows_per_episode then return 1 end
  return math.ceil(n / math.max(1, math.floor(MOST_ROWS / policy:rows_per_episode(view))))
end

local function size_of(ranks) return ranks and ranks.size or 1 end

--- In how many parts a batch of n episodes is cut: as given, or as many as ranks, or as many times
-- that as memory requires.
function parts.count(run, stage, task, n)
  local size = size_of(run.ranks)
  return stage.parts or size * math.max(1, math.ceil(least(run.policy, task.view, n) / size))
end

-- Episodes of the batch before part k of `count`, and in it: the first parts get what is left over.
local function cut(n, count, k)
  local each, more = math.floor(n / count), n % count
  return (k - 1) * each + math.min(k - 1, more), each + (k <= more and 1 or 0)
end

-- n episodes of the task, others for each part.
local function episodes(task, k, n)
  task.parts = task.parts or {}
  local made = task.parts[k]
  if not made or made.count ~= n then
    made = task.env:episodes(n)
    task.parts[k] = made
  end
  return made
end

--- The parts of a batch that are this process's, in order.
-- @tparam table run of the trainer
-- @tparam table stage its settings
-- @tparam table task
-- @tparam int n episodes in the batch
-- @treturn table [i] = { before =, count =, episodes = (nil: none), tape = }; before, all (n): of
--  episodes; first, cut: parts of other processes before these, and in all
function parts.own(run, stage, task, n)
  local count = parts.count(run, stage, task, n)
  local mine = count / size_of(run.ranks)
  local first = run.ranks and (run.ranks.rank - 1) * mine or 0
  local out = { all = n, cut = count, before = cut(n, count, first + 1), first = first }
  for i = 1, mine do
    local before, own = cut(n, count, first + i)
    run.tapes[i] = run.tapes[i] or nn.tape()
    out[i] = { before = before, count = own, tape = run.tapes[i] }
    if own > 0 then out[i].episodes = episodes(task, i, own) end
  end
  return out
end

--- The rank that has episode i of a batch.
function parts.owner(run, batch, i)
  local each, more = math.floor(batch.all / batch.cut), batch.all % batch.cut
  local longer = more * (each + 1)
  local k = i <= longer and math.ceil(i / (each + 1)) or more + math.ceil((i - longer) / each)
  return math.ceil(k * size_of(run.ranks) / batch.cut)
end

--- Seconds, losses, what there is a number of for each: those of all processes, where this one's
-- come after `before`.
function parts.gather(run, own, before, all)
  if not run.ranks then return own end
  local slots = {}
  for i = 1, all do slots[i] = 0 end
  for i = 1, #own do slots[before + i] = own[i] end
  return run.ranks:numbers(slots)
end

return parts
