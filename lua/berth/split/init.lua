--- Splits into pipeline stages: the largest load of a device, and the latency of one sample. They
-- print as a line.
local core = require "berth.core"
local options = require "berth.base.options"
local priced = require "berth.base.priced"
local percent = require "berth.base.percent"

local mt = { __name = "berth.split" }

local function time(x, s) return x and core.format(x, "seconds", s.unitless) or "infinite" end

local function gap(value, bound)
  if not value or bound <= 0 then return "" end
  return (" (gap %s)"):format(percent(math.max(value / bound - 1, 0)))
end

local function standing(s)
  if not s.bound then return "" end
  local parts = { s.contiguous and ", contiguous" or ", not contiguous" }
  if s.objective == "latency" then
    parts[#parts + 1] = ("; latency bound %s%s"):format(time(s.bound, s), gap(s.latency, s.bound))
  elseif s.proven then
    parts[#parts + 1] = s.max_load < s.contiguous_load
      and ("; the best contiguous one has %s"):format(time(s.contiguous_load, s))
      or "; proven the best of these"
  else
    parts[#parts + 1] = ("; contiguous bound %s%s"):format(time(s.bound, s),
      s.contiguous and gap(s.max_load, s.bound) or "")
  end
  return table.concat(parts)
end

function mt.__tostring(s)
  local over = s.over and ("; device %s lacks %s"):format(s.over_name,
    core.format(s.missing, "bytes", s.unitless)) or ""
  return ("split: largest load %s (device %s), latency %s%s%s"):format(time(s.max_load, s),
    s.busiest_name, time(s.latency, s), standing(s), over)
end

-- Units and names of devices for the text.
local function named(s, unitless, names)
  s.unitless = unitless
  s.busiest_name = names[s.busiest]
  s.over_name = s.over and names[s.over] or nil
  return setmetatable(s, mt)
end

local split = {}

--- @tparam graph g
-- @tparam topology t
-- @tparam[opt] table opts objective ("max-load", "latency"), cpu, contiguous, memory (bytes),
--  visits, cost
-- @treturn[1] table placement, max_load, latency (s; nil: infinite), busiest, loads, bound, proven,
--  contiguous, contiguous_load, complete, units, ideals, visits, objective
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code
-- @treturn[2] table op, device, missing (bytes), for "infeasible"
-- @usage print(berth.split(g, t, { contiguous = false }))
function split.split(...)
  local cost, rest, code = options.priced("berth.split", 1, ...)
  if not cost then return nil, rest, code end
  local unitless, names = priced.unitless(cost), priced.device_names(cost)
  local found, message, kind, why = core.split(cost, rest[1])
  if not found then return nil, message, kind, why end
  return named(found, unitless, names)
end

--- @tparam graph g
-- @tparam topology t
-- @param placement a placement or an array of devices
-- @tparam[opt] table opts cpu, cost
-- @treturn[1] table max_load, latency (s; nil: infinite), busiest, loads; over, missing (bytes) if
--  a device lacks memory
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code
function split.measure(...)
  local cost, rest, code = options.priced("berth.split_measure", 2, ...)
  if not cost then return nil, rest, code end
  local unitless, names = priced.unitless(cost), priced.device_names(cost)
  local value, message, kind = core.split_measure(cost, rest[1], rest[2])
  if not value then return nil, message, kind end
  return named(value, unitless, names)
end

return split
