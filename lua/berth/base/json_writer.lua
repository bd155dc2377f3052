--- Writes JSON: the same bytes under every interpreter, keys in the order given.
local core = require "berth.core"
local utf8 = require "berth.base.utf8"

local json = {}

local ESCAPES = { ['"'] = '\\"', ["\\"] = "\\\\", ["\n"] = "\\n", ["\r"] = "\\r", ["\t"] = "\\t" }

--- The value null.
json.null = setmetatable({}, { __tostring = function() return "null" end })

local Object = {}

--- An object from an array of { key, value }, in that order; nil values become null.
function json.object(members)
  return setmetatable(members, Object)
end

--- Fields of a table as members for json.object.
-- @tparam table source
-- @tparam string names separated by spaces: "field", or "key=field" where the key has another name
function json.fields(source, names)
  local out = {}
  for name in names:gmatch "%S+" do
    local key, field = name:match "^(.-)=(.+)$"
    out[#out + 1] = { key or name, source[field or name] }
  end
  return out
end

-- Bytes that are no UTF-8 become U+FFFD, as in files of the core.
local function string_of(s)
  if s:find("[\128-\255]") then s = utf8.repaired(s) end
  local escaped = s:gsub('[%z\1-\31"\\]',
    function(c) return ESCAPES[c] or string.format("\\u%04x", c:byte()) end)
  return '"' .. escaped .. '"'
end

-- What reads back as the same number; infinite and NaN have no JSON.
local function number_of(x)
  if x ~= x or x == math.huge or x == -math.huge then return "null" end
  if x == math.floor(x) and math.abs(x) < 2 ^ 53 then return string.format("%.0f", x) end
  return core.number_text(x)
end

local encode

local function members(o)
  local out = {}
  for i, member in ipairs(o) do out[i] = string_of(member[1]) .. ":" .. encode(member[2]) end
  return "{" .. table.concat(out, ",") .. "}"
end

local function items(t)
  local out = {}
  for i = 1, #t do out[i] = encode(t[i]) end
  return "[" .. table.concat(out, ",") .. "]"
end

encode = function(x)
  if x == json.null or x == nil then return "null" end
  local kind = type(x)
  if kind == "number" then return number_of(x) end
  if kind == "string" then return string_of(x) end
  if kind == "boolean" then return tostring(x) end
  if getmetatable(x) == Object then return members(x) end
  return items(x)
end

--- Members of a refusal: the message, its code, and what is to blame (ids from 1).
function json.refusal(message, code, why)
  why = why or {}
  return { { "error", message }, { "code", code }, { "op", why.op }, { "device", why.device },
    { "missing_bytes", why.missing } }
end

--- Text of a number, string, boolean, array, json.null or json.object.
json.encode = encode

return json
