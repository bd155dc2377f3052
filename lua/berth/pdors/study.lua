--- Policies beside each other on many generated problems.
local core = require "berth.core"
local experiment = require "berth.experiment"
local generate = require "berth.pdors.generate"
local json = require "berth.base.json"
local options = require "berth.base.options"
local policies = require "berth.pdors.policies"
local problem = require "berth.pdors.problem"
local simulate = require "berth.pdors.simulate"

local FN = "berth.pdors.study"
local MOST_KEPT = 64

options.declare("pdors.study", options.join({
  { key = "name", type = "string", default = "pdors", text = "of the experiment" },
  { key = "policies", type = "table", default = "all",
    text = "names, or { name, policy, options }" },
  { key = "generate", type = "choice", default = "default", text = "which jobs are drawn",
    choices = {
      { name = "default",
        text = "The synthetic jobs of PD-ORS." },
          { name = "realistic", text = "Eight models as measured." } } },
  { key = "given", type = "table", default = "none", text = "options of berth.pdors.generate" },
  { key = "grid", type = "table", default = "one point",
    text = "arrays of values by option of berth.pdors.generate" },
  { key = "seeds", type = "whole or array", default = "20", text = "how many, from 1, or which" },
}, options.rows("pdors.simulate", "certify"),
  options.rows("experiment", "path shard also retry progress")))

-- Names in order, and of each { policy, options }.
local function named(list)
  options.refuse(type(list) ~= "table" or #list == 0,
    "%s: policies: expected an array with something in it, got %s", FN, core.kind(list))
  local names, own = {}, {}
  for i, one in ipairs(list) do
    local name, policy, opts = one, one, nil
    if type(one) == "table" then name, policy, opts = one[1], one[2] or one[1], one[3] end
    options.refuse(type(name) ~= "string",
      "%s: policies[%d]: expected a name or { name, policy, options }, got %s", FN, i,
      core.kind(one))
    if type(policy) == "string" then policies.check(FN, policy) end
    if own[name] then options.fail("%s: policies[%d]: %q is there twice", FN, i, name) end
    names[i], own[name] = name, { policy, opts }
  end
  return names, own
end

local function text_of(x)
  if type(x) ~= "table" then return type(x) == "number" and json.encode(x) or tostring(x) end
  local parts = {}
  for _, key in ipairs(options.sorted_keys(x)) do
    parts[#parts + 1] = ("%s:%s"):format(tostring(key), text_of(x[key]))
  end
  return "{" .. table.concat(parts, ",") .. "}"
end

-- What the trials have in common is part of their name: a file does not mix workloads, nor options
-- of one policy.
local function name_of(given, names, own)
  local parts = { given.name or "pdors", given.generate or "default" }
  for _, key in ipairs(options.sorted_keys(given.given or {})) do
    parts[#parts + 1] = ("%s=%s"):format(key, text_of(given.given[key]))
  end
  for _, name in ipairs(names) do
    local opts = own[name][2]
    if opts then parts[#parts + 1] = ("%s %s"):format(name, text_of(opts)) end
  end
  if given.certify ~= nil then
    parts[#parts + 1] = ("certify=%s"):format(tostring(given.certify))
  end
  return table.concat(parts, " ")
end

-- Problems of the last trials: policies come on the same ones, and share their bounds.
local function problems(given)
  local kept, order = {}, {}
  return function(trial)
    local drawn = options.merge(given.given, trial.parameters, { seed = trial.seed })
    drawn.policy = nil
    local key = text_of(drawn)
    if not kept[key] then
      kept[key] = problem.new(generate(given.generate or "default", drawn))
      order[#order + 1] = key
      if #order > MOST_KEPT then kept[table.remove(order, 1)] = nil end
    end
    return kept[key]
  end
end

--- What a run comes to, for tables: numbers only.
local function fields_of(r)
  local s = r.summary
  local out = { utility = s.utility, bound = s.bound, ratio = s.ratio, done = s.done,
    possible = r.possible, refused = s.refused, unfinished = s.unfinished,
    training_median_slots = s.training_median_slots,
    training_mean_slots = s.training_mean_slots, inside = s.inside, worst_case = s.worst_case }
  for name, x in pairs(s.used) do out["used_" .. name] = x end
  if r.counts then
    for name, x in pairs(r.counts) do out["count_" .. name] = x end
  end
  return out
end

--- Plays each policy on generated problems, all of them on the same ones.
-- @tparam table given as declared above
-- @treturn[1] experiment with parameters policy and those of the grid; results are those of the
--  summary
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code as berth.experiment
-- @usage e = berth.pdors.study { policies = { "pd-ors", "oasis" }, grid = { machines = { 50, 100 }
--  }, seeds = 5 }
local function study(given)
  given = options.read(FN, "pdors.study", given)
  local names, own = named(given.policies or policies.names)
  local grid = options.merge(given.grid)
  if grid.policy then options.fail("%s: grid.policy: use policies", FN) end
  grid.policy = names
  local draw = problems(given)
  local function trial(t)
    local policy = own[t.parameters.policy]
    local opts = options.merge({ seed = t.seed, certify = given.certify }, policy[2])
    local r, message, code = simulate(draw(t), policy[1], opts)
    if not r then return nil, message, code end
    return fields_of(r)
  end
  return experiment { name = name_of(given, names, own), grid = grid, seeds = given.seeds or 20,
    run = trial, path = given.path, shard = given.shard, also = given.also, retry = given.retry,
    progress = given.progress }
end

return { study = study, fields_of = fields_of }
