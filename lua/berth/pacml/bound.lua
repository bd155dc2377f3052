--- A bound on the jobs that any scheduler can accept, also one that is given all arrivals; with its
-- proof.
local core = require "berth.core"
local options = require "berth.base.options"
local taken = require "berth.pacml.bound_choices"

local FN = "berth.pacml.bound"
local OF_TRACE, OF_CHOICES = { trace = true }, { choices = true }

options.declare("pacml.bound", {
  { key = "horizon", type = "number", default = "none", readers = OF_TRACE, only = "of a trace",
    text = "s; jobs that arrive later do not count" },
  { key = "arrivals", type = "array", default = "none; must be given", readers = OF_CHOICES,
    only = "without a trace", text = "of each job, s" },
  { key = "choices", type = "array", default = "none; must be given", readers = OF_CHOICES,
    only = "without a trace", text = "array of { servers, seconds } of each job" },
  { key = "servers", type = "whole", default = "none; must be given", readers = OF_CHOICES,
    only = "without a trace", text = "how many" },
  { key = "slack", type = "number", default = "1e-07", text = "tolerance of the linear program" },
})

local Bound = { __name = "berth.pacml.bound" }
Bound.__index = Bound

function Bound.__tostring(b)
  return core.sprintf("bound: at most %.0f of %.0f jobs accepted (%.6g in the relaxation), "
    .. "blocking rate at least %.4f", b.jobs, b.arrived, b.bound, b.blocking_rate)
end

-- ---- reading ------------------------------------------------------------------------------------

local function number(x, where, low, wholes)
  if type(x) == "number" and x >= low and (not wholes or x == math.floor(x) and x < 2 ^ 31) then
    return x
  end
  options.fail("%s: %s: expected a %s of at least %d, got %s", FN, where,
    wholes and "whole number" or "number", low,
    type(x) == "number" and core.sprintf("%.14g", x) or core.kind(x))
end

local function list(x, where)
  options.expect(x, "array", "%s: %s", FN, where)
  return x
end

local function check_arrivals(arrivals)
  for i, x in ipairs(list(arrivals, "arrivals")) do
    number(x, ("arrivals[%d]"):format(i), 0)
    options.refuse(x == math.huge or i > 1 and x < arrivals[i - 1],
      "%s: arrivals[%d]: %.14g s: expected finite times in ascending order", FN, i, x)
  end
end

-- One array for all choices, as the core takes them.
local function flatten(given)
  local flat = { count = {}, servers = {}, seconds = {} }
  for i = 1, #given.arrivals do
    local where = ("choices[%d]"):format(i)
    flat.count[i] = #list(given.choices[i], where)
    for k, choice in ipairs(given.choices[i]) do
      local at = ("%s[%d]"):format(where, k)
      list(choice, at)
      table.insert(flat.servers, number(choice[1], at .. "[1] (servers)", 1, true))
      table.insert(flat.seconds, number(choice[2], at .. "[2] (seconds)", 0))
    end
  end
  return flat
end

local function check(given)
  options.check(FN, given, options.keys("pacml.bound", "choices"))
  check_arrivals(given.arrivals)
  list(given.choices, "choices")
  options.refuse(#given.choices ~= #given.arrivals,
    "%s: choices: has %d entries, expected %d (one per job)", FN, #given.choices, #given.arrivals)
  number(given.servers, "servers", 1, true)
  options.refuse(given.slack ~= nil and number(given.slack, "slack", 0) == math.huge,
    "%s: slack: is infinite", FN)
  return given
end

local function check_trace(env, trace)
  options.expect(env.ramp, "ramp", "%s: ramp", FN)
  for _, key in ipairs { "model", "beta", "arrival" } do
    if #list(list(trace, "trace")[key], "trace." .. key) ~= #trace.model then
      options.fail("%s: trace.%s: has %d entries, expected %d (one per job)", FN, key, #trace[key],
        #trace.model)
    end
  end
  for i, model in ipairs(trace.model) do
    number(trace.beta[i], ("trace.beta[%d]"):format(i), 0)
    options.refuse(not env.models[model], "%s: trace.model[%d]: there is no model %s", FN, i,
      tostring(model))
  end
  check_arrivals(trace.arrival)
end

local function jobs_of(env, trace, opts)
  local given = options.check(FN, opts, options.keys("pacml.bound", "trace"))
  check_trace(env, trace)
  local horizon = given.horizon and number(given.horizon, "horizon", 0) or math.huge
  local ends_by, arrivals, choices = env.ramp.compat and horizon or math.huge, {}, {}
  for i, model in ipairs(trace.model) do
    if trace.arrival[i] > horizon then break end
    arrivals[i] = trace.arrival[i]
    choices[i] = taken.feasible(env, { model = model, beta = trace.beta[i],
      arrival = trace.arrival[i] }, ends_by)
  end
  return { arrivals = arrivals, choices = choices, servers = env.ramp.servers, slack = given.slack }
end

-- ---- answers ------------------------------------------------------------------------------------

local function arguments(given, flat)
  return given.arrivals, flat.count, flat.servers, flat.seconds, given.servers, given.slack or 1e-7
end

-- Per job again.
local function deal(flat, shares)
  local out, k = {}, 0
  for i, n in ipairs(flat.count) do
    out[i] = {}
    for c = 1, n do out[i][c] = shares[k + c] end
    k = k + n
  end
  return out
end

--- The bound that prices of a server at each arrival prove, whatever they are: nothing of the
-- solver is in it.
-- @tparam[opt] table prices one per job, at least 0; default: those of the bound
-- @treturn number jobs
function Bound:prove(prices)
  local arrivals, count, servers, seconds, capacity, slack = arguments(self.given, self.flat)
  prices = list(prices or self.price, "prices")
  options.refuse(#prices ~= #arrivals,
    "bound:prove: prices: has %d entries, expected %d (one per job)", #prices, #arrivals)
  for i, x in ipairs(prices) do
    options.refuse(number(x, ("prices[%d]"):format(i), 0) == math.huge,
      "bound:prove: prices[%d]: is infinite", i)
  end
  return core.clairvoyant_prove(arrivals, count, servers, seconds, capacity, slack, prices)
end

--- Whether a job of an env that was accepted, and ended by the horizon, took no less than the bound
-- has reckoned with. If all did, the bound holds for their run.
-- @tparam integer job
-- @tparam integer decision
-- @tparam integer servers how many it held
-- @tparam number seconds from its arrival to its end
-- @treturn boolean
function Bound:covers(job, decision, servers, seconds)
  for _, choice in ipairs(self.choices[job] or {}) do
    if choice[3] == decision then
      return choice[1] <= servers and choice[2] <= seconds * (1 + 1e-12)
    end
  end
  return false
end

--- How many jobs can be accepted at most, by a linear program over all arrivals: each job
-- takes fractions of its choices, and at the moment of each arrival no more servers may be in use
-- than there are; where they are does not matter. A bound for schedulers without a queue. O(a
-- simplex method): 1001 jobs with nine choices each in less than a second.
--
-- Of an env: a choice takes as many servers as the most cut op has pieces, and the least time that
-- was found on blocks of all forms at all places, and within boxes of up to twice as many servers.
-- b:covers(): did a job that ran take no less?
-- @tparam env|table jobs an env, or { arrivals (s), choices (per job an array of { servers, seconds
--  }), servers (there are), slack (1e-7 s: a job that ends so little after an arrival is gone by
--  then) }
-- @tparam[opt] table trace of an env: { model, beta, arrival }
-- @tparam[opt] table opts of an env: horizon (s, as in reports: jobs that arrive later do not
--  count; in compat those that do not end by it are not accepted; default: none), slack
-- @treturn[1] table bound, jobs (the bound, rounded down), arrived, blocking_rate, value (of the
--  shares), share (per job and choice), price (per job, of a server at its arrival), choices,
--  columns, moments, iterations; b:prove(), b:covers()
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code
-- @usage b = assert(berth.pacml.bound(env, trace, { horizon = 1e6 })); print(b)
return function(jobs, trace, opts)
  options.refuse(type(jobs) ~= "table", "%s: expected an env or a table, got %s", FN,
    core.kind(jobs))
  local given = jobs.models and jobs_of(jobs, trace, opts) or check(jobs)
  local flat = flatten(given)
  local b, message, code = core.clairvoyant(arguments(given, flat))
  if not b then return nil, message, code end
  b.given, b.flat, b.choices, b.arrived = given, flat, given.choices, #given.arrivals
  b.blocking_rate = b.arrived > 0 and 1 - b.jobs / b.arrived or 0
  b.share = deal(flat, b.share)
  return setmetatable(b, Bound)
end
