--- Sorts ids by a key; ties go to the lower id, so that the order is the same everywhere.
local sort = {}

--- Whether a number or string comes before another: strings by their bytes, where < goes by the
-- collation of the locale.
function sort.before(a, b)
  if type(a) ~= "string" or type(b) ~= "string" then return a < b end
  for i = 1, math.min(#a, #b) do
    local x, y = a:byte(i), b:byte(i)
    if x ~= y then return x < y end
  end
  return #a < #b
end

local function by(list, key, before)
  local value = type(key) == "table" and function(id) return key[id] end or key
  table.sort(list, function(a, b)
    local x, y = value(a), value(b)
    if x ~= y then return before(x, y) end
    return sort.before(a, b)
  end)
  return list
end

local function more(x, y) return sort.before(y, x) end

--- The least key first.
-- @tparam table list ids, numbers or strings
-- @tparam table|function key by id
-- @treturn table the same list
function sort.rising(list, key) return by(list, key, sort.before) end

--- The largest key first.
function sort.falling(list, key) return by(list, key, more) end

--- The ids 1 to n.
function sort.ids(n)
  local out = {}
  for i = 1, n do out[i] = i end
  return out
end

return sort
