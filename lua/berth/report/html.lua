--- The page: one file, nothing from outside.
local colours = require "berth.report.colours"
local scale = require "berth.report.scale"
local svg = require "berth.report.svg"

-- Zoom of a figure by plain CSS: a radio button for each scale, its label above the figure.
local ZOOMS = {
  { "whole", "whole", "width:100%;min-width:0" }, { "z1", "legible", "" },
  { "z2", "x 2", "width:200%;min-width:calc(2*var(--w))" },
  { "z4", "x 4", "width:400%;min-width:calc(4*var(--w))" },
}

local zoom_rules = {}
for i, one in ipairs(ZOOMS) do
  local on = ("figure .%s:checked~"):format(one[1])
  local focus = ("figure .%s:focus-visible~"):format(one[1])
  zoom_rules[i] = ("%s.scroll svg{%s}%s.zoom .%s{background:var(--ink);color:var(--ground)}"
    .. "%s.zoom .%s{outline:2px solid var(--cross)}"):format(on, one[3], on, one[1], focus, one[1])
end
zoom_rules = table.concat(zoom_rules)

local style = colours.variables .. colours.style .. table.concat {
  "html{color-scheme:light dark}",
  "body{margin:0 auto;max-width:1060px;padding:20px 16px 48px;background:var(--ground);",
  "color:var(--ink);",
  "font:15px/1.5 system-ui,'Segoe UI',Roboto,'Helvetica Neue',Arial,'DejaVu Sans',sans-serif}",
  "h1{font-size:24px;line-height:1.25;margin:0 0 4px;overflow-wrap:anywhere}",
  "h2{font-size:18px;margin:36px 0 8px}h3{font-size:15px;margin:22px 0 4px}",
  "p{margin:4px 0 10px;overflow-wrap:anywhere}",
  ".about{color:var(--faint)}",
  ".warning{color:var(--limit);font-weight:600;border-left:4px solid;padding-left:10px}",
  "nav{display:flex;flex-wrap:wrap;gap:4px 16px;font-size:14px;margin:8px 0}",
  "nav a{color:var(--cross)}",
  ".tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(140px,1fr));gap:12px;",
  "margin:18px 0}",
  "@media(max-width:1000px){.tiles{grid-template-columns:repeat(3,1fr)}}",
  ".tile{background:var(--panel);border:1px solid var(--rule);border-radius:8px;",
  "padding:12px 14px;min-width:0}",
  ".name,.note{color:var(--faint);font-size:13px;overflow-wrap:anywhere}",
  ".value{font-size:23px;font-weight:600}",
  "table{border-collapse:collapse;width:100%;font-size:14px}",
  "th,td{padding:5px 8px;border-bottom:1px solid var(--rule);",
  "text-align:left;vertical-align:top}th{color:var(--faint);font-weight:500}",
  "th.n,td.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}",
  "td{overflow-wrap:anywhere;min-width:8em}td.n{overflow-wrap:normal;min-width:0}",
  "td.t{min-width:24em}",
  "code{overflow-wrap:anywhere;font-size:13px}",
  ".meter{display:block;height:4px;min-width:48px;background:var(--panel);border-radius:2px;",
  "margin-top:3px}",
  ".meter span{display:block;height:4px;background:var(--area);border-radius:2px}",
  "details{margin:10px 0}summary{cursor:pointer;color:var(--cross)}",
  "dl{display:grid;grid-template-columns:max-content 1fr;gap:3px 16px;font-size:14px;",
  "margin:8px 0}dt{color:var(--faint)}",
  "dd{margin:0;overflow-wrap:anywhere}",
  "figure{margin:0 0 8px}.defs{position:absolute}",
  -- What is wider than the page scrolls in its own box; shadows mark the sides that hide more.
  ".scroll{overflow-x:auto;scrollbar-width:thin;scrollbar-color:var(--faint) var(--panel);",
  "background:linear-gradient(90deg,var(--ground) 40%,transparent) 0 0/40px 100%,",
  "linear-gradient(270deg,var(--ground) 40%,transparent) 100% 0/40px 100%,",
  "linear-gradient(90deg,var(--shade),transparent) 0 0/14px 100%,",
  "linear-gradient(270deg,var(--shade),transparent) 100% 0/14px 100%;",
  "background-repeat:no-repeat;background-attachment:local,local,scroll,scroll}",
  ".scroll:focus-visible{outline:2px solid var(--cross)}",
  -- Figures shrink to 85 % at most: their texts stay legible.
  "figure svg{display:block;width:100%;min-width:calc(.85*var(--w));height:auto}",
  "figcaption{display:none;color:var(--faint);font-size:13px}",
  "@media(max-width:720px){.scroll+figcaption{display:block}}",
  "figure svg.berth{background:none}",
  ".zoom{display:flex;flex-wrap:wrap;gap:2px 4px;font-size:13px;margin:0 0 6px}",
  ".zoom+.scroll{max-height:85vh;overflow:auto}",
  "figure input{position:absolute;opacity:0;pointer-events:none}",
  ".zoom label{padding:1px 9px;border:1px solid var(--rule);border-radius:6px;cursor:pointer}",
  zoom_rules,
  "@media(max-width:500px){body{padding:14px 10px 36px}}",
  "@media print{body{max-width:none;padding:0;font-size:10.5pt}",
  "nav,.zoom,.scroll+figcaption{display:none}",
  "h2,h3{break-after:avoid}.zoom+.scroll{max-height:none}.scroll{overflow:visible}",
  "figure,.tiles,tr{break-inside:avoid}",
  "figure svg.berth{width:100%!important;min-width:0!important;max-height:24cm}",
  "*{print-color-adjust:exact;-webkit-print-color-adjust:exact}}",
}

local html = {}

-- Characters from which a cell is made wide.
local LONG = 60

--- A part of the page with a heading that the top of the page links to.
-- @tparam string id
-- @tparam string title
-- @tparam[opt] string text a sentence below the heading
-- @tparam string body HTML
function html.section(id, title, text, body)
  local about = text and ('<p class="about">%s</p>\n'):format(svg.escape(text)) or ""
  return { id = id, title = title,
    text = ('<section id="%s"><h2>%s</h2>\n%s%s</section>'):format(id, svg.escape(title), about,
      body) }
end

-- A cell is a text, or { text, share } with a bar of that share below it.
local function cell(tag, what, attributes)
  local text, meter = what, ""
  if type(what) == "table" then
    local width = scale.number(100 * math.min(math.max(what[2], 0), 1))
    text, meter = what[1],
      ('<span class="meter"><span style="width:%s%%"></span></span>'):format(width)
  end
  return ("<%s%s>%s%s</%s>"):format(tag, attributes, svg.escape(text), meter, tag)
end

-- Class of a cell: n for numbers, t for texts of several lines.
local function class_of(what, is_left)
  if not is_left then return ' class="n"' end
  return type(what) == "string" and #what > LONG and ' class="t"' or ""
end

local function row(tag, cells, lefts, attributes)
  local out = {}
  for i, what in ipairs(cells) do
    out[i] = cell(tag, what, class_of(what, lefts[i]) .. (attributes or ""))
  end
  return "<tr>" .. table.concat(out) .. "</tr>"
end

--- Rows of a table.
-- @tparam table lines arrays of cells, texts or { text, share }; the heads first
-- @tparam[opt] table lefts set of the columns of text; default: the first. The others are numbers
function html.rows(lines, lefts)
  local out = {}
  for i, cells in ipairs(lines) do
    out[i] = row(i == 1 and "th" or "td", cells, lefts or { true })
  end
  return table.concat(out, "\n")
end

--- A table with a head and a body; parameters as of html.rows.
function html.grid(lines, lefts)
  lefts = lefts or { true }
  local out = { '<div class="scroll" tabindex="0"><table><thead>'
    .. row("th", lines[1], lefts, ' scope="col"') .. "</thead><tbody>" }
  for i = 2, #lines do out[#out + 1] = row("td", lines[i], lefts) end
  out[#out + 1] = "</tbody></table></div>"
  return table.concat(out, "\n")
end

--- A table of rows alone; parameters as of html.rows.
function html.plain_grid(lines, lefts)
  return '<div class="scroll" tabindex="0"><table>' .. html.rows(lines, lefts) .. "</table></div>"
end

--- A number in large letters, with its name above and a note below.
function html.tile(name, value, note)
  return ('<div class="tile"><div class="name">%s</div><div class="value">%s</div>'
    .. '<div class="note">%s</div></div>'):format(svg.escape(name), svg.escape(value),
    svg.escape(note))
end

function html.tiles(list) return '<div class="tiles">' .. table.concat(list, "\n") .. "</div>" end

-- The radio buttons of a figure and their labels.
local function zoom_control(kind)
  local inputs, labels = {}, {}
  for i, one in ipairs(ZOOMS) do
    local id = ("zoom-%s-%s"):format(kind, one[1])
    inputs[i] = ('<input type="radio" name="zoom-%s" id="%s" class="%s"%s/>'):format(kind, id,
      one[1], one[1] == "z1" and ' checked="checked"' or "")
    labels[i] = ('<label for="%s" class="%s">%s</label>'):format(id, one[1], one[2])
  end
  return table.concat(inputs) .. '\n<div class="zoom">' .. table.concat(labels, " ") .. "</div>\n"
end

--- A picture in a box that scrolls where the page is narrower.
-- @tparam table figure of svg.picture
-- @tparam[opt] boolean zoom with a control of its scale
function html.figure(figure, zoom)
  return ('<figure>\n%s<div class="scroll" tabindex="0">\n%s</div>'
    .. "<figcaption>Scroll sideways for the rest.</figcaption></figure>"):format(
    zoom and zoom_control(figure.kind) or "", svg.document(figure, false))
end

function html.heading(text) return "<h3>" .. svg.escape(text) .. "</h3>\n" end

--- A text as it is typed, line by line.
function html.code(text)
  return '<pre tabindex="0" style="background:var(--panel);padding:10px 14px;overflow-x:auto;'
    .. 'font-size:13px">' .. svg.escape_lines(text) .. "</pre>"
end

--- Names and values, { name, text, code = true: as it is typed }.
function html.list(entries)
  local out = {}
  for i, entry in ipairs(entries) do
    local value = svg.escape(entry[2])
    out[i] = ("<dt>%s</dt><dd>%s</dd>"):format(svg.escape(entry[1]),
      entry.code and "<code>" .. value .. "</code>" or value)
  end
  return "<dl>\n" .. table.concat(out, "\n") .. "\n</dl>"
end

local function navigation(sections)
  local out = {}
  for i, section in ipairs(sections) do
    out[i] = ('<a href="#%s">%s</a>'):format(section.id, svg.escape(section.title))
  end
  return '<nav aria-label="Sections">' .. table.concat(out, "\n") .. "</nav>"
end

--- @tparam string title
-- @tparam string about a line below the title
-- @tparam string head what comes before the first section
-- @tparam table sections
-- @treturn string
function html.page(title, about, head, sections)
  local texts = {}
  for i, section in ipairs(sections) do texts[i] = section.text end
  return table.concat({
    '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"/>',
    '<meta name="viewport" content="width=device-width,initial-scale=1"/>',
    "<title>" .. svg.escape(title) .. "</title>", "<style>" .. style .. "</style></head><body>",
    '<svg class="defs" width="0" height="0" aria-hidden="true">' .. colours.patterns() .. "</svg>",
    "<h1>" .. svg.escape(title) .. "</h1>", '<p class="about">' .. svg.escape(about) .. "</p>",
    navigation(sections), "<main>", head, table.concat(texts, "\n"), "</main></body></html>\n",
  }, "\n")
end

return html
