--- The linear program of favourite children, which prints as a line.
local core = require "berth.core"

local mt = { __name = "berth.favourites" }

function mt.__tostring(lp)
  local n = 0
  for _, child in ipairs(lp.child) do
    if child then n = n + 1 end
  end
  local value = core.format(lp.lower, "seconds")
  if lp.upper > lp.lower then
    value = core.sprintf("%s to %s, gap %.2g %%", value, core.format(lp.upper, "seconds"),
      100 * lp.gap)
  end
  local line = ("favourites: longest path %s; %d of %d ops have a favourite child"):format(value, n,
    #lp.child)
  return lp.reached and line or line .. "; the given gap was not reached"
end

--- @tparam graph g
-- @tparam topology t
-- @tparam[opt] table opts times ("mean" or "least"), method ("auto", "entropic", "interior"), gap,
--  iterations, tau, cost
-- @treturn[1] table upper, lower (s), gap, reached, rho, entropic, interior, ops, edges, from, to,
--  c, y, flow, child
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code
return function(a, b, c)
  local lp, message, code = core.favourites(a, b, c)
  if not lp then return nil, message, code end
  return setmetatable(lp, mt)
end
