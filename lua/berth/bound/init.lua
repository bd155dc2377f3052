--- Lower bounds on the step time, which print as a line, and what is proved of placers, which
-- prints as a table.
local align = require "berth.base.align"
local core = require "berth.core"
local options = require "berth.base.options"
local priced = require "berth.base.priced"

local function time(x, bare) return core.format(x, "seconds", bare) end

-- ---- printing -----------------------------------------------------------------------------------

local NAMES = {
  { "critical_path", "critical path" }, { "transfers", "transfers" }, { "lp", "linear program" },
  { "work", "work" }, { "memory", "memory" }, { "clusters", "serial clusters" },
  { "intervals", "intervals" }, { "link_cut", "link cut" },
}

local mt = { __name = "berth.bounds" }

function mt.__tostring(b)
  local parts = {}
  for _, name in ipairs(NAMES) do
    if b[name[1]] then parts[#parts + 1] = name[2] .. " " .. time(b[name[1]], b.unitless) end
  end
  local line = ("bound %s (%s; level %s): %s"):format(time(b.best, b.unitless), b.name, b.level,
    table.concat(parts, ", "))
  if not b.achieved then return line end
  if b.achieved < 1 - 1e-9 then
    return ("%s; the makespan is below it: no schedule's"):format(line)
  end
  return core.sprintf("%s; makespan at most %.3g times the optimum", line, b.achieved)
end

-- What is not proved has no number here; the fields have what the formula gives.
local function promise(k, bare)
  if not k.valid then return "-" end
  if k.limit then
    local limit = time(k.limit, bare)
    return k.ratio and core.sprintf("%s, %.3g times", limit, k.ratio) or limit
  end
  return k.ratio and core.sprintf("%.3g times the optimum", k.ratio) or "-"
end

local guarantees_mt = { __name = "berth.guarantees" }

function guarantees_mt.__tostring(list)
  local rows, reasons = { { "guarantee", "placers", "makespan at most" } }, {}
  for i, k in ipairs(list) do
    rows[i + 1] = { k.name, k.placers, promise(k, list.unitless) }
    if not k.valid then reasons[#reasons + 1] = ("%s is not proved: %s"):format(k.name, k.why) end
  end
  return table.concat(options.join(align.lines(rows, { true, true, true }), reasons), "\n")
end

-- ---- the call -----------------------------------------------------------------------------------

-- A result gives its makespan.
local function with_makespan(given)
  if type(given) ~= "table" or core.kind(given.makespan) ~= "result" then return given end
  return options.merge(given, { makespan = given.makespan.makespan })
end

--- @tparam graph g
-- @tparam topology t
-- @tparam[opt] table opts memory, param_multiple, links (on which schedules run), thorough, effort
--  (million steps, about 3 ms each: the highest level that they afford), gap, makespan (a result,
--  or s), place (links, tau, gap), cost
-- @treturn[1] table critical_path, transfers, lp, work, memory, clusters, intervals, link_cut, best
--  (s), name, level ("paths", "linear program", "cheap", "windows", "thorough"), rho, closed,
--  guarantees, achieved
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code
-- @treturn[2] table op, device, missing: what can fit nowhere
return function(a, b, c)
  if core.kind(a) == "cost" then b = with_makespan(b) else c = with_makespan(c) end
  local unitless = priced.unitless(a)
  local found, message, code, why = core.bounds(a, b, c)
  if not found then return nil, message, code, why end
  found.unitless = unitless
  found.guarantees.unitless = found.unitless
  setmetatable(found.guarantees, guarantees_mt)
  return setmetatable(found, mt)
end
