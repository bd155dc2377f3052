--- Distributions of beta: the share of its sequential time within which a job must end. Discrete,
-- in hundredths.
local core = require "berth.core"
local options = require "berth.base.options"
local family = require "berth.pacml.beta_family"
local tables = require "berth.pacml.beta_tables"

local Beta = { __name = "berth.pacml.beta" }
Beta.__index = Beta

options.declare("pacml.beta", {
  { key = "skew", type = "number", default = "none; must be given", low = -1e6, high = 1e6,
    required = true, text = "shape of the skew normal distribution" },
  { key = "seed", type = "whole", default = "0", high = 2 ^ 53, text = "of the samples" },
  { key = "min", type = "number", default = "0.1", low = 0.01, high = 1, text = "least value" },
  { key = "max", type = "number", default = "1", low = 0.01, high = 1, text = "largest value" },
  { key = "redraw", type = "flag", default = "false",
    text = "samples up to min are drawn again from the whole range; false: they become min, as "
      .. "published" },
})

function Beta.__tostring(d)
  local low, high = d.values[1], d.values[#d.values]
  return core.sprintf("beta %s: %.2f to %.2f, mean %.4f, deviation %.4f", d.name, low, high, d.mean,
    d.deviation)
end

local function moments(d)
  local mean, square = 0, 0
  for i, value in ipairs(d.values) do mean = mean + d.mass[i] * value end
  for i, value in ipairs(d.values) do
    square = square + d.mass[i] * ((value - mean) * (value - mean))
  end
  d.mean, d.deviation = mean, math.sqrt(square)
end

local function distribution(name, counts, first)
  local d = setmetatable({ name = name, values = {}, mass = {}, counts = counts, below = {} }, Beta)
  local total = 0
  for i, n in ipairs(counts) do
    total = total + n
    d.values[i], d.below[i] = (first + i - 1) / 100, total
  end
  for i, n in ipairs(counts) do d.mass[i] = n / total end
  moments(d)
  return d
end

-- The first value that `rank` of all samples do not exceed, by bisection.
local function value_at(d, rank)
  local low, high = 1, #d.below
  while low < high do
    local middle = math.floor((low + high) / 2)
    if d.below[middle] < rank then low = middle + 1 else high = middle end
  end
  return d.values[low]
end

--- @tparam rng rng  one draw of it is used
-- @treturn number
function Beta:draw(rng)
  options.expect(rng, "rng", "beta:draw: rng")
  return value_at(self, rng:below(self.below[#self.below]))
end

--- The least value with at least that share of the mass up to it.
-- @tparam number share 0 to 1
function Beta:quantile(share)
  options.refuse(type(share) ~= "number" or not (share >= 0 and share <= 1),
    "beta:quantile: share: expected a number from 0 to 1, got %s", tostring(share))
  return value_at(self, math.max(1, share * self.below[#self.below]))
end

local function skewed(given)
  options.read("berth.pacml.beta", "pacml.beta", given)
  local plan = options.merge({ seed = 0, min = 0.1, max = 1 }, given)
  options.refuse(plan.min >= plan.max, "berth.pacml.beta: min: %.14g is not below max, %.14g",
    plan.min, plan.max)
  return distribution(core.sprintf("with skew %g", plan.skew), family.skewed(plan))
end

--- The published distributions, from tables, or another one of their family.
--
-- "A" is uniform over 0.10, 0.11, ..., 1.00; "B", "C" and "D" are skew normal with shapes 5, 0 and
-- -5: strict, middling and lax. The family's scale is set by the extreme ones of 50000 samples, so
-- that means differ by some hundredths from seed to seed: the tables are of seeds with the
-- quartiles that were measured on the published ones; scripts/beta-tables.lua prints them again.
-- Source: Parsonson et al., "Partitioning Distributed Compute Jobs with Reinforcement Learning and
-- Graph Neural Networks", 2023, and its published simulator, whose redraw of values up to `min`
-- comes from a range of no width: they become `min`.
-- @tparam string|table given a name, or options as declared above
-- @treturn table name, values, mass (their shares), counts, mean, deviation; d:draw(rng),
--  d:quantile(share)
-- @usage d = berth.pacml.beta "B"; print(d:draw(berth.rng(1)))
return function(given)
  if type(given) == "table" then
    if getmetatable(given) == Beta then return given end
    return skewed(given)
  end
  local found = type(given) == "string" and tables[given]
  if not found then
    options.fail("berth.pacml.beta: expected \"A\", \"B\", \"C\", \"D\" or a table, got %s",
      type(given) == "string" and ("%q"):format(given) or core.kind(given))
  end
  return distribution(given, found.counts, found.first)
end
