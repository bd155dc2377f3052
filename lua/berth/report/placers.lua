--- Placers beside each other: step times as bars, with the gap to the bound.
local scale = require "berth.report.scale"
local svg = require "berth.report.svg"

local MOST, ROW, LEFT, RIGHT = 48, 21, 230, 630

-- Best first; what does not hold memory or failed has no bar to compare with.
local function ordered(rows)
  local list = {}
  for i, row in ipairs(rows) do
    local class = row.error and 3 or row.oom and 2 or 1
    list[i] = { row = row, at = i, class = class, time = class < 3 and row.makespan or math.huge }
  end
  table.sort(list, function(a, b)
    if a.class ~= b.class then return a.class < b.class end
    if a.time ~= b.time then return a.time < b.time end
    return a.at < b.at
  end)
  return list
end

local function words_of(entry, bound)
  local row = entry.row
  if entry.class == 3 then return row.code == "infeasible" and "infeasible" or row.error or "failed" end
  local time = scale.quantity(row.makespan, "seconds")
  if entry.class == 2 then return time .. ", out of memory" end
  if not bound or bound <= 0 then return time end
  return ("%s, gap %s"):format(time, scale.percent(math.max(row.makespan / bound - 1, 0)))
end

-- Bars end at four times the best, so that one bad placer does not flatten the others.
local function extent(list)
  local top = 0
  for _, entry in ipairs(list) do
    if entry.time < math.huge then top = math.max(top, math.min(entry.time, 4 * list[1].time)) end
  end
  return top
end

local function bar(out, entry, first, y, at, top, words)
  if entry.time == math.huge then return end
  local width = at(math.min(entry.time, top)) - LEFT
  local class = entry.class == 2 and "c8" or first and "c3" or "c1"
  out[#out + 1] = svg.rect(LEFT, y + 3, width, ROW - 7, class, entry.row.name .. ": " .. words)
  if entry.time > top then out[#out + 1] = svg.text(LEFT + width - 5, y + 14, "more »", "in end") end
end

return function(rows, bound)
  if #rows == 0 then return nil, "there are no rows" end
  local list = ordered(rows)
  local out = { width = svg.WIDTH, label = "Step times of placers, and their gaps to the lower bound" }
  local top, y = extent(list), 26
  local at = scale.linear(top, LEFT, RIGHT)
  local n = math.min(#list, MOST)
  svg.axis(out, at, top, "seconds", 24, y + n * ROW)
  for k = 1, n do
    out[#out + 1] = svg.text(LEFT - 8, y + 14, svg.fit(list[k].row.name, LEFT - 14, 12), k == 1 and "end strong" or "end")
    local words = words_of(list[k], bound)
    bar(out, list[k], k == 1, y, at, top, words)
    out[#out + 1] = svg.text(RIGHT + 10, y + 14, svg.fit(words, svg.WIDTH - RIGHT - 14, 11), "small")
    y = y + ROW
  end
  if bound and bound > 0 and bound <= top then
    out[#out + 1] = svg.line(at(bound), 14, at(bound), y, "bound")
    out[#out + 1] = svg.text(at(bound), 11, "bound " .. scale.quantity(bound, "seconds"), "mid small")
  end
  y = y + 22
  if #list > n then
    out[#out + 1] = svg.text(LEFT, y + 8, ("%d more are not drawn"):format(#list - n), "small faint")
    y = y + 18
  end
  out.height = y
  return out
end
