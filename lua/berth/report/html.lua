--- The page: one file, nothing from outside.
local colours = require "berth.report.colours"
local svg = require "berth.report.svg"

local style = colours.style .. table.concat {
  "html{color-scheme:light dark}body{margin:0 auto;max-width:1060px;padding:20px 16px 48px;background:var(--ground);",
  "color:var(--ink);",
  "font:15px/1.5 system-ui,'Segoe UI',Roboto,'Helvetica Neue',Arial,'DejaVu Sans',sans-serif}",
  "h1{font-size:24px;line-height:1.25;margin:0 0 4px;overflow-wrap:anywhere}",
  "h2{font-size:18px;margin:34px 0 8px}p{margin:4px 0 10px;overflow-wrap:anywhere}",
  ".about{color:var(--faint)}.warning{color:var(--limit);font-weight:600}",
  ".tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(165px,1fr));gap:12px;margin:18px 0}",
  ".tile{background:var(--panel);border:1px solid var(--rule);border-radius:8px;padding:12px 14px;min-width:0}",
  ".name,.note{color:var(--faint);font-size:13px;overflow-wrap:anywhere}.value{font-size:24px;font-weight:600}",
  ".wide{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:14px}",
  "th,td{padding:5px 10px;border-bottom:1px solid var(--rule);",
  "text-align:left;vertical-align:top}th{color:var(--faint);font-weight:500}",
  "th.n,td.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}",
  "td:first-child{overflow-wrap:anywhere}figure{margin:0}figure svg{display:block;width:100%;height:auto}",
  "@media print{body{max-width:none;padding:0;font-size:11pt}h2,figure{break-after:avoid}figure,.tiles,tr{break-inside:avoid}",
  "*{print-color-adjust:exact;-webkit-print-color-adjust:exact}}",
}

local html = {}

function html.section(title, text, body)
  local about = text and ('<p class="about">%s</p>\n'):format(svg.escape(text)) or ""
  return ("<section><h2>%s</h2>\n%s%s</section>"):format(svg.escape(title), about, body)
end

function html.figure(figure) return "<figure>" .. svg.document(figure, false) .. "</figure>" end

--- @tparam string title
-- @tparam string about a line below the title
-- @tparam table parts
-- @treturn string
function html.page(title, about, parts)
  return table.concat({
    '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width,initial-scale=1">',
    "<title>" .. svg.escape(title) .. "</title>", "<style>" .. style .. "</style></head><body>",
    "<h1>" .. svg.escape(title) .. "</h1>", '<p class="about">' .. svg.escape(about) .. "</p>", table.concat(parts, "\n"),
    "</body></html>\n",
  }, "\n")
end

return html
