--- A number with so many decimals. Halves go up: what interpreters print of 0.125 with two decimals
-- differs.
local core = require "berth.core"

return function(x, n)
  local per_unit = tonumber(("1e%d"):format(n))
  return core.sprintf(("%%.%df"):format(n), math.floor(x * per_unit + 0.5) / per_unit)
end
