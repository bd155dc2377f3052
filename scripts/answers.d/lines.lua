-- Lines of answers: a name, key figures, and a hash of the details; and how two lists of lines compare.
-- Numbers are printed by %.17g; the hash is exact in doubles, so PUC Lua and LuaJIT give the same bytes.
local berth = require "berth"

local lines = {}

-- Of a number of 18 digits the 17 that %.17g prints are a tie, which LuaJIT rounds up and C to even: all digits are printed.
local function number(x)
  if x ~= x then return "nan" end
  if x % 1 == 0 and x > -2 ^ 53 and x < 2 ^ 53 then return (("%.0f"):format(x):gsub("^%-0$", "0")) end
  local exact = ("%.40g"):format(x)
  return #exact:gsub("e.*", ""):gsub("[^%d]", ""):gsub("^0+", "") <= 18 and exact or ("%.17g"):format(x)
end

-- Two polynomials modulo primes below 2^32; products stay below 2^53.
function lines.hash(text)
  local a, b = 7, 11
  for i = 1, #text do
    local byte = text:byte(i)
    a, b = (a * 65599 + byte) % 4294967291, (b * 31337 + byte) % 4294967279
  end
  return ("%08x%08x"):format(a, b)
end

local write

local function keys_of(t)
  local numbers, strings = {}, {}
  for key in pairs(t) do
    if type(key) == "number" then numbers[#numbers + 1] = key else strings[#strings + 1] = tostring(key) end
  end
  table.sort(numbers)
  table.sort(strings)
  return numbers, strings
end

-- What the objects of the library amount to.
local objects = {
  graph = function(g) return g:to_string() end,
  topology = function(t) return t:to_string() end,
  placement = function(p) return p:to_string() end,
  result = function(r) return r:to_table() end,
}

local function write_table(t, out)
  local numbers, strings = keys_of(t)
  out[#out + 1] = "{"
  for _, list in ipairs { numbers, strings } do
    for _, key in ipairs(list) do
      out[#out + 1] = type(key) == "number" and number(key) .. "=" or key .. "="
      write(t[key], out)
    end
  end
  out[#out + 1] = "}"
end

-- Functions, and objects of other kinds, count by their type alone.
function write(value, out)
  local kind = type(value)
  local object = kind ~= "string" and objects[berth.kind(value)]
  if object then
    write(object(value), out)
  elseif kind == "table" then
    write_table(value, out)
  elseif kind == "number" then
    out[#out + 1] = number(value)
  elseif kind == "string" or kind == "boolean" or kind == "nil" then
    out[#out + 1] = tostring(value)
  else
    out[#out + 1] = kind
  end
  out[#out + 1] = ";"
end

--- The text of a value, keys sorted: what is hashed.
function lines.text(value)
  local out = {}
  write(value, out)
  return table.concat(out)
end

local function figures(list, format)
  local cells = {}
  for i = 1, #list do
    local x = list[i]
    cells[i] = type(x) == "number" and (format and x == x and format:format(x) or number(x)) or tostring(x)
  end
  return table.concat(cells, " ")
end

-- Positions in Lua files are no answer.
local function bare(message) return (tostring(message):gsub("^[^%s]+:%d+: ", ""):gsub("[\t\n]", " ")) end

--- Calls `add(name, f)` for all answers. `f` gives an array of key figures, and the details; or
-- nil, message, code. A name that begins with ~ depends on BLAS or CHOLMOD: only figures are
-- printed, by `format` (%.17g).
function lines.collector(each)
  return function(name, f, format)
    local ok, list, details, code = pcall(f)
    if not ok then
      each(name .. "\traised\t" .. bare(list))
    elseif list == nil then
      each(("%s\trefused %s\t%s"):format(name, tostring(code), bare(details)))
    elseif name:sub(1, 1) == "~" then
      each(name .. "\t" .. figures(list, format) .. "\t-")
    else
      each(("%s\t%s\t%s"):format(name, figures(list), lines.hash(lines.text(details))))
    end
  end
end

local function equal(name, a, b)
  if a == b then return true end
  if name:sub(1, 1) ~= "~" then return false end
  local next_b = b:gmatch "%S+"
  for x in a:gmatch "%S+" do
    local y = next_b() or ""
    local p, q = tonumber(x), tonumber(y)
    local near = p and q and math.abs(p - q) <= 1e-9 * math.max(math.abs(p), math.abs(q))
    if x ~= y and not near then return false end
  end
  return next_b() == nil
end

--- What differs between two arrays of lines: an array of texts, empty if nothing does.
function lines.compare(expected, got)
  local by_name, differences = {}, {}
  for _, line in ipairs(got) do
    local name = line:match "^[^\t]*"
    if by_name[name] then differences[#differences + 1] = "twice: " .. name end
    by_name[name] = line
  end
  for _, line in ipairs(expected) do
    local name = line:match "^[^\t]*"
    local mine = by_name[name]
    if not mine then
      differences[#differences + 1] = "missing: " .. line
    elseif not equal(name, line, mine) then
      differences[#differences + 1] = ("differs: %s\n     now: %s"):format(line, mine)
    end
    by_name[name] = nil
  end
  for _, line in ipairs(got) do
    if by_name[line:match "^[^\t]*"] then differences[#differences + 1] = "new: " .. line end
  end
  return differences
end

lines.systems = { "placers", "simulation", "bounds", "shapes", "files", "cluster", "pdors", "pacml", "deploy", "learning",
  "commands" }

--- Calls `each` with every line, in one order; `only`: a pattern of the systems.
function lines.all(each, only)
  for _, system in ipairs(lines.systems) do
    if system:find(only or "") then require(system)(lines.collector(each)) end
  end
end

return lines
