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

-- Units of times from 10 minutes on: name, s, and from how many of them.
local LONG = { { "d", 86400, 3 }, { "h", 3600, 2 }, { "min", 60, 10 } }

--- Ticks up to `most` that are round in the unit that they are labelled in, and a function that
-- writes them, all in the unit of the largest: "0.5 s", not "500 ms" beside "1 s"; long times in
-- minutes, hours or days.
function scale.labelled(most, unit, n)
  for _, one in ipairs(unit == "seconds" and most < math.huge and LONG or {}) do
    local name, size = one[1], one[2]
    if most >= size * one[3] then
      local values = scale.ticks(most / size, n)
      for i, value in ipairs(values) do values[i] = value * size end
      return values, function(value) return core.sprintf("%.10g %s", value / size, name) end
    end
  end
  local values = scale.ticks(most, n)
  local name = core.format(values[#values], unit):match("%S+$")
  local size = core.quantity("1 " .. name, unit)
  return values, function(value) return core.sprintf("%.10g %s", value / size, name) end
end

--- A time as people say it: "142 ms", "1.5 h", "2.4 d".
function scale.duration(x)
  if x == nil or x ~= x or x == math.huge then return scale.quantity(x, "seconds") end
  for _, one in ipairs(LONG) do
    if x >= one[2] * one[3] then return core.sprintf("%.3g %s", x / one[2], one[1]) end
  end
  return core.format(x, "seconds")
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
