--- Proximal policy optimisation: generalised advantages, clipped ratios, a weight on the divergence
-- that follows its target. Sources: Schulman et al., "Proximal Policy Optimization Algorithms",
-- 2017; "High-Dimensional Continuous Control Using Generalized Advantage Estimation", 2016;
-- pac-ml.md, section 8.2.
-- @module berth.agents.pacml.ppo
local core = require "berth.core"
local nn = require "berth.nn"
local actors = require "berth.agents.pacml.actors"
local observe = require "berth.agents.pacml.observe"
local rows = require "berth.agents.pacml.rows"

local ppo = {}
ppo.__index = ppo

--- @tparam table what net, pool, env, traces, seed
-- @tparam table o settings
function ppo.new(what, o)
  local self = setmetatable({ net = what.net, pool = what.pool, o = o, seed = what.seed,
    width = what.pool.width, actions = what.pool.most + 1,
    actors = actors.new(what.env, what.traces, o.actors), tape = nn.tape(), updates = 0,
    kl_weight = o.kl }, ppo)
  self.adam = nn.adam(self.net.params, { clip = o.clip or nil })
  return self
end

function ppo:start() self.actors:start() end

-- ---- acting -------------------------------------------------------------------------------------

local function ask(self, flat, models, embedded)
  local context = nn.array(flat, { #models, self.width })
  local mask = self.o.masked and context:slice(2, self.width - self.actions + 1, self.width) or nil
  local scores, values = self.net:policy(self.net:hidden(self.pool, models, context, embedded),
    mask)
  return scores:log_softmax(), values
end

local function look(self)
  local flat, models, masks = {}, {}, {}
  for i = 1, #self.actors do
    local run = self.actors[i].run
    masks[i], models[i] = run:mask(self.o.mask), run.model
    observe.job(self.pool, run, masks[i], flat, (i - 1) * self.width)
  end
  return flat, models, masks
end

-- One decision of each actor, at the end of the batch's lists.
local function move(self, batch, rng, embedded)
  local flat, models, masks = look(self)
  local log_p, values = ask(self, flat, models, embedded)
  local p = log_p:flat()
  rows.append(batch.context, flat)
  rows.append(batch.model, models)
  rows.append(batch.log_p, p)
  rows.append(batch.value, values:flat())
  for i = 1, #models do
    local action = rows.draw(rng, p, (i - 1) * self.actions, self.actions)
    local accepted, done = self.actors:take(i, masks[i][action + 1] == 1 and action or 0)
    batch.action[#batch.action + 1], batch.reward[#batch.reward + 1] = action + 1,
      accepted and 1 or -1
    batch.done[#batch.done + 1] = done
  end
end

local function collect(self)
  local batch = { context = {}, model = {}, log_p = {}, value = {}, action = {}, reward = {},
    done = {} }
  local embedded, rng = self.net:embed(self.pool), core.rng(self.seed, 2 * self.updates)
  for _ = 1, self.o.fragment do move(self, batch, rng, embedded) end
  local flat, models = look(self)
  local _, values = ask(self, flat, models, embedded)
  rows.append(batch.value, values:flat()) -- of the states behind the batch
  return batch
end

--- Advantages and what values should have been. Rows in the order of (step, actor); an end has
-- nothing behind it.
-- @tparam table batch reward, value (of one more step), done
-- @tparam int n actors
function ppo.advantages(batch, n, gamma, lambda)
  local gain, target, total = {}, {}, #batch.reward
  for k = total, 1, -1 do
    local on = batch.done[k] and 0 or 1
    local error = batch.reward[k] + gamma * on * batch.value[k + n] - batch.value[k]
    gain[k] = error + gamma * lambda * on * (gain[k + n] or 0)
    target[k] = gain[k] + batch.value[k]
  end
  return gain, target
end

local function normalise(list)
  local n, sum, square = #list, 0, 0
  for i = 1, n do sum = sum + list[i] end
  for i = 1, n do
    local d = list[i] - sum / n
    square = square + d * d
  end
  local deviation = math.max(math.sqrt(square / n), 1e-4)
  for i = 1, n do list[i] = (list[i] - sum / n) / deviation end
end

-- ---- learning -----------------------------------------------------------------------------------

local function bound(x, low, high)
  return x:maximum(nn.full({ 1 }, low)):minimum(nn.full({ 1 }, high))
end

-- Means over the rows of a minibatch: what the policy gains, its divergence, its entropy,
-- how wrong the values are.
local function terms(self, m)
  local mask = self.o.masked and m.context:slice(2, self.width - self.actions + 1, self.width)
    or nil
  local scores, values = self.net:policy(self.net:hidden(self.pool, m.model, m.context), mask)
  local log_p = scores:log_softmax()
  local ratio = (log_p:pick(m.action) - m.log_p:pick(m.action)):exp()
  local held = bound(ratio, 1 - self.o.policy_clip, 1 + self.o.policy_clip)
  local wrong = (values - m.target):square():minimum(nn.full({ 1 }, self.o.value_clip))
  return (ratio * m.gain):minimum(held * m.gain):mean(),
    (m.log_p:exp() * (m.log_p - log_p)):sum(2):mean(),
      (log_p:exp() * log_p):sum(2):mean():scale(-1), wrong:mean()
end

local function step(self, m)
  local far
  local loss = self.tape:record(function()
    local gain, kl, entropy, wrong = terms(self, m)
    far = kl
    return kl:scale(self.kl_weight) - gain + wrong:scale(self.o.value_weight) - entropy:scale(
      self.o.entropy)
  end)
  self.loss = loss:item()
  local kl = far:item()
  self.tape:backward(loss)
  self.adam:step(rows.course(self.o.rate, self.actors.steps))
  return kl
end

local function arrays_of(self, batch, gain, target)
  local n = #batch.model
  return { context = nn.array(batch.context, { n, self.width }),
    log_p = nn.array(batch.log_p, { n, self.actions }), gain = nn.array(gain, { n }),
    target = nn.array(target, { n }), model = batch.model, action = batch.action }
end

local function rows_at(all, index)
  local model, action = {}, {}
  for k, i in ipairs(index) do model[k], action[k] = all.model[i], all.action[i] end
  return { context = all.context:gather(index), log_p = all.log_p:gather(index),
    gain = all.gain:gather(index), target = all.target:gather(index), model = model,
    action = action }
end

local function slice(list, from, to)
  local out = {}
  for i = from, math.min(to, #list) do out[#out + 1] = list[i] end
  return out
end

-- One pass over all rows in minibatches; the mean divergence.
local function pass(self, all, order, rng)
  local sum, count, n = 0, 0, self.o.minibatch
  rng:shuffle(order)
  for from = 1, #order, n do
    sum, count = sum + step(self, rows_at(all, slice(order, from, from + n - 1))), count + 1
  end
  return sum / count
end

local function follow(self, kl)
  if kl > 2 * self.o.kl_target then self.kl_weight = self.kl_weight * 1.5 end
  if kl < 0.5 * self.o.kl_target then self.kl_weight = self.kl_weight * 0.5 end
end

--- One batch of decisions, and the passes over it.
function ppo:advance()
  local batch = collect(self)
  local gain, target = ppo.advantages(batch, #self.actors, self.o.gamma, self.o.lambda)
  normalise(gain)
  local all, order, rng, kl = arrays_of(self, batch, gain, target), {},
    core.rng(self.seed, 2 * self.updates + 1), 0
  for i = 1, #batch.model do order[i] = i end
  for _ = 1, self.o.passes do
    kl = pass(self, all, order, rng)
    if self.o.kl_stop and kl > self.o.kl_stop then break end
  end
  follow(self, kl)
  self.updates = self.updates + 1
end

--- What files a checkpoint has: the agent's.
function ppo:main() return self.net.params, self.adam end
function ppo.side() return nil end

function ppo:state()
  return { actors = self.actors:state(), updates = self.updates, kl_weight = self.kl_weight }
end

function ppo:restore(state)
  self.actors:restore(state.actors)
  self.updates, self.kl_weight = state.updates, state.kl_weight
end

return ppo
