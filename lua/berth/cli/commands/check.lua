--- berth check: what a file is, and what is in it.
--
-- Agents and PyTorch's schedules are known by the first bytes; plans, problems of PD-ORS and
-- schedules by a member of the JSON object; traces by the header of a table; all else is read by
-- the formats of berth.load.
local align = require "berth.base.align"
local berth = require "berth"
local core = require "berth.core"
local fail = require "berth.cli.fail"
local from_json = require "berth.base.json"
local json = require "berth.base.json_writer"
local notes = require "berth.cli.notes"
local options = require "berth.cli.options"
local plan_format = require "berth.deploy.json"
local report = require "berth.cli.report"
local schema = require "berth.base.schema"
local sources = require "berth.cli.sources"
local traces = require "berth.cli.traces"

local check = {
  name = "check", use = "check FILE [options]", least = 1, most = 1,
  text = "Reads a file and says what it is and what is in it; or what is wrong, with the place.\n"
    .. "FILE is a graph, a topology, a placement (formats of berth convert), a trace of jobs, a "
    .. "plan of\nberth deploy, an agent of berth train, a problem of berth cluster pdors, a "
    .. "pipeline schedule;\nalso model:NAME or a topology as mesh:4. Of these, - (standard input) "
    .. "is a graph, a topology, a\nplacement or a plan.",
  notes = "exit: 0 the file can be read, 2 it cannot",
  options = options.join(options.loading, { traces.columns, options.json }),
}

-- ---- graphs, topologies, placements -------------------------------------------------------------

-- Sums over the ops of a graph.
local function sums_of(graph)
  local s = { params = 0, flop = 0, bytes = 0, timed = 0, seconds = 0, tensor_bytes = 0 }
  for op in graph:ops() do
    s.params, s.flop, s.bytes = s.params + op.params, s.flop + op.flop, s.bytes + op.bytes
    local seconds = type(op.seconds) == "table" and op.seconds[1] or op.seconds
    if seconds then
      s.timed = s.timed + 1
      if seconds < math.huge then s.seconds = s.seconds + seconds end
    end
  end
  for t = 1, graph.n_tensors do s.tensor_bytes = s.tensor_bytes + graph:tensor(t).bytes end
  return s
end

-- What is in a graph: name, value, unit ("": a count).
local function graph_facts(graph)
  local s = sums_of(graph)
  local types = table.concat(graph.types, ", ")
  return {
    { "ops", graph.n_ops, "" }, { "tensors", graph.n_tensors, "" }, { "edges", graph.n_edges, "" },
    { "collectives", graph.n_collectives, "" }, { "colocation_groups", graph.n_groups, "" },
    { "parameters", s.params, "bytes" }, { "tensor_data", s.tensor_bytes, "bytes" },
    { "flop", s.flop, "flop" }, { "memory_traffic", s.bytes, "bytes" },
    { "ops_with_times", s.timed, "" }, { "sum_of_times", s.seconds, "seconds" },
    { "device_types", types ~= "" and types or nil }, { "dtype", graph.dtype ~= "" and graph.dtype
      or nil }, { "units", graph.unitless and "those of the file" or "s, bytes, FLOP" },
  }
end

local function topology_facts(topology)
  local types, memory, machines = {}, 0, {}
  for device in topology:devices() do
    types[device.type] = (types[device.type] or 0) + 1
    memory, machines[device.machine] = memory + device.memory, true
  end
  local n, list = 0, {}
  for _ in pairs(machines) do n = n + 1 end
  for _, name in ipairs(require("berth.base.options").sorted_keys(types)) do
    list[#list + 1] = ("%d %s"):format(types[name], name ~= "" and name or "without a type")
  end
  return { { "devices", #topology, "" }, { "switches", topology.n_nodes - #topology, "" },
    { "links", topology.n_links, "" }, { "machines", n, "" },
    { "device_types", table.concat(list, ", ") },
    { "memory", memory < math.huge and memory or nil, "bytes" } }
end

local function placement_facts(placement)
  local used, n = {}, 0
  for i = 1, #placement do
    if not used[placement[i]] then used[placement[i]], n = true, n + 1 end
  end
  return { { "placed_ops", #placement, "" }, { "devices_used", n, "" },
    { "placer", placement.placer ~= "" and placement.placer or nil },
    { "estimate", placement.estimate, "seconds" } }
end

-- ---- other files --------------------------------------------------------------------------------

-- Standard input is read once.
local function need_file(path, what)
  fail.refuse(path == "-", "standard input: it is %s: write it to a file, and check that", what)
end

local function plan_facts(file)
  local graph, topology = file.graph or {}, file.topology or {}
  return { { "graph", graph.name }, { "ops", graph.ops, "" },
    { "devices", type(topology.devices) == "table" and #topology.devices or nil, "" },
    { "batch", file.batch, "" }, { "physics", file.physics },
    { "op_groups", type(file.groups) == "table" and #file.groups or nil, "" },
    { "step", file.step_s, "seconds" },
    { "next", "berth deploy GRAPH TOPOLOGY --plan FILE simulates it again" } }
end

local function trace_facts(jobs, about)
  local gpus = 0
  for _, job in ipairs(jobs) do gpus = math.max(gpus, job.gpus or 0) end
  return { { "jobs", #jobs, "" }, { "left_out", about.left_out, "" },
    { "most_gpus_of_a_job", gpus, "" }, { "last_arrival", jobs[#jobs].arrival, "seconds" } },
    about.notes
end

local function schedule_facts(path)
  need_file(path, "a schedule")
  local s = fail.need(berth.schedule.load(path))
  local p, actions = s.problem, 0
  for _, list in ipairs(s.list) do actions = actions + #list end
  return { { "stages", p.stages, "" }, { "chunks_of_a_stage", p.chunks, "" }, { "map", p.map },
    { "microbatches", p.microbatches, "" }, { "actions", actions, "" },
    { "layout", p.layout }, { "outcome", s.outcome },
    { "next", "berth schedule FILE simulates it" } }
end

-- What a text is by its first bytes or its JSON members: what, facts, notes; nil: something else.
local function other(path, text)
  if text:sub(1, 8) == "berth-nn" then
    need_file(path, "an agent")
    local agent = fail.need(berth.agents.load(path))
    return "agent", { { "kind", agent.kind }, { "devices", agent.devices, "" } }
  end
  if text:find "^[%s,]*%(?%d+[FIWB]%d+%s*[,;\n]" then return "schedule", schedule_facts(path) end
  local file = text:find "^%s*{" and from_json.decode(text, path)
  if type(file) ~= "table" then return nil end
  if file.format == plan_format.FORMAT then return "plan of berth deploy", plan_facts(file) end
  if type(file.order) == "table" and file.microbatches then
    return "schedule", schedule_facts(path)
  end
  if type(file.jobs) == "table" and type(file.cluster) == "table" then
    need_file(path, "a problem of PD-ORS")
    local problem = fail.need(berth.pdors.load(path))
    return "problem of berth cluster pdors", { { "jobs", #problem.jobs, "" } }
  end
  return nil
end

-- What berth.load counts in a file of ONNX; its unit.
local MODEL = {
  { "opset", "" }, { "nodes", "" }, { "uses", "" }, { "pairs", "" }, { "ops", "" },
  { "op_pairs", "" }, { "initializers", "" }, { "initializer_elements", "" },
  { "initializer_bytes", "bytes" }, { "parameters", "" },
  { "trained_parameters", "" }, { "matrix_flop", "flop" },
  { "flop", "flop" }, { "activation_bytes", "bytes" }, { "unknown_outputs", "" },
}

-- ---- the command --------------------------------------------------------------------------------

local parts = {
  { "graph", graph_facts }, { "topology", topology_facts }, { "placement", placement_facts },
}

-- { what, facts } of each part of a file.
local function described(graph, topology, placement)
  local out = {}
  for i, part in ipairs(parts) do
    local x = select(i, graph, topology, placement)
    if x then
      out[#out + 1] = { what = part[1], name = part[1] ~= "placement" and x.name or nil,
        facts = part[2](x), of = x }
    end
  end
  return out
end

-- A trace of jobs: format, parts, notes; or nil and a message.
local function read_trace(spec, given)
  local jobs, about = berth.load_trace(spec, { columns = traces.columns_of(given),
    most_bytes = given["most-bytes"] })
  if not jobs then return nil, about end
  local facts, remarks = trace_facts(jobs, about)
  return ("trace (%s)"):format(about.format), { { what = "trace", facts = facts } }, remarks
end

-- Whether a text of no known format may be a table of jobs: it is not JSON, XML or DOT.
local function may_be_trace(text)
  return not text:find "^%s*[{%[<]" and not text:find "^%s*%l*%s*%l*graph[^\n]*{"
end

-- What was counted in a file of ONNX, as a part.
local function model_part(counted)
  local out, texts, objects = {}, {}, {}
  for _, row in ipairs(MODEL) do out[#out + 1] = { row[1], counted[row[1]], row[2] } end
  for i, each in ipairs(counted.outputs) do
    local sizes = {}
    for k, size in ipairs(each.shape or {}) do sizes[k] = ("%.0f"):format(size) end
    local shape = each.shape and (#sizes > 0 and table.concat(sizes, "x") or "scalar") or "?"
    texts[i] = each.name .. " " .. shape
    objects[i] = json.object { { "name", each.name }, { "dtype", each.dtype },
      { "shape", each.shape } }
  end
  return { what = "model", facts = out, outputs = objects, texts = texts }
end

-- All that can be said of an argument: format, parts, notes.
local function read(spec, given)
  if given.columns then return fail.need(read_trace(spec, given)) end
  if sources.built_in(spec) then
    local graph = sources.graph(spec, options.for_loading(given))
    return "model", described(graph), { graph.note }
  end
  if sources.is_generator(spec) then return "generator", described(nil, sources.topology(spec)) end
  local standard, o = spec == "-", options.for_loading(given)
  local mapped = not standard and (given.format == "onnx" or spec:find "%.onnx$") -- may be large
  local text = mapped and "" or fail.need(core.read(spec, "berth.read",
    { most_bytes = o.most_bytes }))
  local what, facts, remarks = other(spec, text)
  if what then return what, { { what = what, facts = facts } }, remarks end
  if standard then o.name = "standard input" end
  local graph, topology, placement, format, note, counted = (standard and core.parse or core.load)(
    standard and text or spec, o, "berth.load")
  if graph ~= nil or type(topology) ~= "string" then
    local list = described(graph, topology, placement)
    if counted then list[#list + 1] = model_part(from_json.decode(counted, spec)) end
    return format, list, { note, graph and graph.note }
  end
  fail.refuse(mapped or standard or not may_be_trace(text), "%s", topology)
  local found, list, more = read_trace(spec, given)
  if found then return found, list, more end
  local unknown = topology:find "not in a known format"
  return fail.usage("%s%s", topology, unknown and "\nas a trace of jobs: " .. list or "")
end

local function shown(part, fact)
  if not fact[3] then return fact[2] end
  if fact[3] == "" then return ("%.0f"):format(fact[2]) end
  return report.format(fact[2], fact[3], part.of and part.what == "graph" and part.of or nil)
end

local SUFFIX = { bytes = "_bytes", seconds = "_s" }

local function part_object(part)
  local members = { { "what", part.what }, { "name", part.name } }
  for _, fact in ipairs(part.facts) do
    local suffix = fact[1]:find "_bytes$" and "" or SUFFIX[fact[3]] or ""
    members[#members + 1] = { fact[1] .. suffix, fact[2] }
  end
  if part.outputs then members[#members + 1] = { "outputs", part.outputs } end
  return json.object(members)
end

local function print_text(write, spec, format, list)
  write(("%s: %s"):format(spec, format))
  for _, part in ipairs(list) do
    local rows = {}
    for _, fact in ipairs(part.facts) do
      if fact[2] ~= nil then
        rows[#rows + 1] = { "  " .. fact[1]:gsub("_", " "), shown(part, fact) }
      end
    end
    write(part.what .. (part.name and part.name ~= "" and (" %q"):format(part.name) or ""))
    for _, text in ipairs(part.texts or {}) do rows[#rows + 1] = { "  output", text } end
    for _, line in ipairs(align.lines(rows, { true, true })) do write(line) end
  end
end

--- @return exit code: 0; a file that cannot be read raises
function check.run(positional, given, write)
  local format, list, remarks = read(positional[1], given)
  local texts = {}
  for i = 1, 9 do texts[#texts + 1] = (remarks or {})[i] end
  if given.json then
    for i, part in ipairs(list) do list[i] = part_object(part) end
    write(json.encode(schema.document "check" { { "file", positional[1] }, { "format", format },
      { "parts", list }, { "notes", texts } }))
    return 0
  end
  for _, text in ipairs(texts) do notes.add(text) end
  print_text(write, positional[1], format, list)
  return 0
end

return check
