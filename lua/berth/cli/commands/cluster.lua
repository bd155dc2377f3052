--- berth cluster FILE: a trace of gang jobs under schedulers.
local core = require "berth.core"
local args = require "berth.cli.args"
local berth = require "berth"
local bounds_of = require "berth.report.cluster_bounds"
local cli = require "berth.cli.options"
local fail = require "berth.cli.fail"
local gang = require "berth.cluster.gang"
local json = require "berth.base.json_writer"
local schema = require "berth.base.schema"
local unknown = require "berth.cli.names"
local lists = require "berth.cli.lists"
local remarks = require "berth.cli.notes"
local command_line = require "berth.cli.typed"
local traces = require "berth.cli.traces"
local options = require "berth.base.options"
local align = require "berth.base.align"
local runs = require "berth.cli.runs"

local FN = "cluster.simulate"

-- Those that need no more than a trace holds: no trace has speeds on several numbers of GPUs.
local NAMES, KNOWN = {}, {}
for _, name in ipairs(gang.in_order) do
  KNOWN[name] = not gang.has(name, "speeds")
  if KNOWN[name] then NAMES[#NAMES + 1] = name end
end

-- Whether a scheduler reads an option of berth.cluster.simulate.
local function reads(name, o) return not o.readers or o.readers[name] == true end

-- ---- options ------------------------------------------------------------------------------------

local TYPES = {
  flag = true, whole = true, number = true, numbers = true, seconds = true, choice = true,
}

-- Options of schedulers that can be given as text.
local of_schedulers = {}
for _, o in ipairs(options.described(FN)) do
  local read = false
  for _, name in ipairs(NAMES) do read = read or reads(name, o) end
  if read and TYPES[o.type] and o.key ~= "seed" then of_schedulers[#of_schedulers + 1] = o end
end

local own = {
  cli.count("gpus", "how many there are in all"),
  cli.count("per-machine", "GPUs of a machine; default: all in one"),
  { name = "scheduler", kind = "string", value = "A,B,...", names = NAMES,
    text = "see below; default fifo" },
  cli.changed(FN, "types", { kind = "string", value = "K=N,...",
    text = "for gavel: GPUs of each type, the fastest first, instead of --gpus: v100=8,k80=16" }),
}
for _, o in ipairs(of_schedulers) do
  local option = cli.row(o)
  -- traces do not mark skewed jobs
  if o.key == "placement" then option.choices = { "any", "consolidate", "spread" } end
  own[#own + 1] = option
end
own[#own + 1] = traces.columns
for _, option in ipairs(cli.of("load_trace", "durations origin throughputs worker skip most_bytes"))
do
  if option.name == "durations" then
    option.kind, option.value = "string", "K=V,..."
    option.text = option.text .. ": cifar10=20min,..."
  end
  own[#own + 1] = option
end

-- The schedulers with their texts, for --help.
local function notes()
  local out = { "schedulers:" }
  for _, name in ipairs(NAMES) do
    for i, line in ipairs(args.wrap(gang.text(name), 92)) do
      out[#out + 1] = ("  %-10s %s"):format(i == 1 and name or "", line)
    end
  end
  return table.concat(out, "\n")
end

local command = {
  name = "cluster", least = 1, most = 1, words = { "pacml", "pdors" },
  use = "cluster FILE --gpus N [options] | cluster pdors [options] | cluster pacml PROFILE... "
    .. "[options]",
  text = "A trace of jobs that each run on a number of GPUs (Philly, Tiresias, Pollux, Gavel, or "
    .. "CSV with --columns),\nunder schedulers: means and quantiles of their completion times. "
    .. "docs/cluster.md.\n"
    .. "berth cluster pdors --help: jobs of workers and parameter servers, slot by slot.\n"
    .. "berth cluster pacml --help: jobs of profiled models that are cut into pieces.",
  notes = notes(),
  options = options.join(own, { cli.changed("cluster", "horizon", { kind = "string" }),
    cli.output("report", "writes a page: jobs on GPUs, GPUs in use, waiting jobs, numbers", "html"),
    { name = "figure", kind = "choice", value = "KIND", choices = { "jobs", "usage", "queue" },
      text = "--report writes this figure alone, as SVG; jobs: of the first scheduler" } },
    runs.options),
}

--- The command that these words ask for: pacml and pdors have options of their own.
function command.choose(words)
  for _, word in ipairs(words) do
    if word == "--" then break end
    if word == "pacml" then return require "berth.cli.commands.cluster_pacml" end
    if word == "pdors" then return require "berth.cli.commands.cluster_pdors" end
  end
  return command
end

-- ---- arguments ----------------------------------------------------------------------------------

-- Seconds by model from "cifar10=20min,...".
local function durations(value)
  return lists.settings("--durations", value,
    function(x) return args.quantity("--durations", x, "seconds") end)
end

-- Jobs of the trace, and what was read: format, number of jobs, notes.
local function load(path, given)
  return fail.need(berth.load_trace(path, {
    columns = traces.columns_of(given), skip = given.skip,
    durations = given.durations and durations(given.durations), throughputs = given.throughputs,
    worker = given.worker, origin = given.origin, most_bytes = given["most-bytes"],
  }))
end

-- A machine for each type, by name.
local function typed_cluster(given)
  local counts = lists.settings("--types", given.types, function(x)
    local n = tonumber(x)
    fail.refuse(not n or n < 1 or n ~= math.floor(n),
      "--types: a whole number of at least 1 is needed, not %q", x)
    return n
  end)
  local names, capacity, gpus = {}, {}, 0
  for name in given.types:gmatch "([^,=]+)=" do names[#names + 1] = name:match "^%s*(.-)%s*$" end
  for i, name in ipairs(names) do
    capacity[i] = { counts[name] }
    gpus = gpus + counts[name]
  end
  return { machines = #names, capacity = capacity }, gpus, names
end

-- The cluster of --gpus and --per-machine, and the number of GPUs.
local function cluster_of(given)
  local each = given["per-machine"] or given.gpus
  fail.refuse(given.gpus % each ~= 0, "--gpus: %d is no multiple of --per-machine %d", given.gpus,
    each)
  return { machines = given.gpus / each, capacity = each }, given.gpus
end

-- Options of one scheduler; each that is given must be of at least one of them.
local function options_of(name, given, types)
  local out = { types = types }
  for _, o in ipairs(of_schedulers) do
    if reads(name, o) then out[o.key] = given[o.key:gsub("_", "-")] end
  end
  return out
end

-- Names of --scheduler, each known and once; every option that is given must be read by one of
-- them.
local function schedulers(given)
  local names, seen = lists.pieces("scheduler", given.scheduler or "fifo"), {}
  for _, name in ipairs(names) do
    if not KNOWN[name] then unknown.refuse("--scheduler", name, NAMES) end
    if seen[name] then fail.usage("--scheduler: %s is there twice", name) end
    seen[name] = true
  end
  for _, o in ipairs(of_schedulers) do
    local option = o.key:gsub("_", "-")
    local used = given[option] == nil
    for _, name in ipairs(names) do used = used or reads(name, o) end
    if not used then fail.usage("--%s: none of the schedulers takes it", option) end
  end
  return names
end

-- ---- answers ------------------------------------------------------------------------------------

local COLUMNS = { { "mean", "mean_jct" }, { "median", "median_jct" }, { "p95", "p95_jct" },
  { "p99", "p99_jct" }, { "queued", "mean_queued" }, { "makespan", "makespan" } }

-- A time; from 1000 s on in whole seconds, so that a column compares at a glance.
local function seconds(x)
  if not x then return "-" end
  if x < 1000 then return berth.format(x, "seconds") end
  return (x < 1e12 and "%.0f s" or "%.6g s"):format(x)
end

-- Whether one of them refuses jobs: only then there is a column.
local function any_refused(results)
  for _, r in ipairs(results) do if r.summary.refused > 0 then return true end end
  return false
end

-- A row per scheduler: completion times, their excess over the bound, counts, utilisation.
local function table_of(results)
  local rows, refused = { { "scheduler" } }, any_refused(results)
  for _, column in ipairs(COLUMNS) do table.insert(rows[1], column[1]) end
  for _, name in ipairs { "over bound", "done", refused and "refused" or false, "pauses",
    "GPUs busy" } do
    if name then table.insert(rows[1], name) end
  end
  for _, r in ipairs(results) do
    local row, s = { r.scheduler }, r.summary
    for _, column in ipairs(COLUMNS) do row[#row + 1] = seconds(s[column[2]]) end
    row[#row + 1] = s.bound_jct and s.mean_jct
      and core.sprintf("%.1f %%", 100 * (s.mean_jct / s.bound_jct - 1)) or "-"
    row[#row + 1] = ("%.0f"):format(s.done)
    if refused then row[#row + 1] = ("%.0f"):format(s.refused) end
    row[#row + 1] = ("%.0f"):format(s.pauses)
    row[#row + 1] = core.sprintf("%.1f %%", 100 * s.utilisation)
    rows[#rows + 1] = row
  end
  return align.lines(rows, { true })
end

-- Notes of what refused jobs need more of than there is; nil: none.
local function too_large(jobs, gpus)
  local n, first = 0, nil
  for _, job in ipairs(jobs) do
    if (job.gpus or 1) > gpus then
      n, first = n + 1, first or job
    end
  end
  if n == 0 then return nil end
  return ("%.0f %s refused: more GPUs than %.0f; the first: %s, %.0f GPUs"):format(n,
    n == 1 and "job" or "jobs", gpus, first.name or "without a name", first.gpus)
end

-- The JSON object of one scheduler; times in s.
local function object_of(r)
  return json.object(options.join({ { "scheduler", r.scheduler } }, json.fields(r.summary,
    "mean_jct_s=mean_jct median_jct_s=median_jct p95_jct_s=p95_jct p99_jct_s=p99_jct "
      .. "mean_queued_s=mean_queued makespan_s=makespan bound_jct_s=bound_jct "
      .. "bound_makespan_s=bound_makespan done refused pauses utilisation")))
end

-- Some have types of GPUs, the others have none.
local function check_types(names, given)
  local typed
  for _, name in ipairs(names) do typed = typed or gang.has(name, "types") and name end
  fail.refuse(typed and (#names > 1 or not given.types), "--scheduler %s: alone, and with --types",
    typed)
  fail.refuse(typed and (given.gpus or given["per-machine"]),
    "--scheduler %s: --types gives the GPUs", typed)
  if not typed and given.types then fail.usage("--types: is for gavel") end
  if not typed and not given.gpus then fail.usage("cluster: how many GPUs are there? --gpus N") end
  return typed
end

--- Runs each scheduler on the same trace and prints a row per scheduler.
-- @return exit code
function command.run(positional, given, write, _, words)
  local path, names = positional[1], schedulers(given)
  local cluster, gpus, types = (check_types(names, given) and typed_cluster or cluster_of)(given)
  cluster.horizon = given.horizon and args.quantity("--horizon", given.horizon, "seconds")
  runs.check_one(given, { "csv", "jsonl", "trace" }, #names > 1, "scheduler")
  fail.refuse(given.figure and not given.report, "--figure: --report FILE is needed")
  if given.report then fail.unless_writable("report", given.report) end
  local jobs, about = load(path, given)
  local results, objects = {}, {}
  for i, name in ipairs(names) do
    results[i] = fail.need(berth.cluster.simulate(jobs, cluster, name,
      options_of(name, given, types)))
    objects[i] = object_of(results[i])
  end
  runs.save(results[1], given)
  local name = path == "-" and "standard input" or path:match "([^/]+)$"
  if given.report then
    fail.need(berth.cluster_report(given.report, results, { title = name, figure = given.figure,
      command = command_line.command("cluster", words, "report") }))
  end
  if given.json then
    for _, note in ipairs(about.notes) do remarks.add(note) end
    write(json.encode(schema.document "cluster" { { "trace", path }, { "format", about.format },
      { "jobs", about.jobs }, { "left_out", about.left_out }, { "gpus", gpus },
      { "runs", objects } }))
    return 0
  end
  for _, note in ipairs(about.notes) do write(note) end
  write(("%s: %.0f jobs on %.0f GPUs; job completion times"):format(
    name, about.jobs, gpus))
  for _, line in ipairs(table_of(results)) do write(line) end
  local mean, makespan = bounds_of(results)
  if mean then write(("bounds: mean %s, makespan %s"):format(seconds(mean), seconds(makespan))) end
  local refused = too_large(jobs, gpus)
  if refused then write(refused) end
  if jobs[1].arrival > 0 then
    write(("makespan and GPUs busy count from 0 s; the first job arrives at %s")
      :format(seconds(jobs[1].arrival)))
  end
  runs.print_written(write, given, "csv jsonl trace report")
  return 0
end

return command
