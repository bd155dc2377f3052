--- A report: one self-contained HTML file about a run.
local core = require "berth.core"
local draw = require "berth.report.draw"
local html = require "berth.report.html"
local made = require "berth.report.made"
local options = require "berth.base.options"
local scale = require "berth.report.scale"
local svg = require "berth.report.svg"
local tables = require "berth.report.tables"
local write = require "berth.base.write"

local SECTIONS = {
  gantt = { "Schedule", "What each device does over time; below each device what it sends, and "
    .. "collectives." },
  memory = { "Memory", "What each device holds over time, against its limit." },
  links = { "Links",
    "How many transfers and collectives are under way, and what part of the step each link needs "
      .. "for its bytes." },
  placers = { "Placers", "Step times by the same simulation, best first." },
  graph = { "Graph", "Layers from top to bottom, coloured by device." },
}

-- Figures with a control of their scale.
local ZOOMED = { gantt = true, graph = true }

-- What comes below a figure, by its kind: HTML.
local below = {}

function below.gantt(f)
  return html.heading("Longest ops") .. tables.slowest(f)
end

function below.memory(f)
  local grid, d = tables.largest(f)
  if not grid then return "" end
  return html.heading("What fills " .. svg.fit(f.devices[d].name, 480, 12) .. " at its peak")
    .. grid
end

function below.links(f)
  local words = tables.communication(f)
  if #f.collectives == 0 then return words end
  return words .. html.heading("Longest collectives") .. tables.collectives(f)
end

function below.placers(f, what)
  local rows = draw.rows(what, f)
  return rows and #rows > 0 and tables.placers(rows, draw.row_bound(what, f), what.times) or ""
end

-- A figure with its title; a figure that cannot be drawn gives its reason instead, since the
-- tables below it may still hold.
local function section(kind, f, what)
  local title, text = SECTIONS[kind][1], SECTIONS[kind][2]
  local figure, why = draw.figure(kind, what, f)
  local more = below[kind] and below[kind](f, what) or ""
  if not figure then return html.section(kind, title, ("Not drawn: %s."):format(why), more) end
  return html.section(kind, title, text, html.figure(figure, ZOOMED[kind]) .. more)
end

-- Kinds of figures; placers are compared only if they were given.
local function wanted(what)
  if what.figures then return what.figures end
  local out = {}
  for _, kind in ipairs(draw.kinds) do
    if kind ~= "placers" or draw.rows(what) then out[#out + 1] = kind end
  end
  return out
end

local function title_of(what, f)
  if what.title then return what.title end
  local graph, topology = f.graph.name or "", f.topology.name or ""
  return ("%s on %s"):format(graph ~= "" and graph or "graph",
    topology ~= "" and topology or scale.count(#f.devices, "device"))
end

local function about(what, f)
  local parts = { scale.count(#f.device, "op"), scale.count(#f.devices, "device"),
    scale.count(#f.transfers, "transfer") }
  if #f.collectives > 0 then table.insert(parts, scale.count(#f.collectives, "collective")) end
  local placer = core.kind(what.placement) == "placement" and what.placement.placer or nil
  if placer and placer ~= "" then parts[#parts + 1] = "placed by " .. placer end
  parts[#parts + 1] = "berth " .. core.version
  return table.concat(parts, ", ")
end

local function bounds_section(bounds, f)
  local proved = tables.guarantees(bounds)
  return html.section("bounds", "Lower bounds", "No placement is faster.",
    tables.bounds(f, bounds) .. (proved and html.heading("What is proved of placers") .. proved
      or ""))
end

-- The sections in their order; the table of devices follows the first figure.
local function page(what, f)
  local sections = {}
  local function add(one) sections[#sections + 1] = one end
  for k, kind in ipairs(wanted(what)) do
    add(section(kind, f, what))
    if k == 1 then add(html.section("devices", "Devices", nil, tables.devices(f))) end
  end
  if #sections == 0 then add(html.section("devices", "Devices", nil, tables.devices(f))) end
  if what.bounds then
    add(bounds_section(what.bounds, f))
  end
  add(html.section("made", "How this was made", nil, html.list(made.list(what, f))))
  return html.page(title_of(what, f), about(what, f),
    (tables.warning(f) or "") .. tables.summary(f), sections)
end

--- Writes a report.
-- @tparam string path
-- @tparam table what result, or graph, topology and placement (simulate: options); compare or rows
--  (of placers), bounds, title, figures (array of "gantt", "memory", "links", "placers", "graph"),
--  times (true: how long placers took), command (how it was made, as typed)
-- @treturn[1] boolean true
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code
-- @usage assert(berth.report("step.html", { result = r, placement = p }))
return function(path, what)
  local fn = "berth.report"
  options.expect(path, "string", "%s: path", fn)
  draw.check(fn, what)
  local f, message, code = draw.facts(fn, what)
  if not f then return nil, message, code end
  return write(path, page(what, f))
end
