--- The page about a schedule: one self-contained HTML file.
local compare = require "berth.schedule.compare"
local core = require "berth.core"
local html = require "berth.report.html"
local object = require "berth.schedule.object"
local options = require "berth.base.options"
local picture = require "berth.schedule.picture"
local scale = require "berth.report.scale"
local svg = require "berth.report.svg"
local write = require "berth.base.write"

local FN = "schedule:report"

options.declare("schedule:report", {
  { key = "title", type = "string", default = "name, stages and micro-batches", text = "heading" },
  { key = "rows", type = "table", default = "none",
    text = "rows of berth.schedule.compare: a table of them" },
  { key = "command", type = "string", default = "none", text = "shown as what made the schedule" },
})

local function text_of(x) return core.sprintf("%.4g", x) end

local function tiles(s)
  local p = s.problem
  local out = { html.tile(p.objective == "span" and "span" or "step",
      scale.quantity(s.step, "seconds"), ("%.0f micro-batches"):format(p.microbatches)),
    html.tile("bubble", s.outcome == "deadlock" and "-" or scale.percent(math.max(s.bubble, 0)),
      "of the stage with most work") }
  if s.bound and s.step < math.huge then
    out[3] = html.tile("gap to the bound", scale.percent(math.max(s.step / s.bound - 1, 0)),
      scale.quantity(s.bound, "seconds"))
  end
  out[#out + 1] = html.tile("peak memory", object.peak_text(s),
    "1: a micro-batch's activations of a stage, unless costs say otherwise")
  return html.tiles(out)
end

local function warning(s)
  local message = object.stop("not a schedule that runs", s)
  return message and ('<p class="warning">%s</p>'):format(svg.escape(message)) or ""
end

local function stages(s)
  local p, rows = s.problem, { { "stage", "chunks", "work", "begins", "ends", "idle between",
    "peak", "limit" } }
  for stage, list in ipairs(s.list) do
    local chunks, first, last = {}, list[1] and list[1].start, 0
    for k, c in ipairs(p.chunk[stage]) do chunks[k] = ("%.0f"):format(c - 1) end
    for _, a in ipairs(list) do last = math.max(last, a.finish or 0) end
    rows[stage + 1] = { ("%.0f"):format(stage - 1), table.concat(chunks, ", "),
      scale.quantity(p.work[stage], "seconds"), scale.quantity(first, "seconds"),
      scale.quantity(last, "seconds"),
      scale.quantity(math.max(last - (first or 0) - p.work[stage] + p.extra[stage], 0), "seconds"),
      text_of(s.peak[stage]), p.memory[stage] < math.huge and text_of(p.memory[stage]) or "none" }
  end
  return html.grid(rows, { true, true })
end

local function comparison(rows)
  local lines = { compare.head }
  for i, row in ipairs(rows) do lines[i + 1] = compare.cells(row) end
  return html.grid(lines, { true, true, [7] = true })
end

local function made(s, given)
  local p, list = s.problem, { { "program", "berth " .. core.version } }
  if given.command then list[2] = { "command", given.command, code = true } end
  list[#list + 1] = { "pipeline", ("%.0f stages, %.0f %s a stage, map %s, %.0f micro-batches")
    :format(p.stages, p.chunks, p.chunks == 1 and "chunk" or "chunks", p.map, p.microbatches) }
  if p.layout then list[#list + 1] = { "layout", p.layout, code = true } end
  list[#list + 1] = { "memory", ("B frees %s of what F takes, W the rest"):format(
    scale.percent(p.joined and 1 or p.freed)) }
  return html.list(list)
end

--- Writes the page.
-- @tparam string path
-- @tparam schedule s
-- @tparam[opt] table opts as declared above
-- @treturn[1] boolean true
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code
return function(path, s, opts)
  options.expect(path, "string", "%s: path", FN)
  local given = options.read(FN, "schedule:report", opts)
  local p = s.problem
  local title = given.title or ("%s on %.0f stages, %.0f micro-batches"):format(
    s.name ~= "" and s.name or "schedule", p.stages, p.microbatches)
  local sections = {
    html.section("schedule", "Schedule", "Stages down, time right; numbers are micro-batches.",
      html.figure(picture.figure(s), true)),
    html.section("stages", "Stages", nil, stages(s)),
  }
  if given.rows then
    sections[#sections + 1] = html.section("generators", "Generators",
      "On the same pipeline, within the same memory first.", comparison(given.rows))
  end
  sections[#sections + 1] = html.section("made", "How this was made", nil, made(s, given))
  return write(path, html.page(title, "berth " .. core.version, warning(s) .. tiles(s), sections))
end
