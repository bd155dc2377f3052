--- What a report or a figure is of: checks what is given, runs what has to be run, draws.
local core = require "berth.core"
local facts = require "berth.report.facts"
local options = require "berth.base.options"

local draw = {}

--- In the order of the page.
draw.kinds = { "gantt", "memory", "links", "placers", "graph" }

local figures = {
  gantt = require "berth.report.gantt", memory = require "berth.report.memory",
  links = require "berth.report.links", graph = require "berth.report.graph",
}
local placers = require "berth.report.placers"

for _, name in ipairs { "report", "figure" } do
  options.declare(name, {
    { key = "result", type = "result", default = "none",
      text = "the run; or what is simulated: graph, topology, placement" },
    { key = "graph", type = "graph", default = "of the result", text = "what is simulated" },
    { key = "topology", type = "topology", default = "of the result", text = "on which" },
    { key = "placement", type = "placement or array", default = "none",
      text = "beside result: names the placer" },
    { key = "simulate", type = "table", default = "none", text = "options of berth.simulate" },
    { key = "compare", type = "table", default = "none",
      text = "rows of berth.compare; used instead of rows" },
    { key = "rows", type = "table", default = "none",
      text = "rows of berth.portfolio; gaps are to the best bound known" },
    { key = "bounds", type = "table", default = "none",
      text = "what berth.bounds gives: a table of all bounds, and the best of it where it is above "
        .. "the run's own" },
    { key = "title", type = "string", default = "graph and topology", text = "heading" },
    { key = "figures", type = "table", default = "all that there is something for",
      text = "which figures, in which order" },
    { key = "times", type = "flag", default = "false",
      text = "the table of placers has how long each took; the file is then not the same each "
        .. "time" },
    { key = "command", type = "string", default = "none",
      text = "shown as what made the run; the command line gives its own" },
  })
end

-- Whether a figure of that kind exists.
local function is_kind(kind)
  for _, name in ipairs(draw.kinds) do
    if name == kind then return true end
  end
  return false
end

function draw.check_kind(fn, kind)
  if not is_kind(kind) then
    options.fail("%s: no figure '%s' (legal: %s)", fn, tostring(kind),
      table.concat(draw.kinds, ", "))
  end
end

-- Raises unless what[key] is rows of a comparison.
local function check_rows(fn, what, key)
  for i, row in ipairs(what[key] or {}) do
    options.refuse(type(row) ~= "table" or type(row.name) ~= "string",
      "%s: %s[%d]: expected a row with a name", fn, key, i)
  end
end

-- Raises unless bounds are of berth.bounds.
local function check_bounds(fn, bounds)
  if bounds == nil then return end
  options.refuse(type(bounds.best) ~= "number" or type(bounds.name) ~= "string",
    "%s: bounds: expected what berth.bounds gives, with best and name", fn)
end

-- Raises unless every kind is one, each once.
local function check_figures(fn, kinds)
  local seen = {}
  for _, kind in ipairs(kinds) do
    draw.check_kind(fn, kind)
    if seen[kind] then options.fail("%s: figures: '%s' is there twice", fn, kind) end
    seen[kind] = true
  end
end

--- Raises unless what is given can be drawn.
function draw.check(fn, what)
  options.refuse(type(what) ~= "table", "%s: expected a table of what to draw, got %s", fn,
    core.kind(what))
  options.read(fn, "report", what)
  check_rows(fn, what, "compare")
  check_rows(fn, what, "rows")
  check_bounds(fn, what.bounds)
  check_figures(fn, what.figures or {})
  options.refuse(what.result and what.simulate,
    "%s: simulate: the result has been simulated already", fn)
end

-- The best of the bounds that are given and the run's own.
local function set_bound(f, what)
  local function take(best, name)
    if best and (not f.bound or best > f.bound) then f.bound, f.bound_name = best, name end
  end
  local rows = what.compare or what.rows or {}
  f.bound, f.bound_name = f.result.bound, f.result.bound_name
  if what.bounds then take(what.bounds.best, what.bounds.name) end
  -- rows that keep memory have other bounds; with noise none holds
  if f.result.oom or not f.result.bound then return end
  take(rows.bound, rows.bound_name)
  for _, row in ipairs(rows) do
    if not row.oom then take(row.bound, row.bound_name) end
  end
end

--- The run that is drawn.
-- @treturn[1] table facts
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code
function draw.facts(fn, what)
  local r, message, code = what.result
  if not r then
    options.refuse(not (what.graph and what.topology and what.placement),
      "%s: a result is needed, or graph, topology and placement", fn)
    r, message, code = core.simulate(what.graph, what.topology, what.placement, what.simulate)
    if not r then return nil, message, code end
  end
  local f = facts.of(r)
  set_bound(f, what)
  return f
end

-- The name of the placer of the drawn placement, or nil.
local function placer_of(what)
  return core.kind(what.placement) == "placement" and what.placement.placer or nil
end

-- A row of the same placer, if that is known, that took as long and has the same devices.
local function is_drawn(row, what, f)
  if row.placement and row.placement.placer ~= (placer_of(what) or row.placement.placer) then
    return false
  end
  if row.makespan ~= f.makespan or not row.placement or #row.placement ~= #f.device then
    return false
  end
  for op, device in ipairs(f.device) do
    if row.placement[op] ~= device then return false end
  end
  return true
end

local function row_of(what, f)
  local r, peak = f.result, 0
  local placer = placer_of(what)
  for _, bytes in ipairs(r.peak_memory) do peak = math.max(peak, bytes) end
  return { name = placer and ("this step (%s)"):format(placer) or "this step",
    makespan = f.makespan, oom = r.oom, own = true, peak = r.memory ~= "none" and peak or nil }
end

--- Rows of a comparison or of a portfolio, or nil; and the run that is drawn, if one is and it is
-- none of them.
function draw.rows(what, f)
  local rows = what.compare or what.rows
  if not rows or #rows == 0 or not f then return rows end
  local out, some = { bound = rows.bound }, false
  for i, row in ipairs(rows) do
    if is_drawn(row, what, f) then return rows end
    out[i], some = row, some or not row.error
  end
  if not some then return rows end
  out[#out + 1] = row_of(what, f)
  return out
end

--- The largest bound of the rows, of what is given and of the run, if one is drawn.
function draw.row_bound(what, f)
  local rows = draw.rows(what)
  local best = math.max(rows.bound or 0, what.bounds and what.bounds.best or 0, f and f.bound or 0)
  for _, row in ipairs(rows) do best = math.max(best, row.bound or 0) end
  return best
end

--- One figure.
-- @tparam string kind
-- @tparam table what
-- @tparam[opt] table f facts; not for placers
-- @treturn[1] table
-- @treturn[2] nil
-- @treturn[2] string why there is nothing to draw
function draw.figure(kind, what, f)
  local figure, why, code
  if kind ~= "placers" then figure, why, code = figures[kind](f)
  elseif not draw.rows(what) then return nil, "no rows of a comparison or a portfolio are given"
  else figure, why, code = placers.figure(draw.rows(what, f), draw.row_bound(what, f)) end
  if not figure then return nil, why, code end
  figure.kind = kind
  return figure
end

return draw
