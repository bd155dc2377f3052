--- What the next job may be, and what a state is worth before it is known: the mean over models and betas of the best decision.
-- Times are those that a model takes on the empty cluster.
-- @module berth.agents.pacml.chance
local chance = {}
chance.__index = chance

-- A job of one model with no other: its decisions that are possible, with their seconds, shortest first.
local function decisions(env, model)
  local out = {}
  local run = env:run { model = { model }, beta = { 1 }, arrival = { 0 } }
  for a, ok in ipairs(run:mask "paper") do
    local jct = ok == 1 and a > 1 and run:look(a - 1)
    if jct then out[#out + 1] = { action = a - 1, jct = jct, share = jct / env.sequential[model] } end
  end
  table.sort(out, function(x, y) return x.jct < y.jct or x.jct == y.jct and x.action < y.action end)
  return out
end

-- Share of jobs whose beta is not below each decision's share.
local function reach(self, list)
  for _, d in ipairs(list) do
    local sum = 0
    for i, beta in ipairs(self.values) do
      if beta >= d.share * (1 - 1e-12) then sum = sum + self.mass[i] end
    end
    d.reach = sum
  end
end

--- @param env environment with ramp
-- @param profile of the cluster
-- @tparam {table,...} distributions of berth.pacml.beta, equally likely
function chance.new(env, profile, distributions)
  local self = setmetatable({ env = env, profile = profile, values = {}, mass = {}, of = {} }, chance)
  for _, d in ipairs(distributions) do
    local total = 0
    for i = 1, #d.mass do total = total + d.mass[i] end
    for i = 1, #d.mass do
      self.values[#self.values + 1], self.mass[#self.mass + 1] = d.values[i], d.mass[i] / total / #distributions
    end
  end
  for m = 1, #env.models do
    self.of[m] = decisions(env, m)
    reach(self, self.of[m])
  end
  return self
end

local function busy_of(state)
  local out = {}
  for s = 1, #state.busy do out[s] = state.busy[s] > 0 and 1 or 0 end
  return out
end

-- The rows of the decisions of a model that could be placed now and would end in time.
local function put_model(self, m, now, out, at)
  local list, p = {}, self.profile
  for _, d in ipairs(self.of[m]) do
    if d.reach > 0 and d.jct <= (now.left or d.jct) then
      local plan = self.env.ramp:plan(self.env.models[m], d.action, { busy = now.busy, look = false })
      if plan.placed then
        at = p:put(p:after(now.state, plan.servers, d.jct), out, at, now.left)
        list[#list + 1] = { decision = d, row = at / p.width }
      end
    end
  end
  return list, at
end

--- All that may be decided about any job at a moment; their numbers go behind `at`. The first row is to turn the job away.
-- @param run at a decision
-- @tparam ?number left s until the horizon
-- @tparam table out flat
-- @tparam int at a whole number of rows
-- @treturn table for worth and decide
-- @treturn int where the numbers end
function chance:choices(run, left, out, at)
  local p = self.profile
  local state = p:state(run:free_at(), run.now)
  local now = { state = state, busy = busy_of(state), left = left }
  at = p:put(state, out, at, left)
  now.row = at / p.width
  for m = 1, #self.of do now[m], at = put_model(self, m, now, out, at) end
  return now, at
end

-- For one model, the mean over betas: decisions come shortest first, so that a beta that is enough for one is for all before it.
local function worth_of(list, reject, values, gamma)
  local best, taken, left, worth, accepted = reject, 0, 1, 0, 0
  for _, c in ipairs(list) do
    local share = left - c.decision.reach
    worth, accepted, left = worth + share * best, accepted + share * taken, c.decision.reach
    local value = 1 + gamma * values[c.row]
    if value > best then best, taken = value, 1 end
  end
  return worth + left * best, accepted + left * taken
end

--- Mean over the jobs that may come of what the best decision brings, and the share of jobs that are accepted then.
-- @tparam table now of choices
-- @tparam {number,...} values of all rows
-- @tparam number gamma
function chance.worth(now, values, gamma)
  local sum, accepted = 0, 0
  for m = 1, #now do
    local worth, taken = worth_of(now[m], gamma * values[now.row], values, gamma)
    sum, accepted = sum + worth, accepted + taken
  end
  return sum / #now, accepted / #now
end

--- What may be decided about the present job: as own:choices has it.
-- @treturn {table,...} action, reward, row; the first turns it away
function chance.present(now, run)
  local list = { { action = 0, reward = 0, row = now.row } }
  for _, c in ipairs(now[run.model]) do
    if c.decision.jct <= run.deadline * (1 + 1e-12) then
      list[#list + 1] = { action = c.decision.action, reward = 1, row = c.row }
    end
  end
  table.sort(list, function(a, b) return a.action < b.action end)
  return list
end

return chance
