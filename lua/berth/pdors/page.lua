--- A page about runs on one problem: one self-contained HTML file. Utility, jobs, machines over
-- slots.
local core = require "berth.core"
local decimals = require "berth.base.decimals"
local html = require "berth.report.html"
local options = require "berth.base.options"
local panels = require "berth.report.panels"
local result = require "berth.pdors.result"
local scale = require "berth.report.scale"
local svg = require "berth.report.svg"
local write = require "berth.base.write"

local FN = "berth.pdors.report"

options.declare("pdors.report", {
  { key = "title", type = "string", default = "Workers and parameter servers", text = "heading" },
})

local MOST_RUNS, MOST_JOBS, MOST_ROWS, LEVELS = 16, 200, 60, 5

-- ---- machines over slots ------------------------------------------------------------------------

-- [machine][slot, from 1]: the largest share of a resource that is assigned.
local function shares_of(r)
  local p, used, out = r.problem, {}, {}
  local capacity = p.core:capacity()
  for m = 1, p.machines do
    used[m], out[m] = {}, {}
    for t = 1, p.slots do used[m][t], out[m][t] = {}, 0 end
  end
  r:each(function(slot, job, places)
    local j = p.jobs[job]
    for _, place in ipairs(places) do
      local sum = used[place[1]][slot + 1]
      for k = 1, #p.resources do
        sum[k] = (sum[k] or 0) + place[2] * j.worker[k] + place[3] * j.server[k]
      end
    end
  end)
  for m = 1, p.machines do
    for t = 1, p.slots do
      for k, x in ipairs(used[m][t]) do
        if x > 0 then out[m][t] = math.max(out[m][t], math.min(1, x / capacity[m][k])) end
      end
    end
  end
  return out
end

-- Rows of machines, several in one if there are many: their mean.
local function rows_of(shares, slots)
  local each, rows = math.ceil(#shares / MOST_ROWS), {}
  for first = 1, #shares, each do
    local last, row = math.min(#shares, first + each - 1), {}
    for t = 1, slots do
      local sum = 0
      for m = first, last do sum = sum + shares[m][t] end
      row[t] = sum / (last - first + 1)
    end
    rows[#rows + 1] = row
  end
  return rows, each
end

local function heat(r, i)
  local p = r.problem
  local rows, each = rows_of(shares_of(r), p.slots)
  local kind, height = ("machines%d"):format(i), math.max(3, math.min(14, math.floor(240 / #rows)))
  local out = svg.picture { kind = kind, label = "Machines over slots: " .. r.scheduler,
    text = "The largest share of a resource that is assigned on each machine in each slot; darker "
      .. "is more." }
  local at, top = scale.linear(p.slots, svg.LEFT, svg.RIGHT), 8
  local bottom = top + #rows * height
  out:rect(svg.LEFT, top, svg.RIGHT - svg.LEFT, bottom - top, "lane")
  local pieces = {}
  for level = 1, LEVELS do pieces[level] = {} end
  for k, row in ipairs(rows) do
    for t = 1, p.slots do
      local level = math.ceil(row[t] * LEVELS - 1e-9)
      if level > 0 then
        table.insert(pieces[level], svg.block(at(t - 1), top + (k - 1) * height, at(t) - at(t - 1),
          height))
      end
    end
  end
  for level = 1, LEVELS do
    if #pieces[level] > 0 then
      out[#out + 1] = ('<path d="%s" class="area" fill-opacity="%s"/>')
        :format(table.concat(pieces[level]),
        scale.number(level / LEVELS))
    end
  end
  out:print(svg.LEFT - 8, top + 12, svg.fit(r.scheduler, svg.LEFT - 14, 13), "end strong")
  local label = each > 1 and ("%.0f machines a row"):format(each) or "a row per machine"
  out:print(svg.LEFT - 8, top + 29, label, "end small faint")
  svg.axis(out, scale.linear(p.slots * p.slot_seconds, svg.LEFT, svg.RIGHT),
    p.slots * p.slot_seconds, "seconds", top, bottom)
  out.height = bottom + 24
  return out
end

local function all_heats(runs)
  local out = {}
  for i, r in ipairs(runs) do out[i] = html.figure(heat(r, i)) end
  return table.concat(out, "\n")
end

-- ---- utilisation --------------------------------------------------------------------------------

-- The resource of which most is used.
local function scarce(r)
  local best = 1
  for k, name in ipairs(r.problem.resources) do
    if r.summary.used[name] > r.summary.used[r.problem.resources[best]] then best = k end
  end
  return best
end

local function usage_figure(runs)
  local list, p = {}, runs[1].problem
  for i, r in ipairs(runs) do
    local k = scarce(r)
    local name = p.resources[k]
    list[i] = { name = r.scheduler,
      note = ("%s, %s"):format(name, scale.percent(r.summary.used[name])), width = p.slot_seconds,
      line = r.summary.used[name], series = { { values = r:usage()[k], class = "area" } } }
  end
  return panels.figure("usage", "Resources over slots",
    "Part of the resource of which most is used, over all machines, by slot.", list,
    { { "area", "assigned" }, { "bound", "mean over all slots", "line" } },
    p.slots * p.slot_seconds, 1)
end

-- Utility of what is done up to the end of each slot.
local function utility_figure(runs)
  local list, p = {}, runs[1].problem
  local most = 0
  for _, r in ipairs(runs) do most = math.max(most, r.bound or 0, r.utility) end
  for i, r in ipairs(runs) do
    local values, sum = {}, 0
    for t = 1, p.slots do values[t] = 0 end
    for _, x in ipairs(r.records) do
      if x.done then values[x.done + 1] = values[x.done + 1] + x.utility end
    end
    for t = 1, p.slots do
      sum = sum + values[t]
      values[t] = most > 0 and sum / most or 0
    end
    list[i] = { name = r.scheduler, note = "utility " .. decimals(r.utility, 2),
      width = p.slot_seconds, line = r.bound and most > 0 and r.bound / most or nil,
      series = { { values = values, class = "c3" } } }
  end
  return panels.figure("utility", "Utility over slots",
    "Utility of the jobs that are done up to each slot, as part of the largest bound or utility of "
      .. "all runs.", list,
    { { "c3", "utility of what is done" }, { "bound", "bound: no schedule is worth more",
      "line" } }, p.slots * p.slot_seconds, 1)
end

-- ---- tables -------------------------------------------------------------------------------------

local function count(x) return ("%.0f"):format(x) end
local function number(x) return x and decimals(x, 4) or "-" end

local function numbers(runs)
  local metrics = {
    { "utility", function(s) return number(s.utility) end },
    { "bound", function(s) return number(s.bound) end },
    { "utility / bound", function(s) return scale.percent(s.ratio) end },
    { "jobs done", function(s) return count(s.done) end },
    { "refused", function(s) return count(s.refused) end },
    { "unfinished", function(s) return count(s.unfinished) end },
    { "median training time, slots", function(s) return number(s.training_median_slots) end },
    { "mean training time, slots", function(s) return number(s.training_mean_slots) end },
    { "slots on one machine", function(s) return scale.percent(s.inside) end },
  }
  for _, name in ipairs(runs[1].problem.resources) do
    metrics[#metrics + 1] = { name .. " used", function(s) return scale.percent(s.used[name]) end }
  end
  local head, rows = { "" }, {}
  for i, r in ipairs(runs) do head[i + 1] = r.scheduler end
  rows[1] = head
  for _, metric in ipairs(metrics) do
    local cells = { metric[1] }
    for i, r in ipairs(runs) do cells[i + 1] = metric[2](r.summary) end
    rows[#rows + 1] = cells
  end
  return html.plain_grid(rows)
end

local function fate(x)
  if x.done then return ("%s in slot %.0f"):format(decimals(x.utility, 3), x.done) end
  if x.why then return "refused: " .. x.why end
  return x.state == "refused" and "refused" or "not done"
end

local function jobs_table(runs)
  local head, rows = { "job", "kind", "arrival", "importance" }, {}
  for _, r in ipairs(runs) do head[#head + 1] = r.scheduler end
  rows[1] = head
  for j = 1, math.min(MOST_JOBS, #runs[1].records) do
    local x = runs[1].records[j]
    local cells = { x.name and ("%.0f %s"):format(j, x.name) or count(j), tostring(x.kind or "-"),
      count(x.arrival),
      decimals(x.importance, 2) }
    for _, r in ipairs(runs) do cells[#cells + 1] = fate(r.records[j]) end
    rows[#rows + 1] = cells
  end
  local more = #runs[1].records - MOST_JOBS
  return html.plain_grid(rows) .. (more > 0 and ("<p>and %.0f more</p>"):format(more) or "")
end

local function tiles(runs)
  local out = {}
  for i, r in ipairs(runs) do
    local note = r.ratio and scale.percent(r.ratio) .. " of the bound"
      or ("%.0f jobs done"):format(r.summary.done)
    out[i] = html.tile(r.scheduler, decimals(r.utility, 2), note)
  end
  return html.tiles(out)
end

local function made(runs)
  local json, out = require "berth.base.json", {}
  for i, r in ipairs(runs) do
    local fine, text = pcall(json.encode, r.options)
    out[i] = { r.scheduler, ("seed %.0f, %s"):format(r.seed, fine and text or "options of its own"),
      code = true }
  end
  return html.list(out)
end

-- ---- the page -----------------------------------------------------------------------------------

local function check(runs, opts)
  local given = options.read(FN, "pdors.report", opts)
  if type(runs) ~= "table" or #runs == 0 or #runs > MOST_RUNS then
    options.fail("%s: runs: expected 1 to %d results of berth.pdors.simulate, got %s", FN,
      MOST_RUNS, type(runs) == "table" and count(#runs) or core.kind(runs))
  end
  for i, r in ipairs(runs) do
    options.refuse(not result.is(r),
      "%s: runs[%d]: expected a result of berth.pdors.simulate, got %s", FN, i, core.kind(r))
    options.refuse(r.problem ~= runs[1].problem,
      "%s: runs[%d]: is of another problem than the first", FN, i)
  end
  return given
end

local function page(runs, given)
  local p = runs[1].problem
  local about = ("%.0f jobs, %.0f machines, %.0f slots of %s, berth %s"):format(#p.jobs, p.machines,
    p.slots, scale.duration(p.slot_seconds), core.version)
  return html.page(given.title or "Workers and parameter servers", about, tiles(runs), {
    html.section("utility", "Utility",
      "What jobs are worth that are done, summed up; the bound holds for every schedule.",
      html.figure(utility_figure(runs))),
    html.section("resources", "Resources", "Of the resource of which most is used.",
      html.figure(usage_figure(runs))),
    html.section("machines", "Machines",
      "The largest share of a resource on each machine in each slot. "
      .. "Where PD-ORS and OASiS decided, prices are geometric in what is committed: darker is "
      .. "dearer.", all_heats(runs)),
    html.section("numbers", "Numbers",
      "Training times of jobs that were not done count as all slots.", numbers(runs)),
    html.section("jobs", "Jobs", "Utility, and the slot in which it was done; slots count from 0.",
      jobs_table(runs)),
    html.section("made", "How it was made", nil, made(runs)),
  })
end

--- Writes the page.
-- @tparam string path
-- @tparam table runs results of berth.pdors.simulate on the same problem (of berth.pdors.problem);
--  up to 16
-- @tparam[opt] table opts title
-- @treturn[1] boolean true
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code "io"
return function(path, runs, opts)
  options.expect(path, "string", "%s: path", FN)
  if result.is(runs) then runs = { runs } end
  local given = check(runs, opts)
  return write(path, page(runs, given))
end
