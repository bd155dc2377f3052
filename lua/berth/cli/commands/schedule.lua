--- berth schedule: pipeline schedules by generators, files and search.
local berth = require "berth"
require "berth.schedule" -- declares its options
local align = require "berth.base.align"
local args = require "berth.cli.args"
local core = require "berth.core"
local fail = require "berth.cli.fail"
local files = require "berth.schedule.files"
local json = require "berth.base.json_writer"
local names = require "berth.cli.names"
local options = require "berth.cli.options"
local schema = require "berth.base.schema"
local sources = require "berth.cli.sources"

local NOTES = [[
GENERATOR is a name of the list below, or a file: PyTorch's CSV, or berth JSON of --output.
--costs is F,B,W of a stage, all alike, in s or as 5us; or a CSV with a head: forward_us,
backward_us, weight_us, p2p_us, extra_us (or _ms, _s), activations, a row a stage or chunk. With a
column kind (E embedding, t layer, m, L loss) or count its rows are layers, which are split into
chunks (--split; with --search both are sought together).
--memory 1 is what one micro-batch holds of a stage, unless costs have activations: 1F1B needs as
many as there are stages.
exit: 0 done, 1 deadlock, or memory over the limit, 2 bad input or usage, 130 interrupted (the best
so far is printed).

generators:
]]

local function generators()
  local lines = {}
  for i, g in ipairs(core.schedule_generators()) do
    lines[i] = ("  %-17s %s"):format(g.name, g.text)
  end
  return table.concat(lines, "\n")
end

-- Numbers of these may have a unit; without, they are s.
local TIMES = { p2p = true, extra = true }

local OF_PROBLEM = "stages microbatches chunks map objective joined p2p memory activations freed "
  .. "extra overlap"

local function of_problem()
  local out = options.of("schedule.make", OF_PROBLEM)
  for _, option in ipairs(out) do option.unit = TIMES[option.name] and "seconds" or nil end
  return out
end

local schedule = {
  name = "schedule", use = "schedule [GENERATOR] [options]", least = 0, most = 1,
  text = "Pipeline schedules: simulates a generator's or a file's, searches a better one, compares "
    .. "them.",
  notes = NOTES .. generators(),
  options = options.join({
    { name = "costs", kind = "string", value = "F,B,W",
      text = "s of a stage, or a FILE with a row a stage, chunk or layer; default 1,1,1" },
    { name = "split", kind = "string", value = "LAYOUT",
      text = "of layers: a Megatron layout (\"Et*3|t*4|t*3L\"), even, or a FILE with a layout; "
        .. "default: the least largest chunk" },
  }, of_problem(), {
    options.flag("search", "searches the schedule with the shortest step within the memory"),
    options.flag("exact", "the shortest one with proof, of up to 400 actions"),
  }, options.of("schedule.search", "calls seconds seed"), {
    options.flag("compare", "all generators whose chunks fit, with --search also the search"),
  }, options.of("simulate", "links"), {
    { name = "topology", kind = "string", value = "TOPOLOGY", names = sources.generators,
      text = "device i runs stage i; default: a ring of the stages" },
    { name = "bandwidth", kind = "bytes/s", value = "RATE",
      text = "with --topology: that p2p is given for" },
    options.output("report", "writes a page with the picture (HTML)"),
    options.output("figure", "writes the picture (SVG)"),
    options.output("csv", "writes the schedule as PyTorch reads it"),
    options.output("layout", "writes the split of the layers, a Megatron layout"),
    options.output("output", "writes the schedule (berth JSON)"),
    options.output("trace", "writes a timeline that opens in Perfetto"),
    options.json,
  }),
}

-- ---- arguments ----------------------------------------------------------------------------------

-- F,B,W or a file.
local function costs_of(text)
  local list = {}
  for part in (text .. ","):gmatch "%s*([^,]*)%s*," do
    local is_time = tonumber(part) or text:find "," and part:find "^%d[%d.eE+-]*%s*%l*$"
    if not is_time then return fail.need(berth.schedule.costs(text)) end
    list[#list + 1] = tonumber(part) or args.quantity("--costs", part, "seconds")
  end
  fail.refuse(#list ~= 3, "--costs: three times F,B,W are needed, not %q", text)
  return list
end

-- A layout, "even", or a file with a layout.
local function split_of(text)
  if text == "even" or not core.read(text) then return text end
  return fail.need(berth.schedule.load(text, { format = "layout" }))
end

-- Options of berth.schedule.make.
local function problem_of(given)
  local out = {}
  for key in OF_PROBLEM:gmatch "%S+" do out[key] = given[key] end
  out.costs = given.costs and costs_of(given.costs) or nil
  out.split = given.split and split_of(given.split) or nil
  return out
end

local function with_budget(opts, given)
  opts.calls, opts.seconds, opts.seed = given.calls, given.seconds, given.seed
  return opts
end

local function known_names()
  local out = {}
  for i, g in ipairs(berth.schedule.generators()) do out[i] = g.name end
  return out
end

local function is_file(name) return name:find "[./]" ~= nil end

local function check(name, given)
  fail.refuse(not (name or given.search or given.compare or given.exact),
    "schedule: a generator, a file, --search, --exact or --compare is needed")
  for _, key in ipairs { "search", "compare", "exact" } do
    fail.refuse(name and given[key], "schedule: %s and --%s: give one", name, key)
  end
  for _, key in ipairs { "search", "compare" } do
    fail.refuse(given.exact and given[key], "schedule: --exact and --%s: give one", key)
  end
  for _, key in ipairs { "calls", "seconds", "seed" } do
    fail.refuse(given[key] ~= nil and not given.search and not (given.exact and key ~= "seed"),
      "--%s requires --search", key)
  end
  fail.refuse(given.topology and not given.bandwidth, "--topology requires --bandwidth")
  fail.refuse(given.bandwidth and not given.topology, "--bandwidth requires --topology")
  if name and not is_file(name) then
    for _, known in ipairs(known_names()) do
      if known == name then return end
    end
    names.refuse(nil, name, known_names(), "berth schedule --help", "generator")
  end
end

-- The generators that are compared, and the search: on a chunk a stage and on the V, unless chunks
-- are given.
local function with_search(opts)
  local out = { "search" }
  if not opts.chunks and not opts.map then
    out[2] = { "search", { chunks = 2, map = "zigzag" } }
  end
  for _, name in ipairs(berth.schedule.generators { chunks = opts.chunks, map = opts.map }) do
    out[#out + 1] = name.name
  end
  return out
end

-- The schedule, and the rows of --compare.
local function found(name, given)
  local opts = problem_of(given)
  if given.compare then
    local rows = berth.schedule.compare(given.search and with_search(opts) or nil,
      with_budget(opts, given))
    fail.need(rows[1] and rows[1].schedule, rows[1] and rows[1].error or "schedule: no generator "
      .. "fits", rows[1] and rows[1].code or "infeasible")
    return rows[1].schedule, rows
  end
  if given.exact then return fail.need(berth.schedule.exact(with_budget(opts, given))) end
  if given.search then return fail.need(berth.schedule.search(with_budget(opts, given))) end
  if is_file(name) then return fail.need(berth.schedule.load(name, opts)) end
  return fail.need(berth.schedule.make(name, opts))
end

-- ---- output -------------------------------------------------------------------------------------

-- The run of the step simulator, where an option needs it.
local function simulated(s, given)
  if not (given.links or given.topology or given.trace) then return nil end
  local opts = { links = given.links }
  if given.topology then
    opts.topology, opts.bandwidth = sources.topology(given.topology), given.bandwidth
  end
  return fail.need(berth.schedule.simulate(s, opts))
end

local function save(s, rows, result, given, words)
  if given.csv then fail.need(s:save(given.csv, { format = "csv" })) end
  if given.layout then fail.need(s:save(given.layout, { format = "layout" })) end
  if given.output then fail.need(s:save(given.output, { format = "json" })) end
  if given.trace then fail.need(result:save_trace(given.trace)) end
  if given.figure then fail.need(core.write(given.figure, s:figure())) end
  if given.report then
    fail.need(s:report(given.report, { rows = rows,
      command = "berth " .. table.concat(words, " ") }))
  end
end

local function stage_lines(s)
  local p, rows = s.problem, { { "stage", "chunks", "work", "idle", "peak", "limit" } }
  for stage, list in ipairs(s.list) do
    local chunks = {}
    for k, c in ipairs(p.chunk[stage]) do chunks[k] = ("%.0f"):format(c - 1) end
    rows[stage + 1] = { ("%.0f"):format(stage - 1), table.concat(chunks, ","),
      core.format(p.work[stage], "seconds"),
      #list > 0 and s.step < math.huge and core.format(math.max(s.step - p.work[stage], 0),
        "seconds") or "-",
      core.sprintf("%.4g", s.peak[stage]),
      p.memory[stage] < math.huge and core.sprintf("%.4g", p.memory[stage]) or "none" }
  end
  return align.lines(rows, { [2] = true })
end

local function print_text(write, s, rows, result)
  if rows then
    for line in (tostring(rows) .. "\n"):gmatch "([^\n]*)\n" do write(line) end
    write ""
  end
  write(tostring(s))
  if s.problem.layout then write("layout: " .. s.problem.layout) end
  if result then write(("links %s: %s"):format(result.options.links, tostring(result))) end
  if rows then return end
  for _, line in ipairs(stage_lines(s)) do write(line) end
end

local function row_object(row)
  return json.object(json.fields(row, "name step_s=step bubble bound_s=bound peak outcome error "
    .. "code"))
end

local function print_json(write, s, rows, result)
  local list
  for i, row in ipairs(rows or {}) do
    list = list or {}
    list[i] = row_object(row)
  end
  write(json.encode(schema.document "schedule" (options.join(files.members(s), {
    { "proven", s.proven }, { "interrupted", rows and rows.interrupted or s.interrupted },
    { "calls", s.calls },
    { "links", result and result.options.links }, { "simulated_s", result and result.makespan },
    { "rows", list } }))))
end

--- @return exit code: 0, or 1 where the schedule does not run within its memory
function schedule.run(positional, given, write, complain, words)
  local name = positional[1]
  check(name, given)
  local s, rows = found(name, given)
  local result = s.outcome == "runs" and simulated(s, given) or nil
  fail.refuse(given.trace and not result, "--trace: the schedule does not run: %s", tostring(s))
  save(s, rows, result, given, words)
  if given.json then print_json(write, s, rows, result)
  else print_text(write, s, rows, result) end
  if s.interrupted or rows and rows.interrupted then
    complain "interrupted: the best so far"
    return fail.INTERRUPTED
  end
  return s.outcome == "runs" and 0 or fail.INFEASIBLE
end

return schedule
