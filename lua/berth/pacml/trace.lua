--- Sequences of jobs: which model each is of, when it arrives, and how much of its sequential time
-- it may take.
local core = require "berth.core"
local options = require "berth.base.options"
local beta = require "berth.pacml.beta"

-- Numbers of random streams: another beta leaves models and arrivals as they are.
local MODELS, BETAS, ARRIVALS = 1, 2, 3

local Trace = { __name = "berth.pacml.trace" }

function Trace.__tostring(t)
  return ("trace: %d jobs in %s"):format(#t.model, core.format(t.arrival[#t.arrival] or 0,
    "seconds"))
end

local MOST, MOST_SHUFFLED = 2 ^ 31 - 1, 2 ^ 24

options.declare("pacml.trace", {
  { key = "models", type = "whole", default = "none; must be given", low = 1, high = MOST,
    required = true, text = "how many there are" },
  { key = "beta", type = "choice or table", default = "A",
    text = "A to D, or what berth.pacml.beta takes: distribution of the share of its sequential "
      .. "time that a job may take" },
  { key = "seed", type = "whole", default = "0", text = "of the jobs" },
  { key = "jobs", type = "whole", default = "1001", high = MOST, text = "how many" },
  { key = "interarrival", type = "seconds or array", default = "1000 s",
    text = "time between arrivals; or { from, to }: uniform" },
  { key = "copies", type = "whole", default = "201", low = 1, high = MOST,
    text = "of each model in the pool that jobs are drawn from" },
  { key = "shuffle", type = "flag", default = "false",
    text = "the pool is shuffled each time it is filled, which changes the sequence, not its law" },
})

-- ---- models -------------------------------------------------------------------------------------

local function shuffled(rng, models, size)
  local pool = {}
  for k = 1, size do pool[k] = math.fmod(k - 1, models) + 1 end
  return rng:shuffle(pool)
end

local function check_pool(models, copies, shuffle)
  local size, most = models * copies, shuffle and MOST_SHUFFLED or MOST
  if size > most then
    options.fail("berth.pacml.trace: copies: %.0f of %.0f models: a pool of at most %.0f jobs%s",
      copies, models, most, shuffle and " can be shuffled" or "")
  end
  return size
end

-- Draws without replacement; an empty pool is filled again: all models in turn, over and over. O(1)
-- each: the last one takes the place of the one drawn; only those that did, or all shuffled ones,
-- are in the table.
local function draw_models(rng, n, models, copies, shuffle)
  local out, size, left, pool = {}, check_pool(models, copies, shuffle), 0, nil
  for i = 1, n do
    if left == 0 then left, pool = size, shuffle and shuffled(rng, models, size) or {} end
    local k = rng:below(left)
    out[i] = pool[k] or math.fmod(k - 1, models) + 1
    pool[k], pool[left] = pool[left] or math.fmod(left - 1, models) + 1, nil
    left = left - 1
  end
  return out
end

-- ---- arrivals -----------------------------------------------------------------------------------

local function seconds(x, key)
  local found, value = pcall(core.quantity, x, "seconds")
  if not found or type(value) ~= "number" or not (value >= 0 and value < math.huge) then
    options.fail("berth.pacml.trace: %s: expected a time of at least 0 s, got %s", key,
      (type(x) == "number" or type(x) == "string") and tostring(x) or core.kind(x))
  end
  return value
end

local function range(given)
  if given == nil then return 1000, 1000 end
  if type(given) ~= "table" then
    local x = seconds(given, "interarrival")
    return x, x
  end
  options.refuse(#given ~= 2,
    "berth.pacml.trace: interarrival: expected a time or { from, to }, got %d entries", #given)
  local low, high = seconds(given[1], "interarrival[1]"), seconds(given[2], "interarrival[2]")
  options.refuse(low > high, "berth.pacml.trace: interarrival: %.14g s is above %.14g s", low, high)
  return low, high
end

local function draw_arrivals(rng, n, low, high)
  local out, now = {}, 0
  for i = 1, n do
    out[i] = now
    now = low == high and i * low or now + low + (high - low) * rng:uniform()
  end
  return out
end

-- ---- traces -------------------------------------------------------------------------------------

local function draw_betas(rng, n, given)
  local out, distribution = {}, beta(given)
  for i = 1, n do out[i] = distribution:draw(rng) end
  return out
end

--- Draws a sequence of jobs: the same one, byte for byte, for the same options. The first job
-- arrives at 0.
--
-- Models come from a pool that holds each of them `copies` times, without replacement; when it is
-- empty it is filled again. Models, betas and arrivals have random streams of their own: another
-- beta leaves the rest as it is.
-- @tparam table given as declared above
-- @treturn table model (from 1), beta, arrival (s): arrays of `jobs` entries
-- @usage t = berth.pacml.trace { models = 5, beta = "B", seed = 1 }
return function(given)
  given = options.read("berth.pacml.trace", "pacml.trace", given)
  local low, high = range(given.interarrival)
  local n, seed = given.jobs or 1001, given.seed or 0
  return setmetatable({
    model = draw_models(core.rng(seed, MODELS), n, given.models, given.copies or 201,
      given.shuffle),
    beta = draw_betas(core.rng(seed, BETAS), n, given.beta or "A"),
    arrival = draw_arrivals(core.rng(seed, ARRIVALS), n, low, high),
  }, Trace)
end
