--- One figure of a report, as SVG.
local draw = require "berth.report.draw"
local svg = require "berth.report.svg"

--- @tparam string kind "gantt", "memory", "links", "placers" or "graph"
-- @tparam table what as for berth.report; for "placers" rows are enough
-- @treturn[1] string a whole SVG file
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code
-- @usage local text = assert(berth.figure("gantt", { result = r }))
return function(kind, what)
  local fn = "berth.figure"
  draw.check_kind(fn, kind)
  draw.check(fn, what)
  local f, message, failed
  if kind ~= "placers" or what.result or what.graph and what.topology and what.placement then
    f, message, failed = draw.facts(fn, what)
    if not f then return nil, message, failed end
  end
  local figure, why, code = draw.figure(kind, what, f)
  if not figure then return nil, ("%s: %s"):format(kind, why), code or "unsupported" end
  return svg.document(figure, true)
end
