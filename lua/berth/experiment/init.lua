--- Experiments: a function run for each point of a grid with each seed. Results go to a file, one
-- line per trial, as they come; an experiment that is stopped, or killed, resumes.
-- docs/experiments.md.
local core = require "berth.core"
local options = require "berth.base.options"
local interrupt = require "berth.base.interrupt"
local grid = require "berth.experiment.grid"
local json = require "berth.base.json"
local schema = require "berth.base.schema"
local store = require "berth.experiment.store"
local summarise = require "berth.experiment.summary"

local FN = "berth.experiment"

options.declare("experiment", {
  { key = "name", type = "string", default = "none; must be given", required = true,
    text = "of the experiment; a file may have several" },
  { key = "run", type = "function", default = "none; must be given", required = true,
    text = "run(trial) gives a table of results" },
  { key = "grid", type = "table", default = "one point",
    text = "arrays of values by name, or an array of points" },
  { key = "seeds", type = "whole or array", default = "1", text = "how many, from 1, or which" },
  { key = "path", type = "string", default = "none",
    text = "file of JSON lines: each trial when it is done, to go on from" },
  { key = "shard", type = "string", default = "none",
    text = "\"i/n\": each n-th trial from the i-th on, in a file of its own beside path" },
  { key = "also", type = "table", default = "none",
    text = "files of other shards whose trials are done" },
  { key = "retry", type = "flag", default = "false", text = "runs trials again that failed" },
  { key = "progress", type = "function", default = "none",
    text = "progress(done, of, row) after each trial" },
})

options.declare("experiment:summary", {
  { key = "level", type = "share", default = "0.95", text = "of confidence, between 0 and 1" },
  { key = "fields", type = "table", default = "all", text = "names of those to print, in order" },
})

local Experiment = { __name = "berth.experiment" }
Experiment.__index = Experiment

function Experiment.__tostring(e)
  local done = ("experiment %s: %d of %d trials done, %d failed"):format(e.name, #e.rows, e.trials,
    e.failed)
  local read = #e.rows - e.ran
  if read == 0 then return done end
  return ("%s; %d read from %s, %d run now"):format(done, read, e.path or "files", e.ran)
end

-- Names of numbers in the results of some trial; nil: all.
local function check_fields(rows, fields)
  if fields == nil then return nil end
  options.refuse(type(fields) ~= "table",
    "experiment:summary: fields: expected an array of names, got %s", core.kind(fields))
  local known, chosen = {}, {}
  for _, row in ipairs(rows) do
    for name, x in pairs(row.result or {}) do known[name] = known[name] or type(x) == "number" end
  end
  for i, name in ipairs(fields) do
    options.refuse(#rows > 0 and not known[name],
      "experiment:summary: fields[%d]: no number '%s' in the results", i, tostring(name))
    chosen[i] = name
  end
  return chosen
end

--- Means over the trials of each point that are done. Of each number in the results: n, mean and,
-- of two trials and more, deviation and Student's confidence interval.
-- @tparam[opt] table opts as declared above
-- @treturn table of each point { parameters, n, failed, cpu_s, fields = { [name] = { n, mean,
--  deviation, half, low, high } } }; level; failed (the first row with an error); prints as a
--  table, and the first error
function Experiment:summary(opts)
  local given = options.check("experiment:summary", opts, "experiment:summary")
  local level = given.level or 0.95
  options.refuse(type(level) ~= "number" or not (level > 0 and level < 1),
    "experiment:summary: level: expected a number between 0 and 1, got %s", tostring(level))
  local rows = {}
  for p = 1, #self.points do rows[p] = {} end
  for _, row in ipairs(self.rows) do table.insert(rows[row.point], row) end
  return summarise(self, rows, level, check_fields(self.rows, given.fields))
end

-- ---- options ------------------------------------------------------------------------------------

local function check(given)
  options.expect(given, "table", "%s", FN)
  options.read(FN, "experiment", given)
  for i, path in ipairs(given.also or {}) do
    options.expect(path, "string", "%s: also[%d]", FN, i)
  end
end

-- Each shard has a file of its own: "a.jsonl" becomes "a.2-of-4.jsonl".
local function path_of(given, shard, shards)
  if not given.path or shards == 1 then return given.path end
  local stem, ending = given.path:match("^(.*)(%.[^./]*)$")
  return ("%s.%.0f-of-%.0f%s"):format(stem or given.path, shard, shards, ending or "")
end

-- ---- what is there already ----------------------------------------------------------------------

local function is_row(row)
  return schema.reads("experiment line", row.schema) and type(row.parameters) == "table"
    and type(row.seed) == "number" and type(row.cpu_s) == "number"
    and (row.error == nil and type(row.result) == "table" or type(row.error) == "string"
      and row.result == nil)
end

-- Later lines take the place of earlier ones, and results that of errors.
local function remember(done, name, rows)
  for _, row in ipairs(rows) do
    if row.experiment == name and is_row(row) then
      local key = grid.key(row.parameters, row.seed)
      row.schema = nil
      if not done[key] or done[key].error or not row.error then done[key] = row end
    end
  end
end

local function gather(given, path)
  local done = {}
  for _, other in ipairs(given.also or {}) do
    local rows, message, code = store.read(other)
    if not rows then return nil, message, code end
    remember(done, given.name, rows)
  end
  if not path then return done end
  local file, message, code = store.open(path)
  if not file then return nil, message, code end
  remember(done, given.name, file.rows)
  return done, file
end

-- ---- trials -------------------------------------------------------------------------------------

-- A result, or an error and perhaps a code, as run gives or raises them.
local function outcome(fine, result, message, code)
  if not fine then
    if interrupt.is(result) then error(result, 0) end
    return nil, tostring(result)
  end
  if type(result) == "table" then
    local writable, text = pcall(json.encode, result, "result")
    if writable then return json.decode(text) end -- as it will be read
    return nil, text
  end
  if result == nil and type(message) == "string" then return nil, message, code end
  return nil, ("run gave a %s: expected a table"):format(type(result))
end

local function line_of(row)
  return json.object { { "schema", schema.numbers["experiment line"] },
    { "experiment", row.experiment }, { "trial", row.trial }, { "parameters", row.parameters },
    { "seed", row.seed }, { "version", row.version }, { "cpu_s", row.cpu_s },
    { "result", row.result }, { "error", row.error }, { "code", row.code } }
end

local function run_trial(run, trial)
  local before = os.clock()
  local own = options.merge(trial, { parameters = options.merge(trial.parameters) })
  local result, message, code = outcome(pcall(run, own))
  if code == "interrupted" then return nil end
  return { experiment = trial.name, trial = trial.index, parameters = trial.parameters,
    seed = trial.seed, version = core.version, cpu_s = os.clock() - before, result = result,
    error = message, code = code }
end

local function run_all(given, todo, done, file)
  for k, item in ipairs(todo) do
    local row = run_trial(given.run, item.trial)
    if not row then
      return nil, ("interrupted: %d of %d trials are done"):format(k - 1, #todo), "interrupted"
    end
    local fine, message, code = true, nil, nil
    if file then fine, message, code = file:add(line_of(row)) end
    if not fine then return nil, message, code end
    done[item.key] = row
    if given.progress then given.progress(k, #todo, row) end
  end
  return true
end

local function is_due(item, done, given, shard, shards)
  if math.fmod(item.trial.index - 1, shards) ~= shard - 1 then return false end
  local row = done[item.key]
  return not row or given.retry and row.error ~= nil
end

local function collect(given, items, points, done, path, ran)
  local e = setmetatable({ name = given.name, path = path, trials = #items, points = points,
    rows = {}, failed = 0, ran = ran }, Experiment)
  for _, item in ipairs(items) do
    local row = done[item.key]
    if row then
      e.rows[#e.rows + 1] = options.merge(row, { trial = item.trial.index, point = item.point })
      if row.error then e.failed = e.failed + 1 end
    end
  end
  return e
end

--- Runs a function for each point of a grid with each seed.
--
-- The function gets a trial: its parameters by name, `parameters` (all of them), `seed`, `index`,
-- `name`. It gives a table of results: numbers, strings, booleans, arrays and tables of these. What
-- it raises or refuses (nil, message, code) is recorded as the trial's error. Trials have one
-- order: parameters by name, the first varying slowest, then seeds.
--
-- With a path, each trial's line is in the file before the next one begins: experiment, trial,
-- parameters, seed, version, cpu_s, result or error and code. Trials that are there, by parameters
-- and seed, are not run again, even if `run` has changed: another name or another file keeps new
-- results apart. One process at a time may have a file.
-- @tparam table given name; run; grid ({ name = { values } }, or an array of points { name = value
--  }; default: one point); seeds (how many, from 1, or an array; 1); path; shard ("i/n": every n-th
--  trial from the i-th on, in a file of its own: "a.jsonl" becomes "a.i-of-n.jsonl"); also (paths
--  of other files whose trials are done); retry (false; true: trials with errors are run again);
--  progress (function of trials done, trials to do, the row)
-- @treturn[1] table name, path, trials (how many there are), ran (those of this call), rows (those
--  done: trial, point, parameters, seed, version, cpu_s, result, error, code), failed, points;
--  e:summary()
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code "io", "parse", "interrupted"
-- @usage e = berth.experiment { name = "caps", grid = { cap = { 4, 8 } }, seeds = 3, path =
--  "caps.jsonl", run = function(trial) return { blocking = measure(trial.cap, trial.seed) } end }
return function(given)
  check(given)
  local points, seeds = grid.points(given.grid), grid.seeds(given.seeds)
  local items = grid.trials(given.name, points, seeds)
  local shard, shards = grid.shard(given.shard)
  local path = path_of(given, shard, shards)
  local done, file, code = gather(given, path)
  if not done then return nil, file, code end
  local todo = {}
  for _, item in ipairs(items) do
    if is_due(item, done, given, shard, shards) then todo[#todo + 1] = item end
  end
  local fine, message
  local ran, err = pcall(function() fine, message, code = run_all(given, todo, done, file) end)
  if file then file:close() end
  if not ran then error(err, 0) end
  if not fine then return nil, message, code end
  return collect(given, items, points, done, path, #todo)
end
