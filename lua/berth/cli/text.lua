--- Aligned tables of text.
local text = {}

local function widths(rows)
  local w = {}
  for _, row in ipairs(rows) do
    for i, cell in ipairs(row) do w[i] = math.max(w[i] or 0, #cell) end
  end
  return w
end

local function pad(cell, width, left)
  local space = string.rep(" ", width - #cell)
  return left and cell .. space or space .. cell
end

--- Lines of a table: the first row is the header; columns are right-aligned but those in `left`.
-- @tparam table rows arrays of strings
-- @tparam table left set of column numbers
function text.align(rows, left)
  local w, lines = widths(rows), {}
  for k, row in ipairs(rows) do
    local cells = {}
    for i, cell in ipairs(row) do cells[i] = pad(cell, w[i], left[i]) end
    lines[k] = (table.concat(cells, "  "):gsub("%s+$", ""))
  end
  return lines
end

return text
