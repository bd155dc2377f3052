--- Horizontal bars of one or more parts, a row each, with a note behind it.
local scale = require "berth.report.scale"
local svg = require "berth.report.svg"

local bars = {}

local ROW, BAR, LEFT, RIGHT, MOST = 24, 16, 150, 600, 64

-- The parts of a row from left to right, and a line at its limit.
local function add_row(out, row, y, at)
  local left = out.left
  local x = left
  local class = row.strong and "end strong" or "end"
  out:print(left - 8, y + 12, svg.fit(row.name, left - 14, 12), class)
  for _, part in ipairs(row.parts) do
    local w = at(part.value) - left
    if w > 0 then out:rect(x, y, w, BAR, part.class, part.tip) end
    x = x + w
  end
  if row.limit then out:line(at(row.limit), y - 3, at(row.limit), y + BAR + 3, "limit") end
  out:print(RIGHT + 12, y + 12, svg.fit(row.note, svg.WIDTH - RIGHT - 16, 11),
    row.warn and "small warn" or "small")
end

-- The longest bar, and limits.
local function extent(rows)
  local top = 0
  for _, row in ipairs(rows) do
    local sum = 0
    for _, part in ipairs(row.parts) do sum = sum + part.value end
    top = math.max(top, sum, row.limit or 0)
  end
  return top
end

--- @tparam table fields kind, label, text of svg.picture; left: where bars begin, px
-- @tparam table rows name, strong, parts (array: value, class, tip), limit (a value to mark), note,
--  warn
-- @tparam string unit of the values
-- @tparam ?table legend of svg.legend
function bars.figure(fields, rows, unit, legend)
  local out, top = svg.picture(fields), extent(rows)
  out.left = fields.left or LEFT
  local n = math.min(#rows, MOST)
  local at, y, bottom = scale.linear(top, out.left, RIGHT), 14, 14 + n * ROW
  if top > 0 then svg.axis(out, at, top, unit, y - 6, bottom) end
  for i = 1, n do
    add_row(out, rows[i], y, at)
    y = y + ROW
  end
  y = bottom + 36
  if legend then y = y + svg.legend(out, legend, out.left, svg.RIGHT, y) + 4 end
  out.height = svg.notes(out, out.left, y - 12,
    { #rows > MOST and ("Not drawn: the last %s."):format(scale.count(#rows - MOST, "row")) })
  return out
end

return bars
