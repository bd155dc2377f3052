-- Minimum of a function by Nelder and Mead's simplex, in the logarithms of positive numbers.
local simplex = {}

local function point(f, x)
  local e = {}
  for i, v in ipairs(x) do e[i] = math.exp(v) end
  return { x = x, value = f(e) }
end

local function mix(a, b, t)
  local x = {}
  for i = 1, #a do x[i] = a[i] + t * (b[i] - a[i]) end
  return x
end

local function centre(points)
  local n, x = #points - 1, {}
  for i = 1, #points[1].x do
    x[i] = 0
    for k = 1, n do x[i] = x[i] + points[k].x[i] / n end
  end
  return x
end

-- Moves the worst point, or all towards the best.
local function step(f, points)
  local n = #points
  table.sort(points, function(a, b) return a.value < b.value end)
  local c, worst = centre(points), points[n]
  local new = point(f, mix(c, worst.x, -1))
  if new.value < points[1].value then
    local far = point(f, mix(c, worst.x, -2))
    points[n] = far.value < new.value and far or new
  elseif new.value < points[n - 1].value then
    points[n] = new
  else
    local near = point(f, mix(c, new.value < worst.value and new.x or worst.x, 0.5))
    if near.value < math.min(new.value, worst.value) then
      points[n] = near
    else
      for k = 2, n do points[k] = point(f, mix(points[1].x, points[k].x, 0.5)) end
    end
  end
end

--- @tparam function f of an array of positive numbers
-- @tparam {number,...} start
-- @tparam int calls steps of the simplex
-- @tparam[opt=0.2] number size of the first simplex, relative
-- @treturn {number,...} where f is least
-- @treturn number f there
function simplex.least(f, start, calls, size)
  local x = {}
  for i, v in ipairs(start) do x[i] = math.log(v) end
  local points = { point(f, x) }
  for i = 1, #x do
    local y = mix(x, x, 0)
    y[i] = y[i] + (size or 0.2)
    points[i + 1] = point(f, y)
  end
  for _ = 1, calls do step(f, points) end
  table.sort(points, function(a, b) return a.value < b.value end)
  local out = {}
  for i, v in ipairs(points[1].x) do out[i] = math.exp(v) end
  return out, points[1].value
end

return simplex
