--- JSON of plain tables, and back. Keys are sorted: the same table gives the same bytes.
local writer = require "berth.base.json_writer"
local options = require "berth.base.options"
local utf8 = require "berth.base.utf8"

local json = {}

-- ---- writing -----------------------------------------------------------------------------------

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
    if type(key) ~= "string" then error(where .. ": a table has to be an array, or to have names only", 0) end
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

-- ---- reading -----------------------------------------------------------------------------------

local ESCAPES = { b = "\b", f = "\f", n = "\n", r = "\r", t = "\t", ['"'] = '"', ["\\"] = "\\", ["/"] = "/" }
local WORDS = { ["true"] = true, ["false"] = false }

local read

local DEEPEST = 100 -- values in values: less than what the interpreters' stacks hold

local function unexpected(s, at) return at > #s and "the text ends" or ("unexpected '%s'"):format(s:sub(at, at)) end

local function wrong(s, at, what) error(("column %d: %s"):format(at, what or unexpected(s, at)), 0) end

local function skip(s, at) return s:find("[^ \t\r\n]", at) or #s + 1 end

-- Text and length of the escape u.... at a place, or of two that are the halves of one character. nil: it is none.
local function read_code(s, at)
  local code = tonumber(s:match("^u(%x%x%x%x)", at) or "", 16)
  if not code then return nil end
  if code < 0xD800 or code > 0xDFFF then return utf8.char(code), 5 end
  local low = tonumber(s:match("^\\u([Dd][C-Fc-f]%x%x)", at + 5) or "", 16)
  if code > 0xDBFF or not low then return nil end
  return utf8.char(0x10000 + (code - 0xD800) * 0x400 + low - 0xDC00), 11
end

local function read_string(s, at)
  local parts, i = {}, at + 1
  while true do
    local stop = s:find('["\\]', i) or wrong(s, at, "a string does not end")
    parts[#parts + 1] = s:sub(i, stop - 1)
    if s:sub(stop, stop) == '"' then return table.concat(parts), stop + 1 end
    local char, length = read_code(s, stop + 1)
    parts[#parts + 1] = char or ESCAPES[s:sub(stop + 1, stop + 1)] or wrong(s, stop, "an unknown escape")
    i = stop + 1 + (length or 1)
  end
end

local function read_array(s, at, depth)
  local out, n = {}, 0
  at = skip(s, at + 1)
  if s:sub(at, at) == "]" then return out, at + 1 end
  while true do
    n = n + 1
    out[n], at = read(s, at, depth)
    local mark = s:sub(at, at)
    if mark == "]" then return out, at + 1 end
    if mark ~= "," then wrong(s, at) end
    at = at + 1
  end
end

local function read_object(s, at, depth)
  local out = {}
  at = skip(s, at + 1)
  if s:sub(at, at) == "}" then return out, at + 1 end
  while true do
    at = skip(s, at)
    if s:sub(at, at) ~= '"' then wrong(s, at) end
    local key, after = read_string(s, at)
    after = skip(s, after)
    if s:sub(after, after) ~= ":" then wrong(s, after) end
    out[key], at = read(s, after + 1, depth)
    local mark = s:sub(at, at)
    if mark == "}" then return out, at + 1 end
    if mark ~= "," then wrong(s, at) end
    at = at + 1
  end
end

local function read_word(s, at)
  local word = s:match("^[%w+.-]+", at) or wrong(s, at)
  local value = WORDS[word]
  if value == nil and word ~= "null" then
    value = word:find "^%-?%d+%.?%d*[eE]?[+-]?%d*$" and tonumber(word) or wrong(s, at)
  end
  return value, at + #word
end

local READERS = { ["{"] = read_object, ["["] = read_array, ['"'] = read_string }

-- A value and the place of what follows it. null is nil.
read = function(s, at, depth)
  at = skip(s, at)
  if depth == DEEPEST then wrong(s, at, ("more than %d values in each other"):format(DEEPEST)) end
  local reader = READERS[s:sub(at, at)] or read_word
  local value, after = reader(s, at, depth + 1)
  return value, skip(s, after)
end

--- @treturn[1] value null is nil
-- @treturn[2] nil
-- @treturn[2] string message
function json.decode(s)
  local fine, value, at = pcall(read, s, 1, 0)
  if not fine then return nil, value end
  if at <= #s then return nil, ("column %d: more than one value"):format(at) end
  return value
end

return json
