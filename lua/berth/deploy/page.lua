--- The page about a plan: one self-contained HTML file.
local core = require "berth.core"
local facts = require "berth.report.facts"
local figures = require "berth.deploy.page_figures"
local gantt = require "berth.report.gantt"
local html = require "berth.report.html"
local options = require "berth.base.options"
local scale = require "berth.report.scale"
local svg = require "berth.report.svg"
local words = require "berth.deploy.answer_words"
local write = require "berth.base.write"

local FN = "deploy answer:report"

options.declare("deploy.answer:report", {
  { key = "title", type = "string", default = "graph, topology and batch", text = "heading" },
  { key = "command", type = "string", default = "none", text = "shown as what made the plan" },
})

-- ---- tables -------------------------------------------------------------------------------------

-- Op groups that take the same time, have the same sizes and are carried out in the same way.
-- @treturn table arrays of numbers of op groups, in the order of their first
local function alike(a)
  local out, at = {}, {}
  for i, g in ipairs(a.groups) do
    local key = table.concat({ words.seconds(g.seconds), words.bytes(g.parameters),
      words.bytes(g.gradient_bytes), g.where, words.how(g) }, "\n")
    if at[key] then table.insert(at[key], i)
    else
      at[key] = { i }
      out[#out + 1] = at[key]
    end
  end
  return out
end

local function groups_table(a)
  local rows = { { "group", "what", "time", "parameters", "gradients", "where", "how", "why" } }
  for k, numbers in ipairs(alike(a)) do
    local first, n, groups = a.groups[numbers[1]], #numbers, {}
    for i, number in ipairs(numbers) do groups[i] = a.groups[number] end
    rows[k + 1] = { ("%.0f"):format(numbers[1]) .. (n > 1 and (" x %.0f"):format(n) or ""),
      n > 1 and ("%s; and %.0f like it"):format(first.what, n - 1) or first.what,
      words.seconds(first.seconds), words.bytes(first.parameters),
      words.bytes(first.gradient_bytes), first.where, words.how(first), words.reasons_of(groups) }
  end
  return html.plain_grid(rows, { [2] = true, [6] = true, [7] = true, [8] = true })
end

local function baselines_table(a)
  local rows = { { "baseline", "step time", "x plan", "" } }
  for _, fits in ipairs { true, false } do
    for _, b in ipairs(a.baselines) do
      if b.fits == fits then
        rows[#rows + 1] = { words.baseline(b.name), words.seconds(b.seconds),
          words.times_plan(b, a), words.note(b) }
      end
    end
  end
  return html.plain_grid(rows, { true, [4] = true })
end

-- ---- head ---------------------------------------------------------------------------------------

local function tiles(a)
  local rate = a.seconds > 0 and ("%s samples/s"):format(scale.number(a.batch / a.seconds)) or ""
  local out, dp = { html.tile("step time", words.seconds(a.seconds), rate) }, a:baseline "dp"
  if dp then
    out[#out + 1] = html.tile("over DP-NCCL", words.times(a.speedup) .. " x",
      dp.fits and words.seconds(dp.seconds) or "as if it fitted")
  end
  if a.speedup_uniform then
    out[#out + 1] = html.tile("over the best uniform", words.times(a.speedup_uniform) .. " x",
      a.speedup_uniform_runs and words.seconds(a:baseline("uniform").seconds)
        or "as if it fitted")
  end
  if a.gap then
    out[#out + 1] = html.tile("gap to the bound", scale.percent(a.gap),
      words.seconds(a.bound) .. ", " .. a.bound_name)
  end
  out[#out + 1] = html.tile("evaluations", ("%.0f"):format(a.evaluations),
    ("and %.0f for reasons"):format(a.reason_evaluations))
  return html.tiles(out)
end

-- ---- sections -----------------------------------------------------------------------------------

local function figure_section(id, title, text, figure, why, more)
  if not figure then return html.section(id, title, ("Not drawn: %s."):format(why), more or "") end
  return html.section(id, title, text, html.figure(figure, id == "timeline") .. (more or ""))
end

local function timeline(a)
  local result, message = a:simulate()
  if not result then return nil, message end
  local f = facts.of(result)
  f.bound, f.bound_name = a.bound, a.bound_name
  local out = gantt(f)
  out.kind = "timeline"
  return out
end

local OPTIONS = { "batch", "op_groups", "group_bytes", "method", "calls", "seconds", "seed",
  "uneven", "sfb", "duplicates", "strict" }
local IN_UNITS = { seconds = words.seconds, group_bytes = words.bytes }

local function options_of(a)
  local out = {}
  for _, key in ipairs(OPTIONS) do
    local x = a.given[key]
    if x ~= nil then
      out[#out + 1] = ("%s %s"):format(key,
        IN_UNITS[key] and IN_UNITS[key](x) or type(x) == "number" and scale.number(x)
        or tostring(x))
    end
  end
  return table.concat(out, ", ")
end

-- "vgg19: 124 ops"
local function with_name(name, text) return name ~= "" and ("%s: %s"):format(name, text) or text end

local function made(a, given)
  local list = { { "program", "berth " .. core.version } }
  if given.command then list[2] = { "command", given.command, code = true } end
  list[#list + 1] = { "graph", with_name(a.problem.graph.name, words.count(a.n_ops, "op")) }
  list[#list + 1] = { "topology", with_name(a.problem.topology.name,
    words.count(#a.device_names, "device")) }
  list[#list + 1] = { "physics", words.physics(a) }
  list[#list + 1] = { "options", options_of(a) }
  return html.list(list)
end

local function notes(a)
  local out = {}
  for i, note in ipairs(a.notes) do
    out[i] = ('<p class="warning">%s</p>'):format(svg.escape(note))
  end
  return table.concat(out, "\n")
end

local function page(a, given)
  local graph, topology = a.problem.graph.name, a.problem.topology.name
  local title = given.title or ("%s on %s, batch %.0f"):format(graph ~= "" and graph or "graph",
    topology ~= "" and topology or words.count(#a.device_names, "device"), a.batch)
  local about = ("%s in %s, %s, %s physics, berth %s"):format(words.count(a.n_ops, "op"),
    words.count(#a.groups, "op group"),
    words.count(#a.device_names, "device"), a.physics, core.version)
  local lines, why = timeline(a)
  local searched, unsearched = figures.search(a)
  return html.page(title, about, tiles(a) .. notes(a), {
    figure_section("steps", "Step time",
      "All by the same simulation. The bound holds for every strategy. The best uniform one "
      .. "has one set of devices and one option for all op groups, and the plan's rule for "
      .. "repeated ops.", figures.steps(a), nil,
      baselines_table(a)),
    figure_section("map", "Op groups on devices",
      "The heaviest op groups first; bars are as high as the share of the samples.",
      figures.map(a)),
    html.section("groups", "Op groups",
      "Op groups of the same sizes that are done in the same way share a row: the number of the "
      .. "first, x how many. "
      .. "Time: all ops at the full batch, mean over devices. Why: what the step takes if this op "
      .. "group alone is done in another way, by simulation.", groups_table(a)),
    figure_section("timeline", "Timeline",
      "The compiled graph: what each device does over time; below each device what it "
      .. "sends, and collectives.", lines, why),
    figure_section("memory", "Memory", "What each device holds at most, against its limit.",
      figures.memory(a)),
    figure_section("search", "Search",
      "The best strategy that fits, by the number of strategies simulated.", searched, unsearched),
    html.section("made", "How this was made", nil, made(a, given)),
  })
end

--- Writes the page.
-- @tparam string path
-- @tparam answer a
-- @tparam[opt] table opts as declared above
-- @treturn[1] boolean true
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code
return function(path, a, opts)
  options.expect(path, "string", "%s: path", FN)
  return write(path, page(a, options.read(FN, "deploy.answer:report", opts)))
end
