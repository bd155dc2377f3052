--- Placers beside each other: step times as bars, with the gap to the bound.
local ranking = require "berth.base.ranking"
local scale = require "berth.report.scale"
local svg = require "berth.report.svg"

local placers = {}

-- Placers that are drawn; height of a row and the ends of the bars, px.
local MOST, ROW, LEFT, RIGHT = 48, 21, 230, 620

--- The gap in per cent, or "-"; what ran out of memory is compared with nothing.
function placers.gap(entry, bound)
  if entry.class > 1 or not bound or bound <= 0 then return "-" end
  return scale.percent(math.max(entry.time / bound - 1, 0))
end

--- Why there is no step time: "infeasible", "interrupted" or the message.
function placers.failure(row)
  local code = row.code
  return (code == "infeasible" or code == "interrupted") and code or row.error or "failed"
end

-- The text beside the bar: time and gap, or why there is none.
local function words_of(entry, bound)
  if entry.class == 3 then return placers.failure(entry.row) end
  local time, gap = scale.quantity(entry.time, "seconds"), placers.gap(entry, bound)
  if entry.class == 2 then return time .. ", out of memory" end
  return gap ~= "-" and ("%s, gap %s"):format(time, gap) or time
end

-- Bars end at four times the best, so that one bad placer does not flatten the others.
local function extent(list)
  local top = 0
  for _, entry in ipairs(list) do
    if entry.time < math.huge then top = math.max(top, math.min(entry.time, 4 * list[1].time)) end
  end
  return top
end

-- A bar for each placer with a step time; one beyond `top` is cut and marked.
local function bar(out, entry, first, y, at, top, words)
  if entry.time == math.huge then return end
  local width = at(math.min(entry.time, top)) - LEFT
  local class = entry.class == 2 and "c8" or first and "c3" or "c1"
  out:rect(LEFT, y + 3, width, ROW - 7, class, entry.row.name .. ": " .. words)
  if entry.time > top then
    out:print(LEFT + width - 5, y + 14, "more »", "in end")
  end
end

local function describe(list, bound)
  local best = list[1]
  if best.class ~= 1 then return "No placer keeps memory." end
  local others = #list
  for _, entry in ipairs(list) do others = others - (entry.row.own and 1 or 0) end
  local text = best.row.own and "Faster than all of %s: %s, %s." or "Best of %s: %s, %s."
  return text:format(scale.count(others, "placer"), best.row.name, words_of(best, bound))
end

-- The bound as a vertical line with its value above.
local function add_bound(out, bound, at, bottom)
  local text = "bound " .. scale.quantity(bound, "seconds")
  out:line(at(bound), 14, at(bound), bottom, "bound")
  out:print(at(bound), 11, text, "mid small")
end

-- Name, bar and words of each placer; returns the y below the last.
local function add_rows(out, list, bound, at, top)
  local y = 26
  for k = 1, math.min(#list, MOST) do
    local entry = list[k]
    local first, words = k == 1 and entry.class == 1, words_of(entry, bound)
    local name = svg.fit(entry.row.name, LEFT - 14, first and 13 or 12)
    out:print(LEFT - 8, y + 14, name, first and "end strong" or "end")
    bar(out, entry, first, y, at, top, words)
    out:print(RIGHT + 10, y + 14, svg.fit(words, svg.WIDTH - RIGHT - 14, 11), "small")
    y = y + ROW
  end
  return y
end

-- Only the classes that are drawn.
local function legend(list)
  local out = {}
  local seen = {}
  for k = 1, math.min(#list, MOST) do
    seen[k == 1 and list[1].class == 1 and "best" or list[k].class] = true
  end
  if seen.best then out[1] = { "c3", "best" } end
  if seen[1] then out[#out + 1] = { "c1", "memory holds" } end
  if seen[2] then out[#out + 1] = { "c8", "out of memory" } end
  return out
end

--- Picture of the step times, best first.
-- @tparam table rows as base/ranking takes them: { name, makespan, oom, error, own }
-- @tparam ?number bound lower bound of the step time, s
-- @return the picture, or nil and why there is none
function placers.figure(rows, bound)
  if #rows == 0 then return nil, "there are no rows" end
  local list = ranking(rows)
  if list[1].class == 3 then return nil, "no placer has an answer" end
  local top = extent(list)
  local out = svg.picture { text = describe(list, bound),
    label = "Step times of placers, and their gaps to the lower bound" }
  local at, bottom = scale.linear(top, LEFT, RIGHT), 26 + math.min(#list, MOST) * ROW
  if top > 0 then svg.axis(out, at, top, "seconds", 24, bottom) end
  add_rows(out, list, bound, at, top)
  if bound and bound > 0 and bound <= top then add_bound(out, bound, at, bottom) end
  local y = bottom + 36
  y = y + svg.legend(out, legend(list), LEFT, RIGHT, y)
  local more = #list - MOST
  out.height = svg.notes(out, LEFT, y,
    { more > 0 and ("Not drawn: %s that are worse."):format(scale.count(more, "placer")) })
  return out
end

return placers
