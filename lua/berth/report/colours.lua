--- Colours of figures: eight that differ for colour-blind eyes, too (after Okabe and Ito), on light and on dark ground, with dark
-- text on them; more things than colours share the last, which is grey.
local colours = {}

colours.n = 8

--- Class of the k-th thing, cyclic.
function colours.cyclic(k) return "c" .. ("%d"):format((k - 1) % 7 + 1) end

--- Class of the k-th most important thing; from the eighth on "c8".
function colours.ranked(k) return "c" .. ("%d"):format(math.min(k, 8)) end

local fills = { "#5ab4ec", "#eb9f1c", "#23b58c", "#d98ab4", "#f0e04a", "#8f9cf0", "#ef7d42", "#a9a9a9" }

local light = {
  ground = "#ffffff", panel = "#f6f7f9", ink = "#1b1f24", faint = "#5a636e", rule = "#d9dee4", send = "#66707c",
  critical = "#b3261e",
  limit = "#b3261e", area = "#5ab4ec", cross = "#3468c0",
}
local dark = {
  ground = "#14171b", panel = "#1d2126", ink = "#e8ebef", faint = "#a4adb8", rule = "#353b43", send = "#8d98a5",
  critical = "#ff8a80",
  limit = "#ff8a80", area = "#3f8fc4", cross = "#86b3ff",
}
local order = { "ground", "panel", "ink", "faint", "rule", "send", "critical", "limit", "area", "cross" }

local function variables(set)
  local out = {}
  for i, name in ipairs(order) do out[i] = ("--%s:%s"):format(name, set[name]) end
  return ":root{" .. table.concat(out, ";") .. "}"
end

local function classes()
  local out = {}
  for k, fill in ipairs(fills) do out[k] = (".c%d{fill:%s}"):format(k, fill) end
  return table.concat(out)
end

--- Rules of a figure, for a file of its own or for the page.
colours.style = table.concat {
  variables(light), "@media (prefers-color-scheme:dark){", variables(dark), "}",
  "@media print{", variables(light), "}",
  "svg.berth{background:var(--ground);font:12px system-ui,'Segoe UI',Roboto,'Helvetica Neue',Arial,'DejaVu Sans',sans-serif}",
  "svg.berth text{fill:var(--ink)}svg.berth .faint{fill:var(--faint)}svg.berth .small{font-size:11px}",
  "svg.berth .end{text-anchor:end}svg.berth .mid{text-anchor:middle}svg.berth .strong{font-weight:600}",
  "svg.berth text.in{fill:#14171b;font-size:11px}svg.berth text.warn{fill:var(--limit)}",
  ".lane{fill:var(--panel)}.rule{stroke:var(--rule);fill:none}.send{fill:var(--send)}.area{fill:var(--area)}",
  ".crit{fill:var(--critical)}.jump{stroke:var(--critical);fill:none;stroke-width:1.2;stroke-dasharray:3 2}",
  ".move{stroke:var(--send);fill:none;stroke-width:1}.tip{fill:var(--send)}",
  ".bound{stroke:var(--ink);fill:none;stroke-dasharray:5 3}",
  ".limit{stroke:var(--limit);fill:none;stroke-width:1.5;stroke-dasharray:6 3}",
  ".cross{stroke:var(--cross);fill:none;opacity:.6}",
  ".near{stroke:var(--send);fill:none;opacity:.5}",
  ".box{stroke:var(--ground);stroke-width:1}.edgy{stroke:var(--critical);stroke-width:2}",
  classes(),
}

return colours
