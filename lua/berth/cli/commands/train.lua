--- berth train: teaches an agent to place, and writes it.
require "berth.agents.doppler" -- declares its options
local berth = require "berth"
local fail = require "berth.cli.fail"
local inputs = require "berth.cli.inputs"
local json = require "berth.base.json_writer"
local names = require "berth.cli.names"
local schema = require "berth.base.schema"
local options = require "berth.cli.options"
local ranks = require "berth.agents.ranks"
local report = require "berth.cli.report"
local agent_settings = require "berth.agents.settings"
local words = require "berth.cli.train_words"

local KINDS = { doppler = true, placeto = true, gdp = true }

local own = {
  words.save,
  options.output("output", "the best placement seen (berth JSON); of one graph", "json"),
  options.changed("agents.doppler", "design",
    { text = "sizes of doppler's networks; default compact" }),
  { name = "stages", kind = "string", value = "LIST",
    text = "I imitation, II simulator, III executor, each with its episodes: I:500,II:3500; "
      .. "default: the agent's" },
  options.count("episodes", "of each stage for which --stages gives none; without --stages: of all "
    .. "stages together, divided as the agent's own (doppler: 1600 to 2000)"),
  options.count("calls", "simulator calls at most, all stages together"),
  options.count("batch", "episodes in one update, over all processes; default: the agent's"),
  options.changed("agents.doppler", "estimates"),
  { name = "set", kind = "string", value = "K=V,...",
    text = "more options of the agent: contract=true,gamma=0.99,rate=1e-3..0 (from..to over each "
      .. "stage)" },
  { name = "engine", kind = "choice", value = "MODE", choices = { "compute", "paced" },
    text = "stage III: how berth.executor runs the ops, see docs/execute.md; default compute" },
  { name = "engine-seconds", kind = "seconds", value = "TIME",
    text = "stage III: of all ops, one after the other; default 100ms" },
}

local train = {
  name = "train", use = "train doppler|placeto|gdp GRAPH... [options]", least = 2, most = 1000,
  words = { "doppler", "placeto", "gdp", "pacml", "tag" },
  text = "Teaches an agent to place the graphs, and writes it. Times are in s.\n"
    .. "--seed is for weights and episodes; --links, --memory, --preset and so on are the "
    .. "simulator's in stage II.\n"
    .. "Under mpirun -n N the episodes of each batch are split over N processes; each update is "
    .. "that of one\n"
    .. "process with --set parts=N, to the byte.\n"
    .. "After an interrupt the agent is written as far as it got.\n"
    .. "berth train pacml PROFILE... teaches one that cuts jobs into pieces: berth train pacml "
    .. "--help.\n"
    .. "berth train tag teaches a prior of searches for deployments: berth train tag "
    .. "--help.",
  notes = inputs.notes,
  options = options.join(inputs.topology_options, own, words.options, options.shared,
    options.simulating, options.loading, { options.json }),
}

-- ---- arguments ----------------------------------------------------------------------------------

-- { stage, episodes } of "II:2000"; episodes nil: not given.
local function stage(text)
  local name, episodes = text:match("^%s*(I+)%s*:?%s*(%d*)%s*$")
  fail.refuse(not name or #name > 3,
    "--stages: %q is no stage; legal: I, II, III, each with episodes as in II:2000", text)
  fail.refuse(episodes ~= "" and tonumber(episodes) < 1,
    "--stages: %s: at least one episode is needed", name)
  return { stage = name, episodes = tonumber(episodes) }
end

-- The stages of --stages, each with its episodes; nil: the agent's own.
local function stages(given)
  if not given.stages then return nil end
  local out, read = {}, false
  for part in (given.stages .. ","):gmatch("(.-),") do
    local s = stage(part)
    read = read or s.episodes == nil
    s.episodes = s.episodes or given.episodes
    out[#out + 1] = s
  end
  if given.episodes and not read then fail.usage("--episodes: all --stages have theirs") end
  return out
end

-- The agent's own stages with n episodes in all, in the proportion that they have there; a stage
-- has at least one, and the last one has the rest.
local function divided(n, list)
  local out, all, left = {}, 0, n
  for _, s in ipairs(list) do all = all + s.episodes end
  fail.refuse(n < #list, "--episodes: %.0f stages need at least an episode each", #list)
  for i, s in ipairs(list) do
    local share = i == #list and left
      or math.min(math.max(1, math.floor(n * s.episodes / all + 0.5)), left - (#list - i))
    out[i], left = { stage = s.stage, episodes = share }, left - share
  end
  return out
end

-- Options of the agent: flags, and --set for the others.
local function settings(given)
  local out = { design = given.design, seed = given.seed or 0, estimates = given.estimates }
  return words.settings(given.set, out,
    function(key) return (given[key] ~= nil or key == "seed") and key end)
end

-- Usage errors that need no graph.
local function check(positional, given)
  fail.refuse(positional[1] == "pacml",
    "train: pacml comes first: berth train pacml PROFILE... [options]")
  if not KINDS[positional[1]] then names.refuse("train", positional[1], train.words) end
  inputs.check({}, given)
  if given.output and #positional > 2 then fail.usage("--output: is for one graph") end
  if given.design and positional[1] ~= "doppler" then fail.usage("--design: is for doppler") end
end

-- Of the simulator in stage II.
local function judge(given)
  local out = options.for_simulating(given)
  out.cost, out.seed = nil, nil
  return next(out) and out or nil
end

-- One task of agent:train: graph, topology, name, judge.
local function task(spec, given)
  local graph, topology = inputs.read({ spec }, given)
  return { graph = graph, topology = topology, name = spec, judge = judge(given) }
end

-- Tasks in the order of the arguments; the first argument is the agent.
local function tasks(positional, given)
  local out = {}
  for i = 2, #positional do out[i - 1] = task(positional[i], given) end
  return out
end

-- ---- output -------------------------------------------------------------------------------------

-- A duration; "-" where there is none yet.
local function time(x) return x and report.format(x, "seconds") or "-" end

-- A function that prints a line for each state that differs from the last one.
local function progress(complain)
  local last
  return function(state)
    local line = ("stage %s, episode %.0f, %.0f calls: best %s, mean %s")
      :format(tostring(state.stage), state.episode or 0,
      state.calls or 0, time(state.best), time(state.mean))
    if line ~= last then complain(line) end
    last = line
  end
end

-- `done`: { best, greedy } in s; empty for a task that was not reached.
local function task_object(t, done)
  return json.object { { "graph", t.name }, { "ops", #t.graph }, { "devices", #t.topology },
    { "best_s", done.best }, { "greedy_s", done.greedy } }
end

local function print_json(write, kind, given, list, done)
  local objects = {}
  for i, t in ipairs(list) do objects[i] = task_object(t, done.tasks[i] or {}) end
  write(json.encode(schema.document "train" { { "agent", kind }, { "seed", given.seed or 0 },
    { "episodes", done.episodes }, { "simulator_calls", done.calls }, { "saved", given.save },
    { "interrupted", done.interrupted and true or false }, { "tasks", objects } }))
end

local function print_text(write, kind, given, list, done)
  write(("%s: %.0f episodes, %.0f simulator calls"):format(kind, done.episodes or 0,
    done.calls or 0))
  for i, t in ipairs(list) do
    local own_best = done.tasks[i] or {}
    write(("%s, %d ops on %d devices: best seen %s, greedy %s"):format(t.name, #t.graph,
      #t.topology, time(own_best.best), time(own_best.greedy)))
  end
  write("written: " .. given.save)
end

-- Writes the best placement, and prints. An agent may give devices instead of a placement.
local function show(write, kind, given, list, done)
  local first = done.tasks[1] or {}
  if given.output and first.placement then
    local p = first.placement
    if berth.kind(p) == "table" then
      p = berth.placement(p, { placer = kind, estimate = first.best })
    end
    fail.need(p:save(given.output))
  end
  local print_it = given.json and print_json or print_text
  print_it(write, kind, given, list, done)
end

-- ---- the run ------------------------------------------------------------------------------------

-- The agent with its settings; raises if the installation has no such agent.
local function agent_of(kind, given)
  local agents = berth.agents
  fail.refuse(not agents or not agents[kind], "train: there is no agent %s in this installation",
    kind)
  return agents[kind](settings(given))
end

-- Seconds of placements as they run: stage III.
local function objective(world, list, wanted, given)
  local needed = false
  for _, s in ipairs(wanted or {}) do needed = needed or s.stage == "III" end
  if not needed then
    if given.engine or given["engine-seconds"] then fail.usage("--engine: is for stage III") end
    return nil
  end
  if #list > 1 then fail.usage("--stages: III runs one graph") end
  fail.refuse(world,
    "--stages: III measures: not under mpirun, where processes would disturb each other")
  local engine = fail.need(berth.executor(list[1].graph, list[1].topology,
    { mode = given.engine, seconds = given["engine-seconds"], links = given.links }))
  return engine:objective { repeats = 1 }
end

-- Trains, saves and prints; under MPI every process calls it and the first one writes.
local function teach(world, positional, given, write, complain)
  local kind, list = positional[1], tasks(positional, given)
  local agent, first = agent_of(kind, given), not world or world.rank == 1
  local wanted = stages(given)
  if not wanted and given.episodes then
    wanted = divided(given.episodes, agent_settings.stages[agent.preset or "recommended"])
  end
  local done = fail.need(agent:train(list, { stages = wanted, calls = given.calls,
    batch = given.batch, objective = objective(world, list, wanted, given),
    checkpoint = given.checkpoint, resume = given.resume, ranks = world, progress = given.progress
    and first and progress(complain) or nil }))
  if first then
    fail.need(agent:save(given.save))
    show(write, kind, given, list, done)
    return words.finish(done, given, complain)
  end
  return done.interrupted and fail.INTERRUPTED or 0
end

-- Ends MPI before an error goes on.
local function finish(world, ok, ...)
  world:finish()
  if not ok then error((...), 0) end
  return ...
end

--- The command that these words ask for: pacml and tag have options of their own.
function train.choose(list)
  if list[1] == "pacml" then return require "berth.cli.commands.train_pacml" end
  if list[1] == "tag" then return require "berth.cli.commands.train_tag" end
  return train
end

--- Checks all that can be checked before the first graph is read, then trains.
-- Each process reads the graphs itself under MPI.
-- @return exit code: 0, or 130 after an interrupt
function train.run(positional, given, write, complain)
  check(positional, given)
  stages(given)
  words.check_files("train", given, { "save", "output", "checkpoint" })
  if not ranks.launched() then return teach(nil, positional, given, write, complain) end
  local world = fail.need(ranks.world())
  return finish(world, pcall(world.run, world, teach, positional, given, write, complain))
end

return train
