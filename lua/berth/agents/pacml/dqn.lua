--- Ape-X DQN in one process: actors of several epsilons side by side, n-step returns, a prioritised
-- memory, double and dueling.
-- Source: Horgan et al., "Distributed Prioritized Experience Replay", 2018, without the processes;
-- pac-ml.md, section 8.2.
-- @module berth.agents.pacml.dqn
local core = require "berth.core"
local nn = require "berth.nn"
local actors = require "berth.agents.pacml.actors"
local observe = require "berth.agents.pacml.observe"
local replay = require "berth.agents.pacml.replay"
local rows = require "berth.agents.pacml.rows"

local dqn = {}
dqn.__index = dqn

--- @tparam table what make (function of a seed -> network), net, pool, env, traces, seed
-- @tparam table o settings
function dqn.new(what, o)
  local w = what.pool.width
  local self = setmetatable({ net = what.net, target = what.make(), pool = what.pool, o = o,
    seed = what.seed, width = w, actions = what.pool.most + 1, actors = actors.new(what.env,
      what.traces, o.actors), tape = nn.tape(), updates = 0, moves = 0,
    due = 0, synced = 0, queues = {}, seen = {}, memory = replay.new(o.capacity, 2 * w + 5,
      o.alpha) }, dqn)
  self.adam = nn.adam(self.net.params, { clip = o.clip or nil })
  self.kept_target = self.memory.store:add("target", { self.net.params.size })
  for i = 1, o.actors do self.queues[i] = {} end
  self:sync()
  return self
end

function dqn:sync()
  local values = self.net.params:flat "values"
  self.target.params:set_flat("values", values)
  self.kept_target:copy_from(values)
end

function dqn:start() self.actors:start() end

-- ---- acting -------------------------------------------------------------------------------------

local function look(self)
  local flat, models, masks, w = {}, {}, {}, self.width
  for i = 1, #self.actors do
    local run = self.actors[i].run
    masks[i], models[i] = run:mask(self.o.mask), run.model
    observe.job(self.pool, run, masks[i], flat, (i - 1) * w)
  end
  return flat, models, masks
end

local function context_of(flat, i, w)
  local out = {}
  for k = 1, w do out[k] = flat[(i - 1) * w + k] end
  return out
end

-- Ape-X: actor i of N explores with epsilon^(1 + spread (i - 1) / (N - 1)).
local function epsilon_of(self, i)
  local n, e = #self.actors, rows.course(self.o.epsilon, self.actors.steps)
  return e ^ (1 + (n > 1 and self.o.spread * (i - 1) / (n - 1) or 0))
end

-- The transition from the oldest of a queue: to a later state, or (nil) to the end.
local function emit(self, queue, later, out)
  local first, sum, factor = queue[1], 0, 1
  for _, step in ipairs(queue) do
    sum, factor = sum + factor * step.reward, factor * self.o.gamma
  end
  if not later then factor = 0 end
  rows.append(out.flat, first.context)
  rows.append(out.flat, { first.model, first.action + 1, sum, factor })
  rows.append(out.flat, later and later.context or first.context)
  out.flat[#out.flat + 1] = later and later.model or first.model
  out.priorities[#out.priorities + 1] =
    math.abs(sum + factor * (later and later.best or 0) - first.q) + self.o.least
  table.remove(queue, 1)
end

local function act(self, i, at, rng, out)
  local queue, mask = self.queues[i], self.o.masked and at.mask or nil
  local best, value = rows.best(at.q, at.before, self.actions, mask)
  if #queue == self.o.n_step then
    emit(self, queue, { context = at.context, model = at.model, best = value }, out)
  end
  local action = best
  if rng:uniform() < epsilon_of(self, i) then action = rows.any(rng, self.actions, mask) end
  local accepted, done = self.actors:take(i, at.mask[action + 1] == 1 and action or 0)
  queue[#queue + 1] = { context = at.context, model = at.model, action = action,
    reward = accepted and 1 or -1, q = at.q[at.before + action + 1] }
  while done and #queue > 0 do emit(self, queue, nil, out) end
end

local function move(self)
  local flat, models, masks = look(self)
  local n, out = #models, { flat = {}, priorities = {} }
  if not self.embedded then self.embedded = self.net:embed(self.pool) end
  local q = self.net:q(self.net:hidden(self.pool, models, nn.array(flat, { n, self.width }),
    self.embedded)):flat()
  local rng = core.rng(self.seed, 2 * self.moves)
  for i = 1, n do
    act(self, i, { context = context_of(flat, i, self.width), model = models[i], mask = masks[i],
      q = q, before = (i - 1) * self.actions }, rng, out)
  end
  self.moves = self.moves + 1
  self.memory:add(out.flat, out.priorities)
end

-- ---- learning -----------------------------------------------------------------------------------

local function column(batch, at) return batch:slice(2, at, at):flat() end

-- The rows of a draw, taken apart.
local function parts(self, batch)
  local w = self.width
  return { context = batch:slice(2, 1, w), model = column(batch, w + 1),
    action = column(batch, w + 2), reward = batch:slice(2, w + 3, w + 3),
    factor = batch:slice(2, w + 4, w + 4), later = batch:slice(2, w + 5, 2 * w + 4),
    later_model = column(batch, 2 * w + 5) }
end

local function mask_of(self, context, i)
  if not self.o.masked then return nil end
  local out, before = {}, i * self.width - self.actions
  for a = 1, self.actions do out[a] = context[before + a] end
  return out
end

local function best_actions(self, q, context)
  local out, flat, list = {}, q:flat(), context:flat()
  for i = 1, q.shape[1] do
    out[i] = rows.best(flat, (i - 1) * self.actions, self.actions, mask_of(self, list, i)) + 1
  end
  return out
end

-- What the chosen actions are worth by the rewards and the target network.
local function worth(self, b)
  local other = self.target:q(self.target:hidden(self.pool, b.later_model, b.later))
  local judge = self.o.double and self.net:q(self.net:hidden(self.pool, b.later_model, b.later))
    or other
  local n = #b.model
  return b.reward:reshape { n } + b.factor:reshape { n } * other:pick(best_actions(self, judge,
    b.later))
end

-- Huber's, row by row: with m = min(|d|, 1), m^2 / 2 + |d| - m.
local function huber(d)
  local size = d:abs()
  local small = size:minimum(nn.full({ 1 }, 1))
  return small:square():scale(0.5) + (size - small)
end

local function update(self)
  local o = self.o
  local batch, index, weights = self.memory:sample(o.batch,
    core.rng(self.seed, 2 * self.updates + 1), o.beta)
  local b = parts(self, batch)
  local y, scale, difference = worth(self, b), nn.array(weights, { o.batch }), nil
  local loss = self.tape:record(function()
    difference = self.net:q(self.net:hidden(self.pool, b.model, b.context)):pick(b.action) - y
    return (huber(difference) * scale):mean()
  end)
  self.loss = loss:item()
  local errors = difference:flat()
  self.tape:backward(loss)
  self.adam:step(rows.course(o.rate, self.actors.steps))
  for k = 1, #errors do errors[k] = math.abs(errors[k]) + o.least end
  self.memory:weigh(index, errors)
  self.updates, self.embedded = self.updates + 1, nil
end

--- One decision of each actor, and the updates that are due.
function dqn:advance()
  local o = self.o
  move(self)
  if self.actors.steps < o.start then return end
  self.due = self.due + #self.actors
  while self.due >= o.train_every do
    update(self)
    self.due = self.due - o.train_every
  end
  if self.actors.steps - self.synced >= o.target then
    self:sync()
    self.synced = self.actors.steps
  end
end

-- ---- checkpoints --------------------------------------------------------------------------------

--- What files a checkpoint has: the agent's; and one beside it, of the memory and the target
-- network's weights.
function dqn:main() return self.net.params, self.adam end
function dqn:side() return self.memory.store, nil end

function dqn:state()
  return { actors = self.actors:state(), queues = self.queues, updates = self.updates,
    moves = self.moves, due = self.due, synced = self.synced, size = self.memory.size,
    head = self.memory.head }
end

function dqn:restore(state)
  self.actors:restore(state.actors)
  self.queues, self.updates, self.moves = state.queues, state.updates, state.moves
  self.due, self.synced, self.embedded = state.due, state.synced, nil
  self.memory:rebuild(state.size, state.head)
  self.target.params:set_flat("values", self.kept_target)
end

return dqn
