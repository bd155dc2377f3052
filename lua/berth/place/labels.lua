--- What reports call a placer: "m-sct tau=0.5 topological", the name of a policy, the stages of a
-- pipeline. Built-in members of the portfolio have names of the same form.
local core = require "berth.core"
local options = require "berth.base.options"
local own_placer = require "berth.place.own_placer"
local pipeline = require "berth.place.pipeline"

local labels = {}

-- Those whose value speaks for itself, in this order; then the others by name.
local plain = { "variant", "favourites", "ties", "coarsen" }
local first = { "variant", "favourites", "tau", "ties", "coarsen" }

local is_plain = {}
for _, key in ipairs(plain) do is_plain[key] = true end

-- The same text on every interpreter and in every run.
local function shown(value)
  if type(value) == "number" then return core.sprintf("%.14g", value) end
  return type(value) == "table" and "given" or tostring(value)
end

local function part(key, value)
  if is_plain[key] and type(value) == "string" then return " " .. value end
  if key == "transfer_weight" then return ", transfers x" .. shown(value) end
  return (" %s=%s"):format(tostring(key), shown(value))
end

local function in_order(own)
  local keys, seen = {}, { transfer_weight = true }
  for _, key in ipairs(first) do
    if own[key] ~= nil then keys[#keys + 1] = key end
    seen[key] = true
  end
  for _, key in ipairs(options.sorted_keys(own)) do
    if not seen[key] then keys[#keys + 1] = key end
  end
  if own.transfer_weight ~= nil then keys[#keys + 1] = "transfer_weight" end
  return keys
end

local function with_options(name, own)
  if type(own) ~= "table" then return name end
  local parts = { name }
  for _, key in ipairs(in_order(own)) do parts[#parts + 1] = part(key, own[key]) end
  return table.concat(parts)
end

local function stages(line)
  local parts = {}
  for i, stage in ipairs(line) do
    local named = type(stage) == "table" and type(stage[1]) == "string"
    parts[i] = named and with_options(stage[1], stage[2]) or pipeline.describe(stage)
  end
  return table.concat(parts, " -> ")
end

function labels.of(placer)
  if type(placer) == "string" then return placer end
  if pipeline.is(placer) then return stages(placer) end
  if type(placer) == "table" and type(placer[1]) == "string" then
    return with_options(placer[1], placer[2])
  end
  if own_placer.is(placer) then return own_placer.name(placer) end
  return type(placer) == "table" and placer.name or "policy"
end

return labels
