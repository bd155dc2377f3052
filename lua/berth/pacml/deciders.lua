--- Who decides into how many pieces the present job of a run is cut, without learning: the
-- published baselines, and rules that look ahead. A decider is a function of the run that gives a
-- decision.
-- Source: Parsonson et al., "Partitioning Distributed Compute Jobs with Reinforcement Learning and
-- Graph Neural Networks", 2023, and its published simulator.
local core = require "berth.core"
local beta = require "berth.pacml.beta"
local options = require "berth.base.options"
local scheduler = require "berth.cluster.scheduler"

local FN = "berth.pacml.decider"

-- Of decisions 1, 2, ... that the mask allows, the last up to `high`; 0: none.
local function largest(mask, high)
  for d = high, 1, -1 do
    if mask[d + 1] == 1 then return d end
  end
  return 0
end

-- The first from `low` on; nil: none.
local function smallest(mask, low)
  for d = low, #mask - 1 do
    if mask[d + 1] == 1 then return d end
  end
  return nil
end

-- So many pieces that a job in perfect pieces ends by its deadline. Rounding must not make 5 of 1 /
-- 0.2 a 6.
local function needed(share) return math.ceil(1 / share * (1 - 1e-12)) end

-- Makes deciders: the most pieces that the mask of that name allows, up to `cap`.
local function most(mask_name, cap)
  return function()
    return function(run)
      local mask = run:mask(mask_name)
      return largest(mask, math.min(cap or math.huge, #mask - 1))
    end
  end
end

local makers = {}

-- ---- published: what is legal, whether it is in time or not -------------------------------------

makers["para-max"] = most "paper"

makers["para-min"] = function()
  return function(run)
    local mask = run:mask("paper")
    return smallest(mask, needed(run.beta)) or largest(mask, #mask - 1)
  end
end

makers.random = function(given)
  local rng = core.rng(given.seed or 0)
  return function(run)
    local legal = {}
    for i, allowed in ipairs(run:mask("paper")) do
      if i > 1 and allowed == 1 then legal[#legal + 1] = i - 1 end
    end
    return #legal > 0 and legal[rng:below(#legal)] or 0
  end
end

makers.sequential = most("paper", 1)

makers["min-parallelism"] = most("paper", 2)

-- ---- looking ahead: what will be accepted -------------------------------------------------------

makers["largest-feasible"] = most "exact"

makers["smallest-feasible"] = function()
  return function(run) return smallest(run:mask("exact"), 1) or 0 end
end

makers.capped = function(given)
  local cap = given.cap or 4
  return function(run)
    local mask = run:mask("exact")
    local below = largest(mask, math.min(cap, #mask - 1))
    return below > 0 and below or smallest(mask, cap + 1) or 0
  end
end

-- The planner's rule with rollouts, from the arrival process: nothing is learned.
makers["rolling-horizon"] = function(given)
  options.refuse(type(given.env) ~= "table" or not given.env.planner,
    "%s: rolling-horizon: env: expected an environment (berth.pacml.env), got %s", FN,
    core.kind(given.env))
  options.refuse(given.beta == nil,
    "%s: rolling-horizon: beta: expected the distribution of jobs to come, got nil", FN)
  local d = beta(given.beta)
  local planner, message = given.env:planner { hidden = 1, blocks = 3, discount = 0.985,
    gap = given.interarrival or 1000, beta = d.values, mass = d.mass }
  if not planner then options.fail("%s: rolling-horizon: %s", FN, message) end
  local o = { futures = given.futures or 64, depth = given.depth or 16, seed = given.seed or 0 }
  return function(run, horizon)
    o.horizon = horizon
    local decision, block = planner:decide(run, o)
    if not decision then error(block, 0) end
    return decision, block
  end
end

-- ---- by name ------------------------------------------------------------------------------------

local NAMES = { "para-max", "para-min", "random", "sequential", "min-parallelism",
  "largest-feasible", "smallest-feasible", "capped", "rolling-horizon" }
local MOST = 2 ^ 53 - 1
local ROLLING = { ["rolling-horizon"] = true }

-- The first one that a decider reads is the one that its name may give behind a colon.
options.declare("pacml.decider", {
  { key = "cap", type = "whole", default = "4", low = 1, high = MOST, readers = { capped = true },
    only = "capped", text = "pieces at most, where the mask allows so few" },
  { key = "futures", type = "whole", default = "64", high = MOST, readers = ROLLING,
    only = "rolling-horizon", text = "rollouts of a decision for each choice, in the mean; 0: the "
      .. "rule alone" },
  { key = "depth", type = "whole", default = "16", low = 1, high = MOST, readers = ROLLING,
    only = "rolling-horizon", text = "arrivals in each rollout" },
  { key = "seed", type = "whole", default = "0", high = MOST,
    readers = { random = true, ["rolling-horizon"] = true }, only = "random, rolling-horizon",
    text = "of the random choices" },
  { key = "env", type = "table", default = "none; must be given", readers = ROLLING,
    only = "rolling-horizon", text = "the environment, of berth.pacml.env" },
  { key = "beta", type = "choice or table", default = "none; must be given", readers = ROLLING,
    only = "rolling-horizon", text = "distribution of jobs to come, as for berth.pacml.beta" },
  { key = "interarrival", type = "seconds or array", default = "1000 s", readers = ROLLING,
    only = "rolling-horizon", text = "time between jobs to come, or { from, to }" },
})

local function check(name, given)
  return options.read(("%s: %s"):format(FN, name), "pacml.decider", given, name)
end

local function named(text, given)
  local name, value = text:match("^([^:]+):(%d+)$")
  local key = value and makers[name] and options.keys("pacml.decider", name)[1]
  if key then
    return makers[name](check(name, options.merge(given, { [key] = tonumber(value) })))
  end
  options.refuse(not makers[text], "%s: no %q (legal: %s)", FN, text,
    options.names_text(text, NAMES))
  return makers[text](check(text, given))
end

local function is_callable(x)
  if type(x) == "function" then return true end
  local meta = (type(x) == "table" or type(x) == "userdata") and getmetatable(x)
  return type(meta) == "table" and meta.__call ~= nil
end

local deciders = {
  names = NAMES,
  kind = { fn = "berth.pacml.simulate", what = "decider", events = { "arrival", "finish" },
    needs = "arrival", when = "at %.6g s" },
}

-- Is it a table of methods, not something that can be called?
local function has_methods(what)
  if type(what) ~= "table" or is_callable(what) then return false end
  scheduler.check(deciders.kind, what)
  return true
end

--- A decider for one game: by a name, with what the name needs to know of it.
-- @param what as for `decider`
-- @tparam table game seed, env, beta, interarrival
-- @return a function, or a table of methods
function deciders.for_game(what, game)
  if has_methods(what) then return what end
  local known = {}
  local wanted = type(what) == "string" and options.keys("pacml.decider", what:match("^[^:]*"))
    or {}
  for _, key in ipairs(wanted) do known[key] = game[key] end
  return deciders.decider(what, next(known) ~= nil and known or nil)
end

--- A decider by name, or one that is one already.
--
-- Published, by what is legal, in time or not: "para-max", the most pieces; "para-min", the fewest
-- from 1 / beta on, or else the most; "random", any but 0; "sequential", 1; "min-parallelism", 2 or
-- else 1. By what will be accepted: "largest-feasible"; "smallest-feasible"; "capped", the most up
-- to `cap`, or else the fewest above. These turn away only what nothing else is left for.
-- "rolling-horizon": the planner (docs/pacml.md, "Looking ahead") with its rule, as it is before it
-- learns.
-- @param what a name, "random:SEED", "capped:CAP", "rolling-horizon:FUTURES"; a function of the run
--  that gives a decision, and a block if it chooses one; anything that can be called so, as agents
-- @tparam[opt] table opts what the decider reads of the options declared above
-- @treturn function
-- @usage decider = berth.pacml.decider("capped", { cap = 8 })
function deciders.decider(what, opts)
  if type(what) == "string" then return named(what, opts) end
  options.refuse(not is_callable(what), "%s: expected a name or a function, got %s", FN,
    core.kind(what))
  return what
end

--- A decider as a scheduler: a table of methods as it is, others as its method `arrival`.
-- @param what as for `decider`, or a table of methods
-- @tparam string|nil name
-- @tparam number|nil horizon that others are called with
function deciders.methods(what, name, horizon)
  if has_methods(what) then return what end
  local decide = deciders.decider(what)
  return { name = name, arrival = function(_, run) return decide(run, horizon) end }
end

return deciders
