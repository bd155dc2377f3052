--- Deciders beside each other, on many sequences of jobs.
local core = require "berth.core"
local beta = require "berth.pacml.beta"
local deciders = require "berth.pacml.deciders"
local experiment = require "berth.experiment"
local metrics = require "berth.pacml.metrics"
local options = require "berth.base.options"
local simulate = require "berth.pacml.simulate"
local trace = require "berth.pacml.trace"

local FN = "berth.pacml.study"

-- The others vary from trial to trial.
options.declare("pacml.study.trace",
  options.rows("pacml.trace", "jobs interarrival copies shuffle"))
local TRACE_KEYS = options.keys "pacml.study.trace"

options.declare("pacml.study", options.join({
  { key = "name", type = "string", default = "pacml", text = "of the experiment" },
  { key = "deciders", type = "table", default = "para-max, para-min, random",
    text = "names, or { name, decider }" },
  { key = "betas", type = "table", default = "A, B, C, D",
    text = "distributions of the share of its sequential time that a job may take" },
  { key = "seeds", type = "whole or array", default = "20", text = "how many, from 1, or which" },
  { key = "trace", type = "table", default = "none",
    text = "jobs, interarrival, copies, shuffle of berth.pacml.trace" },
  { key = "horizon", type = "seconds", default = "the last arrival",
    text = "jobs that arrive or end later do not count" },
}, options.rows("experiment", "path shard also retry progress")))

-- Blocking rates of the published tables, by distribution.
local published = {
  ["pac-ml"] = { A = 0.22089, B = 0.26407, C = 0.12465, D = 0.10367 },
  ["para-max"] = { A = 0.26240, B = 0.26307, C = 0.26740, D = 0.26307 },
  ["para-min"] = { A = 0.30869, B = 0.39560, C = 0.30736, D = 0.14186 },
  random = { A = 0.51715, B = 0.60107, C = 0.50550, D = 0.46520 },
}

local function list_of(given, key, default)
  local list = given[key] or default
  options.refuse(type(list) ~= "table" or #list == 0,
    "%s: %s: expected an array with something in it, got %s", FN, key, core.kind(list))
  return list
end

-- Names in order, and the decider of each.
local function named(env, list)
  local names, own = {}, {}
  for i, one in ipairs(list) do
    local name, what = one, one
    if type(one) == "table" and type(one[1]) == "string" then name, what = one[1], one[2] end
    options.refuse(type(name) ~= "string",
      "%s: deciders[%d]: expected a name or { name, decider }, got %s", FN, i, core.kind(one))
    deciders.for_game(what, { env = env, beta = "A" })
    if own[name] ~= nil then options.fail("%s: deciders[%d]: %q is there twice", FN, i, name) end
    names[i], own[name] = name, what
  end
  return names, own
end

local function fields_of(report)
  local out = {}
  for _, metric in ipairs(metrics) do out[metric[2]] = report[metric[1]] end
  return out
end

local function check_env(env)
  options.refuse(type(env) ~= "table" or type(env.models) ~= "table" or type(env.run) ~= "function",
    "%s: env: expected what berth.pacml.env gives, got %s", FN, core.kind(env))
end

local text_of
text_of = function(x)
  if type(x) == "table" then return text_of(x[1]) .. ".." .. text_of(x[2]) end
  return type(x) == "number" and core.sprintf("%.17g", x) or tostring(x)
end

local function add(parts, keys, from)
  for _, key in ipairs(keys) do
    if from[key] ~= nil then parts[#parts + 1] = ("%s=%s"):format(key, text_of(from[key])) end
  end
end

-- What the trials have in common is part of their name: a file does not mix clusters.
local function name_of(env, given)
  local parts = { given.name or "pacml", "models=" .. table.concat(env.names, "+") }
  add(parts, { "steps", "most" }, env)
  add(parts, options.sorted_keys(env.ramp.options), env.ramp.options)
  add(parts, TRACE_KEYS, given.trace or {})
  add(parts, { "horizon" }, given)
  return table.concat(parts, " ")
end

--- Plays each decider on sequences of jobs with each distribution of beta and each seed, all of
-- them on the same ones.
-- @param env of berth.pacml.env
-- @tparam table given as declared above. "random" and "rolling-horizon" have
--  the seed of the trial, and the latter its distribution and times
-- @treturn[1] experiment with parameters beta, decider; results are those of the report, with units
--  in their names
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code as berth.experiment
-- @usage e = berth.pacml.study(env, { deciders = { "para-max", "para-min" }, seeds = 3 })
local function study(env, given)
  check_env(env)
  given = options.merge(options.read(FN, "pacml.study", given))
  if given.horizon ~= nil then given.horizon = options.seconds(FN .. ": horizon", given.horizon) end
  options.check(FN .. ": trace", given.trace, TRACE_KEYS)
  local names, own = named(env, list_of(given, "deciders", { "para-max", "para-min", "random" }))
  local betas = list_of(given, "betas", { "A", "B", "C", "D" })
  for _, name in ipairs(betas) do beta(name) end
  trace(options.merge(given.trace, { models = #env.models })) -- mistakes are raised, not recorded
  local function run(trial)
    local t = trace(options.merge(given.trace, { models = #env.models, beta = trial.beta,
      seed = trial.seed }))
    local what = deciders.for_game(own[trial.decider],
      { seed = trial.seed, env = env, beta = trial.beta,
      interarrival = (given.trace or {}).interarrival })
    local horizon = given.horizon or t.arrival[#t.arrival]
    return fields_of(assert(simulate(env, t, what, { horizon = horizon, records = false })))
  end
  return experiment { name = name_of(env, given), grid = { beta = betas, decider = names },
    seeds = given.seeds or 20, run = run, path = given.path, shard = given.shard, also = given.also,
    retry = given.retry, progress = given.progress }
end

return { study = study, published = published }
