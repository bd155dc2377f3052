--- Files and texts: a graph with what belongs to it, or one part of it.
local core = require "berth.core"
local formats = require "berth.io.formats"
local json = require "berth.base.json"
local options = require "berth.base.options"

local load = {}

local nouns = { "graph", "topology", "placement" }

-- The part of a call first; or why it is missing. What was passed over goes to the option `notes`,
-- what was counted to `facts`.
local function wanted(which, name, opts, ...)
  local parts = { ... }
  if type(parts[2]) == "string" then return ... end -- nil, message, code
  local note, notes = parts[5], type(opts) == "table" and opts.notes
  if note and notes then notes[#notes + 1] = name .. ": " .. note end
  if parts[6] and type(opts) == "table" and opts.facts then
    for key, value in pairs(json.decode(parts[6], name)) do opts.facts[key] = value end
  end
  if parts[which] ~= nil then
    if which == 1 then return parts[1], parts[2], parts[3] end
    return parts[which]
  end
  local held = {}
  for i, noun in ipairs(nouns) do
    if parts[i] ~= nil then held[#held + 1] = "a " .. noun end
  end
  local message = ("%s holds no %s but %s"):format(name, nouns[which],
    #held > 0 and table.concat(held, " and ") or "nothing")
  if held[1] == "a topology" and which == 1 then
    message = message .. "; berth.load_topology and berth.parse_topology read it"
  end
  return nil, message, "invalid"
end

local function check(opts, fn)
  for _, key in ipairs { "notes", "facts" } do
    local given = type(opts) == "table" and opts[key]
    if given then options.expect(given, "table", "%s: %s", fn, key) end
  end
end

-- Functions or tables by kind, "com.x.Gelu", as one function; `used` gets the kinds that there are.
local function by_kind(costs, used, fn)
  for kind, each in pairs(costs) do
    options.refuse(type(kind) ~= "string" or type(each) ~= "function" and type(each) ~= "table",
      "%s: cost: expected functions, or tables of flop and bytes, by kind", fn)
  end
  return function(node)
    local kind = node.domain ~= "" and node.domain .. "." .. node.kind or node.kind
    local cost = costs[kind]
    used[kind] = true
    if type(cost) == "function" then return cost(node) end
    return cost
  end
end

-- Notes the kinds of the option `cost` that no node without a rule has.
local function note_unused(name, opts, used)
  for _, kind in ipairs(opts.notes and options.sorted_keys(opts.cost) or {}) do
    if not used[kind] then
      opts.notes[#opts.notes + 1] = ("%s: cost has %s, but no node without a rule is of it"):format(
        name, kind)
    end
  end
end

-- Reads by a function of the core: (source, options, fn).
local function read(which, fn, reader, source, name, opts)
  check(opts, fn)
  if type(opts) ~= "table" or type(opts.cost) ~= "table" then
    return wanted(which, name, opts, reader(source, opts, fn))
  end
  local used = {}
  local function noted(part, ...)
    if part ~= nil then note_unused(name, opts, used) end
    return part, ...
  end
  return noted(wanted(which, name, opts, reader(source,
    options.merge(opts, { cost = by_kind(opts.cost, used, fn) }), fn)))
end

local function loader(which, fn)
  return function(path, opts) return read(which, fn, core.load, path, path, opts) end
end

local function parser(which, fn)
  return function(text, opts)
    local name = type(opts) == "table" and opts.name or "text"
    return read(which, fn, core.parse, text, name, opts)
  end
end

--- Reads a graph, and the topology and placement that the file also holds.
-- @function load
-- @tparam string path
-- @tparam[opt] table opts as core.options("load") lists them
-- @treturn[1] graph
-- @treturn[1] ?topology
-- @treturn[1] ?placement
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code
load.load = loader(1, "berth.load")
load.load_topology = loader(2, "berth.load_topology")
load.load_placement = loader(3, "berth.load_placement")
load.parse = parser(1, "berth.parse")
load.parse_topology = parser(2, "berth.parse_topology")
load.parse_placement = parser(3, "berth.parse_placement")

--- Names of the formats that are read, and of those that graphs are saved in.
-- @treturn table names
-- @treturn table names
function load.formats() return options.merge(formats.readable), options.merge(formats.saved) end

return load
