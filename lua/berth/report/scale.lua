--- Numbers and axes of figures. The same text on every interpreter: all numbers go through
-- string.format.
local core = require "berth.core"
local percent = require "berth.base.percent"

local scale = {}

-- Halves go up: what interpreters print of 0.125 with two decimals differs.
local function rounded(x, per_unit) return math.floor(x * per_unit + 0.5) / per_unit end

--- A coordinate with two decimals at most: "12.5".
function scale.number(x)
  local text = core.sprintf("%.2f", rounded(x, 100))
  text = text:gsub("0+$", "")
  text = text:gsub("%.$", "")
  return text == "-0" and "0" or text
end

function scale.quantity(x, unit)
  if x == nil or x ~= x then return "-" end
  if x == math.huge then return "none" end
  return core.format(x, unit)
end

function scale.percent(x)
  if x == nil or x ~= x or x == math.huge then return "-" end
  return percent(rounded(100 * x, 10) / 100)
end

--- "1 op", "12 ops"
function scale.count(n, noun) return ("%.0f %s%s"):format(n, noun, n == 1 and "" or "s") end

-- 10^k without a power function, which need not give the same bits everywhere.
local function ten(k) return tonumber(("1e%d"):format(k)) end

-- The smallest step of 1, 2 or 5 times a power of ten with at most n ticks up to `most`.
local function step_of(most, n)
  local raw, k = most / n, -320
  while k < 308 and ten(k + 1) <= raw do k = k + 1 end
  for _, factor in ipairs { 1, 2, 5 } do
    if factor * ten(k) >= raw then return factor * ten(k) end
  end
  return ten(k + 1)
end

--- Round values from 0 to `most`, n of them at most besides 0.
function scale.ticks(most, n)
  local out = { 0 }
  if most <= 0 or most == math.huge then return out end
  local step = step_of(most, n)
  for i = 1, n do
    if i * step > most * (1 + 1e-9) then break end
    out[#out + 1] = i * step
  end
  return out
end

--- A function that writes ticks up to `most`, all in the unit of the largest: "0.5 s", not "500 ms"
-- beside "1 s".
function scale.labels(most, unit)
  local name = core.format(most, unit):match("%S+$")
  local size = core.quantity("1 " .. name, unit)
  return function(value) return core.sprintf("%.10g %s", value / size, name) end
end

--- A function from 0..most to low..high; where there is no extent, all is at `low`.
function scale.linear(most, low, high)
  local factor = most > 0 and (high - low) / most or 0
  if factor == math.huge or factor == -math.huge then
    return function(x) return low + x / most * (high - low) end
  end
  return function(x) return low + x * factor end
end

return scale
