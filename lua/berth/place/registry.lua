--- The core's table of placers: names, variants, and which options each one reads.
local core = require "berth.core"
local descriptors = require "berth.base.descriptors"
local options = require "berth.base.options"

-- names, by_name, reads(placer, key), readers(key)
local registry = descriptors.of(core.placers())

--- Names of the variants of a placer, but for its plain form.
function registry.variants(placer)
  local out = {}
  for _, variant in ipairs(registry.by_name[placer].variants) do
    if variant.name ~= "" then out[#out + 1] = variant.name end
  end
  return out
end

--- Names of the placers that an option has an effect on.
function registry.takers(key)
  local out = {}
  if key ~= "variant" then return registry.readers(key) or registry.names end
  for _, name in ipairs(registry.names) do
    if #registry.variants(name) > 0 then out[#out + 1] = name end
  end
  return out
end

--- All placers, and "placer:variant" of each variant.
registry.forms = {}
for _, name in ipairs(registry.names) do
  table.insert(registry.forms, name)
  for _, variant in ipairs(registry.variants(name)) do
    table.insert(registry.forms, name .. ":" .. variant)
  end
end

--- Does this form of the placer plan with a discipline of its own?
function registry.own_links(placer, variant)
  for _, v in ipairs(registry.by_name[placer] and registry.by_name[placer].variants or {}) do
    if v.name == variant then return v.own_links == true end
  end
  return false
end

--- `given`, or without its `links`, which are for all placers, if this one has a discipline of its
-- own: it plans with that, and is judged with the common one. Links among its own options stay, and
-- are refused.
-- @param placer
-- @tparam table given
-- @tparam[opt] table own the placer's own options
function registry.common_links(placer, given, own)
  local variant = type(own) == "table" and own.variant or given.variant
  if given.links == nil or type(own) == "table" and own.links ~= nil then return given end
  if not registry.own_links(placer, variant) then return given end
  local out = options.merge(given)
  out.links = nil
  return out
end

return registry
