--- JSON of plain tables, and back. Keys are sorted: the same table gives the same bytes.
local core = require "berth.core"
local writer = require "berth.base.json_writer"
local options = require "berth.base.options"

local json = {}

-- ---- writing ------------------------------------------------------------------------------------

local plain

local function is_array(t, keys)
  for i = 1, #keys do
    if t[i] == nil then return false end
  end
  return true
end

local function members(t, keys, where)
  local out = {}
  for i, key in ipairs(keys) do
    if type(key) ~= "string" then
      error(where .. ": a table has to be an array, or to have names only", 0)
    end
    out[i] = { key, plain(t[key], where .. "." .. key) }
  end
  return writer.object(out)
end

local function items(t, where)
  local out = {}
  for i, x in ipairs(t) do out[i] = plain(x, where .. "[" .. i .. "]") end
  return out
end

plain = function(x, where)
  local kind = type(x)
  if kind == "number" or kind == "string" or kind == "boolean" then return x end
  if kind ~= "table" then error(("%s: a %s cannot be recorded"):format(where, kind), 0) end
  local keys = options.sorted_keys(x)
  if #keys > 0 and is_array(x, keys) then return items(x, where) end
  return members(x, keys, where)
end

--- Raises, with the place, for what has no JSON. Numbers that are not finite become null.
-- @param x numbers, strings, booleans, arrays and tables with names of these
-- @tparam[opt] string where what to call x in messages
function json.encode(x, where) return writer.encode(plain(x, where or "value")) end

--- @tparam table list { key, value } in order; nil values are left out
function json.object(list)
  local out = {}
  for _, member in ipairs(list) do
    if member[2] ~= nil then out[#out + 1] = { member[1], plain(member[2], member[1]) } end
  end
  return writer.encode(writer.object(out))
end

-- ---- reading ------------------------------------------------------------------------------------

--- null is nil, also in arrays.
-- @tparam string text
-- @tparam[opt="text"] string name of the file in messages
-- @treturn[1] value
-- @treturn[2] nil
-- @treturn[2] string message, which begins with name and line
function json.decode(text, name)
  local value, message = core.json(text, name or "text")
  return value, message
end

return json
