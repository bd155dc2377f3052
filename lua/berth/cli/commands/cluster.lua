--- berth cluster: jobs arrive, and are given servers or turned away.
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
local pdors = require "berth.cli.commands.cluster_pdors"
local study = require "berth.cli.commands.cluster_study"
local align = require "berth.base.align"
local traces = require "berth.cli.commands.cluster_trace"

local jobs = cli.changed("pacml.trace", "jobs", { kind = "count" })
jobs.text = ("%s; of pdors %s"):format(jobs.text, options.by_key("pdors.generate").jobs.default)

local command = {
  name = "cluster", least = 1, most = 1000, words = { "pacml", "pdors" },
  use = "cluster FILE --gpus N [options] | berth cluster pdors [options] | berth cluster pacml "
    .. "PROFILE... [options]",
  text = "FILE: a trace of jobs that each run on a number of GPUs (Philly, Tiresias, Pollux, "
    .. "Gavel, or CSV with --columns),\n"
    .. "under schedulers: means and quantiles of their completion times. docs/cluster.md.\n"
    .. "pdors: jobs of workers and parameter servers, slot by slot: utility under PD-ORS and "
    .. "others, and a bound on that of\n"
    .. "any schedule. docs/pdors.md.\n"
    .. "pacml: jobs of the profiled models arrive at a RAMP cluster; a decider says into how many "
    .. "pieces each is cut.\n"
    .. "A job is blocked if it is turned away, if there is no legal block of free servers, or if "
    .. "it would be late.\n"
    .. inputs.profiles_text,
  notes = "deciders: " .. table.concat(berth.pacml.deciders, ", ")
    .. ";\nrandom:SEED, capped:MOST, rolling-horizon:FUTURES, agent:FILE (that berth train wrote). "
    .. "docs/pacml.md.\n"
    .. traces.notes(),
  options = {
    { name = "decider", kind = "string", value = "A,B,...", names = berth.pacml.deciders,
      text = "who decides, see below; default para-max" },
    { name = "agent", kind = "string", value = "FILE", text = "short for --decider agent:FILE" },
    inputs.beta,
    cli.changed("pacml.trace", "seed",
      { text = "of the jobs, the first if there are several; default 0" }),
    { name = "seeds", kind = "count", value = "N",
      text = "as many sequences of jobs, means over them; default 1, --table 20" },
    jobs,
    inputs.arrivals,
    inputs.copies,
    { name = "horizon", kind = "string", value = "TIME",
      text = "or inf: until all is done; default: the last arrival" },
    inputs.mode,
    inputs.ramp,
    inputs.steps,
    inputs.most,
    { name = "csv", kind = "string", value = "FILE", text = "writes a row per job; of one run" },
    { name = "jsonl", kind = "string", value = "FILE", text = "the same as JSON lines" },
    { name = "cluster", kind = "string", value = "FILE",
      text = "writes a row per arrival and end of a job, as .csv or .jsonl; of one run" },
    { name = "trace", kind = "string", value = "FILE",
      text = "writes a timeline that opens in Perfetto; of one run" },
    { name = "output", kind = "string", value = "FILE",
      text = "writes a page with load, blocking and utilisation; of one seed and beta" },
    { name = "table", kind = "flag",
      text = "the paper's table of blocking rates: para-max, para-min, random, and --decider; all "
        .. "betas; 95 % intervals" },
    { name = "path", kind = "string", value = "FILE",
      text = "JSON lines of the runs that are done, to go on from" },
    { name = "shard", kind = "string", value = "I/N",
      text = "runs each N-th from the I-th on, in a file of its own beside --path" },
    { name = "also", kind = "string", value = "A,B,...",
      text = "files of other shards whose runs are done" },
    { name = "json", kind = "flag", text = "prints JSON" },
    { name = "progress", kind = "flag",
      text = "with several runs: a line on standard error for each" },
  },
}

local of_pacml = {}
for _, option in ipairs(command.options) do of_pacml[option.name] = true end
local of_trace = options.merge(traces.shared)
for _, option in ipairs(traces.options) do
  of_trace[option.name] = true
  table.insert(command.options, option)
end

local of_pdors = options.merge(pdors.shared)
for _, option in ipairs(pdors.options) do
  of_pdors[option.name] = true
  table.insert(command.options, option)
end

local function check_options(kind, given, legal)
  for _, name in ipairs(options.sorted_keys(given)) do
    if not legal[name] then fail.usage("--%s: is not for cluster %s", name, kind) end
  end
end

-- ---- what is asked for --------------------------------------------------------------------------

local function seconds(name, value) return args.quantity("--" .. name, value, "seconds") end

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

local FILES = { "csv", "jsonl", "cluster", "trace" }
local ENDINGS = { csv = { csv = true }, jsonl = { jsonl = true },
  cluster = { csv = true, jsonl = true } }

local function check_files(given)
  for _, name in ipairs(FILES) do
    local ending = given[name] and given[name]:match("%.(%w+)$")
    if given[name] and ENDINGS[name] and not ENDINGS[name][ending] then
      local legal = "." .. table.concat(options.sorted_keys(ENDINGS[name]), " or .")
      fail.usage("--%s %s: the name must end in %s", name, given[name], legal)
    end
  end
end

local function check(positional, given)
  if #positional < 2 then
    fail.usage("cluster pacml: profiles are missing: cluster pacml PROFILE...")
  end
  check_options("pacml", given, of_pacml)
  if given.shard and not given.path then
    fail.usage("--shard: where do the results go? --path FILE")
  end
  check_files(given)
end

local function plan(positional, given)
  check(positional, given)
  local env = inputs.env(positional, given, given.steps)
  local betas = given.beta and lists.pieces("beta", given.beta, true) or given.table and { "A", "B",
    "C", "D" } or { "A" }
  for _, name in ipairs(betas) do berth.pacml.beta(name) end
  return { env = env, betas = betas, deciders = deciders(given, env), seed = given.seed or 0,
    seeds = given.seeds or given.table and 20 or 1,
    horizon = given.horizon and seconds("horizon", given.horizon),
    trace = { jobs = given.jobs, interarrival = inputs.interarrival(given.interarrival),
      copies = given.copies } }
end

-- ---- one run ------------------------------------------------------------------------------------

local function format(value, unit)
  if unit == "count" then return ("%.0f"):format(value) end
  return unit and berth.format(value, unit) or decimals(value, 4)
end

local function table_of(runs)
  local rows = { { "" } }
  for i, run in ipairs(runs) do rows[1][i + 1] = run.name end
  for k, metric in ipairs(metrics) do
    rows[k + 1] = { metric[3] }
    for i, run in ipairs(runs) do rows[k + 1][i + 1] = format(run.report[metric[1]], metric[4]) end
  end
  return align.lines(rows, { true })
end

local function object_of(run, asked)
  local members = { { "decider", run.name }, { "beta", asked.betas[1] }, { "seed", asked.seed } }
  for _, metric in ipairs(metrics) do
    members[#members + 1] = { metric[2], run.report[metric[1]] }
  end
  return json.object(members)
end

local function save(given, records)
  if given.csv then fail.need(records:save(given.csv)) end
  if given.jsonl then fail.need(records:save(given.jsonl)) end
  if given.cluster then fail.need(records:save(given.cluster, "cluster")) end
  if given.trace then fail.need(records:save_trace(given.trace)) end
end

local function play_all(asked)
  local drawn = { models = #asked.env.models, beta = asked.betas[1], seed = asked.seed }
  local trace = berth.pacml.trace(options.merge(asked.trace, drawn))
  local horizon, runs = asked.horizon or trace.arrival[#trace.arrival], {}
  for i, one in ipairs(asked.deciders) do
    local what = game_deciders.for_game(one[2], { seed = asked.seed, env = asked.env,
      beta = asked.betas[1], interarrival = asked.trace.interarrival })
    local report, records = berth.pacml.simulate(asked.env, trace, what, {
      horizon = horizon, name = one[1], about = { seed = asked.seed, beta = asked.betas[1] },
    })
    runs[i] = { name = one[1], report = report, records = records }
  end
  return runs
end

local function one_seed(asked, given, write)
  local runs = play_all(asked)
  save(given, runs[1].records)
  if given.output then
    local pages = {}
    for i, run in ipairs(runs) do pages[i] = run.records end
    fail.need(berth.pacml.report(given.output, pages))
  end
  if given.json then
    local out = {}
    for i, run in ipairs(runs) do out[i] = object_of(run, asked) end
    write(json.encode(schema.document "cluster pacml" { { "runs", out } }))
    return 0
  end
  for _, line in ipairs(table_of(runs)) do write(line) end
  return 0
end

local function run_trace(positional, given, write)
  if #positional > 1 then
    fail.usage("cluster: no kind %q; legal: pdors, pacml, or one FILE", positional[1])
  end
  check_options("FILE", given, of_trace)
  return traces.run(positional[1], given, write)
end

local function run_pdors(positional, given, write, complain)
  if #positional > 1 then
    fail.usage("cluster pdors: %q: takes no arguments, only options", positional[2])
  end
  check_options("pdors", given, of_pdors)
  return pdors.run(given, write, complain)
end

function command.run(positional, given, write, complain)
  if positional[1] == "pdors" then return run_pdors(positional, given, write, complain) end
  if positional[1] ~= "pacml" then return run_trace(positional, given, write) end
  local asked = plan(positional, given)
  local several = #asked.betas > 1 or asked.seeds > 1 or given.table or given.path ~= nil
    or given.also ~= nil
  for _, name in ipairs(FILES) do
    if given[name] and (several or #asked.deciders > 1) then
      fail.usage("--%s: is for one decider, one beta, one seed", name)
    end
  end
  if given.output and several then fail.usage("--output: is for one beta and one seed") end
  if several then return study.run(asked, given, write, complain) end
  return one_seed(asked, given, write)
end

return command
