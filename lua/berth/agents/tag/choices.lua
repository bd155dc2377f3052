--- Candidate actions as rows for the decoder.
-- @module berth.agents.tag.choices
local nn = require "berth.nn"
local sizes = require "berth.agents.tag.sizes"

local choices = {}

local column = { ps = 1, allreduce = 2, split = 3 }

-- One-hot of the option, whether shares follow the speeds, and whether it is for all op groups.
local function put_choice(out, action, everywhere)
  local at = #out
  for i = 1, sizes.choice do out[at + i] = 0 end
  if column[action.option] then out[at + column[action.option]] = 1 end
  if action.shares == "speed" then out[at + sizes.choice - 1] = 1 end
  if everywhere then out[at + sizes.choice] = 1 end
end

local function least(costs)
  local best = math.huge
  for a = 1, #costs do best = math.min(best, costs[a]) end
  return best
end

-- How the action compares with the least local cost, how much of a step that is; whether it is the
-- present one; its share of the devices; the share of op groups that have it.
local function put_costs(out, problem, query, a, best, votes)
  local cost, n = query.costs[a], #out
  out[n + 1] = best > 0 and math.min(math.log(cost / best), 6) or 0
  out[n + 2] = math.min((cost - best) / query.unit, 4)
  out[n + 3] = query.group and query.action[query.group] == a and 1 or 0
  out[n + 4] = #problem.sets[problem.actions[a].set] / #problem.device_group
  out[n + 5] = (votes[a] or 0) / #query.action
end

-- Row of the network's vectors: those of op groups first, then, for each strategy, that of all of
-- its op groups.
local function row_of(query, copies, op_groups)
  return query.group and (query.copy - 1) * op_groups + query.group
    or copies * op_groups + query.copy
end

local function votes_of(action)
  local out = {}
  for g = 1, #action do out[action[g]] = (out[action[g]] or 0) + 1 end
  return out
end

--- @tparam table problem of view.problem
-- @tparam {table,...} queries one for each op group in question: copy (which strategy of the view),
--  group (nil: all of them), action (the strategy), costs (local costs by action, infinite: not
--  legal), unit (seconds that costs are divided by)
-- @tparam int copies strategies of the view
-- @tparam int op_groups of each
-- @tparam boolean with_costs
-- @treturn table set, op (rows of the network's vectors), features, costs, into (one segment for
--  each query), action (of each row)
function choices.new(problem, queries, copies, op_groups, with_costs)
  local set, op, features, costs, lengths, of = {}, {}, {}, {}, {}, {}
  local sets, counted = #problem.sets, {}
  for i, query in ipairs(queries) do
    local best, before = least(query.costs), #of
    counted[query.action] = counted[query.action] or votes_of(query.action)
    for a, action in ipairs(problem.actions) do
      if query.costs[a] < math.huge then
        of[#of + 1], set[#set + 1] = a, (query.copy - 1) * sets + action.set
        op[#op + 1] = row_of(query, copies, op_groups)
        put_choice(features, action, not query.group)
        if with_costs then put_costs(costs, problem, query, a, best, counted[query.action]) end
      end
    end
    lengths[i] = #of - before
  end
  return { set = nn.index(set), op = nn.index(op),
    features = nn.array(features, { #of, sizes.choice }), costs = with_costs and nn.array(costs,
      { #of, sizes.local_costs }) or nil, into = nn.segments(lengths), action = of,
    lengths = lengths }
end

return choices
