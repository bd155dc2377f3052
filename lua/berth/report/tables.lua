--- The tables of the page: what the step took, devices, placers, ops, bounds, how it was made.
local facts = require "berth.report.facts"
local html = require "berth.report.html"
local placers = require "berth.report.placers"
local ranking = require "berth.base.ranking"
local scale = require "berth.report.scale"
local svg = require "berth.report.svg"

local tables = {}

-- Rows of each table; MOST_IDLE: devices without ops that are still listed.
local MOST_DEVICES, MOST_IDLE, MOST_PLACERS, MOST_OPS, MOST_REASONS = 64, 16, 100, 10, 4

local function paragraph(text) return '<p class="about">' .. svg.escape(text) .. "</p>" end

-- The MOST_OPS largest of the indices 1..n, ties to the lower one.
local function largest(n, value)
  local out = {}
  for i = 1, n do
    local at = #out + 1
    while at > 1 and value(i) > value(out[at - 1]) do at = at - 1 end
    if at <= MOST_OPS then
      table.insert(out, at, i)
      out[MOST_OPS + 1] = nil
    end
  end
  return out
end

-- ---- in short -----------------------------------------------------------------------------------

-- The device with the highest peak of memory, the first of equals.
local function highest(f)
  local best
  for d = 1, #f.devices do
    if not best or f.result.peak_memory[d] > f.result.peak_memory[best] then best = d end
  end
  return best
end

-- step time / bound - 1; nil without a bound, or where it is 0 and the step time is not.
local function gap_of(f)
  local bound = f.bound
  if not bound then return nil end
  if bound > 0 then return math.max(f.makespan / bound - 1, 0) end
  return f.makespan == 0 and 0 or nil
end

-- Mean over all devices, also those without ops, of the share of the step that each computes.
local function utilisation(f)
  local sum = 0
  for d = 1, #f.devices do sum = sum + f.result.busy[d] end
  return f.makespan > 0 and sum / (f.makespan * #f.devices) or 0
end

--- Tiles with the figures that matter most.
function tables.summary(f)
  local gap = gap_of(f)
  local out = { html.tile("step time", scale.quantity(f.makespan, "seconds"),
    f.result.oom and "memory ran out"
    or scale.count(#f.device, "op") .. " on " .. scale.count(#f.devices, "device")) }
  out[2] = f.bound and html.tile("lower bound", scale.quantity(f.bound, "seconds"), f.bound_name)
    or html.tile("lower bound", "-", "none holds here")
  out[3] = html.tile("gap", gap and scale.percent(gap) or "-", "step time / bound - 1")
  out[4] = html.tile("utilisation", scale.percent(utilisation(f)), "mean busy share of the devices")
  if f.result.communication > 0 then
    out[5] = html.tile("exposed", scale.quantity(f.result.exposed, "seconds"),
      ("of %s communication"):format(
      scale.quantity(f.result.communication, "seconds")))
  end
  local d = f.result.memory ~= "none" and highest(f)
  if d then
    local where = "on " .. svg.fit(f.devices[d].name, 320, 12)
    out[#out + 1] = html.tile("peak memory", scale.quantity(f.result.peak_memory[d], "bytes"),
      where)
  end
  return html.tiles(out)
end

--- A sentence about running out of memory, or nil.
function tables.warning(f)
  local oom = f.result.oom
  if not oom then return nil end
  return ('<p class="warning">Out of memory: %s needs %s more on %s at %s.</p>')
    :format(svg.escape(f.name[oom.op]),
    scale.quantity(oom.shortfall, "bytes"), svg.escape(f.devices[oom.device].name),
    scale.quantity(oom.time, "seconds"))
end

-- ---- devices ------------------------------------------------------------------------------------

-- Cells of one device; { text, share } is a cell with a bar.
local function device_line(f, d, sent, received)
  local device, counted, peak = f.devices[d], f.result.memory ~= "none", f.result.peak_memory[d]
  local busy, used = f.makespan > 0 and f.result.busy[d] / f.makespan or 0, nil
  if counted and device.memory > 0 and device.memory < math.huge then
    used = peak / device.memory
  end
  return { device.name, ("%.0f"):format(f.n_ops[d]), scale.quantity(f.result.busy[d], "seconds"),
    { scale.percent(busy), busy },
    scale.quantity(f.result.overlap[d].exposed, "seconds"), scale.quantity(sent[d], "bytes"),
    scale.quantity(received[d], "bytes"), counted and scale.quantity(peak, "bytes") or "-",
    scale.quantity(device.memory, "bytes"), used and { scale.percent(used), used } or "-" }
end

--- A row per device, busiest first, and how many are not listed.
function tables.devices(f)
  local sent, received = facts.traffic(f)
  local list, left_out, idle = facts.busiest(f, MOST_IDLE, MOST_DEVICES)
  local lines = { { "device", "ops", "busy", "share", "exposed", "sends", "receives", "peak memory",
    "limit", "used" } }
  for k, d in ipairs(list) do lines[k + 1] = device_line(f, d, sent, received) end
  local out = html.grid(lines)
  if left_out > 0 then
    out = out .. paragraph(("Not listed: %s that are less busy."):format(scale.count(left_out,
      "device")))
  end
  if idle > 0 then
    out = out .. paragraph(("Not listed: %s without any op."):format(scale.count(idle, "device")))
  end
  return out
end

-- ---- placers ------------------------------------------------------------------------------------

-- Whether any row has the time that placing took.
local function has_seconds(rows)
  for _, one in ipairs(rows) do
    if type(one.seconds) == "number" then return true end
  end
  return false
end

-- Rows of a comparison have a peak; those of a portfolio have one device and what is missing there,
-- if memory ran out.
local function memory_of(one)
  if one.error then return "-" end
  if one.oom then
    return one.missing and scale.quantity(one.missing, "bytes") .. " missing" or "out of memory"
  end
  return one.peak and scale.quantity(one.peak, "bytes") or "fits"
end

-- Cells of one placer; `times`: with the time that placing took.
local function placer_line(entry, bound, times)
  local one = entry.row
  local time = entry.class < 3 and scale.quantity(entry.time, "seconds") or placers.failure(one)
  local line = { one.name, time, placers.gap(entry, bound), memory_of(one) }
  if times then line[5] = one.seconds and scale.quantity(one.seconds, "seconds") or "-" end
  return line
end

-- Why there is no answer, each reason once.
local function refusals(list)
  local out, seen = {}, {}
  for _, entry in ipairs(list) do
    local why = entry.row.error
    if why and not seen[why] and #out < MOST_REASONS then
      seen[why] = true
      local named = why:sub(1, #entry.row.name) == entry.row.name
      out[#out + 1] = paragraph(named and why or entry.row.name .. ": " .. why)
    end
  end
  return table.concat(out, "\n")
end

--- Rows with numbers, best first; times: with the time that placing took.
function tables.placers(rows, bound, times)
  local list = ranking(rows)
  times = times and has_seconds(rows)
  local lines = { { "placer", "step time", "gap", "peak memory",
    times and "time to place" or nil } }
  for k = 1, math.min(#list, MOST_PLACERS) do lines[k + 1] = placer_line(list[k], bound, times) end
  local more = #list - MOST_PLACERS
  local grid = html.grid(lines)
  if more > 0 then
    grid = grid .. paragraph(("Not listed: %s that are worse."):format(scale.count(more, "placer")))
  end
  if #list > 12 then
    grid = "<details><summary>The same in numbers</summary>" .. grid .. "</details>"
  end
  return grid .. refusals(list)
end

-- ---- communication ------------------------------------------------------------------------------

--- What communication costs in all, and the collectives that take longest.
function tables.communication(f)
  local r = f.result
  if r.communication <= 0 then return "" end
  local words = ("Communication takes %s, %s of the step: %s overlapped (some device computes), %s "
    .. "exposed (none does)."):format(
    scale.quantity(r.communication, "seconds"), scale.percent(r.communication / f.makespan),
    scale.quantity(r.overlapped, "seconds"), scale.quantity(r.exposed, "seconds"))
  return paragraph(words)
end

function tables.collectives(f)
  local list = f.collectives
  local function seconds(k) return list[k].finish - list[k].start end
  local lines = { { "collective", "algorithm", "devices", "bytes", "start", "time" } }
  for i, k in ipairs(largest(#list, seconds)) do
    local c = list[k]
    lines[i + 1] = { ("%s %.0f"):format(c.kind, k), c.algorithm or "-", ("%.0f"):format(#c.on),
      scale.quantity(c.bytes, "bytes"),
      scale.quantity(c.start, "seconds"), scale.quantity(seconds(k), "seconds") }
  end
  return html.grid(lines, { true, true })
end

-- ---- ops ----------------------------------------------------------------------------------------

-- A name cut to the width of a column; "-" for none.
local function short(text) return text ~= "" and svg.fit(text, 480, 12) or "-" end

function tables.slowest(f)
  local function seconds(i) return f.finish[i] - f.start[i] end
  local on_path, lines = {}, { { "op", "kind", "device", "time", "share of step", "critical" } }
  for _, i in ipairs(f.critical) do on_path[i] = true end
  for k, i in ipairs(largest(#f.device, seconds)) do
    lines[k + 1] = { short(f.name[i]), short(f.kind[i]), short(f.devices[f.device[i]].name),
      scale.quantity(seconds(i), "seconds"),
      scale.percent(f.makespan > 0 and seconds(i) / f.makespan or 0), on_path[i] and "yes" or "no" }
  end
  return html.grid(lines, { true, true, true })
end

-- The device that uses most of its memory, or holds most if there is no limit.
local function fullest(f)
  local best, most
  for d, device in ipairs(f.devices) do
    local peak = f.result.peak_memory[d]
    local weight = device.memory < math.huge and device.memory > 0 and peak / device.memory
      or peak / 1e30
    if not most or weight > most then best, most = d, weight end
  end
  return best
end

--- What fills the fullest device at its peak, or nil if memory was not accounted for.
function tables.largest(f)
  if f.result.memory == "none" or #f.devices == 0 then return nil end
  local d = fullest(f)
  local held, peak = f.result:peak_ops(d), f.result.peak_memory[d]
  if #held == 0 or peak <= 0 then return nil end
  local lines = { { "op", "kind", "holds", "share of peak" } }
  for k, i in ipairs(largest(#held, function(i) return held[i].bytes end)) do
    local one = held[i]
    lines[k + 1] = { short(f.name[one.op]), short(f.kind[one.op]),
      scale.quantity(one.bytes, "bytes"),
      scale.percent(one.bytes / peak) }
  end
  return html.grid(lines, { true, true }), d
end

-- ---- bounds -------------------------------------------------------------------------------------

-- Fields of bounds, and what bounds.name calls them.
local NAMES = {
  { "critical_path", "critical path" }, { "transfers", "transfers" }, { "lp", "linear program" },
  { "work", "work" }, { "memory", "memory" }, { "clusters", "serial clusters" },
  { "intervals", "intervals" }, { "link_cut", "link cut" },
}

local function bound_line(f, title, value, best)
  return { title .. (best and " (best)" or ""), scale.quantity(value, "seconds"),
    value > 0 and scale.percent(math.max(f.makespan / value - 1, 0)) or "-" }
end

--- All bounds by name, the best of them even if it is none of these.
function tables.bounds(f, bounds)
  local lines, shown = { { "bound", "step time at least", "gap to it" } }, false
  for _, name in ipairs(NAMES) do
    local field, title = name[1], name[2]
    local is_best = title == f.bound_name and bounds[field] == f.bound
    if bounds[field] then lines[#lines + 1] = bound_line(f, title, bounds[field], is_best) end
    shown = shown or is_best
  end
  if not shown then lines[#lines + 1] = bound_line(f, f.bound_name, f.bound, true) end
  return html.grid(lines)
end

--- What is proved of placers on this graph; nil: nothing.
function tables.guarantees(bounds)
  local lines = { { "guarantee", "placers", "makespan at most" } }
  for _, one in ipairs(bounds.guarantees or {}) do
    if one.valid then
      local times = one.ratio and scale.number(one.ratio) .. " times the optimum"
      lines[#lines + 1] = { one.name, one.placers, one.limit and scale.quantity(one.limit,
        "seconds") or times or "-" }
    end
  end
  return lines[2] and html.grid(lines, { true, true })
end

return tables
