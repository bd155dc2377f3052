-- The folder of test data, which is not part of the project: `$BERTH_SHARED`, else ../shared.
local shared = {}
local json = require "dkjson"

shared.dir = os.getenv("BERTH_SHARED") or "../shared"

function shared.path(name) return shared.dir .. "/" .. name end

function shared.read(name)
  local file = io.open(shared.path(name), "rb")
  if not file then return nil end
  local text = file:read("*a")
  file:close()
  return text
end

function shared.present() return shared.read("data/stg/README.md") ~= nil end

function shared.json(name)
  local value, _, message = json.decode((assert(shared.read(name), name)))
  return assert(value, message)
end

--- Rows of a CSV file with a header, as tables of strings.
function shared.csv(name)
  local rows, names = {}, nil
  for line in assert(shared.read(name), name):gmatch("[^\r\n]+") do
    local cells = {}
    for cell in (line .. ","):gmatch("(.-),") do cells[#cells + 1] = cell end
    if not names then
      names = cells
    else
      local row = {}
      for i, key in ipairs(names) do row[key] = cells[i] end
      rows[#rows + 1] = row
    end
  end
  return rows
end

--- Names of the files of a folder of the data that match a pattern, sorted.
function shared.list(folder, pattern)
  local names = {}
  local ls = assert(io.popen("ls " .. shared.path(folder)))
  for name in ls:lines() do
    if name:match(pattern) then names[#names + 1] = name end
  end
  ls:close()
  return names
end

return shared
