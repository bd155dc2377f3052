--- Memory over time against the limit, one panel for each device.
local facts = require "berth.report.facts"
local scale = require "berth.report.scale"
local svg = require "berth.report.svg"

local MOST_PANELS, PANEL, SPACE = 32, 50, 12

-- Times and bytes as a stepped outline; within a column only its largest and its last value count.
local function outline(times, bytes, at, high, bottom)
  local n = scale.number
  local pieces = { ("M%s %s"):format(n(svg.LEFT), n(bottom)) }
  local column, top, last = nil, 0, 0
  local function flush()
    if not column then return end
    pieces[#pieces + 1] = ("H%sV%s"):format(n(column), n(high(top)))
    if last ~= top then pieces[#pieces + 1] = ("h.5V%s"):format(n(high(last))) end
  end
  for i, time in ipairs(times) do
    local x = math.floor(at(time))
    if x ~= column then
      flush()
      column, top = x, 0
    end
    top, last = math.max(top, bytes[i]), bytes[i]
  end
  flush()
  pieces[#pieces + 1] = ("H%sV%sz"):format(n(svg.RIGHT), n(bottom))
  return table.concat(pieces)
end

-- The limit sets the height, unless the curve would be flat under it.
local function top_of(peak, limit)
  if limit ~= math.huge and peak >= 0.1 * limit then return math.max(peak, limit) * 1.08 end
  return peak > 0 and peak * 1.15 or 1
end

local function panel(out, f, d, y, at)
  local peak, limit = f.result.peak_memory[d], f.devices[d].memory
  local top, bottom = top_of(peak, limit), y + PANEL
  local high = scale.linear(top, bottom, y)
  out[#out + 1] = svg.rect(svg.LEFT, y, svg.RIGHT - svg.LEFT, PANEL, "lane")
  out[#out + 1] = svg.path(outline(f.times[d], f.bytes[d], at, high, bottom), "area")
  if limit <= top then out[#out + 1] = svg.line(svg.LEFT, high(limit), svg.RIGHT, high(limit), "limit") end
  out[#out + 1] = svg.text(svg.LEFT - 8, y + 12, svg.fit(f.devices[d].name, svg.LEFT - 14, 12), "end strong")
  local class = peak > limit and "end small warn" or "end small"
  out[#out + 1] = svg.text(svg.LEFT - 8, y + 28, "peak " .. scale.quantity(peak, "bytes"), class)
  local words = limit == math.huge and "no limit" or "limit " .. scale.quantity(limit, "bytes")
  out[#out + 1] = svg.text(svg.LEFT - 8, y + 43, words, "end small faint")
end

-- Share of the limit; bytes where there is none.
local function weights(f)
  local out = {}
  for d, device in ipairs(f.devices) do
    local peak = f.result.peak_memory[d]
    out[d] = device.memory == math.huge and peak / 1e18 or device.memory > 0 and peak / device.memory or peak
  end
  return out
end

return function(f)
  if f.result.memory == "none" then return nil, "memory was not accounted for" end
  local list, left_out = facts.most(f, weights(f), MOST_PANELS)
  local at, y = scale.linear(f.makespan, svg.LEFT, svg.RIGHT), 8
  local out = { width = svg.WIDTH, label = "Memory over time against the limit of each device" }
  f.times, f.bytes = {}, {}
  for _, d in ipairs(list) do
    f.times[d], f.bytes[d] = f.result:memory_timeline(d)
    panel(out, f, d, y, at)
    y = y + PANEL + SPACE
  end
  svg.axis(out, at, f.makespan, "seconds", y - SPACE, y - SPACE + 4)
  y = y + 14
  if left_out > 0 then
    local words = ("%d devices that use less of their memory are not drawn"):format(left_out)
    out[#out + 1] = svg.text(svg.LEFT, y + 8, words, "small faint")
    y = y + 16
  end
  out.height = y
  return out
end
