-- Rows of a CSV file, plain or gzip, as tables of strings by the names of its header.
local core = require "berth.core"

local csv = {}

-- Cells of a line; a cell in quotes may hold commas, and "" for a quote.
local function cells_of(line)
  local cells, at = {}, 1
  while at <= #line + 1 do
    local cell, stop
    if line:sub(at, at) == '"' then
      stop = at
      repeat stop = (line:find('"', stop + 1, true) or #line) + 1
      until line:sub(stop, stop) ~= '"'
      cell = line:sub(at + 1, stop - 2):gsub('""', '"')
    else
      stop = line:find(",", at, true) or #line + 1
      cell = line:sub(at, stop - 1)
    end
    cells[#cells + 1] = cell
    at = stop + 1
  end
  return cells
end

--- Rows of `dir`/`name`, or of the same with .gz.
-- @treturn[1] array by row: the cells by name, and `csv_line`, the number of the line
-- @treturn[2] nil where there is no such file
function csv.read(dir, name)
  local path = dir .. "/" .. name
  local text = core.read(path, "llm_validate") or core.read(path .. ".gz", "llm_validate")
  if not text then return nil end
  local rows, names, number = {}, nil, 0
  for line in (text:gsub("^\239\187\191", "") .. "\n"):gmatch "(.-)\r?\n" do
    number = number + 1
    local cells = cells_of(line)
    if not names then
      names = cells
    elseif line ~= "" then
      local row = { csv_line = number }
      for i, key in ipairs(names) do row[key] = cells[i] or "" end
      rows[#rows + 1] = row
    end
  end
  return rows
end

return csv
