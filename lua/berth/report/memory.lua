--- Memory over time against the limit, one panel for each device that ever holds something.
local facts = require "berth.report.facts"
local scale = require "berth.report.scale"
local svg = require "berth.report.svg"

-- Devices that are drawn; height of a panel and the space below it, px.
local MOST_PANELS, PANEL, SPACE = 32, 64, 12

-- Times and bytes, of those what is above `from`, as a stepped outline; within a column only its
-- largest and last value count.
local function outline(times, bytes, from, at, high)
  local n, bottom = scale.number, high(from)
  local pieces = { ("M%s %s"):format(n(svg.LEFT), n(bottom)) }
  local column, top, last = nil, from, from
  local function flush()
    if not column then return end
    pieces[#pieces + 1] = ("H%sV%s"):format(n(column), n(high(top)))
    if last ~= top then pieces[#pieces + 1] = ("h.5V%s"):format(n(high(last))) end
  end
  for i, time in ipairs(times) do
    local x = math.floor(at(time))
    if x ~= column then
      flush()
      column, top = x, from
    end
    last = math.max(bytes[i], from)
    top = math.max(top, last)
  end
  flush()
  pieces[#pieces + 1] = ("H%sV%sz"):format(n(svg.RIGHT), n(bottom))
  return table.concat(pieces)
end

-- One height for all panels, so that they compare: the highest peak, and the limits that are at
-- most ten times that, above which curves would be flat.
local function top_of(f, list)
  local peak = 0
  for _, d in ipairs(list) do peak = math.max(peak, f.result.peak_memory[d]) end
  local top = peak
  for _, d in ipairs(list) do
    local limit = f.devices[d].memory
    if limit <= 10 * peak then top = math.max(top, limit) end
  end
  return top > 0 and top * 1.08 or 1
end

-- Lines at round sizes, with the sizes at the left end but where the limit is.
local function add_sizes(out, top, high, limit)
  local values, text_of = scale.labelled(top, "bytes", 4)
  for i = 2, #values do
    out:line(svg.LEFT, high(values[i]), svg.RIGHT, high(values[i]), "rule")
    if math.abs(high(values[i]) - high(limit)) > 9 then
      out:print(svg.LEFT + 4, high(values[i]) + 4, text_of(values[i]), "small halo")
    end
  end
end

-- The label of the limit; an arrow where it lies above the panel.
local function words_of(limit, in_sight)
  if limit == math.huge then return "no limit" end
  return "limit " .. scale.quantity(limit, "bytes") .. (in_sight and "" or " ↑")
end

-- Device, bytes and time of the peak.
local function peak_tip(f, d)
  return ("%s at its peak: %s at %s"):format(f.devices[d].name,
    scale.quantity(f.result.peak_memory[d], "bytes"),
    scale.quantity(f.result.peak_time[d], "seconds"))
end

-- One device: curve, limit, peak. Returns whether the limit is drawn, and whether it is too far
-- above.
local function panel(out, f, d, y, at, top)
  local peak, limit = f.result.peak_memory[d], f.devices[d].memory
  local bottom = y + PANEL
  local high = scale.linear(top, bottom, y)
  local times, bytes = f.result:memory_timeline(d)
  out:rect(svg.LEFT, y, svg.RIGHT - svg.LEFT, PANEL, "lane")
  out:path(outline(times, bytes, 0, at, high), "area")
  if peak > limit then out:path(outline(times, bytes, limit, at, high), "over") end
  add_sizes(out, top, high, limit)
  if limit <= top then
    out:line(svg.LEFT, high(limit), svg.RIGHT, high(limit), "limit")
  end
  out:dot(at(f.result.peak_time[d]), high(peak), "peak", peak_tip(f, d))
  out:print(svg.LEFT - 8, y + 12, svg.fit(f.devices[d].name, svg.LEFT - 14, 13), "end strong")
  local class = peak > limit and "end small warn" or "end small"
  out:print(svg.LEFT - 8, y + 28, "peak " .. scale.quantity(peak, "bytes"), class)
  out:print(svg.LEFT - 8, y + 43, words_of(limit, limit <= top), "end small faint")
  return limit <= top, limit < math.huge and limit > top
end

-- Share of the limit; bytes where there is none; nil: nothing is ever held.
local function weights(f)
  local out = {}
  for d, device in ipairs(f.devices) do
    local peak = f.result.peak_memory[d]
    if peak > 0 then
      out[d] = device.memory == math.huge and peak / 1e18 or device.memory > 0
        and peak / device.memory or peak
    end
  end
  return out
end

local function legend(limits, over)
  local out = { { "area", "held" }, { "peak", "peak", "dot" } }
  if limits then out[3] = { "limit", "limit", "line" } end
  if over then out[4] = { "over", "above the limit" } end
  return out
end

-- Text for those who do not see the picture: the peaks of the first eight panels.
local function describe(f, list)
  local out = {}
  for k = 1, math.min(#list, 8) do
    local d = list[k]
    out[k] = ("%s holds %s at most"):format(f.devices[d].name,
      scale.quantity(f.result.peak_memory[d], "bytes"))
  end
  return table.concat(out, ", ") .. "."
end

-- The picture, or nil and why there is none. Devices closest to their limit come first.
return function(f)
  if f.result.memory == "none" then return nil, "memory was not accounted for" end
  local list, left_out, idle = facts.most(f, weights(f), MOST_PANELS)
  if #list == 0 then return nil, "no device ever holds anything" end
  local at, y, limits, above = scale.linear(f.makespan, svg.LEFT, svg.RIGHT), 8, false, false
  local out = svg.picture { label = "Memory over time against the limit of each device",
    text = describe(f, list) }
  local top = top_of(f, list)
  for _, d in ipairs(list) do
    local limit, far = panel(out, f, d, y, at, top)
    limits, above = limits or limit, above or far
    y = y + PANEL + SPACE
  end
  svg.axis(out, at, f.makespan, "seconds", y - SPACE, y - SPACE + 4)
  y = y + 28
  y = y + svg.legend(out, legend(limits, f.result.oom), svg.LEFT, svg.RIGHT, y)
  out.height = svg.notes(out, svg.LEFT, y + 8, {
    #list > 1 and "All devices have the same scale." or false,
    above and "↑: the limit is more than ten times the highest peak, above the picture." or false,
    idle > 0 and ("Not drawn: %s without anything in memory."):format(scale.count(idle, "device")),
    left_out > 0 and ("Not drawn: %s that use less of their memory."):format(scale.count(left_out,
      "device")),
  })
  return out
end
