-- Recipe: a policy in Lua. berth does not change: copy this file beside your script, change it, and
-- pass what it returns to berth.place, berth.compare, berth.portfolio or berth.pipeline in the place
-- of a placer's name. docs/lua.md has the other functions of a policy.
--
-- This one leaves an op on the device of its first producer, unless another device finishes it
-- earlier by more than a tenth of the op's time.
local stay = { name = "stay" }

--- est, eft: earliest start and finish on each device, s; math.huge: the op cannot run there.
function stay.device(op, _, plan, eft)
  local best = 1
  for d = 2, #eft do
    if eft[d] < eft[best] then best = d end
  end
  local producer = plan.cost.graph:predecessors(op)[1]
  local near = producer and plan:device_of(producer)
  local slack = 0.1 * plan.cost:op(op, best)
  return near and eft[near] <= eft[best] + slack and near or best
end

return stay
