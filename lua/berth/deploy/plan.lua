--- berth.deploy.plan: which devices repeat each op group, and how they are kept in step.
local answer = require "berth.deploy.answer"
local core = require "berth.core"
local groups = require "berth.deploy.answer_groups"
local options = require "berth.base.options"
local run = require "berth.deploy.plan_run"
local words = require "berth.deploy.answer_words"

local FN = "berth.deploy.plan"

local plan = {}

-- What the problem reads, and what is answer_of of in a saved plan.
plan.of_problem = options.keys("deploy.problem")
local REASONS = 200
local searching = options.by_key("deploy:search")
local CALLS = tonumber(searching.calls.default)
local GUARD = 32 -- calls
local PASSES = 3 -- of reasons that may change the answer
local HALVINGS = 4 -- of the memory that an op group may have

local PRIORS = {
  { name = "local", text = "By the time of each op group alone." },
  { name = "uniform", text = "All alike." },
  { name = "trained", text = "The network that comes with berth." },
}

options.declare("deploy.plan", options.join(options.rows "deploy.problem", {
  searching.method,
  options.merge(searching.calls, { low = 1, high = 2 ^ 31 - 1,
    text = "strategies that are evaluated at most; the baselines are evaluated first, whatever the "
      .. "number; those of the "
      .. "guard and for reasons are not counted" }),
  options.merge(searching.seconds,
    { text = "time limit, beside calls. Answers then depend on the machine" }),
  options.merge(searching.sfb,
    { text = "the rule for ops that replicas repeat, which each op group may choose (cut: all of "
    .. "them, or none)" }),
  { key = "prior", type = "choice, function or agent", default = "local", choices = PRIORS,
    text = "how likely each action is good; or a function, or an agent of kind tag" },
  { key = "reasons", type = "whole or flag", default = ("%d"):format(REASONS), high = 2 ^ 31 - 1,
    text = "simulations for reasons, each time that they are sought; true: the default; false: "
      .. "none" },
}))

local function check_prior(given)
  local prior, names = given.prior, {}
  if prior == nil or type(prior) == "function" then return end
  if type(prior) == "table" and prior.kind == "tag" then return end
  for i, choice in ipairs(PRIORS) do
    if prior == choice.name then return end
    names[i] = choice.name
  end
  options.fail("%s: prior: expected one of: %s; a function or an agent of kind tag; got %s", FN,
    table.concat(names, ", "), type(prior) == "string" and prior or core.kind(prior))
end

-- The agent that is the prior, if one is; options record it as given.
local function with_agent(given)
  if type(given.prior) == "table" then given.guided = given.prior end
  if given.prior ~= "trained" then return given end
  local agent, message, code = require("berth.agents.tag").trained()
  if not agent then return nil, message, code end
  given.guided = agent
  return given
end

local function reasons_of(given)
  local x = given.reasons
  if x == nil or x == true then return REASONS end
  return x or 0
end

local function checked(given)
  given = options.merge(options.read(FN, "deploy.plan", given))
  if given.batch == nil then options.fail("%s: batch: is missing: samples in a step", FN) end
  check_prior(given)
  if given.seconds ~= nil then given.seconds = options.seconds(FN .. ": seconds", given.seconds) end
  given.reasons = reasons_of(given)
  return given
end

--- The problem of options of a plan. With a cost instead of graph and topology the second argument
-- is nil.
-- @treturn[1] deploy
-- @treturn[2] nil, message, code
function plan.problem(graph, topology, given)
  local passed = {}
  for _, key in ipairs(plan.of_problem) do passed[key] = given[key] end
  if topology == nil then return core.deploy_problem(graph, passed) end
  return core.deploy_problem(graph, topology, passed)
end

-- A proof that nothing fits, as plan returns it; or nothing.
local function proof(d)
  local message, why = d:prove_infeasible()
  if not message then return nil end
  return message, options.merge(why, { proved = true })
end

-- The device that lacks most, in words. That nothing fits is not proved then.
local function refusal(d, best, path)
  local value = best.value
  local name = words.names(d.topology)[value.worst]
  local short = ("is %s short on %s"):format(words.bytes(value.shortfall), name)
  local message = path and ("%s does not fit: it %s"):format(path, short)
    or ("no strategy found with %s: the best (%s) %s; that nothing fits is not proved"):format(
      words.count(#d:groups(), "op group"), words.baseline(best.from), short)
  return nil, message, "infeasible",
    { device = value.worst, missing = value.shortfall, proved = false }
end

local function decide(r, given)
  local calls = given.calls or CALLS
  r:phase("search", calls - r.evaluations)
  if r.best.value.over == 0 then r:phase("guard", math.max(GUARD, math.floor(calls / 10))) end
  r:add_duplicates()
end

-- Reasons. A change that turns out to pay is taken, and reasons are sought again, with as many
-- evaluations.
local function explain(r, given, path)
  for _ = 1, path and 0 or PASSES do
    local before = r.best
    local why = r:phase("why", r.evaluations + given.reasons, true)
    if r.best == before then return why or {} end
    r:phase("guard", GUARD)
    r:add_duplicates()
  end
  return r:phase("why", r.evaluations + given.reasons, false) or {}
end

local function answer_of(d, given, r, path)
  if r.best.value.over > 0 then return refusal(d, r.best, path) end
  local searched = r.evaluations
  local why = given.reasons > 0 and explain(r, given, path) or {}
  local bound, bound_name = r:need(d:bound())
  local value = assert(d:evaluate(r.best.strategy))
  return answer.new(d, given, r, { rows = r.rows, why = why, bound = bound, bound_name = bound_name,
    searched = searched, peaks = value.peaks })
end

local function started(d, given)
  local prior = not given.guided and given.prior or nil
  local method = given.method or "mcts"
  local rule = given.sfb or method == "published" and "none" or "local"
  return run.new(d, { method = method, sfb = rule, seconds = given.seconds, guided = given.guided,
    groups = groups.of(d), searching = { prior = prior, seed = given.seed } })
end

local function begun(d, given)
  local r = started(d, given)
  r:phase "baselines"
  if given.method ~= "published" then r:phase("placement", given.sim) end
  return r
end

local function largest_memory(topology)
  local most = 0
  for device in topology:devices() do most = math.max(most, device.memory) end
  return most
end

-- While no baseline fits: op groups of at most all, half, a quarter, ... of the largest memory,
-- which pack better.
local function refined(r, given, graph, topology)
  if given.method == "published" or given.group_bytes then return r, given end
  local most, best, chosen, n = largest_memory(r.d.topology), r, given, #r.d:groups()
  for k = 0, HALVINGS do
    if not best.best or best.best.value.over == 0 or best.interrupted then break end
    local finer = options.merge(given, { group_bytes = most / 2 ^ k })
    local d = r:need(plan.problem(graph, topology, finer))
    if #d:groups() > n then
      n = #d:groups()
      local other = begun(d, finer)
      if other.best and run.better(other.best.value, best.best.value) then
        best, chosen = other, finer
      end
    end
  end
  return best, chosen
end

local function work(d, given, graph, topology)
  local message, why = proof(d)
  if message then return nil, message, "infeasible", why end
  local r, finer = refined(begun(d, given), given, graph, topology)
  decide(r, finer)
  local a, text, code, obstacle = answer_of(r.d, finer, r)
  if a and finer ~= given then
    a.notes[#a.notes + 1] = ("%s of at most %s: with %.0f no baseline fits"):format(
      words.count(#r.d:groups(), "op group"), words.bytes(finer.group_bytes), #d:groups())
  end
  return a, text, code, obstacle
end

local function judged(d, given, strategy, path)
  local r = begun(d, given)
  r.best, r.trace = nil, {}
  r:offer(strategy, r:need(d:evaluate(strategy)), path:match "([^/\\]+)$" or path)
  return answer_of(d, given, r, path)
end

--- The answer for a strategy that is there already.
-- @tparam deploy d
-- @tparam table given options of a plan
-- @tparam table strategy action, duplicate
-- @tparam string path of the file that it comes from
function plan.judge(d, given, strategy, path)
  return run.protected(judged, d, options.merge(given, { reasons = reasons_of(given) }), strategy,
    path)
end

local function check_topology(topology)
  local kind = core.kind(topology)
  if kind ~= "topology" then options.fail("%s: topology: expected a topology, got %s", FN, kind) end
end

--- Decides, by simulation, which devices repeat each op group of a training graph, and how they are
-- kept in step.
-- @tparam graph|cost g of one step on one device; a cost replaces graph and topology
-- @tparam topology t
-- @tparam table opts batch (samples in a step), and what is declared above. A change that pays
--  while reasons are sought is taken, three times at most
-- @treturn[1] answer
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code "infeasible": nothing fits, or nothing that fits was found
-- @treturn[2] ?table proved: whether it is proved that nothing fits; device and missing (bytes):
--  what stops the best strategy, or all
-- @usage local a = assert(berth.deploy.plan(g, t, { batch = 120 })); print(a); print(a:table())
function plan.plan(graph, topology, opts)
  if core.kind(graph) == "cost" then
    topology, opts = nil, topology
  else
    check_topology(topology)
  end
  local given, message, code = with_agent(checked(opts))
  if not given then return nil, message, code end
  given.priced = topology == nil
  local d, why
  d, message, code, why = plan.problem(graph, topology, given)
  if not d then return nil, message, code, why end
  return run.protected(work, d, given, graph, topology)
end

return plan
