--- berth cluster pdors: jobs of workers and parameter servers under PD-ORS and what it is compared
-- with.
local berth = require "berth"
local decimals = require "berth.base.decimals"
local cli = require "berth.cli.options"
local fail = require "berth.cli.fail"
local json = require "berth.base.json_writer"
local schema = require "berth.base.schema"
local lists = require "berth.cli.lists"
local options = require "berth.base.options"
local align = require "berth.base.align"
local runs = require "berth.cli.runs"

local own = {
  { name = "policy", kind = "string", value = "A,B,...", names = berth.pdors.policies,
    text = table.concat(berth.pdors.policies, " ") .. "; default all" },
  cli.changed("pdors.study", "generate"), cli.changed("pdors.generate", "jobs", { kind = "count" }),
  cli.changed("pdors.generate", "machines"), cli.changed("pdors.generate", "slots"),
  cli.changed("pdors.generate", "seed", { text = "of the first problem; default 0" }),
  cli.count("seeds", "problems, means over them; default 1"),
  { name = "draw", kind = "string", value = "K=V,...",
    text = "more options of berth.pdors.generate: "
      .. "load=0.5,gain=20,classes=google,bytes=30e6..575e6" },
  cli.file("problem", "JSON with jobs and cluster, instead of drawing them"),
  { name = "set", kind = "string", value = "K=V,...",
    text = "options of the policies that have them: mode=faithful,favour=covering,delta=0.2" },
  cli.changed("pdors.study", "certify", { value = "STEPS" }),
  cli.output("report", "writes a page; of one problem", "html"),
  cli.output("save", "writes the problem as JSON; of one problem", "json"),
}

local pdors = {
  name = "cluster pdors", use = "cluster pdors [options]", least = 1, most = 1,
  text = "Jobs of workers and parameter servers, slot by slot: utility under PD-ORS and others, "
    .. "and a bound on that of\nany schedule. docs/pdors.md.",
  options = options.join(own, runs.options, runs.several),
}

-- ---- arguments ----------------------------------------------------------------------------------

local function pieces(name, value) return lists.pieces(name, value, true) end

local function settings(name, value) return lists.settings("--" .. name, value, lists.value) end

-- Names of --policy, each known; default: all.
local function policies(given)
  local names, known = given.policy and pieces("policy", given.policy) or berth.pdors.policies, {}
  for _, name in ipairs(berth.pdors.policies) do known[name] = true end
  for _, name in ipairs(names) do
    if not known[name] then
      require("berth.cli.names").refuse("--policy", name, berth.pdors.policies)
    end
  end
  return names
end

-- Options of one policy; each that is given must be of at least one of them.
local function settings_of(names, given)
  local set, out, used = settings("set", given.set), {}, {}
  for _, name in ipairs(names) do
    out[name] = {}
    for _, key in ipairs(berth.pdors.options(name)) do
      if set[key] ~= nil then out[name][key], used[key] = set[key], true end
    end
  end
  for _, key in ipairs(options.sorted_keys(set)) do
    if not used[key] then fail.usage("--set: none of the policies takes %s", key) end
  end
  return out
end

-- Options of berth.pdors.generate.
local function drawn(given)
  return options.merge(settings("draw", given.draw), { jobs = given.jobs, machines = given.machines,
    slots = given.slots })
end

-- Raises for options that do not apply; returns whether several problems are run.
local function check(given, names)
  if given.problem then
    for _, key in ipairs { "generate", "machines", "slots", "draw", "jobs", "seeds", "path" } do
      if given[key] ~= nil then fail.usage("--%s: the problem is in --problem", key) end
    end
  end
  runs.check_shard(given)
  local several = given.path ~= nil or (given.seeds or 1) > 1
  runs.check_one(given, { "report", "save", "csv", "jsonl", "trace" }, several, "problem")
  runs.check_one(given, { "csv", "jsonl", "trace" }, #names > 1, "policy")
  return several
end

-- ---- one problem --------------------------------------------------------------------------------

-- Heading, field, decimals, unit.
local COLUMNS = {
  { "utility", "utility", 4 }, { "of bound", "ratio", 1, "%" }, { "done", "done", 0 },
  { "refused", "refused", 0 }, { "median slots", "training_median_slots", 2 },
  { "on one machine", "inside", 1, "%" },
}

-- A field as its column prints it; "-" if it is not there.
local function cell(x, column)
  if not x then return "-" end
  return column[4] and decimals(100 * x, column[3]) .. " %" or decimals(x, column[3])
end

-- A row per policy, columns as COLUMNS lists them.
local function table_of(results)
  local rows = { { "policy" } }
  for _, column in ipairs(COLUMNS) do table.insert(rows[1], column[1]) end
  for _, r in ipairs(results) do
    local row = { r.scheduler }
    for _, column in ipairs(COLUMNS) do row[#row + 1] = cell(r.summary[column[2]], column) end
    rows[#rows + 1] = row
  end
  return align.lines(rows, { true })
end

-- The JSON object of one policy; `used` is the share of each resource.
local function object_of(r)
  local used = {}
  for i, name in ipairs(r.problem.resources) do used[i] = { name, r.summary.used[name] } end
  return json.object(options.join({ { "policy", r.scheduler } }, json.fields(r.summary,
    "utility bound ratio worst_case done refused unfinished training_median_slots "
      .. "training_mean_slots slots_on_one_machine=inside"), { { "used", json.object(used) } }))
end

-- Runs the policies on one problem, drawn or loaded; writes files and prints.
local function one_problem(names, of_policy, given, write)
  local p
  if given.problem then
    p = fail.need(berth.pdors.load(given.problem))
  else
    local drawing = options.merge(drawn(given), { seed = given.seed })
    p = berth.pdors.problem(berth.pdors.generate(given.generate, drawing))
  end
  if given.save then fail.need(p:save(given.save)) end
  local results, objects = {}, {}
  for i, name in ipairs(names) do
    local opts = options.merge({ seed = given.seed, certify = given.certify }, of_policy[name])
    results[i] = fail.need(berth.pdors.simulate(p, name, opts))
    objects[i] = object_of(results[i])
  end
  runs.save(results[1], given)
  if given.report then fail.need(berth.pdors.report(given.report, results)) end
  if given.json then
    write(json.encode(schema.document "cluster pdors" { { "jobs", #p.jobs },
      { "possible", p.possible }, { "machines", p.machines }, { "slots", p.slots },
      { "seed", not given.problem and (given.seed or 0) or nil }, { "runs", objects } }))
    return 0
  end
  local size = ("%.0f jobs, %.0f machines, %.0f slots"):format(#p.jobs, p.machines, p.slots)
  if p.possible == 0 then
    write(size .. ": no job can be done in time, under any policy")
  else
    write(("%s: %.0f can be done in time, no schedule is worth more than %s"):format(size,
      p.possible, decimals(results[1].bound, 4)))
  end
  for _, line in ipairs(table_of(results)) do write(line) end
  runs.print_written(write, given, "save csv jsonl trace report")
  return 0
end

-- ---- many problems ------------------------------------------------------------------------------

-- A mean with half the width of its interval.
local function mean_cell(field, column)
  local mean = cell(field and field.mean, column)
  return field and field.half and ("%s +- %s"):format(mean, cell(field.half, column)) or mean
end

-- The same with means over the runs.
local function means_of(e)
  local rows = { { "policy", "runs" } }
  for _, column in ipairs(COLUMNS) do table.insert(rows[1], column[1]) end
  for _, point in ipairs(e:summary()) do
    local row = { point.parameters.policy, ("%.0f"):format(point.n) }
    for _, column in ipairs(COLUMNS) do
      row[#row + 1] = mean_cell(point.fields[column[2]], column)
    end
    rows[#rows + 1] = row
  end
  return rows
end

-- The document of several runs, with intervals of 95 %.
local function objects_of(e)
  local out = {}
  for _, point in ipairs(e:summary()) do
    local members = { { "policy", point.parameters.policy }, { "runs", point.n },
      { "failed", point.failed } }
    for _, name in ipairs(options.sorted_keys(point.fields)) do
      members[#members + 1] = { name, runs.interval(point.fields[name]) }
    end
    if not point.fields.ratio then members[#members + 1] = { "ratio" } end -- all bounds are 0
    out[#out + 1] = json.object(members)
  end
  return schema.document "cluster pdors, several runs" { { "level", 0.95 }, { "points", out } }
end

local function name_of(parameters) return parameters.policy end

local function utility_of(result) return "utility " .. decimals(result.utility, 4) end

-- Runs the study, and prints means with 95 % intervals.
local function many_problems(names, of_policy, given, write, complain)
  local list = {}
  for i, name in ipairs(names) do
    list[i] = { name, name, next(of_policy[name]) and of_policy[name] or nil }
  end
  local study = runs.study(given, given.seed or 0, given.seeds or 1, complain, name_of, utility_of)
  local e = fail.need(berth.pdors.study(options.merge(study, { policies = list,
    generate = given.generate, given = drawn(given), certify = given.certify })))
  return runs.finish(e, { json = given.json and objects_of(e), rows = means_of(e),
    left = { true }, write = write, complain = complain }, name_of)
end

--- One problem, or a study as soon as there are several seeds or a file of rows.
-- @return exit code
function pdors.run(_, given, write, complain)
  local names = policies(given)
  local several = check(given, names)
  local of_policy = settings_of(names, given)
  if several then return many_problems(names, of_policy, given, write, complain) end
  return one_problem(names, of_policy, given, write)
end

return pdors
