--- A fraction in per cent: "12.5 %"; beyond a million per cent with three digits: "2.5e+07 %".
local core = require "berth.core"

return function(x)
  local value = 100 * x
  return core.sprintf(math.abs(value) < 1e6 and "%.1f %%" or "%.3g %%", value)
end
