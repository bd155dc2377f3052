--- The tables of the page: what the step took, devices, bounds.
local scale = require "berth.report.scale"
local svg = require "berth.report.svg"

local tables = {}

local function cell(tag, text, class)
  return ("<%s%s>%s</%s>"):format(tag, class and (' class="%s"'):format(class) or "", svg.escape(text), tag)
end

local function row(tag, cells)
  local out = {}
  for i, text in ipairs(cells) do out[i] = cell(tag, text, i > 1 and "n" or nil) end
  return "<tr>" .. table.concat(out) .. "</tr>"
end

--- First line: heads; first column to the left.
function tables.grid(lines)
  local out = { '<div class="wide"><table><thead>' .. row("th", lines[1]) .. "</thead><tbody>" }
  for i = 2, #lines do out[#out + 1] = row("td", lines[i]) end
  out[#out + 1] = "</tbody></table></div>"
  return table.concat(out, "\n")
end

local function tile(name, value, note)
  return ('<div class="tile"><div class="name">%s</div><div class="value">%s</div><div class="note">%s</div></div>')
    :format(svg.escape(name), svg.escape(value), svg.escape(note))
end

local function highest(f)
  local best
  for d = 1, #f.devices do
    if not best or f.result.peak_memory[d] > f.result.peak_memory[best] then best = d end
  end
  return best
end

--- Tiles with the figures that matter most.
function tables.summary(f)
  local bound = f.bound
  local gap = bound and bound > 0 and f.makespan / bound - 1 or bound and f.makespan == 0 and 0 or nil
  local note = f.result.oom and "memory ran out" or scale.count(#f.device, "op")
  local out = { tile("step time", scale.quantity(f.makespan, "seconds"), note) }
  out[2] = tile("lower bound", scale.quantity(bound, "seconds"), bound and f.bound_name or "none holds here")
  out[3] = tile("gap", gap and scale.percent(math.max(gap, 0)) or "-", "step time / bound - 1")
  local d = f.result.memory ~= "none" and highest(f)
  if d then out[4] = tile("peak memory", scale.quantity(f.result.peak_memory[d], "bytes"), "on " .. f.devices[d].name) end
  return '<div class="tiles">' .. table.concat(out, "\n") .. "</div>"
end

--- A sentence about running out of memory, or nil.
function tables.warning(f)
  local oom = f.result.oom
  if not oom then return nil end
  return ('<p class="warning">Out of memory: %s needs %s more on %s at %s.</p>'):format(svg.escape(f.name[oom.op]),
    scale.quantity(oom.shortfall, "bytes"), svg.escape(f.devices[oom.device].name), scale.quantity(oom.time, "seconds"))
end

function tables.devices(f)
  local counted = f.result.memory ~= "none"
  local lines = { { "device", "ops", "busy", "share", "peak memory", "limit", "used" } }
  for d, device in ipairs(f.devices) do
    local peak = f.result.peak_memory[d]
    lines[d + 1] = { device.name, ("%.0f"):format(f.n_ops[d]), scale.quantity(f.result.busy[d], "seconds"),
      scale.percent(f.makespan > 0 and f.result.busy[d] / f.makespan or 0), counted and scale.quantity(peak, "bytes") or "-",
      scale.quantity(device.memory, "bytes"),
      counted and device.memory > 0 and device.memory < math.huge and scale.percent(peak / device.memory) or "-" }
  end
  return tables.grid(lines)
end

-- Fields of bounds, and what bounds.name calls them.
local NAMES = {
  { "critical_path", "critical path" }, { "transfers", "transfers" }, { "lp", "lp" }, { "work", "work" }, { "memory", "memory" },
  { "clusters", "serial clusters" }, { "intervals", "intervals" },
}

local function bound_line(f, title, value, best)
  return { title .. (best and " (best)" or ""), scale.quantity(value, "seconds"),
    value > 0 and scale.percent(f.makespan / value - 1) or "-" }
end

--- All bounds by name, the best of them even if it is none of these.
function tables.bounds(f, bounds)
  local lines, shown = { { "bound", "step time at least", "gap to it" } }, false
  for _, name in ipairs(NAMES) do
    local field, title = name[1], name[2]
    local is_best = title == bounds.name
    if bounds[field] then lines[#lines + 1] = bound_line(f, title, bounds[field], is_best) end
    shown = shown or is_best and bounds[field] ~= nil
  end
  if not shown then lines[#lines + 1] = bound_line(f, bounds.name, bounds.best, true) end
  return tables.grid(lines)
end

return tables
