--- Plays a policy on a problem, slot by slot.
local core = require "berth.core"
local options = require "berth.base.options"
local policies = require "berth.pdors.policies"
local problem = require "berth.pdors.problem"
local result = require "berth.pdors.result"
local scheduler = require "berth.cluster.scheduler"
local view = require "berth.pdors.view"

local FN = "berth.pdors.simulate"
local KIND = { fn = FN, what = "policy", events = { "arrival", "finish", "slot" },
  when = "in slot %.0f" }

local function play_own(p, run, policy, o)
  scheduler.check(KIND, policy)
  options.check(FN, o, "pdors.simulate")
  local v = view.new(p, run, o.seed or 0)
  local function now()
    v.slot = run.slot or 0
    return v.slot
  end
  local done, message, code = run:play(scheduler.functions { kind = KIND, scheduler = policy,
    view = v, now = now, decisions = view.decisions(run) })
  if not done then return nil, message, code end
  return { scheduler = scheduler.name(KIND, policy) }
end

-- The bound is that of the problem, the same for all policies.
local function certificate(p, utility, steps, primal_dual)
  if steps == false then return {} end
  local bound, message, code = p:bound(steps)
  if not bound then return nil, message, code end
  local out = { bound = bound, ratio = bound > 0 and utility / bound or nil }
  if primal_dual then -- what the paper guarantees does not need improved prices
    local own
    own, message, code = primal_dual:certify(utility, 0)
    if not own then return nil, message, code end
    out.worst_case = own.worst_case
  end
  return out
end

local function play(p, policy, o)
  local run, message, code = core.ps_run(p.core)
  if not run then return nil, message, code end
  local about
  if type(policy) == "string" then about, message, code = policies.play(FN, p, run, policy, o)
  else about, message, code = play_own(p, run, policy, o) end
  return about, message, code, run
end

--- Plays a policy on a problem, to its last slot.
-- @param given of berth.pdors.problem, or tables { jobs, cluster } as of berth.pdors.generate
-- @tparam string|table policy a name of berth.pdors.policies; or a table with methods arrival(self,
--  view, job), finish(self, view, job), slot(self, view), which return nil or a plan { assign = { {
--  job, places }, ... }, refuse = { job, ... } }; docs/pdors.md
-- @tparam[opt] table opts as berth.pdors.policies declares them, and what the policy has of its own
-- @treturn[1] result utility, bound (no schedule is worth more), ratio, records, summary, log;
--  save_csv, save_jsonl, save_trace
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code
-- @raise mistakes in what is given; what the policy raises, with the slot, and plans that do not
--  fit
-- @usage r = berth.pdors.simulate(berth.pdors.generate("default", { seed = 1 }), "pd-ors")
local function simulate(given, policy, opts)
  local p, message, code = problem.of(given)
  if not p then return nil, message, code end
  if opts ~= nil then options.expect(opts, "table", "%s: options", FN) end
  local o = opts or {}
  local about, r
  about, message, code, r = play(p, policy, o)
  if not about then return nil, message, code end
  about.certificate, message, code = certificate(p, r:report().utility, o.certify, about.core)
  if not about.certificate then return nil, message, code end
  about.possible = o.certify ~= false and p.possible or nil
  about.seed, about.options = o.seed or 0, options.merge(o)
  for _, key in ipairs { "seed", "certify", "believes" } do about.options[key] = nil end
  return result.new(p, r, about)
end

return simulate
