--- berth train pacml: teaches an agent into how many pieces to cut jobs, writes it, and plays it on
-- jobs that it has not seen.
local core = require "berth.core"
local berth = require "berth"
local cli = require "berth.cli.options"
local fail = require "berth.cli.fail"
local lists = require "berth.cli.lists"
local inputs = require "berth.cli.pacml_inputs"
local json = require "berth.base.json_writer"
local schema = require "berth.base.schema"
local options = require "berth.base.options"
local ranks = require "berth.agents.ranks"
local align = require "berth.base.align"
local words = require "berth.cli.train_words"

local train = {
  name = "train pacml", use = "train pacml PROFILE... --save FILE [options]", least = 2,
  most = 1000, text = "Teaches an agent into how many pieces to cut each job that arrives at a "
    .. "RAMP cluster, and writes it:\n"
    .. "berth cluster pacml PROFILE... --agent FILE lets it decide.\n"
    .. "planner: our own, which learns the value of servers and looks ahead; dqn, ppo: the "
    .. "published network.\n"
    .. inputs.profiles_text .. "\nAfter an interrupt the agent is written as far as it got. It "
    .. "learns in one process.",
  options = options.join({
    words.save,
    { name = "algorithm", kind = "choice", value = "NAME", choices = { "planner", "dqn", "ppo" },
      text = "default planner" },
    { name = "preset", kind = "choice", value = "NAME", choices = { "recommended", "published" },
      text = "settings of dqn and ppo; default recommended" },
    inputs.beta,
    cli.count("steps", "decisions to learn from; default: the algorithm's"),
    inputs.arrivals,
    cli.changed("pacml.trace", "jobs",
      { kind = "count", text = "arrivals of one sequence of jobs; default 1001" }),
    inputs.copies,
    options.merge(inputs.steps, { name = "job-steps" }),
    inputs.mode, inputs.ramp, inputs.most,
    { name = "seed", kind = "whole", value = "N",
      text = "of weights, jobs and exploration; default 0" },
    { name = "set", kind = "string", value = "K=V,...",
      text = "more options of the agent: hidden=32,futures=16 or gamma=0.99,rate=1e-3..1e-5 "
        .. "(from..to over the training)" },
    cli.count("evaluate", "afterwards plays sequences of jobs with seeds 0 to N - 1, which it has "
      .. "not learned from"),
    cli.flag("json", "prints JSON"),
  }, words.options),
}

-- Keys of --set that have an option of their own, by the name of that option.
local FLAGS = { algorithm = "algorithm", preset = "preset", betas = "beta", steps = "steps",
  interval = "interarrival", seed = "seed", checkpoint = "checkpoint", resume = "resume",
  progress = "progress", traces = "beta" }

-- ---- arguments ----------------------------------------------------------------------------------

-- Usage errors that need no profile.
local function check(given)
  if ranks.launched() then fail.usage("train pacml: learns in one process: not under mpirun") end
  fail.refuse(given.preset and (given.algorithm or "planner") == "planner",
    "--preset: is for dqn and ppo")
  words.check_files("train pacml", given, { "save", "checkpoint" })
end

-- Adds the settings of --set to `out`.
local function set(given, out)
  return words.settings(given.set, out, function(key)
    -- the range by which the network normalises
    if key == "betas" and out.algorithm ~= "planner" then return nil end
    return FLAGS[key]
  end)
end

-- The agent, and the options of its training.
local function agent_of(setup, given)
  local o = { algorithm = given.algorithm or "planner", preset = given.preset,
    seed = given.seed or 0 }
  local training = { steps = given.steps, checkpoint = given.checkpoint, resume = given.resume }
  if o.algorithm == "planner" then
    o.betas, o.interval = setup.betas, setup.trace.interarrival
  else
    training.traces = options.merge(setup.trace, { betas = setup.betas, seed = o.seed })
  end
  return berth.agents.pacml(set(given, o)), training
end

-- Environment, distributions of beta, options of traces.
local function plan(positional, given)
  check(given)
  local betas = given.beta and lists.pieces("beta", given.beta, true) or { "A" }
  for _, name in ipairs(betas) do berth.pacml.beta(name) end
  return { env = inputs.env(positional, given, given["job-steps"]), betas = betas,
    trace = { jobs = given.jobs, interarrival = inputs.interarrival(given.interarrival),
      copies = given.copies } }
end

-- ---- output -------------------------------------------------------------------------------------

-- Four decimals, as the paper prints blocking rates.
local function share(x) return x and core.sprintf("%.4f", x) or "-" end

-- A function that prints the state of the training. Blocking includes exploration, so it is higher
-- than what the trained agent reaches.
local function progress(complain)
  return function(state)
    complain(("%.0f decisions, %.0f updates: %s blocked, exploration included"):format(state.steps,
      state.updates, share(state.blocking)))
  end
end

-- Blocking rates of the agent by distribution, over the sequences of the seeds 0 to seeds - 1.
local function evaluate(setup, agent, seeds, given, complain)
  local list = {}
  for i = 1, seeds do list[i] = i - 1 end
  local e = fail.need(berth.pacml.study(setup.env, { deciders = { { "agent", agent } },
    betas = setup.betas, seeds = list, trace = setup.trace, progress = given.progress
    and function(done, all, row)
      complain(("%.0f of %.0f: beta %s, seed %.0f: %s"):format(done, all, row.parameters.beta,
        row.seed, row.error or share(row.result.blocking_rate) .. " blocked"))
    end or nil }))
  for _, row in ipairs(e.rows) do
    if row.error then
      fail.usage("beta %s, seed %.0f: %s", row.parameters.beta, row.seed, row.error)
    end
  end
  local by = {}
  for _, point in ipairs(e:summary()) do by[point.parameters.beta] = point.fields.blocking_rate end
  return by
end

-- `rates`: as evaluate() returns them, or nil.
local function object_of(setup, given, agent, done, rates)
  local points = {}
  for i, beta in ipairs(rates and setup.betas or {}) do
    local x = rates[beta]
    points[i] = json.object { { "beta", beta }, { "seeds", given.evaluate },
      { "blocking_rate", x.mean }, { "low", x.low }, { "high", x.high } }
  end
  return schema.document "train pacml" { { "agent", "pacml" }, { "algorithm", agent.algorithm },
    { "seed", given.seed or 0 }, { "decisions", done.steps }, { "updates", done.updates },
    { "training_blocking", done.blocking }, { "saved", given.save },
    { "interrupted", done.interrupted and true or false }, { "level", 0.95 },
    { "evaluated", points } }
end

-- Lines about the training, then a row per distribution if it was evaluated.
local function print_text(write, setup, given, agent, done, rates)
  write(("%s, %.0f decisions, %.0f updates; at the end of training %s blocked, exploration "
    .. "included"):format(tostring(agent), done.steps, done.updates, share(done.blocking)))
  if rates then
    local rows = { { "beta", "seeds", "blocking rate", "95 %" } }
    for i, beta in ipairs(setup.betas) do
      local x = rates[beta]
      rows[i + 1] = { beta, ("%.0f"):format(given.evaluate), share(x.mean),
        x.half and "+- " .. share(x.half) or "-" }
    end
    for _, line in ipairs(align.lines(rows, { true })) do write(line) end
  end
  write("written: " .. given.save)
end

-- ---- the run ------------------------------------------------------------------------------------

--- Trains, saves the agent also after an interrupt, evaluates it if it was not interrupted.
-- @return exit code: 0, or 130 after an interrupt
function train.run(positional, given, write, complain)
  local setup = plan(positional, given)
  local agent, training = agent_of(setup, given)
  training.progress = given.progress and progress(complain) or nil
  local done = fail.need(agent:train(setup.env, training))
  fail.need(agent:save(given.save))
  local rates = given.evaluate and not done.interrupted and evaluate(setup, agent, given.evaluate,
    given, complain) or nil
  if given.json then
    write(json.encode(object_of(setup, given, agent, done, rates)))
  else
    print_text(write, setup, given, agent, done, rates)
  end
  return words.finish(done, given, complain)
end

return train
