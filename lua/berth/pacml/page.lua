--- A page about runs of the cluster: one self-contained HTML file. Load, blocking and utilisation
-- over time, by decider.
local core = require "berth.core"
local decimals = require "berth.base.decimals"
local html = require "berth.report.html"
local metrics = require "berth.pacml.metrics"
local options = require "berth.base.options"
local panels = require "berth.report.panels"
local scale = require "berth.report.scale"
local windows = require "berth.pacml.windows"
local write = require "berth.base.write"

local FN = "berth.pacml.report"

options.declare("pacml.report", {
  { key = "title", type = "string", default = "Jobs on a RAMP cluster", text = "heading" },
})

local N_WINDOWS, MOST_RUNS = 100, 16

local function name_of(records, i) return records.about.decider or ("decider %.0f"):format(i) end

-- ---- figures ------------------------------------------------------------------------------------

local function longest(runs)
  local time = 0
  for _, records in ipairs(runs) do time = math.max(time, records.report.time) end
  return time
end

local function load_figure(runs, all)
  local o = all[1]
  local sum = 0
  for _, x in ipairs(o.load) do sum = sum + x end
  local list = { { name = "load", note = scale.percent(sum / N_WINDOWS) .. " in all",
    width = o.width, line = 1, series = { { values = o.load, class = "area" } } } }
  return panels.figure("load", "Load over time",
    "Sequential time of the jobs that arrive, over what all servers could do meanwhile.", list,
    { { "area", "work that arrives" }, { "bound", "what all servers can do", "line" } },
    runs[1].report.time, 1)
end

local function blocking_figure(runs, all)
  local list = {}
  for i, records in ipairs(runs) do
    list[i] = { name = name_of(records, i), note = scale.percent(records.report.blocking_rate)
      .. " in all",
      width = all[i].width, line = records.report.blocking_rate,
      series = { { values = all[i].blocked, class = "over" } } }
  end
  return panels.figure("blocking", "Blocked jobs over time",
    "Part of the arrivals that is turned away, by window of time.", list,
    { { "over", "blocked" }, { "bound", "in all", "line" } }, longest(runs), 0.1)
end

local function utilisation_figure(runs, all)
  local list = {}
  for i, records in ipairs(runs) do
    list[i] = { name = name_of(records, i), note = scale.percent(records.report.utilisation)
      .. " computing",
      width = all[i].width, series = { { values = all[i].held, class = "c8" },
        { values = all[i].computing, class = "area" } } }
  end
  return panels.figure("utilisation", "Servers over time",
    "Part of the servers that is held, and that computes, by window of time.", list,
    { { "c8", "held, but idle" }, { "area", "computing" } }, longest(runs), 1)
end

-- ---- words --------------------------------------------------------------------------------------

local function cell(x, unit)
  if unit == "count" then return ("%.0f"):format(x) end
  return unit and scale.quantity(x, unit) or decimals(x, 4)
end

local function numbers(runs)
  local head, rows = { "" }, {}
  for i, records in ipairs(runs) do head[i + 1] = name_of(records, i) end
  rows[1] = head
  for _, metric in ipairs(metrics) do
    local cells = { metric[3] }
    for i, records in ipairs(runs) do cells[i + 1] = cell(records.report[metric[1]], metric[4]) end
    rows[#rows + 1] = cells
  end
  return html.plain_grid(rows)
end

local function causes(runs)
  local rows = { { "blocked", "turned away", "no legal block", "too late",
    "running at the horizon" } }
  for i, records in ipairs(runs) do
    local r = records.report
    rows[i + 1] = { name_of(records, i), cell(r.rejected, "count"), cell(r.unplaced, "count"),
      cell(r.late, "count"),
      cell(r.unfinished, "count") }
  end
  return html.plain_grid(rows)
end

local function tiles(runs)
  local out = {}
  for i, records in ipairs(runs) do
    local r = records.report
    out[i] = html.tile(name_of(records, i), scale.percent(r.blocking_rate),
      ("blocked, %.0f of %.0f jobs"):format(r.blocked, r.arrived))
  end
  return html.tiles(out)
end

local function text_of(x)
  if type(x) == "table" then
    local out = {}
    for _, key in ipairs(options.sorted_keys(x)) do
      out[#out + 1] = type(key) == "string" and ("%s = %s"):format(key, text_of(x[key]))
        or text_of(x[key])
    end
    return table.concat(out, ", ")
  end
  return type(x) == "number" and core.number_text(x) or tostring(x)
end

local function made(runs)
  local out, about = {}, runs[1].about
  for _, key in ipairs(options.sorted_keys(about)) do
    if key ~= "decider" then out[#out + 1] = { tostring(key), text_of(about[key]) } end
  end
  return html.list(out)
end

-- ---- the page -----------------------------------------------------------------------------------

local function check(runs, opts)
  local given = options.read(FN, "pacml.report", opts)
  if type(runs) ~= "table" or #runs == 0 or #runs > MOST_RUNS then
    options.fail("%s: runs: expected 1 to %d records of berth.pacml.simulate, got %s", FN,
      MOST_RUNS, type(runs) == "table" and ("%.0f"):format(#runs) or core.kind(runs))
  end
  for i, records in ipairs(runs) do
    options.refuse(type(records) ~= "table" or type(records.report) ~= "table",
      "%s: runs[%d]: expected records of berth.pacml.simulate, got %s", FN, i, core.kind(records))
  end
  return given
end

local function page(runs, given)
  local all = {}
  for i, records in ipairs(runs) do all[i] = windows.of(records, N_WINDOWS) end
  local r = runs[1].env.ramp
  local mode = r.compat and "compat" or "exact"
  local about = ("%.0f jobs, %.0f servers, %s, berth %s"):format(#runs[1], r.servers, mode,
    core.version)
  return html.page(given.title or "Jobs on a RAMP cluster", about, tiles(runs), {
    html.section("load", "Load",
      "What arrives, in windows of a hundredth of the time; above the line it is more than all "
        .. "servers can do.",
      html.figure(load_figure(runs, all))),
    html.section("blocking", "Blocking", "Part of the arrivals that is turned away, by window"
      .. (r.compat and "; what still runs at the horizon counts as blocked, as published." or "."),
      html.figure(blocking_figure(runs, all))
      .. html.heading("Why") .. causes(runs)),
    html.section("utilisation", "Utilisation", "What servers do.",
      html.figure(utilisation_figure(runs, all))),
    html.section("numbers", "Numbers", "Means are over completed jobs.", numbers(runs)),
    html.section("made", "How it was made", nil, made(runs)),
  })
end

--- Writes the page.
-- @tparam string path
-- @tparam table runs records of berth.pacml.simulate, on the same trace; up to 16
-- @tparam[opt] table opts title
-- @treturn[1] boolean true
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code "io"
return function(path, runs, opts)
  options.expect(path, "string", "%s: path", FN)
  if type(runs) == "table" and runs.report then runs = { runs } end
  local given = check(runs, opts)
  return write(path, page(runs, given))
end
