--- Colours of figures: eight that differ for colour-blind eyes, too (after Okabe and Ito), on light
-- and on dark ground, with dark text on them. Each but the first and the last also has a pattern of
-- its own, so that a print in grey can be read. More things than colours share the last, which is
-- grey. Figures spell every colour out: not all readers of SVG support variables.
local colours = {}

colours.n = 8

--- Class of the k-th thing, cyclic.
function colours.cyclic(k) return "c" .. ("%d"):format((k - 1) % 8 + 1) end

--- Class of the k-th most important thing; from the eighth on "c8".
function colours.ranked(k) return "c" .. ("%d"):format(math.min(k, 8)) end

local fills = { "#5ab4ec", "#eb9f1c", "#23b58c", "#d98ab4", "#f0e04a", "#8f9cf0", "#ef7d42",
  "#a9a9a9" }

-- Lines of the patterns, in tiles of 6 by 6.
local strokes = {
  [2] = "M-1 1l2-2M0 6l6-6M5 7l2-2", [3] = "M0 1.5h6M0 4.5h6", [4] = "M-1 5l2 2M0 0l6 6M5-1l2 2",
  [5] = "M1.5 0v6M4.5 0v6", [6] = "M0 3h6M3 0v6", [7] = "M0 0l6 6M0 6l6-6",
}

local light = {
  ground = "#ffffff", panel = "#f1f3f6", ink = "#1b1f24", faint = "#5a636e", rule = "#d4dae1",
  send = "#66707c", critical = "#b3261e", limit = "#b3261e", area = "#5ab4ec", cross = "#2f62b8",
  shade = "#1b1f2440",
}
local dark = {
  ground = "#14171b", panel = "#20252b", ink = "#e8ebef", faint = "#a4adb8", rule = "#3a414a",
  send = "#98a3b0", critical = "#ff8a80", limit = "#ff8a80", area = "#3f8fc4", cross = "#8ab6ff",
  shade = "#00000099",
}
local order = { "ground", "panel", "ink", "faint", "rule", "send", "critical", "limit", "area",
  "cross", "shade" }

local DARK = "@media screen and (prefers-color-scheme:dark){"

local function variables(set)
  local out = {}
  for i, name in ipairs(order) do out[i] = ("--%s:%s"):format(name, set[name]) end
  return ":root{" .. table.concat(out, ";") .. "}"
end

local function fill_rules()
  local out = {}
  for k, fill in ipairs(fills) do
    out[k] = (".c%d{fill:%s}"):format(k, strokes[k] and ("url(#fill%d)"):format(k) or fill)
  end
  return table.concat(out)
end

--- The patterns that classes refer to; once in a file.
function colours.patterns()
  local out = { "<defs>" }
  for k = 2, 7 do
    out[#out + 1] = ('<pattern id="fill%d" width="6" height="6" patternUnits="userSpaceOnUse">'
      .. '<rect width="6" height="6" fill="%s"/>'
      .. '<path d="%s" stroke="#14171b" stroke-opacity=".17" fill="none"/></pattern>'):format(k,
      fills[k], strokes[k])
  end
  return table.concat(out, "\n") .. "\n</defs>"
end

local shapes = table.concat {
  "svg.berth{font:12px system-ui,'Segoe UI',Roboto,'Helvetica Neue',Arial,",
  "'DejaVu Sans',sans-serif}",
  "svg.berth .small{font-size:11px}svg.berth .end{text-anchor:end}",
  "svg.berth .mid{text-anchor:middle}",
  "svg.berth .strong{font-weight:600}svg.berth .in{font-size:11px}svg.berth .tiny{font-size:10px}",
  "svg.berth path{stroke-linejoin:round}",
  ".jump{fill:none;stroke-width:1.2;stroke-dasharray:3 2}",
  ".jump.solid{stroke-width:2;stroke-dasharray:none}",
  ".move{fill:none;stroke-width:1}",
  ".bound{fill:none;stroke-width:1.2;stroke-dasharray:5 3}",
  ".limit{fill:none;stroke-width:1.5;stroke-dasharray:6 3}",
  ".rule,.near,.cross,.far{fill:none}.near{opacity:.55}.cross{opacity:.75}.far{opacity:.25}",
  ".edgy{stroke-width:2.5}.halo{paint-order:stroke;stroke-width:3px;stroke-linejoin:round}",
  fill_rules(),
}

-- Ink only for what has no ink of its own: `in` is on a fill, which does not change.
local function tints(set)
  return (([[svg.berth{background:$ground}.ground{fill:$ground}svg.berth text{fill:$ink}]]
    .. [[svg.berth text.faint{fill:$faint}]]
    .. [[svg.berth text.warn{fill:$limit}svg.berth text.in{fill:#14171b}]]
    .. [[.lane{fill:$panel}.rule{stroke:$rule}.send,.tip{fill:$send}.meet{fill:$cross}]]
    .. [[.area{fill:$area}.crit{fill:$critical}]]
    .. [[.jump,.edgy{stroke:$critical}.move,.near,.far{stroke:$send}.bound{stroke:$ink}]]
    .. [[.limit{stroke:$limit}.halo{stroke:$panel}]]
    .. [[.cross{stroke:$cross}.far.cross{stroke:$cross}.peak{fill:$ink}]]
    .. [[.over{fill:$critical;fill-opacity:.45}]]):gsub("%$(%a+)", set))
end

--- Rules of a figure.
colours.style = shapes .. tints(light) .. DARK .. tints(dark) .. "}"

--- Variables for the rest of a page.
colours.variables = variables(light) .. DARK .. variables(dark) .. "}"

return colours
