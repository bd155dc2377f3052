--- Aligned tables of text.
local core = require "berth.core"

local align = {}

local function pad(cell, width, left)
  local space = (" "):rep(width - #cell)
  return left and cell .. space or space .. cell
end

local function aligned(rows, is_left)
  local width, lines = {}, {}
  for _, row in ipairs(rows) do
    for i, cell in ipairs(row) do
      if cell:find "[%c\128-\255]" then row[i] = core.escape(cell) end
    end
    for i, cell in ipairs(row) do width[i] = math.max(width[i] or 0, #cell) end
  end
  for k, row in ipairs(rows) do
    local cells = {}
    for i, cell in ipairs(row) do cells[i] = pad(cell, width[i], is_left(i, row)) end
    lines[k] = table.concat(cells, "  "):gsub("%s+$", "")
  end
  return lines
end

--- Lines of a table: the first row is the header; columns are right-aligned but those in `left`.
-- @tparam table rows arrays of strings
-- @tparam table left set of column numbers
-- @treturn table array of strings
function align.lines(rows, left) return aligned(rows, function(i) return left[i] end) end

--- The same as one text, the first and the last column to the left.
-- @treturn string
function align.text(rows)
  return table.concat(aligned(rows, function(i, row) return i == 1 or i == #row end), "\n")
end

return align
