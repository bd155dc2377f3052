--- The page about an estimate, and the door to that about a plan search: one self-contained HTML
-- file.
local bars = require "berth.report.bars"
local core = require "berth.core"
local estimate = require "berth.llm.estimate"
local explain = require "berth.llm.explain"
local html = require "berth.report.html"
local options = require "berth.base.options"
local page_parts = require "berth.llm.page_parts"
local page_plans = require "berth.llm.page_plans"
local percent = require "berth.base.percent"
local pipeline = require "berth.llm.pipeline"
local scale = require "berth.report.scale"
local search = require "berth.llm.search"
local svg = require "berth.report.svg"
local write = require "berth.base.write"

local FN = "berth.llm.report"

options.declare("llm.report", {
  { key = "title", type = "string", default = "model and cluster", text = "heading" },
  { key = "figure", type = "choice", default = "none", choices = {
      { name = "time", text = "Time by kind." },
      { name = "pipeline", text = "One GPU of each stage over time." },
      { name = "memory", text = "Memory by stage and kind." },
      { name = "front", text = "Of a plan search: least step time by memory." } },
    text = "writes this figure alone, as SVG" },
  { key = "measured", type = "seconds", default = "none",
    text = "of an estimate: a measured step, which berth.llm.explain compares" },
  { key = "result", type = "result", default = "berth.llm.simulate of the same",
    text = "the step on the event loop" },
  { key = "changes", type = "table", default = "berth.llm.changes of the same",
    text = "of a plan search: what to change next" },
  { key = "command", type = "string", default = "none", text = "shown as what made the page" },
})

local MOST_CAUSES = 6
local CLASS = { launch = "c8", optimizer = "c3", bubble = "c8" } -- other work: c1
for _, kind in ipairs(estimate.communication) do CLASS[kind] = "c2" end

local function seconds(x) return scale.quantity(x, "seconds") end

-- ---- an estimate --------------------------------------------------------------------------------

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

-- The options of the plan: those that were given, and those that were filled.
local function plan_entries(p)
  local is_filled, is_given, list = {}, {}, options.described "llm.fill"
  for _, key in ipairs(p.filled) do is_filled[key] = true end
  for _, o in ipairs(list) do is_given[o.key] = not is_filled[o.key] end
  local given = page_parts.values_text(list, p, is_filled)
  return { { "plan", given ~= "" and given or "nothing given" },
    { "not given", page_parts.values_text(list, p, is_given) } }
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

-- The step on the event loop.
local function simulated(e, given)
  if given.result then return given.result end
  return estimate.simulate(e.model, e.cluster, estimate.plan_with(e, {}), e.options)
end

local of_estimate = { figures = { time = time_figure,
  memory = function(e) return page_parts.memory_figure(e.memory) end } }

function of_estimate.page(e, result, given)
  local out = {
    html.section("time", "Time by kind", ("Of stage %d of %d, which has most work."):format(
      e.stage, e.plan.pp), html.figure(time_figure(e)) .. html.heading("Exposed communication")
      .. communication(e)),
    page_parts.pipeline_section(pipeline(result)),
    page_parts.memory_section(e.memory),
    page_parts.made(given.command, e.model, e.cluster, plan_entries(e.plan), e),
  }
  if given.measured then table.insert(out, 1, explained(e, given.measured)) end
  return html.page(page_parts.title(e, given), tostring(e.plan),
    page_parts.warning(e.memory) .. page_parts.tiles(e), out)
end

-- ---- either -------------------------------------------------------------------------------------

-- One figure as SVG.
local function figure(of, kind, what, e, given)
  if kind == "pipeline" and e then
    local result, message, code = simulated(e, given)
    if not result then return nil, message, code end
    return svg.document(pipeline(result), true)
  end
  local draw = of.figures[kind]
  local drawn = draw and draw(what)
  options.refuse(not drawn, "%s: figure: the answer has no %s%s", FN, kind,
    kind == "front" and ", which requires front = true of berth.llm.plan" or "")
  return svg.document(drawn, true)
end

local function text_of(what, given)
  local is_search = search.is(what)
  local of, e = of_estimate, what
  if is_search then of, e = page_plans, what.best else estimate.check(FN, what) end
  for _, key in ipairs { "measured", "changes" } do
    options.refuse(given[key] ~= nil and is_search == (key == "measured"), "%s: %s: is for %s", FN,
      key, is_search and "an estimate" or "an answer of berth.llm.plan")
  end
  if given.figure then return figure(of, given.figure, what, e, given) end
  local result, message, code
  if e then
    result, message, code = simulated(e, given)
    if not result then return nil, message, code end
  end
  return of.page(what, result, given)
end

--- Writes the page, or one figure.
-- @tparam string path
-- @tparam table what of berth.llm.estimate, or of berth.llm.plan
-- @tparam[opt] table opts as declared above
-- @treturn[1] boolean true
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code
return function(path, what, opts)
  options.expect(path, "string", "%s: path", FN)
  local text, message, code = text_of(what, options.read(FN, "llm.report", opts))
  if not text then return nil, message, code end
  return write(path, text)
end
