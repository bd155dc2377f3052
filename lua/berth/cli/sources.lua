--- Graph and topology arguments: a file, or what makes one ("model:resnet50,batch=64",
-- "mesh:4,preset=V100").
-- Options in an argument are KEY=VALUE, separated by commas; quantities need their units.
local berth = require "berth"
local args = require "berth.cli.args"
local fail = require "berth.cli.fail"
local lists = require "berth.cli.lists"
local models = require "berth.models"
local names = require "berth.cli.names"
local notes = require "berth.cli.notes"
local options = require "berth.base.options"

local sources = {}

-- An integer where the text is one: Lua 5.4 prints 4 and 4.0 differently.
local function number(text)
  return text:match("^%d+$") and math.floor(tonumber(text)) or tonumber(text)
end

-- true, false, a number, or the text.
local function model_value(value)
  if value == "true" then return true end
  if value == "false" then return false end
  return number(value) or value
end

-- Raises for a space where a comma belongs.
local function check_commas(spec, head)
  if not head:match "%S%s+%S" then return end
  fail.usage("%q: options are separated by commas: %s", spec,
    (spec:gsub("%s*,%s*", ","):gsub("%s+", ",")))
end

--- Name and options of "model:NAME,...".
function sources.model(spec)
  local name, rest = spec:match("^model:([^,]+),?(.*)$")
  if not name then
    fail.usage("%q: a name is needed, as in model:resnet50 (legal: %s)", spec,
      options.names_text("", models.list(), "berth models"))
  end
  check_commas(spec, name)
  return name, lists.settings(spec, rest, model_value)
end

-- The graph of "model:NAME,...", and what the library says about it.
local function model(spec) return fail.need(models.build(sources.model(spec))) end

-- A model of the study of TAG: tag:NAME[,option=value...].
local function study_model(spec)
  local name, rest = spec:match("^tag:([^,]*),?(.*)$")
  return fail.need(berth.deploy.models.build(name, lists.settings(spec, rest, model_value)))
end

--- Whether a graph argument is no file.
function sources.built_in(spec) return spec:find "^model:" ~= nil or spec:find "^tag:" ~= nil end

-- Raises for a graph argument that is no file: a model without "model:", or a topology.
local function refuse_file(spec, message)
  local name = spec:match "^[^,:%s]*"
  if pcall(models.options, name) then -- which raises for no model's name
    fail.usage("%s\n%s is a model: model:%s (berth models lists all)", message, name, spec)
  end
  if sources.is_generator(spec) then
    fail.usage("%s\n%s is a topology: the graph comes first, then the topology", message, name)
  end
end

--- The graph of an argument, then topology and placement if its file holds them, then what is known
-- about a model.
-- @tparam string spec
-- @tparam table loading options of berth.load
function sources.graph(spec, loading)
  local build = spec:match("^model:") and model or spec:match("^tag:") and study_model
  if build then
    fail.refuse(next(loading), "%s: options of file formats do not apply to a model", spec)
    local graph, about = build(spec)
    return graph, nil, nil, about
  end
  local passed_over = {}
  local graph, topology, placement = berth.load(spec,
    options.merge(loading, { notes = passed_over }))
  if not graph and placement == "io" then refuse_file(spec, topology) end
  if not graph and placement == "invalid" and topology:find "no graph but a topology" then
    fail.usage("%s holds a topology: GRAPH comes first, then TOPOLOGY", spec)
  end
  for _, text in ipairs(passed_over) do notes.add(text) end
  if not graph and type(topology) == "string" then return fail.need(graph, topology, placement) end
  if not graph then fail.usage("%s: holds no graph", spec) end
  return graph, topology, placement
end

-- What a generator takes before its options: how many sizes (nil: one or more), and an example.
local GENERATORS = {
  { "mesh", 1, "mesh:4" }, { "ring", 1, "ring:8" }, { "star", 1, "star:4" },
  { "pcie_tree", 1, "pcie_tree:8" }, { "dgx1", 0, "dgx1" }, { "fat_tree", 1, "fat_tree:4" },
  { "torus", nil, "torus:4x4" }, { "two_level", 2, "two_level:2x4" },
}

--- Topologies that generators make: "mesh:4", ...
sources.generators = {}
for i, g in ipairs(GENERATORS) do sources.generators[i] = g[3] end

--- Graphs that are built in: "model:resnet50", ...
sources.models = {}
for i, name in ipairs(models.list()) do sources.models[i] = "model:" .. name end

local EXAMPLES = table.concat(sources.generators, " ")
  .. ", each with options as in mesh:4,preset=V100,bandwidth=50GB/s,latency=5us"

-- The row of GENERATORS that the argument names, or nil: then it is a file.
local function generator(spec)
  local name = spec:match("^[^:,]+")
  for _, g in ipairs(GENERATORS) do
    if g[1] == name then return g end
  end
  return nil
end

--- Whether an argument names a generator of topologies.
function sources.is_generator(spec) return generator(spec) ~= nil end

local WANTED = { [0] = "takes no size", "needs one size", "needs two sizes" }

-- The sizes of "2x4" as numbers, as many as the generator takes.
local function dimensions(spec, text, g)
  local dims = {}
  check_commas(spec, text)
  if text == "" and g[2] ~= 0 then
    fail.usage("topology %q: %s needs its size, as in %s", spec, g[1], g[3])
  end
  for part in (text == "" and "" or text .. "x"):gmatch("([^x]*)x") do
    local n = part:match("^%d+$") and number(part)
    if not n or n < 1 then
      fail.usage("topology %q: size %q: a whole number from 1 is needed, as in %s", spec,
        part ~= "" and part or text, g[3])
    end
    dims[#dims + 1] = n
  end
  if #dims ~= (g[2] or #dims) then
    fail.usage("topology %q: %s %s, as in %s", spec, g[1], WANTED[g[2]], g[3])
  end
  return dims
end

local PLAIN_NUMBERS = { speed = true, fan_out = true, seed = true, efficiency = true }

local QUANTITIES = {
  bandwidth = "bytes/s", up_bandwidth = "bytes/s", between_bandwidth = "bytes/s",
  pcie_bandwidth = "bytes/s", latency = "seconds", up_latency = "seconds",
  between_latency = "seconds", pcie_latency = "seconds", overhead = "seconds", memory = "bytes",
  memory_bandwidth = "bytes/s", flops = "flop/s",
}

-- The converter of values for lists.settings: quantities by key, plain numbers, flags, text.
local function device_value(spec)
  return function(value, key)
    if QUANTITIES[key] then
      return args.quantity(("topology %q: %s"):format(spec, key), value, QUANTITIES[key])
    end
    if value == "true" or value == "false" then return value == "true" end
    if not PLAIN_NUMBERS[key] then return value end
    return number(value) or fail.usage("topology %q: %s: a number is needed, not %q", spec, key,
      value)
  end
end

-- Makes the topology: sizes first, then the option table.
local function generate(spec, g)
  local sizes, rest = spec:match("^[^:,]+:([^,]*),?(.*)$")
  if not sizes then sizes, rest = "", spec:match("^[^,]+,?(.*)$") end
  local dims = dimensions(spec, sizes, g)
  local given = lists.settings("topology " .. spec, rest, device_value(spec))
  local make = berth.topology[g[1]]
  if g[1] == "torus" then return fail.need(make(dims, given)) end
  dims[#dims + 1] = given
  if g[2] == 0 then return fail.need(make(dims[1])) end
  if g[2] == 1 then return fail.need(make(dims[1], dims[2])) end
  return fail.need(make(dims[1], dims[2], dims[3]))
end

-- A cluster of the study of TAG: tag:NAME[,option=value...].
local function cluster(spec)
  local clusters = berth.deploy.clusters
  local name, rest = spec:match "^tag:([^,]*),?(.*)$"
  local known = clusters.list()
  for _, each in ipairs(known) do
    if each == name then
      return fail.need(clusters[name](lists.settings("topology " .. spec, rest,
        device_value(spec))))
    end
  end
  return names.refuse(("topology %q"):format(spec), name, known, nil, "cluster")
end

-- Raises for a topology argument that is neither a file nor a generator.
local function refuse_topology(spec, message)
  local legal = {}
  for i, g in ipairs(GENERATORS) do legal[i] = g[1] end
  if spec:match "^[%w_]+=" then
    fail.usage("%s: an option of a model or a topology is part of its argument, behind a comma: "
      .. "mesh:4,%s", spec, spec)
  end
  local meant = options.nearest(spec:match "^[^:,]*", legal)
  fail.usage("%s\ntopologies are files or generators: %s%s", message, EXAMPLES,
    meant and ("; did you mean '%s'?"):format(meant) or "")
end

--- The topology of an argument.
function sources.topology(spec)
  if spec:match "^tag:" then return cluster(spec) end
  local g = generator(spec)
  if g then return generate(spec, g) end
  if spec:match "^model:" then
    fail.usage("%s is a model: the graph comes first, then the topology", spec)
  end
  local topology, message, code = berth.load_topology(spec)
  if not topology and code == "io" then refuse_topology(spec, message) end
  return fail.need(topology, message, code)
end

sources.topology_examples = EXAMPLES

return sources
