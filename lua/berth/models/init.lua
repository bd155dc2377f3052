--- berth.models: op graphs of well-known networks, computed from their shapes.
--
--     local g, about = berth.models.resnet { depth = 50, batch = 32 }
--     print(about.parameters, about.flop_forward)
--
-- Each function takes one table of options and returns a graph and a table about it;
-- models.describe(name, options) gives the plain description instead. docs/models.md has the
-- options and the published figures beside ours.
local core = require "berth.core"
local berth_options = require "berth.base.options"
local options = require "berth.models.options"

local fail, names_text = berth_options.fail, berth_options.names_text

local models = {}

local MAKERS = {
  resnet = "resnet", vgg = "vgg", inception_v3 = "inception", transformer = "transformer",
  bert = "bert", llama = "llama", gnmt = "gnmt", einsum = "einsum", rnnlm = "rnnlm",
  random = "random",
}

-- Names for the command line and models.build: maker and the options of the name.
local NAMED = {
  { "resnet18", "resnet", { depth = 18 } }, { "resnet34", "resnet", { depth = 34 } },
  { "resnet50", "resnet", { depth = 50 } }, { "resnet101", "resnet", { depth = 101 } },
  { "resnet152", "resnet", { depth = 152 } }, { "vgg11", "vgg", { depth = 11 } },
  { "vgg13", "vgg", { depth = 13 } }, { "vgg16", "vgg", { depth = 16 } },
  { "vgg19", "vgg", { depth = 19 } }, { "inception_v3", "inception_v3", {} },
  { "transformer", "transformer", {} }, { "transformer-big", "transformer", { size = "big" } },
  { "bert-base", "bert", { size = "base" } }, { "bert-large", "bert", { size = "large" } },
  { "llama-7b", "llama", { size = "7b" } }, { "llama-13b", "llama", { size = "13b" } },
  { "llama-30b", "llama", { size = "30b" } }, { "llama-65b", "llama", { size = "65b" } },
  { "llama-2-70b", "llama", { size = "2-70b" } },
  { "llama-3-8b", "llama", { size = "3-8b" } }, { "llama-3-70b", "llama", { size = "3-70b" } },
  { "gnmt", "gnmt", {} }, { "gnmt-8", "gnmt", { layers = 8 } },
  { "rnnlm", "rnnlm", {} }, { "rnnlm-large", "rnnlm", { size = "large" } },
}

local function module_of(maker)
  return require("berth.models." .. MAKERS[maker])
end

--- Names that models.build and the command line ("model:resnet50") know, in a fixed order.
function models.list()
  local names = {}
  for i, entry in ipairs(NAMED) do names[i] = entry[1] end
  return names
end

-- The names for a message about an unknown one: also those of makers, "bert".
local function known(name)
  local names = models.list()
  for _, maker in ipairs(berth_options.sorted_keys(MAKERS)) do names[#names + 1] = maker end
  return names_text(name, names, "berth models or berth.models.list()")
end

local function entry_of(name)
  for _, entry in ipairs(NAMED) do
    if entry[1] == name then return entry end
  end
  if MAKERS[name] then return { name, name, {} } end
  return fail("berth.models: no model %q (legal: %s)", tostring(name), known(name))
end

local function merged(base, given)
  local out = {}
  for key, value in pairs(base) do out[key] = value end
  for key, value in pairs(given or {}) do out[key] = value end
  return out
end

--- Plain description (for berth.graph) and table about it.
-- @tparam string name from models.list(), or a maker ("resnet")
-- @tparam[opt] table given options; they override those of the name
function models.describe(name, given)
  local entry = entry_of(name)
  if given ~= nil then options.check_table(entry[2], given) end
  local graph, about = module_of(entry[2]).describe(merged(entry[3], given))
  for key, value in pairs(entry[3]) do
    -- another network than the name says keeps its own name
    if given and given[key] ~= nil and given[key] ~= value then return graph, about end
  end
  graph.name, about.name = name, name
  return graph, about
end

--- Names of the options that a model takes, sorted.
-- @treturn table array of strings
-- @treturn table what is known about each: { name, default, by, legal }; by: what the default
--  depends on; legal: array or text
function models.options(name)
  local entry = entry_of(name)
  local spec = module_of(entry[2]).options
  return options.names(spec), options.list(spec, entry[3])
end

-- Where graphs came from, as long as these are there.
local origins = setmetatable({}, { __mode = "k" })

local function to_graph(name, given, description, about)
  local graph, message, code = core.graph(description)
  if not graph then return nil, message, code end
  origins[graph] = { name = name, maker = entry_of(name)[2], given = given or {},
    options = about.options }
  return graph, about
end

--- What a graph was made from; nil: it is of no model, or what a transform made of one.
-- @tparam graph graph
-- @treturn ?table name, maker, given (options as given), options (all of them)
function models.origin(graph)
  options.refuse(core.kind(graph) ~= "graph", "origin", "graph: expected a graph, got %s",
    core.kind(graph))
  return origins[graph]
end

--- The graph of a model, and the table about it.
-- @usage local g, about = berth.models.build("bert-large", { batch = 16, seq = 512 })
function models.build(name, given)
  return to_graph(name, given, models.describe(name, given))
end

for maker in pairs(MAKERS) do
  models[maker] = function(given)
    return to_graph(maker, given, module_of(maker).describe(given))
  end
end

local function is_model(name)
  for _, entry in ipairs(NAMED) do
    if entry[1] == name then return true end
  end
  return false
end

-- models.resnet50 { batch = 8 }, models["bert-large"] {}: the names of the list, too.
return setmetatable(models, { __call = function(_, name)
  fail("berth.models is a table: berth.models.build(%q, { batch = 8 })", tostring(name))
end, __index = function(_, name)
  if type(name) ~= "string" then return nil end
  if not is_model(name) then
    fail("berth.models has no '%s' (legal: %s)", name, known(name))
  end
  return function(given) return models.build(name, given) end
end })
