--- A page about one trace under schedulers: one self-contained HTML file. Numbers, jobs on GPUs,
-- GPUs in use and waiting jobs over time.
local bounds_of = require "berth.report.cluster_bounds"
local core = require "berth.core"
local html = require "berth.report.html"
local jobs = require "berth.report.cluster_jobs"
local json = require "berth.base.json"
local options = require "berth.base.options"
local panels = require "berth.report.panels"
local scale = require "berth.report.scale"
local svg = require "berth.report.svg"
local write = require "berth.base.write"

local FN = "berth.cluster_report"

options.declare("cluster_report", {
  { key = "title", type = "string", default = "Jobs on a cluster", text = "heading" },
  { key = "command", type = "string", default = "none",
    text = "shown as what made the runs; the command line gives its own" },
  { key = "figure", type = "choice", default = "the page", text = "this one alone, as SVG",
    choices = {
      { name = "jobs", text = "Jobs on GPUs, of the first result." },
      { name = "usage", text = "GPUs in use." }, { name = "queue", text = "Waiting jobs." } } },
})

local MOST_RUNS, MOST_JOBS, WINDOWS = 16, 10, 341

-- The end of the last run of all results, s.
local function end_of(runs)
  local most = 0
  for _, r in ipairs(runs) do
    most = math.max(most, r.summary.makespan, r.summary.time)
    for _, run in ipairs(r.runs) do most = math.max(most, run.finish or run.start) end
  end
  return most
end

-- ---- over time ----------------------------------------------------------------------------------

local function usage_figure(runs, most)
  local list = {}
  for i, r in ipairs(runs) do
    local values, total = jobs.windows(WINDOWS), jobs.total(r)
    for _, run in ipairs(r.runs) do
      for k in ipairs(run.machines) do
        jobs.add(values, run.start, run.finish or most, jobs.amount(r, run, k) / total, most)
      end
    end
    local mean = r.summary.utilisation
    list[i] = { name = r.scheduler, note = scale.percent(mean) .. " up to its end",
      width = most / WINDOWS, line = mean,
      series = { { values = values, class = "area" } } }
  end
  return panels.figure("usage", "GPUs in use over time", "Part of all GPUs that run a job.", list,
    { { "area", "in use" }, { "bound", "mean up to the end", "line" } }, most, 1)
end

local function queue_figure(runs, most)
  local list = {}
  for i, r in ipairs(runs) do
    local values, top, sum = jobs.windows(WINDOWS), 0, 0
    for k, c in ipairs(r.counts) do
      local following = r.counts[k + 1]
      jobs.add(values, c.time, following and following.time or most, c.waiting, most)
      top = math.max(top, c.waiting)
    end
    for _, x in ipairs(values) do sum = sum + x / WINDOWS end
    list[i] = { name = r.scheduler, note = ("%.0f at most, mean %s"):format(top,
      scale.number(sum)), width = most / WINDOWS, line = sum,
      series = { { values = values, class = "c2" } } }
  end
  return panels.figure("queue", "Waiting jobs over time", "Jobs that have arrived and do not run.",
    list, { { "c2", "waiting, mean of each column" }, { "bound", "mean", "line" } }, most, 1,
    function(value) return core.sprintf("%.10g", value) end)
end

-- ---- tables -------------------------------------------------------------------------------------

local function count(x) return ("%.0f"):format(x) end

-- A row per scheduler.
local function numbers(runs)
  local rows, refused = { { "scheduler", "mean", "median", "p95", "p99", "queued", "makespan",
    "over bound", "done" } }, false
  for _, r in ipairs(runs) do refused = refused or r.summary.refused > 0 end
  local head = rows[1]
  if refused then head[#head + 1] = "refused" end
  head[#head + 1] = "pauses"
  head[#head + 1] = "GPUs busy"
  for i, r in ipairs(runs) do
    local s = r.summary
    local row = { r.scheduler }
    for k, key in ipairs { "mean_jct", "median_jct", "p95_jct", "p99_jct", "mean_queued",
        "makespan" } do row[k + 1] = scale.duration(s[key]) end
    row[8] = s.bound_jct and s.mean_jct and s.bound_jct > 0
      and scale.percent(s.mean_jct / s.bound_jct - 1) or "-"
    row[9] = count(s.done)
    if refused then row[#row + 1] = count(s.refused) end
    row[#row + 1] = count(s.pauses)
    row[#row + 1] = { scale.percent(s.utilisation), s.utilisation }
    rows[i + 1] = row
  end
  return html.grid(rows)
end

-- The jobs that take longest under any of the schedulers, and what they take under each.
local function slowest(runs)
  local order, worst = {}, {}
  for j in ipairs(runs[1].records) do
    order[j], worst[j] = j, -1
    for _, r in ipairs(runs) do worst[j] = math.max(worst[j], r.records[j].jct or -1) end
  end
  table.sort(order, function(a, b)
    if worst[a] ~= worst[b] then return worst[a] > worst[b] end
    return a < b
  end)
  local rows = { { "job", "name", "GPUs", "arrival" } }
  for _, r in ipairs(runs) do table.insert(rows[1], r.scheduler) end
  for k = 1, math.min(MOST_JOBS, #order) do
    local x = runs[1].records[order[k]]
    local row = { count(order[k]), x.name and x.name ~= "" and x.name or "-",
      count(x.gpus or x.machines or 1), scale.duration(x.arrival) }
    for i, r in ipairs(runs) do
      local one = r.records[order[k]]
      row[4 + i] = one.jct and scale.duration(one.jct) or one.state
    end
    rows[k + 1] = row
  end
  return html.grid(rows, { [2] = true })
end

local function tiles(runs)
  local out = {}
  for i, r in ipairs(runs) do
    out[i] = html.tile(r.scheduler, scale.duration(r.summary.mean_jct),
      "mean completion time; waiting " .. scale.duration(r.summary.mean_queued))
  end
  return html.tiles(out)
end

local function made(runs, given)
  local out = { { "program", "berth " .. core.version } }
  if given.command then out[2] = { "command", given.command, code = true } end
  for _, r in ipairs(runs) do
    local fine, text = pcall(json.encode, r.options)
    out[#out + 1] = { r.scheduler,
      ("seed %.0f, %s"):format(r.seed, fine and text or "options of its own"), code = true }
  end
  return html.list(out)
end

-- ---- the page -----------------------------------------------------------------------------------

local function check(runs)
  if type(runs) ~= "table" or #runs == 0 or #runs > MOST_RUNS then
    options.fail("%s: runs: expected 1 to %d results of berth.cluster.simulate, got %s", FN,
      MOST_RUNS, type(runs) == "table" and count(#runs) or core.kind(runs))
  end
  for i, r in ipairs(runs) do
    options.refuse(type(r) ~= "table" or type(r.records) ~= "table" or type(r.counts) ~= "table"
      or type(r.summary) ~= "table",
      "%s: runs[%d]: expected a result of berth.cluster.simulate, got %s", FN, i, core.kind(r))
    options.refuse(#r.records ~= #runs[1].records, "%s: runs[%d]: %d jobs, the first result has %d",
      FN, i, #r.records, #runs[1].records)
  end
end

local function figures(runs, most)
  if most <= 0 then return {} end
  local timelines = {}
  for i, r in ipairs(runs) do
    timelines[i] = html.heading(r.scheduler) .. html.figure(jobs.figure(r, i, most), true)
  end
  return {
    html.section("jobs", "Jobs on GPUs",
      "What runs where; all schedulers on the same axis of time.", table.concat(timelines, "\n")),
    html.section("usage", "GPUs in use", "Part of all GPUs that run a job.",
      html.figure(usage_figure(runs, most))),
    html.section("queue", "Waiting jobs", "Jobs that have arrived and do not run.",
      html.figure(queue_figure(runs, most))),
  }
end

local draw = {
  jobs = function(runs, most) return jobs.figure(runs[1], 1, most) end,
  usage = usage_figure, queue = queue_figure,
}

-- One figure as SVG.
local function figure(kind, runs)
  local most = end_of(runs)
  if most <= 0 then return nil, FN .. ": figure: no job takes time", "unsupported" end
  return svg.document(draw[kind](runs, most), true)
end

local function page(runs, given)
  local first = runs[1]
  local about = ("%s, %s, %s, berth %s"):format(scale.count(#first.records, "job"),
    scale.count(jobs.total(first), "GPU"), scale.count(first.machines, "machine"), core.version)
  local words = "Completion times (finish - arrival) and waiting times of the jobs that were done."
  local mean, makespan = bounds_of(runs)
  if mean then
    words = ("%s Lower bounds: mean %s, makespan %s."):format(words, scale.duration(mean),
      scale.duration(makespan))
  end
  local sections = { html.section("numbers", "Schedulers", words, numbers(runs)) }
  for _, one in ipairs(figures(runs, end_of(runs))) do sections[#sections + 1] = one end
  sections[#sections + 1] = html.section("slowest", "Longest jobs",
    "Completion times of the jobs that take longest under any of the schedulers.", slowest(runs))
  sections[#sections + 1] = html.section("made", "How this was made", nil, made(runs, given))
  return html.page(given.title or "Jobs on a cluster", about, tiles(runs), sections)
end

--- Writes the page, or one figure of it.
-- @tparam string path
-- @tparam table runs results of berth.cluster.simulate of the same jobs; up to 16
-- @tparam[opt] table opts title, command, figure ("jobs", "usage" or "queue": this one, as SVG)
-- @treturn[1] boolean true
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code "io", "unsupported"
-- @usage assert(berth.cluster_report("jobs.html", { r1, r2 }))
return function(path, runs, opts)
  options.expect(path, "string", "%s: path", FN)
  if type(runs) == "table" and runs.records then runs = { runs } end
  check(runs)
  local given = options.read(FN, "cluster_report", opts)
  if not given.figure then return write(path, page(runs, given)) end
  local text, message, code = figure(given.figure, runs)
  if not text then return nil, message, code end
  return write(path, text)
end
