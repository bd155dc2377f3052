-- Trains an agent of berth.agents.pacml on the published workload, evaluates it on ten unseen
-- sequences of jobs (those of pacml_study.lua), and adds JSON lines to FILE: one per distribution
-- of beta, with CPU seconds.
-- lua scripts/bench/pacml_train.lua FOLDER FILE ALGORITHM BETA STEPS [MODE [K=V...]]
--   FOLDER: that of the profiles. ALGORITHM: planner, dqn or ppo. BETA: A to D, or several as A,B: one agent for all.
--   MODE: compat (default) or exact (gaps in seconds as if they were milliseconds). K=V: settings of the agent; V may be X..Y.
-- The checkpoint is beside FILE. Run again, it resumes; a finished training is only evaluated
-- again.
local berth = require "berth"
local json = require "berth.base.json_writer"
local words = require "berth.cli.train_words"

local folder, path, algorithm, beta, steps, mode = arg[1], arg[2], arg[3], arg[4], tonumber(arg[5]), arg[6] or "compat"
if not steps or (mode ~= "compat" and mode ~= "exact") then
  io.stderr:write("usage: pacml_train.lua FOLDER FILE planner|dqn|ppo BETA STEPS [compat|exact [K=V...]]\n")
  os.exit(2)
end

local JOBS, SEEDS = 1001, 10
local NAMES = { "alexnet", "vgg16", "resnet18", "squeezenet1_0", "gnmt" }
local gap = 1000 * (mode == "exact" and 1e-3 or 1)
local betas = {}
for name in beta:gmatch("[^,]+") do betas[#betas + 1] = name end

local function new_env()
  local ramp, models = berth.ramp { compat = mode == "compat" }, {}
  for i, name in ipairs(NAMES) do models[i] = assert(berth.pacml.profile(ramp, ("%s/%s.txt"):format(folder, name))) end
  return assert(berth.pacml.env { models = models, names = NAMES })
end

local env, set = new_env(), table.concat(arg, ",", 7)

local function new_agent()
  local o = { algorithm = algorithm, seed = not set:find("seed=", 1, true) and 1 or nil }
  if algorithm == "planner" then o.betas, o.interval = betas, gap end
  return berth.agents.pacml(words.settings(set, o, function() return nil end))
end

-- ---- CPU seconds of all calls, beside the checkpoint -------------------------------------------------------------------

local kept = table.concat({ path, mode, algorithm, beta, ("%.0f"):format(steps) }, ".") .. (set ~= "" and "." .. set or "")
local checkpoint, clock_file = kept .. ".agent", kept .. ".cpu"

local function spent_before()
  local f = io.open(clock_file, "r")
  if not f then return 0 end
  local seconds = tonumber(f:read("*l")) or 0
  f:close()
  return seconds
end

local before = spent_before()

local function keep_clock()
  local f = assert(io.open(clock_file, "w"))
  f:write(("%.3f\n"):format(before + os.clock()))
  assert(f:close())
  return before + os.clock()
end

-- ---- training, then ten sequences of jobs ------------------------------------------------------------------------------

local function train(agent)
  local o = { steps = steps, checkpoint = checkpoint, resume = true }
  if algorithm ~= "planner" then
    o.traces = { betas = betas, jobs = JOBS, interarrival = gap, copies = 201, seed = 1 }
    o.every = math.max(math.floor(steps / 50), 20000)
  end
  function o.progress(state)
    io.stderr:write(("%s %s %s: %.0f steps, %.3f blocked, %.0f CPU s\n"):format(mode, algorithm, beta, state.steps,
      state.blocking or 0, keep_clock()))
  end
  local done = assert(agent:train(env, o))
  if done.interrupted then os.exit(130) end
  return done
end

local function blocking(agent, name, seed)
  local run = env:run(berth.pacml.trace { models = #NAMES, beta = name, seed = 1000 + seed, jobs = JOBS, interarrival = gap,
    copies = 201 })
  local horizon = gap * (JOBS - 1)
  while not run.done do run:decide(agent(run, mode == "compat" and horizon or nil)) end
  return run:report({ horizon = horizon }).blocking_rate
end

local function evaluate(agent, name)
  local rates, sum, squares = {}, 0, 0
  for seed = 1, SEEDS do
    rates[seed] = blocking(agent, name, seed)
    sum = sum + rates[seed]
  end
  local mean = sum / SEEDS
  for _, x in ipairs(rates) do squares = squares + (x - mean) * (x - mean) end
  return rates, mean, math.sqrt(squares / (SEEDS - 1) / SEEDS)
end

local agent = new_agent()
local done = train(agent)
local seconds = spent_before()
for _, name in ipairs(betas) do
  local start = os.clock()
  local rates, mean, deviation = evaluate(agent, name)
  local line = json.encode(json.object { { "algorithm", algorithm }, { "mode", mode }, { "learned", beta }, { "beta", name },
    { "set", set }, { "steps", done.steps }, { "updates", done.updates }, { "cpu_s", seconds },
    { "steps_per_cpu_s", seconds > 0 and done.steps / seconds or nil }, { "evaluation_cpu_s", os.clock() - start },
    { "blocking", mean }, { "standard_error", deviation }, { "rates", rates } })
  print(line)
  local f = assert(io.open(path, "a"))
  f:write(line, "\n")
  assert(f:close())
end
