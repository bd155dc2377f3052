--- Placers on the command line: NAME[:OPTION...], or stages of a pipeline joined by "+".
local berth = require "berth"
local args = require "berth.cli.args"
local fail = require "berth.cli.fail"
local names = require "berth.cli.names"
local options = require "berth.base.options"
local own_placer = require "berth.place.own_placer"
local registry = require "berth.place.registry"
local transforms = require "berth.place.transforms"

local names_text = options.names_text

local placers = {}

placers.notes = [[
A placer is NAME[:OPTION...]; an OPTION is KEY=VALUE (of docs/lua.md), or a variant:
m-sct:baechi-tf, m-sct:tau=0.1:gap=0.001. Several joined by + are the stages of a pipeline:
transforms, one placer, refinements: coplace:max_ops=8+fuse+m-sct+repair.
agent:FILE is an agent that berth train wrote.
Placers: ]] .. table.concat(args.wrap(table.concat(berth.placers(), " "), 90), "\n")
  .. ".\nTransforms: " .. table.concat(berth.transforms(), " ") .. ". Refinements: adjust repair."

local QUANTITIES = { max_bytes = "bytes", max_seconds = "seconds", quantum = "seconds",
  seconds = "seconds" }

-- The value of KEY=VALUE: a quantity, true, false, a number, or the text.
local function value_of(flag, key, text)
  if QUANTITIES[key] then return args.quantity(flag .. ": " .. key, text, QUANTITIES[key]) end
  if text == "true" or text == "false" then return text == "true" end
  return tonumber(text) or text
end

local function contains(list, name)
  for _, known in ipairs(list) do
    if known == name then return true end
  end
  return false
end

-- The text, if it is a variant of the placer; else raises with the variants there are.
local function variant_of(flag, name, text)
  local known = registry.by_name[name] and registry.variants(name) or {}
  if contains(known, text) then return text end
  local rest = #known > 0 and "variants: " .. names_text(text, known) or "it has no variants"
  return fail.usage("%s: %s: %q is neither KEY=VALUE nor a variant; %s", flag, name, text, rest)
end

-- Raises unless the name is of a placer, a transform or a refinement.
local function check_name(flag, name)
  if contains(berth.placers(), name) or transforms.is_transform(name)
      or transforms.is_refinement(name) then
    return
  end
  local known = options.join(berth.placers(), berth.transforms(), { "adjust", "repair" })
  names.refuse(flag, name, known, "berth place --help")
end

-- What is between the separators; a pattern for these.
local function split(text, separator)
  local out = {}
  for part in (text .. separator):gmatch("(.-)%" .. separator) do
    out[#out + 1] = part:match("^%s*(.-)%s*$")
  end
  return out
end

-- Types of options that no word on the command line can be.
local IN_LUA = { table = true, ["function"] = true, placement = true }

-- Raises for an option that the placer does not read.
local function check_option(flag, name, key)
  local legal = {}
  local rows = name == "exact" and options.join(options.described "place",
    options.rows("exact", "nodes")) or options.described "place"
  for _, o in ipairs(rows) do
    if registry.reads(name, o.key) and not IN_LUA[o.type] then legal[#legal + 1] = o.key end
  end
  -- what another placer reads is refused by the library, which names that
  if contains(legal, key) or registry.readers(key) or not registry.by_name[name] then return end
  fail.usage("%s: %s: unknown option '%s' (legal: %s)", flag, name, key,
    names_text(key, legal, "berth placers " .. name))
end

-- A trained agent's file; its name may not hold a comma, nor a plus sign before a letter.
local function agent(flag, path)
  if path == "" then fail.usage("%s: agent: a file is needed, as in agent:FILE", flag) end
  fail.refuse(not berth.agents, "%s: agent: there are no agents in this installation", flag)
  local found = fail.need(berth.agents.load(path))
  if found.kind == "tag" then
    fail.usage("%s: agent:%s is of kind tag: it decides for the op groups of a deployment, berth "
      .. "deploy --prior agent:%s", flag, path, path)
  end
  return found
end

-- One stage: an agent, a name, or { name, options }.
local function stage(flag, text)
  local path = text:match("^agent:(.*)$")
  if path then return agent(flag, path) end
  local parts, own = split(text, ":"), {}
  local name = parts[1]
  check_name(flag, name)
  for i = 2, #parts do
    local key, value = parts[i]:match("^([%w_%-]+)=(.+)$")
    if key then
      key = key:gsub("-", "_")
      if own[key] ~= nil then fail.usage("%s: %s: %s is given twice", flag, name, key) end
      check_option(flag, name, key)
      own[key] = value_of(flag, key, value)
    else
      own.variant = variant_of(flag, name, parts[i])
    end
  end
  return #parts > 1 and { name, own } or name
end

-- A "+" before a digit is of a number: 1e+9.
local function stages(text)
  return split(text:gsub("%+(%s*%a)", "\1%1"), "\1")
end

--- What berth.place takes.
-- @tparam string flag for messages: "--placer"
-- @tparam string text
function placers.read(flag, text)
  if flag == "--placer" and text:find "," and not text:find "^agent:" then
    fail.usage("--placer: one placer is needed; several: berth compare --placers %s", text)
  end
  local list = stages(text)
  for i, part in ipairs(list) do list[i] = stage(flag, part) end
  if #list > 1 then return berth.pipeline(list) end
  if own_placer.is(list[1]) then return list[1] end
  local name = type(list[1]) == "table" and list[1][1] or list[1]
  if contains(berth.placers(), name) then return list[1] end
  return berth.pipeline(list) -- which raises: no placer is among them
end

--- Options of berth.place, without the links for all placers if this one has a discipline of its
-- own (berth.place.registry).
-- @param placer as placers.read gives it, or nil
-- @tparam table given
function placers.common_links(placer, given)
  if type(placer) == "string" then return registry.common_links(placer, given) end
  if type(placer) == "table" and type(placer[1]) == "string" and not berth.pipeline.is(placer) then
    return registry.common_links(placer[1], given, placer[2])
  end
  return given
end

--- An array of them, from a text with commas between.
function placers.list(flag, text)
  local out = {}
  for _, part in ipairs(split(text, ",")) do
    if part ~= "" then out[#out + 1] = placers.read(flag, part) end
  end
  if #out == 0 then
    fail.usage("%s: at least one name is needed, as in heft,m-etf; there are %s", flag,
      names_text("", berth.placers(), "berth place --help"))
  end
  return out
end

return placers
