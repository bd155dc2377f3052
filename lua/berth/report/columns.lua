--- Columns of a pixel for what is narrower: each has the colour that takes most of it, so that the
-- size of a picture does not depend on how many things are in it.
local svg = require "berth.report.svg"

local columns = {}

--- Adds w px of a colour, "c1" to "c8", to the column at x.
-- @tparam table row columns by x; {} at first
function columns.add(row, x, w, class)
  local k = math.floor(x)
  local column = row[k] or { sum = 0 }
  row[k] = column
  column[class] = (column[class] or 0) + w
  column.sum = column.sum + w
end

-- The class that takes most of a column; of equals the first.
local function main_class(column)
  local best = "c1"
  for k = 2, 8 do
    local class = ("c%d"):format(k)
    if (column[class] or 0) > (column[best] or 0) then best = class end
  end
  return best
end

--- Appends the columns from left to right to the pieces of their colours' paths; at least 0.3 px
-- wide, so that they can be seen.
-- @tparam table paths arrays of pieces by class
function columns.draw(paths, row, y, height, left, right)
  for x = math.floor(left), math.floor(right) + 1 do
    local column = row[x]
    if column and column.sum > 0 then
      local class = main_class(column)
      paths[class] = paths[class] or {}
      table.insert(paths[class], svg.block(x, y, math.min(1, math.max(column.sum, 0.3)), height))
    end
  end
end

return columns
