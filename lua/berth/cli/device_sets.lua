--- Sets of devices as options take them: "1-4/5,6", "d0-d3/d4,d5".
local fail = require "berth.cli.fail"
local sort = require "berth.base.sort"

-- Ids by name, the names (longest first), and whether a number is an id: not where devices are
-- named by numbers.
local function directory(topology)
  local known = { id = {}, names = {}, n = #topology, numbers = true }
  for device in topology:devices() do
    known.id[device.name], known.names[device.id] = device.id, device.name
    if device.name:match "^%d+$" then known.numbers = false end
  end
  known.range = ("%s to %s"):format(known.names[1], known.names[known.n])
  if known.numbers then known.range = ("%s, or 1 to %d"):format(known.range, known.n) end
  sort.falling(known.names, function(name) return #name end)
  return known
end

-- The device at a place of the text, and the place behind it. nil: there is none
local function device_at(text, at, known)
  for _, name in ipairs(known.names) do
    local behind = at + #name
    if name ~= "" and text:sub(at, behind - 1) == name and text:find("^%s*[-,/]", behind) then
      return known.id[name], behind
    end
  end
  local digits, behind = text:match("^(%d+)()%s*[-,/]", at)
  local id = known.numbers and tonumber(digits)
  if id and id >= 1 and id <= known.n then return math.floor(id), behind end
  return nil
end

-- First and last device at a place, the mark behind them, and the place behind that. nil: there are
-- none
local function run_at(text, at, known)
  local first, last, mark, behind
  first, behind = device_at(text, at, known)
  if not first then return nil end
  last, mark, behind = first, text:match("^%s*([-,/])%s*()", behind)
  if mark ~= "-" then return first, last, mark, behind end
  last, behind = device_at(text, behind, known)
  if not last or last < first then return nil end
  mark, behind = text:match("^%s*([,/])%s*()", behind)
  return mark and first, last, mark, behind
end

-- Raises with the part of the text that begins at the place.
local function refused(option, text, at, known)
  local part = text:sub(at):match "^%s*(.-)%s*[,/]"
  if part == "" then fail.usage("--%s: %q has an empty entry", option, text:sub(1, -2)) end
  return fail.usage("--%s: %q is no device and no range of devices (%s)", option, part, known.range)
end

-- Adds devices first to last to a set; a device is in a set once.
local function add(option, set, first, last, topology)
  for d = first, last do
    if set[d] then
      fail.usage("--%s: device %s is twice in a set", option, topology:device(d).name)
    end
    set[d] = true
    table.insert(set.list, d)
  end
end

--- Sets with / between them, of devices and ranges with commas; a device is a number from 1 or a
-- name.
-- @tparam string option for messages
-- @tparam string text
-- @tparam topology topology
-- @treturn table arrays of ids
return function(option, text, topology)
  local known, sets, set, at = directory(topology), {}, { list = {} }, text:match "^%s*()"
  text = text .. "/"
  while at <= #text do
    local first, last, mark, behind = run_at(text, at, known)
    if not first then refused(option, text, at, known) end
    add(option, set, first, last, topology)
    if mark == "/" then sets[#sets + 1], set = set.list, { list = {} } end
    at = behind
  end
  return sets
end
