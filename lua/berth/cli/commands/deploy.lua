--- berth deploy: which devices repeat each op group of a training graph, and how they are kept in
-- step.
require "berth.deploy.plan" -- declares its options
local berth = require "berth"
local device_sets = require "berth.cli.device_sets"
local fail = require "berth.cli.fail"
local inputs = require "berth.cli.inputs"
local json = require "berth.base.json_writer"
local lists = require "berth.cli.lists"
local names = require "berth.cli.names"
local options = require "berth.cli.options"
local plan_json = require "berth.deploy.json"
local sources = require "berth.cli.sources"
local sort = require "berth.base.sort"
local rates = require "berth.topology.rates"

local deploy = {
  name = "deploy", use = "deploy GRAPH [TOPOLOGY] [options]", least = 1, most = 2,
  text = "Decides which devices repeat each op group of a training graph, and how they are kept in "
    .. "step; simulates the answer\n"
    .. "and prints why. Never worse than data parallelism, the best uniform strategy and a chain "
    .. "cut by memory.",
  notes = "SETS of devices are written 1-4/5,6 or d0-d3/d4,d5: two sets, the first with four "
    .. "devices. Devices are numbers from\n"
    .. "1, or names as tables print them.\n\n" .. inputs.notes
    .. "\nTOPOLOGY may be a cluster of the study, too: tag:testbed, tag:random,seed=3; "
    .. "docs/deploy.md names them.",
  options = options.join({
    options.count("batch", "samples in a step; default: the batch of the model; a file needs it"),
    { name = "points", kind = "string", value = "N[=GRAPH],...",
      text = "the graph at other batch sizes: op times of a part of the batch are on the lines "
        .. "between; a model needs N alone" },
  }, options.of("deploy.plan", "physics op_groups group_bytes"), {
    { name = "device-groups", kind = "string", value = "SETS",
      text = "devices that are alike; default: by machine, type and memory" },
    { name = "sets", kind = "string", value = "SETS",
      text = "devices that an op group may have; default: unions of device groups" },
    options.flag("even", "all replicas have as many samples; default: also shares by speed"),
  }, options.of("deploy.plan", "strict duplicates sfb method calls seconds"), {
    { name = "prior", kind = "string", value = "WHAT", names = { "local", "uniform", "trained" },
      text = "of the tree: local, uniform, trained (the network that comes with berth), or "
        .. "agent:FILE; default local" },
    { name = "seed", kind = "whole", value = "N",
      text = "for op groups and random choices; default 0" },
  }, options.of("deploy.plan", "reasons"), {
    options.file("plan", "simulates this plan again (of --out) instead of searching, at prices of "
      .. "transfers and collectives that are given"),
    { name = "rows", kind = "whole", value = "N",
      text = "op groups that are printed, the heaviest; default 20" },
    options.output("out", "writes the plan (JSON)", "json"),
    options.output("compiled", "writes the graph that it comes to (berth JSON)", "json"),
    options.output("placement", "writes devices and order of the compiled graph's ops", "json"),
    options.output("report", "writes a page with pictures (HTML)", "html"),
    options.output("trace", "writes a timeline of the compiled step (ui.perfetto.dev opens it)",
      "json"),
  }, inputs.topology_options, options.pricing, options.loading, { options.json }),
}

-- ---- arguments ----------------------------------------------------------------------------------

local function read_sets(name, text, topology) return text and device_sets(name, text, topology) end

-- Number of the group of each device.
local function read_device_groups(text, topology)
  local sets = read_sets("device-groups", text, topology)
  if not sets then return nil end
  local group = {}
  for k, set in ipairs(sets) do
    for _, d in ipairs(set) do
      if group[d] then
        fail.usage("--device-groups: device %s is in two groups", topology:device(d).name)
      end
      group[d] = k
    end
  end
  for device in topology:devices() do
    if not group[device.id] then
      fail.usage("--device-groups: device %s is in none", device.name)
    end
  end
  return group
end

-- Whether an argument names a model, whose batch size can be set, instead of a file.
local function is_model(spec) return spec:match "^model:" or spec:match "^tag:" end

-- The batch size that a model has where none is given; nil: it has none.
local function own_batch(spec)
  local kind, name = spec:match "^(%a+):([^,]*)"
  if kind == "tag" then return berth.deploy.models.batch(name) end
  local _, about = berth.models.options(name)
  for _, option in ipairs(about) do
    if option.name == "batch" then return option.default end
  end
  return nil
end

local function no_batch(spec)
  return fail.usage("deploy: --batch is needed: samples in a step of %s", spec)
end

-- The graph's argument with its batch size, and that.
local function with_batch(spec, given)
  if not is_model(spec) then return spec, given.batch or no_batch(spec) end
  local own = tonumber(spec:match ",batch=(%d+)")
  fail.refuse(own and given.batch and own ~= given.batch, "--batch %d: %s is made for %d samples",
    given.batch, spec, own)
  if own then return spec, math.floor(own) end
  local batch = given.batch or own_batch(spec) or no_batch(spec)
  return ("%s,batch=%d"):format(spec, batch), batch
end

-- A model at another batch size.
local function point_of(spec, batch)
  fail.refuse(not is_model(spec), "--points: N=GRAPH is needed, not %q: %s is no model", batch,
    spec)
  return (spec:gsub(",batch=%d+", "")) .. ",batch=" .. batch
end

-- { batch, graph } for each entry of --points.
local function read_points(spec, given)
  if not given.points then return nil end
  local out = {}
  for i, part in ipairs(lists.pieces("points", given.points)) do
    local batch, other = part:match "^(%d+)=(.+)$"
    batch = batch or part:match "^%d+$" or fail.usage("--points: N or N=GRAPH is needed, not %q",
      part)
    local graph = sources.graph(other or point_of(spec, batch), options.for_loading(given))
    out[i] = { batch = math.floor(tonumber(batch)), graph = graph }
  end
  return out
end

-- What --prior names: a rule, the trained network, or an agent from its file.
local function prior_of(text)
  if text == nil or text == "local" or text == "uniform" or text == "trained" then return text end
  local path = text:match "^agent:(.+)$"
  if not path then
    names.refuse("--prior", text, { "local", "uniform", "trained", "agent:FILE" })
  end
  return fail.need(berth.agents.load(path))
end

-- Options of berth.deploy.plan.
local function for_planning(spec, batch, given, topology)
  local cost = options.for_pricing(given)
  local out = { batch = batch, points = read_points(spec, given), physics = given.physics,
    op_groups = given["op-groups"], group_bytes = given["group-bytes"],
    device_groups = read_device_groups(given["device-groups"],
      topology),
    sets = read_sets("sets", given.sets, topology), strict = given.strict,
    duplicates = given.duplicates, sfb = given.sfb, method = given.method, calls = given.calls,
    seconds = given.seconds, prior = prior_of(given.prior), seed = given.seed,
    reasons = given.reasons }
  if given.even then out.uneven = false end
  if next(cost) then out.cost = cost end
  return out
end

local DECIDED = { "physics", "op-groups", "group-bytes", "device-groups", "sets", "even", "strict",
  "duplicates", "sfb", "method", "calls", "seconds", "prior", "seed" }

-- The plan: searched, or loaded with --plan, which allows no option that it has decided.
local function found(spec, batch, graph, topology, given)
  if not given.plan then
    return fail.need(berth.deploy.plan(graph, topology, for_planning(spec, batch, given, topology)))
  end
  for _, name in ipairs(DECIDED) do
    if given[name] ~= nil then fail.usage("--%s: --plan %s decides already", name, given.plan) end
  end
  fail.refuse(given["op-factor"], "--op-factor: the op groups of --plan %s are by times without it",
    given.plan)
  local cost = options.for_pricing(given)
  local opts = { batch = batch, points = read_points(spec, given), reasons = given.reasons or false,
    cost = next(cost) and cost or nil }
  return fail.need(berth.deploy.load(given.plan, graph, topology, opts))
end

-- ---- output -------------------------------------------------------------------------------------

-- The compiled graph's devices, and its ops by their start, so that dispatch "planned" does the
-- same again.
local function with_order(c, result)
  local order = sort.ids(#result.start)
  table.sort(order, function(i, k)
    if result.start[i] ~= result.start[k] then return result.start[i] < result.start[k] end
    if result.finish[i] ~= result.finish[k] then return result.finish[i] < result.finish[k] end
    return i < k
  end)
  return berth.placement(c.devices, { sequence = order, placer = "deploy",
    estimate = result.makespan })
end

-- Writes the files of the options. words: the command line, for the page.
local function write_files(given, a, words)
  if given.out then fail.need(a:save(given.out)) end
  if given.compiled or given.placement then
    local c = fail.need(a:compile())
    if given.compiled then fail.need(c.graph:save(given.compiled)) end
    if given.placement then
      fail.need(with_order(c, fail.need(a:simulate())):save(given.placement))
    end
  end
  if given.trace then fail.need(fail.need(a:simulate()):save_trace(given.trace)) end
  if given.report then
    fail.need(a:report(given.report, { command = "berth deploy " .. table.concat(words, " ") }))
  end
end

-- Lines: summary, the heaviest op groups, baselines, memory.
local function print_text(write, a, rows)
  write(tostring(a))
  local rate = rates.line(a.problem.graph, a.problem.topology)
  if rate then write(rate) end
  write("")
  if rows > 0 then
    write(a:table(rows))
    write("")
  end
  write(a:baseline_table())
  write("")
  write(a:memory_table())
end

--- Plans or loads, compiles, simulates, writes and prints.
-- @return exit code: 0, or 130 after an interrupt; a graph that fits nowhere raises
function deploy.run(positional, given, write, complain, words)
  local spec, batch = with_batch(positional[1], given)
  local graph, topology = inputs.read({ spec, positional[2] }, given)
  local a = found(spec, batch, graph, topology, given)
  write_files(given, a, words)
  if given.json then write(json.encode(plan_json.object(a)))
  else print_text(write, a, given.rows or 20) end
  if not a.interrupted then return 0 end
  complain(("interrupted: the best of %.0f evaluations"):format(a.evaluations))
  return fail.INTERRUPTED
end

return deploy
