--- The rooms of the source by floors, as SVG: docs/pictures/rooms.svg.
local svg = require "berth.report.svg"

local rooms_picture = {}

local LEFT, TOP, STEP, HEIGHT, GAP = 76, 16, 32, 24, 8

-- { floor, rooms = { { name, class } } }, highest floor first, rooms by name.
local function rows_of(floors)
  local rows, at = {}, {}
  for class, set in pairs { c1 = floors.core, c8 = floors.lua } do
    for name, floor in pairs(set) do
      if not at[floor] then
        at[floor] = { floor = floor, rooms = {} }
        rows[#rows + 1] = at[floor]
      end
      table.insert(at[floor].rooms, { name = name, class = class })
    end
  end
  table.sort(rows, function(a, b) return a.floor > b.floor end)
  for _, row in ipairs(rows) do
    table.sort(row.rooms, function(a, b) return a.name < b.name end)
  end
  return rows
end

local function room(out, x, y, name, class)
  local width = svg.width(name) + 16
  out:rect(x, y, width, HEIGHT, class)
  out:print(x + 8, y + 16, name, "in")
  return x + width + GAP
end

--- @tparam table floors core and lua: the floor of each room
function rooms_picture.draw(floors)
  local out = svg.picture { kind = "rooms", label = "Rooms by floor", width = 620,
    text = "A room uses rooms on lower floors only. Blue: C with binding and Lua; grey: Lua." }
  local y = TOP
  for _, row in ipairs(rows_of(floors)) do
    out:print(12, y + 16, ("floor %d"):format(row.floor), "small faint")
    local x = LEFT
    for _, each in ipairs(row.rooms) do x = room(out, x, y, each.name, each.class) end
    y = y + STEP
  end
  out.height = svg.notes(out, 12, y, { out.text }) + 8
  return svg.document(out, true)
end

return rooms_picture
