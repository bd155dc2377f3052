--- What has to be known to make the same run again.
local core = require "berth.core"
local sort = require "berth.base.sort"
local scale = require "berth.report.scale"

local made = {}

-- Options of a simulation that are always printed, and those that are printed where they are not
-- what they are by default.
local ALWAYS = { "links", "dispatch", "memory", "param_multiple" }
local ELSE = { { "send", "push" }, { "order", "event" }, { "collectives", "links" },
  { "reserve", false }, { "split_windows", false }, { "preempt", false }, { "quantum", 0 },
  { "noise", 0 } }

-- 17 digits: reading the text gives the same double again.
local function text_of(value)
  return type(value) == "number" and core.sprintf("%.17g", value) or tostring(value)
end

local function simulation(given)
  local out = {}
  for i, key in ipairs(ALWAYS) do out[i] = ("%s = %s"):format(key, text_of(given[key])) end
  for _, one in ipairs(ELSE) do
    if given[one[1]] ~= one[2] then
      out[#out + 1] = ("%s = %s"):format(one[1], text_of(given[one[1]]))
    end
  end
  if given.noise > 0 or given.dispatch == "random" then
    out[#out + 1] = "seed = " .. text_of(given.seed)
  end
  return table.concat(out, ", ")
end

-- Numbers and switches of a cost model as they are, functions by name.
local function pricing(model)
  local keys, out = {}, {}
  for key in pairs(model or {}) do keys[#keys + 1] = key end
  table.sort(keys, sort.before)
  for i, key in ipairs(keys) do
    local value = model[key]
    out[i] = type(value) == "function" and key .. " by a function" or ("%s = %s"):format(key,
      text_of(value))
  end
  return table.concat(out, ", ")
end

-- "name: sizes", or the sizes of what has no name.
local function named(object, sizes)
  local name = object.name or ""
  return name ~= "" and ("%s: %s"):format(name, sizes) or sizes
end

local function graph_of(g)
  local sizes = scale.count(#g, "op") .. ", " .. scale.count(g.n_tensors, "tensor")
  return named(g, g.n_collectives > 0 and sizes .. ", " .. scale.count(g.n_collectives,
    "collective") or sizes)
end

-- The placer and its own estimate of the makespan; nil for a plain array of devices. A NaN is an
-- estimate that the placer did not make.
local function placement_of(p)
  if core.kind(p) ~= "placement" then return nil end
  local placer, estimate = p.placer or "", p.estimate
  if placer == "" then placer = "an array of devices" end
  if not estimate or estimate ~= estimate then return placer end
  return ("%s, its own estimate %s"):format(placer, scale.quantity(estimate, "seconds"))
end

--- Names and values, in order.
function made.list(what, f)
  local t, out = f.topology, {}
  local function add(name, text, code)
    if text and text ~= "" then out[#out + 1] = { name, text, code = code } end
  end
  add("program", "berth " .. core.version)
  add("command", what.command, true)
  add("graph", graph_of(f.graph))
  add("topology", named(t, scale.count(#t, "device") .. ", " .. scale.count(t.n_links, "link")))
  add("placement", placement_of(what.placement))
  add("simulation", simulation(f.result.options))
  add("prices", pricing(f.result.cost.model))
  return out
end

return made
