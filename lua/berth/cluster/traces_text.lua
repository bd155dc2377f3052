--- Lines and cells of trace files.
local text = {}

--- Lines with their numbers, without ends of lines; blank ones are passed over.
function text.lines(whole)
  local at, number = 1, 0
  if whole:sub(1, 3) == "\239\187\191" then at = 4 end -- a mark of UTF-8
  return function()
    while at <= #whole do
      local stop = whole:find("\n", at, true) or #whole + 1
      local line = whole:sub(at, stop - 1)
      at, number = stop + 1, number + 1
      if line:byte(-1) == 13 then line = line:sub(1, -2) end
      if line:find "%S" then return line, number end
    end
  end
end

-- From a quote on: the cell, and where the next one begins.
local function quoted(line, at)
  local out = {}
  while true do
    local stop = line:find('"', at, true)
    if not stop then return nil end
    out[#out + 1] = line:sub(at, stop - 1)
    if line:sub(stop + 1, stop + 1) ~= '"' then return table.concat(out), stop + 2 end
    out[#out + 1] = '"'
    at = stop + 2
  end
end

local function quoted_cells(line)
  local out, at = {}, 1
  while at <= #line + 1 do
    local cell
    if line:sub(at, at) == '"' then
      cell, at = quoted(line, at + 1)
      if not cell then return nil, "a quote is not closed" end
    else
      local stop = line:find(",", at, true) or #line + 1
      cell, at = line:sub(at, stop - 1), stop + 1
    end
    out[#out + 1] = cell
  end
  return out
end

--- Cells of a line of CSV; nil, why.
function text.cells(line)
  if line:find('"', 1, true) then return quoted_cells(line) end
  local out, n = {}, 0
  for cell in (line .. ","):gmatch "([^,]*)," do
    n = n + 1
    out[n] = cell
  end
  return out
end

--- Cells between tabs.
function text.tabbed(line)
  local out, n = {}, 0
  for cell in (line .. "\t"):gmatch "([^\t]*)\t" do
    n = n + 1
    out[n] = cell
  end
  return out
end

return text
