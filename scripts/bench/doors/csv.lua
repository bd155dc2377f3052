-- Tables of the expected values.
local csv = {}

--- The rows of a CSV file without quotes, by the names of its header, and the header; nil: it
-- cannot be read.
function csv.read(path)
  local file = io.open(path)
  if not file then return nil end
  local header, rows
  for line in file:lines() do
    local cells = {}
    for cell in (line:gsub("\r$", "") .. ","):gmatch "([^,]*)," do cells[#cells + 1] = cell end
    if header then
      local row = {}
      for i, name in ipairs(header) do row[name] = cells[i] or "" end
      rows[#rows + 1] = row
    else
      header, rows = cells, {}
    end
  end
  file:close()
  return rows, header
end

return csv
