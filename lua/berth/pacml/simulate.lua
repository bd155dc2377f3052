--- A whole run: each job of a trace is decided about.
local core = require "berth.core"
local options = require "berth.base.options"
local deciders = require "berth.pacml.deciders"
local records = require "berth.pacml.records"

local FN = "berth.pacml.simulate"
local KINDS = { { "about", "table" }, { "name", "string" }, { "records", "boolean" } }

local Report = { __name = "berth.pacml.report" }
Report.__index = Report

function Report.__tostring(r)
  return ("%d of %d jobs blocked (%.4f), completion time %s, %.2f times as fast, utilisation %.3f"):format(r.blocked, r.arrived,
    r.blocking_rate, core.format(r.jct, "seconds"), r.speedup, r.utilisation)
end

local function check(env, trace, opts)
  if type(env) ~= "table" or type(env.run) ~= "function" then
    options.fail("%s: env: expected what berth.pacml.env gives, got %s", FN, core.kind(env))
  end
  if type(trace) ~= "table" then options.fail("%s: trace: expected a table, got %s", FN, core.kind(trace)) end
  local given = options.merge(options.check(FN, opts, { "horizon", "records", "name", "about" }))
  for _, pair in ipairs(KINDS) do
    local key, kind = pair[1], pair[2]
    if given[key] ~= nil and type(given[key]) ~= kind then
      options.fail("%s: %s: expected a %s, got %s", FN, key, kind, core.kind(given[key]))
    end
  end
  if given.horizon ~= nil then given.horizon = options.seconds(FN .. ": horizon", given.horizon) end
  return given
end

-- Servers are known from the look, which is what the decision then does.
local function decide(run, decision, block, jobs)
  if not jobs then
    run:decide(decision, block)
    return
  end
  local job, _, servers = run.job, run:look(decision, block)
  local accepted = run:decide(decision, block)
  jobs[job] = accepted and servers or {}
end

--- Decides about all jobs of a trace.
-- @param env of berth.pacml.env
-- @tparam table trace
-- @param decider as berth.pacml.decider takes it: a name, a function, an agent. It is called with the run, and in compat with the
--  horizon, at which running jobs will count as blocked
-- @tparam[opt] table opts horizon (s; default: until all is done; published: 1e6), records (true; false: the report alone, which
--  is quicker), name (of the decider), about (a table: seed and whatever else belongs into the files), both for
--  records
-- @treturn table report: docs/pacml.md, "Runs"
-- @treturn table records: jobs in order of arrival, and ways to write them
-- @usage report, records = berth.pacml.simulate(env, trace, "para-max", { horizon = 1e6 })
local function simulate(env, trace, decider, opts)
  local given = check(env, trace, opts)
  local decide_on = deciders.decider(decider)
  local run, servers = env:run(trace), given.records ~= false and {} or nil
  local horizon = env.ramp and env.ramp.compat and given.horizon or nil
  while not run.done do
    local job = run.job
    local decision, block = decide_on(run, horizon)
    if run.job ~= job then options.fail("%s: decider: it has decided about job %.0f itself: it is to say how", FN, job) end
    decide(run, decision, block, servers)
  end
  local report = setmetatable(run:report { horizon = given.horizon }, Report)
  if not servers then return report end
  local name = given.name or type(decider) == "string" and decider or nil
  return report, records.new { env = env, trace = trace, run = run, servers = servers, report = report, horizon = given.horizon,
    decider = name, about = given.about }
end

return simulate
