--- The skew-normal family that deadlines are drawn from, built from samples as published: how often
-- each hundredth came out.
local core = require "berth.core"

local family = {}

-- Of the published construction; hundredths are its rounding.
local STEP, BINS, LEAST_SAMPLES = 0.01, 1000, 50000

-- One value of the skew normal distribution of that shape.
-- Source: Azzalini, "A class of distributions which includes the normal ones", 1985.
local function skew_normal(rng, shape)
  local delta = shape / math.sqrt(1 + shape * shape)
  local u, v = rng:normal(), rng:normal()
  return delta * math.abs(u) + math.sqrt(1 - delta * delta) * v
end

local function extremes(samples)
  local low, high = samples[1], samples[1]
  for _, x in ipairs(samples) do low, high = math.min(low, x), math.max(high, x) end
  return low, high
end

-- From 0 to max: the extreme samples set the scale.
local function stretch(samples, max)
  local low, high = extremes(samples)
  for i, x in ipairs(samples) do samples[i] = (x - low) / (high - low) * max end
end

-- The published redraw is from a range of no width, which gives its lower end.
local function lift(samples, given, rng)
  local width = given.redraw and given.max - given.min or 0
  for i, x in ipairs(samples) do
    if x <= given.min then samples[i] = given.min + (width > 0 and width * rng:uniform() or 0) end
  end
end

local function hundredth(x) return math.floor(x / STEP + 0.5) end

-- Each sample counts at the right edge of its bin.
local function count(samples)
  local low, high = extremes(samples)
  local width, counts, last = (high - low) / BINS, {}, hundredth(high)
  for _, x in ipairs(samples) do
    local bin = math.min(math.floor((x - low) / width), BINS - 1)
    local value = math.min(hundredth(low + (bin + 1) * width), last)
    counts[value] = (counts[value] or 0) + 1
  end
  return counts, hundredth(low), last
end

--- @tparam table given skew, seed, min, max (0 < min < max, the latter at most 1), redraw
-- @treturn table counts of the hundredths first, first + 1, ...
-- @treturn integer first
function family.skewed(given)
  local rng = core.rng(given.seed)
  local samples = {}
  for i = 1, math.max(LEAST_SAMPLES, math.floor(10 * (given.max - given.min) / STEP + 0.5)) do
    samples[i] = skew_normal(rng, given.skew)
  end
  stretch(samples, given.max)
  lift(samples, given, rng)
  local counts, first, last = count(samples)
  local out = {}
  for value = first, last do out[#out + 1] = counts[value] or 0 end
  return out, first
end

return family
