--- Figures of a plan: step times, op groups on devices, memory, and how the search went.
local placers = require "berth.report.placers"
local scale = require "berth.report.scale"
local svg = require "berth.report.svg"
local words = require "berth.deploy.answer_words"

local figures = {}

local MOST_GROUPS, MOST_DEVICES = 64, 64
local CLASS = { allreduce = "c1", ps = "c2", replicas = "c5", split = "c3", duplicate = "c4",
  alone = "c6" }
local ORDER = { "allreduce", "ps", "replicas", "split", "duplicate", "alone" }
local LEGEND = { allreduce = words.options.allreduce, ps = words.options.ps,
  replicas = "replicas, no gradient", split = words.options.split,
  duplicate = words.options.duplicate, alone = "on one device" }

-- ---- step times ---------------------------------------------------------------------------------

--- Bars of the plan and of the baselines; those that do not fit in the last colour.
function figures.steps(a)
  local rows = { { name = "this plan", makespan = a.seconds } }
  for _, row in ipairs(a.baselines) do
    rows[#rows + 1] = { name = words.baseline(row.name), makespan = row.seconds,
      oom = not row.fits }
  end
  local out = placers.figure(rows, a.bound)
  out.kind, out.label = "steps", "Step times of the plan and of the baselines, and their gaps to "
    .. "the lower bound"
  out.text = words.summary(a)
  return out
end

-- ---- op groups on devices -----------------------------------------------------------------------

local function kind_of(g)
  if #g.devices == 1 then return "alone" end
  return words.is_sum(g.option) and not g.reduces and "replicas" or g.option
end

-- The largest share of the samples is drawn in full height, lesser ones lower.
local function most_samples(g)
  local most = 0
  for _, n in ipairs(g.samples or {}) do most = math.max(most, n) end
  return most
end

local function cell_tip(a, g, i, k)
  local d = g.devices[k]
  local samples = g.samples and (", %s"):format(words.count(g.samples[k], "sample")) or ""
  local repeated = #g.repeated > 0 and (", %s repeated"):format(words.count(#g.repeated, "op"))
    or ""
  local kind = kind_of(g)
  local how = kind == "alone" and LEGEND.alone or words.option(g.option, g.reduces)
  return ("group %.0f (%s) on %s: %s%s%s"):format(i, g.what, a.device_names[d], how, samples,
    repeated)
end

local function add_group(out, a, i, x, width, row, height)
  local g = a.groups[i]
  local most = most_samples(g)
  for k, d in ipairs(g.devices) do
    if d <= MOST_DEVICES then
      local part = most > 0 and g.option ~= "split" and math.max(g.samples[k] / most, 0.08) or 1
      local h = (height - 2) * part
      out:rect(x + 0.5, row(d) + height - 1 - h, math.max(width - 1, 1), h,
        CLASS[kind_of(g)], cell_tip(a, g, i, k))
    end
  end
end

local function used(a)
  local there, out = {}, {}
  for _, g in ipairs(a.groups) do there[kind_of(g)] = true end
  for _, kind in ipairs(ORDER) do
    if there[kind] then out[#out + 1] = { CLASS[kind], LEGEND[kind] } end
  end
  return out
end

-- A label for each column, where there is room. label_of(i): text or nil
local function column_labels(out, n, width, y, label_of)
  local last = -1e9
  for i = 1, n do
    local label, x = label_of(i), svg.LEFT + (i - 0.5) * width
    local half = label and svg.width(label, 11) / 2
    if label and x - half > last then
      out:print(x, y, label, "mid small faint")
      last = x + half + 3
    end
  end
end

-- Numbers of repeated ops below their columns. @treturn number height that they take
local function repeated_numbers(out, a, n, width, y)
  local any = false
  local function label_of(i)
    local count = #a.groups[i].repeated
    any = any or count > 0
    return count > 0 and ("%.0f"):format(count) or nil
  end
  column_labels(out, n, width, y, label_of)
  if not any then return 0 end
  out:print(svg.LEFT - 8, y, "ops repeated", "end small faint")
  return 16
end

--- Which op group runs where: a column each, heaviest first; bars as high as the share of the
-- samples.
function figures.map(a)
  local groups, devices = math.min(#a.groups, MOST_GROUPS), math.min(#a.device_names, MOST_DEVICES)
  local height = math.max(9, math.min(20, math.floor(420 / devices)))
  local width, top = math.min((svg.RIGHT - svg.LEFT) / groups, 60), 20
  local bottom = top + devices * height
  local out = svg.picture { kind = "map", label = "Op groups on devices",
    text = "A column for each op group, the heaviest first; a row for each device; "
      .. "bars are as high as the share of the samples." }
  local function row(d) return top + (d - 1) * height end
  for d = 1, devices do
    out:rect(svg.LEFT, row(d), groups * width, height - 1, "lane")
    out:print(svg.LEFT - 8, row(d) + height / 2 + 4,
      svg.fit(a.device_names[d], svg.LEFT - 14, 12), height < 13 and "end small" or "end")
  end
  for i = 1, groups do add_group(out, a, i, svg.LEFT + (i - 1) * width, width, row, height) end
  column_labels(out, groups, width, top - 7, function(i) return ("%.0f"):format(i) end)
  local y = bottom + 20 + repeated_numbers(out, a, groups, width, bottom + 13)
  y = y + svg.legend(out, used(a), svg.LEFT, svg.RIGHT, y)
  out.height = svg.notes(out, svg.LEFT, y, {
    #a.groups > groups
    and ("Not drawn: %s that are lighter."):format(words.count(#a.groups - groups, "op group")),
    #a.device_names > devices and ("Not drawn: %s."):format(words.count(#a.device_names - devices,
      "device")),
  })
  return out
end

-- ---- memory -------------------------------------------------------------------------------------

local function memory_top(a)
  local top = 0
  for d, peak in ipairs(a.peaks) do
    top = math.max(top, peak)
    if a.limits[d] < math.huge then top = math.max(top, a.limits[d]) end
  end
  return top
end

--- Peak memory of each device, with its limit.
function figures.memory(a)
  local n, height, top, right = math.min(#a.peaks, MOST_DEVICES), 18, 10, 640
  local at, most = scale.linear(memory_top(a), svg.LEFT, right), memory_top(a)
  local bottom = top + n * height
  local out = svg.picture { kind = "memory",
    label = "Peak memory of each device against its limit",
    text = "What each device holds at most in the step, and how much it has." }
  svg.axis(out, at, most, "bytes", top, bottom)
  for d = 1, n do
    local y, limit = top + (d - 1) * height, a.limits[d]
    local note = limit < math.huge and limit > 0
      and ("%s of %s, %s"):format(words.bytes(a.peaks[d]), words.bytes(limit),
      scale.percent(a.peaks[d] / limit)) or words.bytes(a.peaks[d])
    out:print(svg.LEFT - 8, y + 13, svg.fit(a.device_names[d], svg.LEFT - 14, 12), "end")
    out:rect(svg.LEFT, y + 3, at(a.peaks[d]) - svg.LEFT, height - 6, "area",
      a.device_names[d] .. ": " .. note)
    if limit < math.huge then
      out:line(at(limit), y + 1, at(limit), y + height - 1, "limit")
    end
    out:print(right + 10, y + 13, svg.fit(note, svg.WIDTH - right - 12, 11), "small")
  end
  local y = bottom + 34
  y = y + svg.legend(out, { { "area", "peak" }, { "limit", "limit", "line" } }, svg.LEFT, svg.RIGHT,
    y)
  out.height = svg.notes(out, svg.LEFT, y, {
    #a.peaks > n and ("Not drawn: %s."):format(words.count(#a.peaks - n, "device")) })
  return out
end

-- ---- the search ---------------------------------------------------------------------------------

-- Steps down to each better strategy, and on to the last evaluation.
local function descent(a, x, y)
  local n = scale.number
  local out = { ("M%s %s"):format(n(x(a.trace[1].evaluations)), n(y(a.trace[1].seconds))) }
  for i = 2, #a.trace do
    out[i] = ("H%sV%s"):format(n(x(a.trace[i].evaluations)), n(y(a.trace[i].seconds)))
  end
  out[#out + 1] = ("H%s"):format(n(x(a.evaluations + a.reason_evaluations)))
  return table.concat(out)
end

local function count_axis(out, at, most, top, bottom)
  for _, value in ipairs(scale.ticks(most, 8)) do
    out:line(at(value), top, at(value), bottom, "rule")
    out:print(at(value), bottom + 14, ("%.0f"):format(value), "mid small faint")
  end
end

local function time_axis(out, at, most)
  local values, text_of = scale.labelled(most, "seconds", 5)
  for _, value in ipairs(values) do
    out:line(svg.LEFT, at(value), svg.RIGHT, at(value), "rule")
    out:print(svg.LEFT - 8, at(value) + 4, text_of(value), "end small faint")
  end
end

--- The best step time over evaluations. nil, why: nothing was searched
function figures.search(a)
  if #a.trace == 0 or a.evaluations < 2 then return nil, "nothing was searched" end
  local top, bottom, most = 12, 212, 0
  for _, point in ipairs(a.trace) do most = math.max(most, point.seconds) end
  local all = a.evaluations + a.reason_evaluations
  local x, y = scale.linear(all, svg.LEFT, svg.RIGHT), scale.linear(most, bottom, top)
  local out = svg.picture { kind = "search", label = "Best step time over evaluations",
    text = ("From %s to %s in %s."):format(words.seconds(a.trace[1].seconds),
      words.seconds(a.seconds), words.count(all, "evaluation")) }
  out:rect(svg.LEFT, top, svg.RIGHT - svg.LEFT, bottom - top, "lane")
  count_axis(out, x, all, top, bottom)
  time_axis(out, y, most)
  out:path(descent(a, x, y), "jump solid")
  if a.bound and a.bound > 0 then
    out:line(svg.LEFT, y(a.bound), svg.RIGHT, y(a.bound), "bound")
  end
  for _, point in ipairs(a.trace) do
    out:dot(x(point.evaluations), y(point.seconds), "peak",
      ("%s after %.0f evaluations: %s"):format(words.seconds(point.seconds), point.evaluations,
        words.baseline(point.from)))
  end
  local at = bottom + 34
  local entries = { { "jump solid", "best so far", "line" } }
  if a.bound and a.bound > 0 then entries[2] = { "bound", "bound", "line" } end
  out.height = at + svg.legend(out, entries, svg.LEFT, svg.RIGHT, at)
  return out
end

return figures
