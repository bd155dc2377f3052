--- The core's table of formats: names, endings of files, which options each one reads.
local core = require "berth.core"
local descriptors = require "berth.base.descriptors"

local list = core.formats()

-- names, by_name, reads(format, key), readers(key)
local formats = descriptors.of(list)

--- Those that are read, those that graphs are saved in, and of these those that show a placement.
formats.readable, formats.saved, formats.shown = {}, {}, {}

-- The endings of a format, each.
local function endings_of(name) return (formats.by_name[name].endings or ""):gmatch("%S+") end

local function has(parts, part)
  for _, each in ipairs(parts or {}) do
    if each == part then return true end
  end
  return false
end

for _, f in ipairs(list) do
  if f.loads then table.insert(formats.readable, f.name) end
  if has(f.saves, "graph") then
    table.insert(formats.saved, f.name)
    if has(f.saves, "placement") and f.name ~= "berth" then table.insert(formats.shown, f.name) end
  end
end

--- The format that graphs are saved in by the name of the file.
-- @treturn[1] string
-- @treturn[2] nil
-- @treturn[2] string message
formats.of_path = core.format_of_path

--- Whether a format saves devices of ops, too.
function formats.shows(name)
  for _, each in ipairs(formats.shown) do
    if each == name then return true end
  end
  return false
end

--- ".json, .dot, .gv"
function formats.endings(names)
  local out = {}
  for _, name in ipairs(names) do
    for each in endings_of(name) do out[#out + 1] = "." .. each end
  end
  return table.concat(out, ", ")
end

return formats
