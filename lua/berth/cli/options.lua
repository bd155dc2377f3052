--- Options that several commands share, and their way into the library.
-- Rows of an option come from the descriptors of the library (berth.base.options), so that names,
-- legal values and defaults are written once. The for_... functions collect the given values under
-- the names that a function of the library takes.
local base = require "berth.base.options"
local core = require "berth.core"
local fail = require "berth.cli.fail"
local formats = require "berth.io.formats"
local proved = require "berth.bound.proved"
local registry = require "berth.place.registry"

local options = {}

local VALUES = {
  whole = "N", count = "N", number = "X", numbers = "A,B,...", file = "FILE", choice = "NAME",
  seconds = "TIME", bytes = "SIZE", ["bytes/s"] = "RATE", device = "DEVICE",
}

-- The kind of args.lua for a row of the library.
local function kind_of(option)
  if option.choices then return "choice" end
  if option.type == "device" then return "string" end
  if option.type == "whole" and (option.low or 0) >= 1 then return "count" end
  if option.type == "whole or flag" then return "whole" end
  return (option.type == "name" or option.type == "file") and "string" or option.type
end

-- By function: who reads an option that is not for all.
local READERS = { place = registry.readers, load = formats.readers }

--- Names of the placers or formats that read an option of a function; nil: all, or it is for none
-- of these.
function options.readers(name, key) return READERS[name] and READERS[name](key) end

-- "for heft, cpop, peft: mean times ...; default textbook"
local function text_of(option, readers)
  local only = readers and #readers <= 4 and table.concat(readers, ", ") or option.only
  only = only and "for " .. only .. ": " or ""
  local default = option.type ~= "flag" and option.default ~= "none" and "; default "
    .. option.default or ""
  -- a call in Lua that has a command
  return only .. option.text:gsub("berth%.placers%(name%) lists them", "berth placers NAME")
    .. default
end

--- One of the library's options as one of a command.
-- @tparam table option row of options.described
-- @tparam[opt] table readers the text names those that read it
function options.row(option, readers)
  local choices
  for i, choice in ipairs(option.choices or {}) do
    choices = choices or {}
    choices[i] = choice.name
  end
  local kind = kind_of(option)
  return {
    name = option.key:gsub("_", "-"), kind = kind, choices = choices,
    text = text_of(option, readers), value = kind ~= "flag"
    and (VALUES[option.type] or VALUES[kind] or "NAME") or nil, least = option.low,
    most = option.high,
  }
end

--- The options of a function that has descriptors, by their keys, as those of a command.
function options.of(name, keys)
  local out = {}
  for i, option in ipairs(base.rows(name, keys)) do
    out[i] = options.row(option, options.readers(name, option.key))
  end
  return out
end

--- The same options, with words before the text of each.
function options.prefixed(words, list)
  for _, option in ipairs(list) do option.text = words .. option.text end
  return list
end

--- An option that is a file.
function options.file(name, text)
  return { name = name, kind = "string", value = "FILE", text = text }
end

--- An option that is a file which the command writes. "-": standard output; what the command prints
-- is on standard error then (main.lua).
-- @tparam string name
-- @tparam string text
-- @tparam[opt] string format its ending; "html": or SVG with --figure; nil: the command decides
function options.output(name, text, format)
  return base.merge(options.file(name, text), { writes = true, format = format })
end

--- An option without a value.
function options.flag(name, text) return { name = name, kind = "flag", text = text } end

--- An option that is a whole number from 1.
function options.count(name, text)
  return { name = name, kind = "count", value = "N", text = text }
end

--- How graph files are read.
options.loading = options.of("load",
  "format forward_only mirror file_bandwidth cpus bind training optimizer most_bytes")
for _, option in ipairs(options.loading) do
  if option.name == "bind" then option.kind, option.value = "string", "NAME=N,..." end
end

-- "batch=8,seq=512" as a table.
local function bindings(text)
  local out = {}
  for word in (text .. ","):gmatch "([^,]*)," do
    local name, value = word:match "^(.+)=(%d+)$"
    fail.refuse(not name, "--bind: %q is not NAME=N, as in --bind batch=8,seq=512", word)
    fail.refuse(out[name], "--bind: %s is given twice", name)
    out[name] = tonumber(value)
  end
  return out
end

--- One option of a function, with some fields as the command has them.
-- @tparam string name of the function
-- @tparam string key
-- @tparam table changes
function options.changed(name, key, changes)
  return base.merge(options.of(name, key)[1], changes)
end

--- For placing and simulating alike.
options.shared = options.of("simulate", "links memory param_multiple quantum seed")

--- For placing alone.
options.placing = {
  { name = "placer", also = "placers", kind = "string", value = "PLACER", names = registry.forms,
    text = "who places, see below; default: portfolio, the best of several; berth compare shows "
      .. "all" },
}
for _, option in ipairs(options.of("place",
    "variant averages device tries seconds threads calls restarts steepest population "
  .. "elite mutants bias ties coarsen coarsen_ops transfer_weight favourites tau gap")) do
  options.placing[#options.placing + 1] = option
end

--- For simulating alone.
options.simulating = options.of("simulate",
  "preset dispatch send order collectives reserve split_windows preempt noise")
options.simulating[#options.simulating + 1] = options.file("rank",
  "dispatch static: a file with a number for each op, least first")

--- How ops and transfers are priced.
options.pricing = options.of("cost", "op_factor transfer_factor free_control collective_bandwidth "
  .. "collective_algorithm form")

options.json = options.flag("json", "prints one JSON object; times in s, sizes in bytes")

--- All given lists in one.
options.join = base.join

-- The given ones of `list` under the library's names.
local function pick(given, list, out)
  for _, option in ipairs(list) do
    if given[option.name] ~= nil then out[option.name:gsub("-", "_")] = given[option.name] end
  end
  return out
end

-- The given ones of some options under the library's names.
local function pick_named(given, names, out)
  for _, name in ipairs(names) do
    if given[name] ~= nil then out[name:gsub("-", "_")] = given[name] end
  end
  return out
end

-- Adds the field `cost`, if an option of pricing is given.
local function priced(given, out)
  local cost = pick(given, options.pricing, {})
  if next(cost) then out.cost = cost end
  return out
end

--- Options of berth.load.
function options.for_loading(given)
  local out = pick(given, options.loading, {})
  fail.refuse(out.optimizer and not out.training, "--optimizer: requires --training")
  if out.bind then out.bind = bindings(out.bind) end
  return out
end

--- Options of berth.cost.
function options.for_pricing(given)
  return pick(given, options.pricing, {})
end

-- Numbers in a file, whatever is between them.
local function read_rank(path)
  local text, message, code = core.read(path)
  if not text then fail.need(nil, "--rank: " .. message, code) end
  local out = {}
  for word in text:gmatch("[^%s,;%[%]]+") do
    out[#out + 1] = tonumber(word) or fail.usage("--rank: %s: %q is not a number", path, word)
  end
  return out
end

-- Options of the simulator; --rank is read from its file.
local function simulated(given)
  local out = pick(given, options.simulating, pick(given, options.shared, {}))
  if out.rank then out.rank = read_rank(out.rank) end
  return out
end

--- How an answer will be simulated, for placers that simulate.
function options.judge(given)
  local out = simulated(given)
  out.noise = nil -- which is not known beforehand
  return out
end

--- Options of berth.place and berth.portfolio; placers that simulate get the judge, too.
function options.for_placing(given)
  local out = pick(given, options.placing, pick(given, options.shared, {}))
  out.placer = nil
  if out.device then out.device = tonumber(out.device) or out.device end -- a name, or an id
  local placer = given.placer or "portfolio"
  if registry.by_name[placer] and registry.reads(placer, "judge") then
    out.judge = options.judge(given)
  end
  return priced(given, out)
end

--- Of berth.simulate; what was proved of the placement, when it was found with the same options, is
-- part of its bound.
function options.for_simulating(given, placement)
  local out = priced(given, simulated(given))
  out.bound = placement and proved.option(placement, out, out) or nil
  return out
end

--- Of berth.repair.
function options.for_repair(given)
  return priced(given, pick_named(given, { "links", "memory", "param-multiple", "quantum" }, {}))
end

--- Of berth.bounds.
function options.for_bounds(given)
  local out = pick_named(given, { "links", "memory", "param-multiple", "thorough", "effort", "gap",
    "makespan" }, {})
  if given.links then out.place = { links = given.links } end
  return priced(given, out)
end

--- Of berth.bounds, for the thorough bounds of a simulation. A preset has memory and links of its
-- own.
function options.for_thorough(given)
  return priced(given, { thorough = true, links = given.links,
    memory = given.memory or given.preset and "none" or nil,
    param_multiple = given["param-multiple"] })
end

--- Raises where --thorough can have no effect.
function options.check_thorough(given)
  fail.refuse(given.thorough and (given.noise or given.quantum),
    "--thorough: no bound holds with --noise or --quantum")
end

--- Of berth.gaps.
function options.for_gaps(given)
  return priced(given, pick_named(given, { "links", "memory", "param-multiple", "calls", "seed" },
    {}))
end

return options
