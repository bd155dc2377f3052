--- Our own network: the value of the servers as a decision leaves them, to what comes next. Jobs are drawn independently of them,
-- so nothing else matters then; deadlines and places are known from the look-ahead.
-- @module berth.agents.pacml.own
local nn = require "berth.nn"
local profile = require "berth.agents.pacml.profile"

local own = {}
own.__index = own

--- @tparam table o size, interval, ahead, sizes, layers, seed, horizon
function own.new(o)
  local self = setmetatable({ profile = profile.new(o), params = nn.parameters { seed = o.seed } }, own)
  local widths = { self.profile.width }
  for _, n in ipairs(o.layers) do widths[#widths + 1] = n end
  widths[#widths + 1] = 1
  self.f = nn.mlp(self.params, "value", widths, { activation = "relu" })
  local last = self.params[("value.%d.weight"):format(#widths - 1)]
  last:fill(0) -- at first all is worth the same
  return self
end

--- @param x array [rows, width]
-- @return array [rows]
function own:value(x) return self.f(x):reshape { x.shape[1] } end

--- What can be done about the present job: its actions (the first is 0), and their numbers behind `at`.
-- @param run
-- @tparam table out flat
-- @tparam int at
-- @tparam ?number left s until the horizon: what ends later counts as blocked
-- @treturn {table,...} action, reward (1: the job is accepted), jct, row
-- @treturn int where the numbers end
function own:choices(run, out, at, left)
  local p, list = self.profile, {}
  local state = p:state(run:free_at(), run.now)
  at = p:put(state, out, at, left)
  list[1] = { action = 0, reward = 0, row = at / p.width }
  local mask = run:mask "paper"
  for a = 1, #mask - 1 do
    local jct, servers, cause
    if mask[a + 1] == 1 then jct, servers, cause = run:look(a) end
    if cause == "accepted" then
      at = p:put(p:after(state, servers, jct), out, at, left)
      list[#list + 1] = { action = a, reward = jct <= (left or jct) and 1 or 0, jct = jct, row = at / p.width }
    end
  end
  return list, at
end

--- The best of choices by reward and what is left; the first of equals.
-- @tparam {table,...} list of choices
-- @tparam {number,...} values of all rows
-- @tparam number gamma
-- @treturn int position in the list
-- @treturn number its reward + gamma value
function own.best(list, values, gamma)
  local at, most
  for k, choice in ipairs(list) do
    local worth = choice.reward + gamma * values[choice.row]
    if not at or worth > most then at, most = k, worth end
  end
  return at, most
end

return own
