--- Numbers, strings, booleans and tables of them as text, and back to the same numbers.
-- @module berth.agents.record
local options = require "berth.base.options"

local record = {}

local write = {
  number = function(x)
    local whole = x % 1 == 0 and math.abs(x) < 1e15
    return (whole and "n%.0f;" or "n%.17g;"):format(x)
  end,
  string = function(x) return ("s%.0f;%s"):format(#x, x) end,
  boolean = function(x) return x and "y" or "f" end,
}
write.table = function(x)
  local out = {}
  for _, key in ipairs(options.sorted_keys(x)) do
    out[#out + 1] = record.write(key)
    out[#out + 1] = record.write(x[key])
  end
  return "t" .. table.concat(out) .. "e"
end

--- @param x a number, string, boolean or table; keys in order, so that equal tables give equal text
function record.write(x)
  local how = write[type(x)]
  if not how then options.fail("berth.agents: cannot keep a %s", type(x)) end
  return how(x)
end

local read

local function read_table(text, at)
  local out = {}
  while text:sub(at, at) ~= "e" do
    local key, behind = read(text, at)
    local value, after = read(text, behind)
    if key == nil or value == nil then return nil end
    out[key], at = value, after
  end
  return out, at + 1
end

-- The value that begins at `at`, and where the next begins; nil if there is none.
function read(text, at)
  if at == nil then return nil end
  local tag = text:sub(at, at)
  if tag == "y" then return true, at + 1 end
  if tag == "f" then return false, at + 1 end
  if tag == "t" then return read_table(text, at + 1) end
  local number, behind = text:match("^([^;]*);()", at + 1)
  number = tonumber(number)
  if not number then return nil end
  if tag == "n" then return number, behind end
  if tag == "s" then return text:sub(behind, behind + number - 1), behind + number end
end

--- @treturn[1] the value
-- @treturn[2] nil if the text is none of record.write's
function record.read(text)
  local value, behind = read(text, 1)
  if behind ~= #text + 1 then return nil end
  return value
end

return record
