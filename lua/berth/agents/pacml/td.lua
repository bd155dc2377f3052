--- Learning the value of after-states: TD(lambda) on what greedy decisions lead to, some of them replaced by others.
-- Rewards less their mean, as the runs have no end that matters (Naik et al., "Reward Centering", 2024). Returns are cut where a
-- decision was not the greedy one (Watkins, 1989). With `expect` what comes next is not the job that came but the mean over all
-- that may come: more work for each decision, no noise. The agent that results decides by the weights' running mean.
-- @module berth.agents.pacml.td
local core = require "berth.core"
local nn = require "berth.nn"
local actors = require "berth.agents.pacml.actors"
local chance = require "berth.agents.pacml.chance"
local own = require "berth.agents.pacml.own"
local rows = require "berth.agents.pacml.rows"

local td = {}
td.__index = td

--- @tparam table what net (own), average (a network of the same sizes), env, traces, seed
-- @tparam table o settings
function td.new(what, o)
  local self = setmetatable({ net = what.make(), average = what.net, o = o, seed = what.seed, width = what.net.profile.width,
    actors = actors.new(what.env, what.traces, o.actors), tape = nn.tape(), updates = 0, carried = {}, mean = 0,
    chance = o.expect and chance.new(what.env, what.net.profile, what.distributions) or nil }, td)
  self.adam = nn.adam(self.net.params, { clip = o.clip or nil })
  self.net.params:set_flat("values", self.average.params:flat "values")
  return self
end

function td:start() self.actors:start() end

-- ---- acting ----------------------------------------------------------------------------------

-- Seconds until the last arrival of an actor's trace, if the end matters.
local function left_of(self, a)
  if not self.net.profile.horizon then return nil end
  local arrivals = a.trace.arrival
  return arrivals[#arrivals] - a.run.now
end

-- The choices of all actors, their rows, and what these are worth.
local function ask(self)
  local flat, lists, moments, at = {}, {}, {}, 0
  for i = 1, #self.actors do
    local run, left = self.actors[i].run, left_of(self, self.actors[i])
    if self.chance then
      moments[i], at = self.chance:choices(run, left, flat, at)
      lists[i] = chance.present(moments[i], run)
    else
      lists[i], at = self.net:choices(run, flat, at, left)
    end
  end
  return lists, flat, self.net:value(nn.array(flat, { at / self.width, self.width })):flat(), moments
end

local function row_of(self, flat, row)
  local out, before = {}, (row - 1) * self.width
  for k = 1, self.width do out[k] = flat[before + k] end
  return out
end

-- One step of an actor: where it came from, what it was worth to be there, and whether it went on greedily.
local function act(self, i, list, flat, values, moment, rng)
  local o = self.o
  local at, worth = own.best(list, values, o.gamma)
  local chosen, reward = at, list[at].reward
  if rng:uniform() < rows.course(o.epsilon, self.actors.steps) then chosen = rng:below(#list) end
  local choice = list[chosen]
  if moment then worth, reward = chance.worth(moment, values, o.gamma) end
  local step = { from = self.carried[i], worth = worth - self.mean, greedy = chosen == at,
    value = values[choice.row] }
  self.mean = self.mean + o.mean_rate * (reward - self.mean)
  local _, done = self.actors:take(i, choice.action)
  self.carried[i] = not done and row_of(self, flat, choice.row) or nil
  return step
end

local function move(self, steps, rng)
  local lists, flat, values, moments = ask(self)
  for i, list in ipairs(lists) do steps[i][#steps[i] + 1] = act(self, i, list, flat, values, moments[i], rng) end
end

-- Targets of the after-states an actor came from, last first: what it was worth to arrive, and what was learned behind.
local function targets(self, steps, flat, out)
  local factor, later = self.o.lambda * self.o.gamma, nil
  for k = #steps, 1, -1 do
    local s = steps[k]
    local g = s.worth
    if s.greedy and later then g = g + factor * (later - s.value) end
    if s.from then
      rows.append(flat, s.from)
      out[#out + 1] = g
    end
    later = s.from and g or nil
  end
end

local function collect(self)
  local steps, rng = {}, core.rng(self.seed, 2 * self.updates)
  for i = 1, #self.actors do steps[i] = {} end
  for _ = 1, self.o.fragment do move(self, steps, rng) end
  local flat, out = {}, {}
  for i = 1, #steps do targets(self, steps[i], flat, out) end
  return nn.array(flat, { #out, self.width }), nn.array(out, { #out }), #out
end

-- ---- learning --------------------------------------------------------------------------------

local function step(self, x, y)
  local loss = self.tape:record(function() return nn.huber(self.net:value(x), y) end)
  self.loss = loss:item()
  self.tape:backward(loss)
  self.adam:step(rows.course(self.o.rate, self.actors.steps))
end

-- The weights of the last `average` decisions or so count for the mean.
local function follow(self)
  local part = #self.actors * self.o.fragment / self.o.average
  local p, rate = self.average.params, math.min(math.max(part, 1 / (self.updates + 1)), 1)
  p:set_flat("values", p:flat("values"):scale(1 - rate) + self.net.params:flat("values"):scale(rate))
end

--- Some decisions of each actor, and the passes over what they say.
function td:advance()
  local x, y, n = collect(self)
  local order, rng = {}, core.rng(self.seed, 2 * self.updates + 1)
  for i = 1, n do order[i] = i end
  for _ = 1, self.o.passes do
    rng:shuffle(order)
    for from = 1, n, self.o.minibatch do
      local part = {}
      for i = from, math.min(from + self.o.minibatch - 1, n) do part[#part + 1] = order[i] end
      step(self, x:gather(part), y:gather(part))
    end
  end
  self.updates = self.updates + 1
  follow(self)
end

-- ---- checkpoints -----------------------------------------------------------------------------

--- What files a checkpoint has: the agent's, and one beside it.
function td:main() return self.average.params, nil end
function td:side() return self.net.params, self.adam end

function td:state()
  local carried = {}
  for i = 1, #self.actors do carried[i] = self.carried[i] or false end
  return { actors = self.actors:state(), updates = self.updates, carried = carried, mean = self.mean }
end

function td:restore(state)
  self.actors:restore(state.actors)
  self.updates, self.mean = state.updates, state.mean
  for i = 1, #self.actors do self.carried[i] = state.carried[i] or nil end
end

return td
