--- What policies share that visit ops in one fixed order and choose a device for each.
-- @module berth.agents.choices
local nn = require "berth.nn"
local options = require "berth.base.options"

local choices = {}

-- Below it a probability is taken for it: its logarithm stays finite.
local LEAST = 1e-30

local function rank_of(g)
  local rank = {}
  for i, op in ipairs(g:topo_order()) do rank[op] = i end
  return rank
end

local function first_of(candidates, rank)
  local best
  for i = 1, #candidates do
    if not best or rank[candidates[i]] < rank[best] then best = candidates[i] end
  end
  return best
end

local function first_allowed(row)
  for d = 1, #row do
    if row[d] == 1 then return d end
  end
end

--- The ops that an episode decides, in topological order. Costs one episode.
-- @param env berth.assignment
-- @treturn {int,...} ops
function choices.order(env)
  local rank, order = rank_of(env.graph), {}
  local e = env:episodes(1)
  e:start(0, 1)
  while not e.done do
    local op = first_of(e:candidates():totable(), rank)
    order[#order + 1] = op
    e:assign({ op }, { first_allowed(e:allowed({ op }):totable()[1]) })
  end
  return order
end

--- n times the same.
function choices.same(value, n)
  local out = {}
  for i = 1, n do out[i] = value end
  return out
end

--- One step of all episodes.
-- @param e episodes
-- @tparam int op
-- @param scores array [episodes, devices]
-- @tparam table opts how, epsilon
-- @treturn {int,...} device of each
function choices.step(e, op, scores, opts)
  local ops = choices.same(op, e.count)
  local masked = e.assignment.restricted and scores + e:allowed(ops):log() or scores
  local device = e:choose(masked, nil, { how = opts.how or "sample", epsilon = opts.epsilon or 0 })
  e:assign(ops, device)
  return device:totable()
end

--- Where the op of each row of a log may go.
function choices.allowed_rows(view, log)
  return log.allowed or nn.full({ #log.op, view.devices }, 1)
end

local function mixture(p, allowed, opts)
  local epsilon = opts.epsilon or 0
  if epsilon == 0 or (opts.how or "sample") ~= "sample" then return p end
  return p:scale(1 - epsilon) + allowed:softmax(allowed):scale(epsilon)
end

-- The bonus for entropy is a mean over episodes.
local function with_entropy(loss, p, weight, episodes)
  if not weight or weight == 0 then return loss end
  return loss + (p * p:log(LEAST)):sum():scale(weight / episodes)
end

--- -sum of weights x log probability of what was chosen, less a bonus for entropy. With how =
-- "sample" the probability is that of the mixture with the uniform choice, which drew it; else the
-- softmax alone, as in the published program.
-- @param scores array [rows, devices]
-- @param allowed array of the same shape, 0 or 1
-- @param log of the episodes
-- @param weights array [rows]
-- @tparam table opts how, epsilon, entropy
-- @return array [1]
function choices.loss(scores, allowed, log, weights, opts)
  local p = scores:softmax(allowed)
  local chosen = mixture(p, allowed, opts):pick(log.device):log(LEAST)
  return with_entropy((weights * chosen):sum():scale(-1), p, opts.entropy, #log.episodes)
end

-- The marks of each row add up to 1, unless published.
local function shares(marks, published)
  if published then return marks end
  local rows, devices = marks.shape[1], marks.shape[2]
  local sums = marks:sum(2):reshape { rows, 1 }:matmul(nn.full({ 1, devices }, 1))
  return marks / sums
end

--- -sum of the log probabilities of what a teacher might have done, a mean over episodes, less the
-- bonus for entropy.
-- @param marks array [rows, devices], 1: it might have
-- @tparam table opts entropy, published_marks
function choices.imitation_loss(scores, allowed, log, marks, opts)
  local p, episodes = scores:softmax(allowed), #log.episodes
  local loss = (shares(marks, opts.published_marks) * p:log(LEAST)):sum():scale(-1 / episodes)
  return with_entropy(loss, p, opts.entropy, episodes)
end

-- Of rows in order of (step, episode), that of (episode, step).
local function by_episode(steps, episodes)
  local index = {}
  for i = 1, episodes do
    for s = 1, steps do index[#index + 1] = (s - 1) * episodes + i end
  end
  return index
end

--- Rolls out, with the teacher's choice at each step.
-- @param policy with score_step(view, walk, step) and noted(view, walk, step, devices)
-- @return { log, marks }
function choices.imitate(policy, view, state, e, opts)
  local marks = {}
  choices.rollout(policy, view, state, e, opts, function(op)
    marks[#marks + 1] = e:teacher_devices(choices.same(op, e.count), opts.ties or "textbook")
  end)
  return { log = e:log(), marks = nn.concat(marks, 1):gather(by_episode(#view.order, e.count)) }
end

--- All steps of all episodes.
-- @tparam[opt] function before called with the op of each step
function choices.rollout(policy, view, state, e, opts, before)
  local walk = policy:begin(view, state, e.count)
  for s, op in ipairs(view.order) do
    if before then before(op) end
    policy:noted(view, walk, s, choices.step(e, op, policy:score_step(view, walk, s), opts or {}))
  end
end

--- What both networks check alike.
function choices.check_devices(fn, given, env)
  if env.devices ~= given then
    options.fail("%s: the network is for %d devices, the topology has %d", fn, given, env.devices)
  end
end

return choices
