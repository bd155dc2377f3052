--- What the placer "exact" proves on the way, as a bound for other placements and their
-- simulations.
local proved = { name = "exact" }

local function positive(x) return type(x) == "number" and x > 0 end

-- The proof covers no rounding, noise or preemption; without memory limits it holds with any.
local function holds(placed, judge)
  if judge.preset or judge.preempt or positive(judge.noise) or positive(judge.quantum) then
    return false
  end
  if placed.memory == "none" then return true end
  return placed.memory == judge.memory and (placed.param_multiple or 1) == (judge.param_multiple
    or 1)
end

--- s: no simulation with the options `judge` takes less; nil: nothing is proved for them.
-- @tparam placement p
-- @tparam table placed the options it was placed with
-- @tparam table judge
function proved.bound(p, placed, judge)
  local bound = p.bound
  return bound and holds(placed, judge) and bound or nil
end

--- The same as the option `bound` of a simulation.
function proved.option(p, placed, judge)
  local best = proved.bound(p, placed, judge)
  return best and { best = best, name = proved.name } or nil
end

--- The largest of bounds.
-- @param ... each the option `bound` of a simulation, { bound, bound_name } or nil
-- @treturn ?table the option `bound`
function proved.largest(...)
  local out
  for i = 1, select("#", ...) do
    local one = select(i, ...) or {}
    local best, name = one.best or one.bound, one.name or one.bound_name
    if type(best) == "number" and best > (out and out.best or 0) then
      out = { best = best, name = name }
    end
  end
  return out
end

return proved
