--- The page about an estimate: one self-contained HTML file.
local bars = require "berth.report.bars"
local core = require "berth.core"
local estimate = require "berth.llm.estimate"
local explain = require "berth.llm.explain"
local facts = require "berth.report.facts"
local gantt = require "berth.report.gantt"
local html = require "berth.report.html"
local options = require "berth.base.options"
local percent = require "berth.base.percent"
local scale = require "berth.report.scale"
local svg = require "berth.report.svg"
local write = require "berth.base.write"

local FN = "berth.llm.report"

options.declare("llm.report", {
  { key = "title", type = "string", default = "model and cluster", text = "heading" },
  { key = "figure", type = "choice", default = "none", choices = {
      { name = "time", text = "Time by kind." },
      { name = "pipeline", text = "One GPU of each stage over time." },
      { name = "memory", text = "Memory by stage and kind." } },
    text = "writes this figure alone, as SVG" },
  { key = "measured", type = "seconds", default = "none",
    text = "a measured step, which berth.llm.explain compares" },
  { key = "result", type = "result", default = "berth.llm.simulate of the same",
    text = "the step on the event loop" },
  { key = "command", type = "string", default = "none", text = "shown as what made the page" },
})

local KINDS = { "weights", "gradients", "optimizer", "activations", "working", "logits", "buffers",
  "runtime" }
local MOST_CAUSES = 6
local CLASS = { launch = "c8", optimizer = "c3", bubble = "c8" } -- other work: c1
for _, kind in ipairs(estimate.communication) do CLASS[kind] = "c2" end

local function seconds(x) return scale.quantity(x, "seconds") end
local function bytes(x) return scale.quantity(x, "bytes") end

local function tiles(e)
  local s = e.memory[e.memory.worst]
  return html.tiles {
    html.tile("step", seconds(e.step), ("%s to %s"):format(seconds(e.low), seconds(e.high))),
    html.tile("tokens/s of a GPU", core.sprintf("%.0f", e.tokens_per_gpu),
      core.sprintf("%.0f in all", e.tokens_per_second)),
    html.tile("MFU", percent(e.mfu), ("HFU %s, %s of a GPU"):format(percent(e.hfu),
      core.format(e.model_flops, "flop/s"))),
    html.tile("memory", percent(s.total / s.limit), ("%s of %s, stage %d"):format(bytes(s.total),
      bytes(s.limit), e.memory.worst)),
    html.tile("exposed communication", percent(e.exposed / e.step),
      seconds(e.hidden) .. " is hidden"),
    html.tile("bubble", percent(e.time.bubble / e.step), "of the stage with most work"),
  }
end

local function warning(e)
  local s = e.memory[e.memory.worst]
  local text = s.total > s.limit and ("Stage %d lacks %s of memory."):format(e.memory.worst,
      bytes(s.total - s.limit))
    or s.total > 0.9 * s.limit and "Measured runs slow down above 90 % of the memory."
  return text and ('<p class="warning">%s</p>'):format(svg.escape(text)) or ""
end

-- ---- time ---------------------------------------------------------------------------------------

local function time_figure(e)
  local rows, words = {}, {}
  for _, kind in ipairs(estimate.kinds) do
    local t = e.time[kind]
    if t >= 5e-4 * e.step then
      local note = ("%s, %s"):format(seconds(t), percent(t / e.step))
      rows[#rows + 1] = { name = estimate.text[kind], note = note,
        parts = { { value = t, class = CLASS[kind] or "c1",
          tip = ("%s: %s"):format(estimate.text[kind], note) } } }
      words[#words + 1] = ("%s %s"):format(estimate.text[kind], note)
    end
  end
  return bars.figure({ kind = "time", label = "Time by kind", text = table.concat(words, "; ") },
    rows, "seconds", { { "c1", "computation" }, { "c2", "exposed communication" },
      { "c3", "optimiser" }, { "c8", "idle" } })
end

local function communication(e)
  local rows = { { "communication", "exposed", "of the step" } }
  for _, kind in ipairs(estimate.communication) do
    if e.time[kind] > 0 then
      rows[#rows + 1] = { estimate.text[kind], seconds(e.time[kind]),
        { percent(e.time[kind] / e.step), e.time[kind] / e.step } }
    end
  end
  if #rows == 1 then return "<p>None: nothing is exposed.</p>" end
  rows[#rows + 1] = { "all", seconds(e.exposed),
    { percent(e.exposed / e.step), e.exposed / e.step } }
  return html.grid(rows)
end

-- ---- memory -------------------------------------------------------------------------------------

local function memory_figure(memory)
  local rows, legend, seen = {}, {}, {}
  for i, s in ipairs(memory) do
    local row = { name = ("stage %d"):format(i), limit = s.limit, parts = {},
      strong = i == memory.worst, warn = s.total > s.limit,
      note = ("%s of %s, %s"):format(bytes(s.total), bytes(s.limit), percent(s.total / s.limit)) }
    for k, kind in ipairs(KINDS) do
      row.parts[k] = { value = s[kind], class = ("c%d"):format(k),
        tip = ("%s, stage %d: %s"):format(kind, i, bytes(s[kind])) }
      seen[kind] = seen[kind] or s[kind] > 0
    end
    rows[i] = row
  end
  for k, kind in ipairs(KINDS) do
    if seen[kind] then legend[#legend + 1] = { ("c%d"):format(k), kind } end
  end
  legend[#legend + 1] = { "limit", "limit", "line" }
  return bars.figure({ kind = "memory", label = "Memory of a GPU by stage and kind",
    text = tostring(memory) }, rows, "bytes", legend)
end

local function memory_table(memory)
  local rows = { options.join({ "stage", "layers", "total" }, KINDS) }
  for i, s in ipairs(memory) do
    local row = { ("%d"):format(i), ("%d"):format(s.layers),
      { bytes(s.total), s.total / s.limit } }
    for _, kind in ipairs(KINDS) do row[#row + 1] = bytes(s[kind]) end
    rows[i + 1] = row
  end
  return html.grid(rows)
end

-- ---- how it was made ----------------------------------------------------------------------------

local function value_text(o, x)
  if type(x) == "table" then return table.concat(x, ",") end
  if o.type == "bytes" then return bytes(x) end
  return type(x) == "number" and core.sprintf("%.17g", x) or tostring(x)
end

-- "tp 8, pp 4, ...": the options that were given, and those that were filled.
local function plan_texts(p)
  local is_filled, given, filled = {}, {}, {}
  for _, key in ipairs(p.filled) do is_filled[key] = true end
  for _, o in ipairs(options.described "llm.fill") do
    if p[o.key] ~= nil then
      local list = is_filled[o.key] and filled or given
      list[#list + 1] = o.key .. " " .. value_text(o, p[o.key])
    end
  end
  return table.concat(given, ", "), table.concat(filled, ", ")
end

local function made(e, given)
  local list = { { "program", "berth " .. core.version } }
  if given.command then list[2] = { "command", given.command, code = true } end
  list[#list + 1] = { "model", tostring(e.model) }
  list[#list + 1] = { "cluster", tostring(e.cluster) }
  local of_plan, filled = plan_texts(e.plan)
  list[#list + 1] = { "plan", of_plan ~= "" and of_plan or "nothing given" }
  list[#list + 1] = { "not given", filled }
  for _, k in ipairs(e.kernels) do
    list[#list + 1] = { "kernels of " .. k.gpu, estimate.kernels_text(k) }
    list[#list + 1] = { "their rows", (k.source:gsub("\n", "; ")) }
  end
  list[#list + 1] = { estimate.factors_name(e), estimate.factors_text(e) }
  list[#list + 1] = { "their rows", estimate.rows_text(e) }
  return html.list(list)
end

local function explained(e, measured)
  local x = explain(e, measured)
  local rows = { { "rank", "what would explain it", "check", "score" } }
  for i = 1, math.min(#x, MOST_CAUSES) do
    local cause = x[i]
    rows[i + 1] = { ("%d"):format(i), cause.text, cause.check, core.sprintf("%.2f", cause.score) }
  end
  return html.section("measured", "Against the measured step", (tostring(x):match "^[^\n]*") .. ".",
    html.grid(rows, { false, true, true }))
end

-- The three figures by kind.
local function figures(e, result)
  local pipeline = gantt(facts.of(result))
  pipeline.kind = "pipeline"
  return { time = time_figure(e), pipeline = pipeline, memory = memory_figure(e.memory) }
end

local function sections_of(e, result, given)
  local f = figures(e, result)
  local out = {
    html.section("time", "Time by kind", ("Of stage %d of %d, which has most work."):format(
      e.stage, e.plan.pp), html.figure(f.time) .. html.heading("Exposed communication")
      .. communication(e)),
    html.section("pipeline", "Pipeline", "One GPU of each stage over time.",
      html.figure(f.pipeline, true)),
    html.section("memory", "Memory", "Of a GPU, by stage and kind, against its limit.",
      html.figure(f.memory) .. memory_table(e.memory)),
  }
  if given.measured then table.insert(out, 1, explained(e, given.measured)) end
  out[#out + 1] = html.section("made", "How this was made", nil, made(e, given))
  return out
end

--- Writes the page, or one figure.
-- @tparam string path
-- @tparam table e of berth.llm.estimate
-- @tparam[opt] table opts as declared above
-- @treturn[1] boolean true
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code
return function(path, e, opts)
  options.expect(path, "string", "%s: path", FN)
  estimate.check(FN, e)
  local given = options.read(FN, "llm.report", opts)
  local result, message, code = given.result
  if not result then
    result, message, code = estimate.simulate(e.model, e.cluster, estimate.plan_with(e, {}),
      e.options)
    if not result then return nil, message, code end
  end
  if given.figure then return write(path, svg.document(figures(e, result)[given.figure], true)) end
  local title = given.title or ("%s on %s"):format(e.model.name,
    scale.count(e.cluster.gpus, "GPU"))
  return write(path, html.page(title, tostring(e.plan), warning(e) .. tiles(e),
    sections_of(e, result, given)))
end
