--- A whole run: each job of a trace is decided about.
local core = require "berth.core"
local options = require "berth.base.options"
local deciders = require "berth.pacml.deciders"
local plan = require "berth.cluster.plan"
local records = require "berth.pacml.records"
local scheduler = require "berth.cluster.scheduler"

local FN = "berth.pacml.simulate"

options.declare("pacml.simulate", options.join(options.rows "pacml_run:report", {
  { key = "records", type = "flag", default = "true",
    text = "keeps what became of each job; false: the report alone, which is quicker" },
  { key = "name", type = "string", default = "of the decider", text = "in records" },
  { key = "about", type = "table", default = "none",
    text = "seed and whatever else belongs into the files" },
}))

local Report = { __name = "berth.pacml.report" }
Report.__index = Report

function Report.__tostring(r)
  return core.sprintf("%d of %d jobs blocked (%.4f), completion time %s, %.2f times as fast, "
    .. "utilisation %.3f", r.blocked, r.arrived, r.blocking_rate, core.format(r.jct, "seconds"),
    r.speedup, r.utilisation)
end

local function check(env, trace, opts)
  options.refuse(type(env) ~= "table" or type(env.run) ~= "function",
    "%s: env: expected what berth.pacml.env gives, got %s", FN, core.kind(env))
  options.expect(trace, "table", "%s: trace", FN)
  local given = options.merge(options.read(FN, "pacml.simulate", opts))
  if given.horizon ~= nil then given.horizon = options.seconds(FN .. ": horizon", given.horizon) end
  return given
end

-- ---- decisions ----------------------------------------------------------------------------------

-- Servers are known from the look, which is what the decision then does.
local function decide(run, servers, pieces, block)
  local job, _, held = run.job, nil, nil
  if servers then _, held = run:look(pieces, block) end
  local accepted, message = run:decide(pieces, block)
  if servers then servers[job] = accepted and held or {} end
  return accepted, message
end

-- Carries out what a method returns: of an arrival a number of pieces, and a block if it chooses
-- one, or a plan.
local function taker(run, servers)
  local function decide_on(where, job, ...)
    if run.job ~= job then
      plan.wrong("%s: job %s: only the job that arrives is decided about", where, tostring(job))
    end
    plan.decide(where, decide, run, servers, ...)
  end
  local decisions = plan.kind {
    { name = "refuse", keys = { job = true }, alone = true,
      act = function(where, x) decide_on(where, x.job, 0) end },
    { name = "start", keys = { job = true, pieces = true, block = true }, act = function(where, x)
      decide_on(where, x.job, x.pieces, x.block)
    end },
  }
  local function take(event, job, answer, block)
    local arrives = event == "arrival"
    if arrives and run.job ~= job then
      plan.wrong("it has decided about job %.0f itself: it has to return the decision", job)
    end
    if arrives and type(answer) == "number" then
      decide_on("answer", job, answer, block)
    elseif answer ~= nil then
      plan.carry_out(decisions, answer)
    end
    if run.job then
      plan.wrong("expected a decision about job %.0f, or a plan that starts or refuses it", job)
    end
  end
  return take
end

--- Decides about all jobs of a trace.
-- @param env of berth.pacml.env
-- @tparam table trace
-- @param who the decider, as berth.pacml.decider takes it: a name, a function, an agent. It is
--  called with the run, and in compat with the horizon, at which running jobs will count as
--  blocked. Or a scheduler: methods arrival(self, run, job), which returns a decision (and a block)
--  or a plan { start = { { job, pieces, block } }, refuse = { job } }, and finish(self, run, job)
-- @tparam[opt] table opts as declared above; published: horizon 1e6
-- @treturn[1] table report: docs/pacml.md, "Runs"
-- @treturn[1] table records: jobs in order of arrival, and ways to write them
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code
-- @raise mistakes in what is given; what the decider raises, with the event, and plans that do not
--  fit
-- @usage report, records = berth.pacml.simulate(env, trace, "para-max", { horizon = 1e6 })
local function simulate(env, trace, who, opts)
  local given = check(env, trace, opts)
  local horizon = env.ramp and env.ramp.compat and given.horizon or nil
  local name = given.name or type(who) == "string" and who or nil
  local methods = deciders.methods(who, name, horizon)
  name = name or type(methods.name) == "string" and methods.name or nil
  local run, servers = env:run(trace), given.records ~= false and {} or nil
  local done, message, code = run:play(scheduler.functions { kind = deciders.kind,
    scheduler = methods, view = run,
    now = function() return run.now end, take = taker(run, servers) })
  if not done then return nil, message, code end
  local report = setmetatable(run:report { horizon = given.horizon }, Report)
  if not servers then return report end
  return report, records.new { env = env, trace = trace, run = run, servers = servers,
    report = report, horizon = given.horizon, decider = name, about = given.about }
end

return simulate
