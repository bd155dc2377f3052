--- What the kinds of berth cluster share: options, files of one run, means over many.
local align = require "berth.base.align"
local cli = require "berth.cli.options"
local fail = require "berth.cli.fail"
local json = require "berth.base.json_writer"
local lists = require "berth.cli.lists"
require "berth.experiment" -- declares its options

local runs = {}

--- Files of one run, and JSON.
runs.options = {
  cli.output("csv", "writes a row per job; of one run", "csv"),
  cli.output("jsonl", "the same as JSON lines", "jsonl"),
  cli.output("trace", "writes a timeline that opens in Perfetto (ui.perfetto.dev); of one run",
    "json"),
  cli.flag("json", "prints JSON"),
}

--- Of kinds that play several runs.
runs.several = {
  cli.changed("experiment", "path", { value = "FILE" }),
  cli.changed("experiment", "shard", { value = "I/N" }),
  { name = "also", kind = "string", value = "A,B,...",
    text = "files of other shards whose runs are done" },
  cli.flag("progress", "with several runs: a line on standard error for each"),
}

--- Raises if an option of one run is given with several of something.
function runs.check_one(given, names, several, what)
  for _, name in ipairs(names) do
    fail.refuse(given[name] and several, "--%s: is for one %s", name, what)
  end
end

--- Raises if --shard has no file for its results.
function runs.check_shard(given)
  fail.refuse(given.path == "-", "--path: runs are resumed from it: a file, not standard output")
  fail.refuse(given.shard and not given.path, "--shard: where do the results go? --path FILE")
end

--- Writes the files of a run that has methods save_csv, save_jsonl and save_trace.
function runs.save(run, given)
  for _, kind in ipairs { "csv", "jsonl", "trace" } do
    if given[kind] then fail.need(run["save_" .. kind](run, given[kind])) end
  end
end

--- Prints the names of the files that were written.
-- @tparam function write
-- @tparam table given
-- @tparam string names of options, with spaces between them
function runs.print_written(write, given, names)
  for name in names:gmatch "%S+" do
    if given[name] and given[name] ~= "-" then write("written: " .. given[name]) end
  end
end

--- Options of a study: seeds from `first` on, its files, and lines about each run.
-- @tparam table given
-- @tparam int first
-- @tparam int n seeds
-- @tparam function complain
-- @tparam function name parameters -> text
-- @tparam function done result -> text
function runs.study(given, first, n, complain, name, done)
  local out = { seeds = {}, path = given.path, shard = given.shard,
    also = given.also and lists.pieces("also", given.also, true) }
  for i = 1, n do out.seeds[i] = first + i - 1 end
  if given.progress then
    out.progress = function(i, all, row)
      complain(("%.0f of %.0f: %s, seed %.0f: %s"):format(i, all, name(row.parameters), row.seed,
        row.error or done(row.result)))
    end
  end
  return out
end

--- A mean with its interval, as JSON.
function runs.interval(field)
  return field and json.object { { "mean", field.mean }, { "low", field.low },
    { "high", field.high } }
end

--- Prints the summary of a study, and which runs failed.
-- @tparam experiment e
-- @tparam table to json (an object, or nil), rows and left (of align.lines), write, complain
-- @tparam function name parameters -> text
-- @treturn number exit code
function runs.finish(e, to, name)
  if to.json then
    to.write(json.encode(to.json))
  else
    for _, line in ipairs(align.lines(to.rows, to.left)) do to.write(line) end
    if #e.rows < e.trials then
      to.write(("%.0f of %.0f runs are done"):format(#e.rows, e.trials))
    end
  end
  for _, row in ipairs(e.rows) do
    if row.error then
      to.complain(("%s, seed %.0f: %s"):format(name(row.parameters), row.seed, row.error))
    end
  end
  return e.failed > 0 and fail.USAGE or 0
end

return runs
