--- Student's t for confidence intervals.
local student = {}

-- Share of the distribution within t = sqrt(freedom) tan(angle) of 0. O(freedom).
-- Source: Abramowitz, Stegun, "Handbook of Mathematical Functions", 1964, 26.7.3 and 26.7.4.
local function within(angle, freedom)
  local cosine, even = math.cos(angle), math.fmod(freedom, 2) == 0
  local term, sum = even and 1 or cosine, 0
  for k = even and 2 or 3, freedom, 2 do
    sum = sum + term
    term = term * cosine * cosine * (k - 1) / k
  end
  if even then return math.sin(angle) * sum end
  return 2 / math.pi * (angle + math.sin(angle) * sum)
end

--- The t within which that share of the distribution lies, by bisection.
-- @tparam number level above 0, below 1
-- @tparam integer freedom at least 1
function student.quantile(level, freedom)
  local low, high = 0, math.pi / 2
  for _ = 1, 60 do
    local middle = (low + high) / 2
    if within(middle, freedom) < level then low = middle else high = middle end
  end
  return math.sqrt(freedom) * math.tan((low + high) / 2)
end

--- @tparam table values at least one number
-- @tparam number level
-- @treturn table n, mean; of two and more: deviation (of the sample), half (width of the interval),
--  low, high
function student.describe(values, level)
  local n, sum, squares = #values, 0, 0
  for _, x in ipairs(values) do sum = sum + x end
  local mean = sum / n
  if n == 1 then return { n = 1, mean = mean } end
  for _, x in ipairs(values) do squares = squares + (x - mean) * (x - mean) end
  local deviation = math.sqrt(squares / (n - 1))
  local half = student.quantile(level, n - 1) * deviation / math.sqrt(n)
  return { n = n, mean = mean, deviation = deviation, half = half, low = mean - half,
    high = mean + half }
end

return student
