--- berth cluster pacml: jobs arrive at a RAMP cluster, and are cut into pieces or turned away.
local args = require "berth.cli.args"
local berth = require "berth"
local cli = require "berth.cli.options"
local decimals = require "berth.base.decimals"
local fail = require "berth.cli.fail"
local lists = require "berth.cli.lists"
local game_deciders = require "berth.pacml.deciders"
local inputs = require "berth.cli.pacml_inputs"
local json = require "berth.base.json_writer"
local schema = require "berth.base.schema"
local metrics = require "berth.pacml.metrics"
local options = require "berth.base.options"
local study = require "berth.cli.commands.cluster_study"
local align = require "berth.base.align"
local runs = require "berth.cli.runs"

local command = {
  name = "cluster pacml", least = 2, most = 1000, use = "cluster pacml PROFILE... [options]",
  text = "Jobs of the profiled models arrive at a RAMP cluster; a decider chooses into how many "
    .. "pieces "
    .. "each is cut.\nA job is blocked if it is turned away, if there is no legal block of free "
    .. "servers, or if it would be late.\n" .. inputs.profiles_text,
  notes = "deciders: " .. table.concat(berth.pacml.deciders, ", ")
    .. ";\nrandom:SEED, capped:MOST, rolling-horizon:FUTURES, agent:FILE (that berth train wrote). "
    .. "docs/pacml.md.",
  options = options.join({
    { name = "decider", kind = "string", value = "A,B,...", names = berth.pacml.deciders,
      text = "who decides, see below; default para-max" },
    cli.file("agent", "short for --decider agent:FILE"),
    inputs.beta,
    cli.changed("pacml.trace", "seed",
      { text = "of the jobs, the first if there are several; default 0" }),
    cli.count("seeds", "as many sequences of jobs, means over them; default 1, --table 20"),
    cli.changed("pacml.trace", "jobs", { kind = "count" }),
    inputs.arrivals, inputs.copies,
    { name = "horizon", kind = "string", value = "TIME",
      text = "or inf: until all is done; default: the last arrival" },
    inputs.mode, inputs.ramp, inputs.steps, inputs.most,
    cli.output("cluster",
      "writes a row per arrival and end of a job, as .csv or .jsonl; of one run"),
    cli.output("output", "writes a page with load, blocking and utilisation; of one seed and beta",
      "html"),
    cli.flag("table", "the paper's table of blocking rates: para-max, para-min, random, and "
      .. "--decider; all betas; 95 % intervals"),
  }, runs.options, runs.several),
}

-- ---- arguments ----------------------------------------------------------------------------------

-- { name, decider }, agents read from their files.
local function decider(name, env)
  local path = name:match("^agent:(.+)$")
  if not path then
    game_deciders.for_game(name, { env = env, beta = "A" })
    return { name, name }
  end
  local agent = fail.need(berth.agents.load(path))
  if agent.kind ~= "pacml" then
    fail.usage("%s: an agent of kind %s places ops; expected one of kind pacml", path, agent.kind)
  end
  return { name, agent:use(env) }
end

-- The deciders of --decider, --agent and --table, each once, in this order.
local function deciders(given, env)
  local names = given.decider and lists.pieces("decider", given.decider, true) or {}
  if given.agent then names[#names + 1] = "agent:" .. given.agent end
  if given.table then
    for i, name in ipairs { "para-max", "para-min", "random" } do table.insert(names, i, name) end
  elseif #names == 0 then
    names[1] = "para-max"
  end
  local out, seen = {}, {}
  for _, name in ipairs(names) do
    if not seen[name] then out[#out + 1] = decider(name, env) end
    seen[name] = true
  end
  return out
end

-- Options that name files of one run; ENDINGS: formats that the ending decides.
local FILES = { "csv", "jsonl", "cluster", "trace" }
local ENDINGS = { csv = { csv = true }, jsonl = { jsonl = true },
  cluster = { csv = true, jsonl = true } }

-- Raises unless names of files end as their formats do.
local function check_files(given)
  for _, name in ipairs(FILES) do
    local ending = given[name] and given[name]:match("%.(%w+)$")
    if given[name] and ENDINGS[name] and not ENDINGS[name][ending] then
      local legal = "." .. table.concat(options.sorted_keys(ENDINGS[name]), " or .")
      fail.usage("--%s %s: the name must end in %s", name, given[name], legal)
    end
  end
end

-- What is run: environment, distributions of beta, deciders, seeds, horizon (s), options of traces.
local function plan(positional, given)
  runs.check_shard(given)
  check_files(given)
  local env = inputs.env(positional, given, given.steps)
  local betas = given.beta and lists.pieces("beta", given.beta, true) or given.table and { "A", "B",
    "C", "D" } or { "A" }
  for _, name in ipairs(betas) do berth.pacml.beta(name) end
  return { env = env, betas = betas, deciders = deciders(given, env), seed = given.seed or 0,
    seeds = given.seeds or given.table and 20 or 1,
    horizon = given.horizon and args.quantity("--horizon", given.horizon, "seconds"),
    trace = { jobs = given.jobs, interarrival = inputs.interarrival(given.interarrival),
      copies = given.copies } }
end

-- ---- one run ------------------------------------------------------------------------------------

-- A metric by its unit: a count, a quantity, or four decimals.
local function format(value, unit)
  if unit == "count" then return ("%.0f"):format(value) end
  return unit and berth.format(value, unit) or decimals(value, 4)
end

-- A row per metric, a column per decider.
local function table_of(results)
  local rows = { { "" } }
  for i, run in ipairs(results) do rows[1][i + 1] = run.name end
  for k, metric in ipairs(metrics) do
    rows[k + 1] = { metric[3] }
    for i, run in ipairs(results) do
      rows[k + 1][i + 1] = format(run.report[metric[1]], metric[4])
    end
  end
  return align.lines(rows, { true })
end

-- JSON object of one run: a member per metric, in their order.
local function object_of(run, setup)
  local members = { { "decider", run.name }, { "beta", setup.betas[1] }, { "seed", setup.seed } }
  for _, metric in ipairs(metrics) do
    members[#members + 1] = { metric[2], run.report[metric[1]] }
  end
  return json.object(members)
end

-- Writes the files that were given; the format of --cluster follows its ending.
local function save(given, records)
  if given.csv then fail.need(records:save(given.csv)) end
  if given.jsonl then fail.need(records:save(given.jsonl)) end
  if given.cluster then fail.need(records:save(given.cluster, "cluster")) end
  if given.trace then fail.need(records:save_trace(given.trace)) end
end

-- One run of each decider on the same jobs: array of { name, report, records }.
local function play_all(setup)
  local drawn = { models = #setup.env.models, beta = setup.betas[1], seed = setup.seed }
  local trace = berth.pacml.trace(options.merge(setup.trace, drawn))
  local horizon, results = setup.horizon or trace.arrival[#trace.arrival], {}
  for i, one in ipairs(setup.deciders) do
    local what = game_deciders.for_game(one[2], { seed = setup.seed, env = setup.env,
      beta = setup.betas[1], interarrival = setup.trace.interarrival })
    local report, records = berth.pacml.simulate(setup.env, trace, what, {
      horizon = horizon, name = one[1], about = { seed = setup.seed, beta = setup.betas[1] },
    })
    results[i] = { name = one[1], report = report, records = records }
  end
  return results
end

-- One run per decider: writes files, prints, returns the exit code.
local function one_seed(setup, given, write)
  local results = play_all(setup)
  save(given, results[1].records)
  if given.output then
    local pages = {}
    for i, run in ipairs(results) do pages[i] = run.records end
    fail.need(berth.pacml.report(given.output, pages))
  end
  if given.json then
    local out = {}
    for i, run in ipairs(results) do out[i] = object_of(run, setup) end
    write(json.encode(schema.document "cluster pacml" { { "runs", out } }))
    return 0
  end
  for _, line in ipairs(table_of(results)) do write(line) end
  runs.print_written(write, given, "csv jsonl cluster trace output")
  return 0
end

--- One run per decider, or a study as soon as anything is given several times: betas, seeds, a
-- shard, or the table.
-- @return exit code
function command.run(positional, given, write, complain)
  local setup = plan(positional, given)
  local several = #setup.betas > 1 or setup.seeds > 1 or given.table or given.path ~= nil
    or given.also ~= nil
  runs.check_one(given, FILES, several or #setup.deciders > 1, "decider, one beta, one seed")
  runs.check_one(given, { "output" }, several, "beta and one seed")
  if several then return study.run(setup, given, write, complain) end
  return one_seed(setup, given, write)
end

return command
