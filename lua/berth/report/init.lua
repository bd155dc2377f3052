--- A report: one self-contained HTML file about a run.
local core = require "berth.core"
local draw = require "berth.report.draw"
local html = require "berth.report.html"
local options = require "berth.options"
local scale = require "berth.report.scale"
local tables = require "berth.report.tables"

local SECTIONS = {
  gantt = { "Schedule",
    "What each device does over time; below each device what it sends. What is too short to be seen is summed up." },
  memory = { "Memory", "What each device holds over time, against its limit." },
  links = { "Links", "Transfers under way, and how long each link is busy, busiest first." },
  placers = { "Placers", "Step times by the same simulation, best first." },
  graph = { "Graph", "Layers from top to bottom, coloured by device." },
}

local function section(kind, figure, why)
  local title, text = SECTIONS[kind][1], SECTIONS[kind][2]
  if figure then return html.section(title, text, html.figure(figure)) end
  return html.section(title, ("Not drawn: %s."):format(why), "")
end

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
  return ("%s on %s"):format(graph ~= "" and graph or "graph", topology ~= "" and topology or scale.count(#f.devices, "device"))
end

local function about(what, f)
  local parts = { scale.count(#f.device, "op"), scale.count(#f.devices, "device"), scale.count(#f.transfers, "transfer") }
  local placer = core.kind(what.placement) == "placement" and what.placement.placer or nil
  if placer and placer ~= "" then parts[#parts + 1] = "placed by " .. placer end
  parts[#parts + 1] = "berth " .. core.version
  return table.concat(parts, ", ")
end

local function page(what, f)
  local parts = { tables.warning(f) or "", tables.summary(f), html.section("Devices", nil, tables.devices(f)) }
  if what.bounds then
    parts[#parts + 1] = html.section("Lower bounds", "No placement is faster.", tables.bounds(f, what.bounds))
  end
  for _, kind in ipairs(wanted(what)) do
    parts[#parts + 1] = section(kind, draw.figure(kind, what, f))
  end
  return html.page(title_of(what, f), about(what, f), parts)
end

local function write(path, text)
  local file, message = io.open(path, "wb")
  if not file then return nil, message, "io" end
  local ok, why = file:write(text)
  local closed, late = file:close()
  if not ok or not closed then return nil, ("%s: %s"):format(path, why or late or "cannot be written"), "io" end
  return true
end

--- Writes a report.
-- @tparam string path
-- @tparam table what result, or graph, topology and placement (simulate: options); compare or rows (of placers), bounds, title,
-- figures (array of "gantt", "memory", "links", "placers", "graph")
-- @treturn[1] boolean true
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code
-- @usage assert(berth.report("step.html", { result = r, placement = p }))
return function(path, what)
  local fn = "berth.report"
  if type(path) ~= "string" then options.fail("%s: path: expected a string, got %s", fn, core.kind(path)) end
  draw.check(fn, what)
  local f, message, code = draw.facts(fn, what)
  if not f then return nil, message, code end
  return write(path, page(what, f))
end
