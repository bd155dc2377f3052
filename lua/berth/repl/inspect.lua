--- Values as short readable text: objects by tostring, tables with a depth limit and sorted keys,
-- long arrays summarised.
local core = require "berth.core"
local inspect = {}

local MAX_ITEMS, MAX_DEPTH, WIDTH = 12, 3, 100

--- The same text for a number under every interpreter: no ".0" on whole numbers.
function inspect.number(x)
  if x ~= x then return "nan" end
  if x == math.huge then return "inf" end
  if x == -math.huge then return "-inf" end
  if x == math.floor(x) and math.abs(x) < 2 ^ 53 then return string.format("%.0f", x) end
  return core.sprintf("%.10g", x)
end

local function is_name(key)
  return type(key) == "string" and key:match("^[%a_][%w_]*$") ~= nil
end

local function rank(key)
  return type(key) == "number" and 1 or type(key) == "string" and 2 or 3
end

local function before(a, b)
  if rank(a) ~= rank(b) then return rank(a) < rank(b) end
  if rank(a) < 3 then return a < b end
  return tostring(a) < tostring(b)
end

local function other_keys(t, n)
  local keys = {}
  for key in pairs(t) do
    local in_array = type(key) == "number" and key >= 1 and key <= n and key == math.floor(key)
    if not in_array then keys[#keys + 1] = key end
  end
  table.sort(keys, before)
  return keys
end

local show

local function show_key(key, depth, seen)
  if is_name(key) then return key end
  return "[" .. show(key, depth, seen) .. "]"
end

-- Items of the array part, then of the rest, each list cut at MAX_ITEMS.
local function items(t, depth, seen)
  local out, n = {}, #t
  for i = 1, math.min(n, MAX_ITEMS) do out[i] = show(t[i], depth - 1, seen) end
  if n > MAX_ITEMS then out[#out + 1] = string.format("... (%d items)", n) end
  local keys = other_keys(t, n)
  for i = 1, math.min(#keys, 4 * MAX_ITEMS) do
    out[#out + 1] = show_key(keys[i], depth - 1, seen) .. " = " .. show(t[keys[i]], depth - 1, seen)
  end
  if #keys > 4 * MAX_ITEMS then out[#out + 1] = string.format("... (%d keys)", #keys) end
  return out
end

local function join(list)
  local line = "{ " .. table.concat(list, ", ") .. " }"
  if #line <= WIDTH and not line:find("\n") then return line end
  for i, item in ipairs(list) do list[i] = "  " .. item:gsub("\n", "\n  ") end
  return "{\n" .. table.concat(list, ",\n") .. "\n}"
end

local function show_table(t, depth, seen)
  local meta = getmetatable(t)
  if type(meta) == "table" and rawget(meta, "__tostring") then return tostring(t) end
  if seen[t] then return "<above>" end
  if next(t) == nil then return "{}" end
  if depth <= 0 then return #t > 0 and string.format("{... %d items}", #t) or "{...}" end
  seen[t] = true
  local text = join(items(t, depth, seen))
  seen[t] = nil
  return text
end

local QUOTES = { ["\n"] = "\\n", ["\r"] = "\\r", ["\t"] = "\\t", ['"'] = '\\"', ["\\"] = "\\\\" }

local function quote(s)
  local escaped = s:gsub('[%c"\\]',
    function(c) return QUOTES[c] or string.format("\\%03d", c:byte()) end)
  return '"' .. escaped .. '"'
end

show = function(x, depth, seen)
  local kind = type(x)
  if kind == "number" then return inspect.number(x) end
  if kind == "string" then return quote(x) end
  if kind == "table" then return show_table(x, depth, seen) end
  if kind == "function" then return "<function>" end
  return tostring(x)
end

--- @tparam any x
-- @tparam[opt=3] number depth of nested tables
function inspect.show(x, depth)
  return show(x, depth or MAX_DEPTH, {})
end

return inspect
