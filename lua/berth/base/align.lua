--- Lines of cells as an aligned table: first and last column to the left, the others to the right.
local function pad(text, width, left)
  local space = (" "):rep(width - #text)
  return left and text .. space or space .. text
end

--- @tparam table lines arrays of strings
-- @treturn string
return function(lines)
  local width = {}
  for _, line in ipairs(lines) do
    for i, cell in ipairs(line) do width[i] = math.max(width[i] or 0, #cell) end
  end
  local out = {}
  for k, line in ipairs(lines) do
    local row = {}
    for i, cell in ipairs(line) do row[i] = pad(cell, width[i], i == 1 or i == #line) end
    out[k] = table.concat(row, "  "):gsub("%s+$", "")
  end
  return table.concat(out, "\n")
end
