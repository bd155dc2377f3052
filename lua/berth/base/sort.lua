--- Sorts ids by a key; ties go to the lower id, so that the order is the same everywhere.
local sort = {}

local function by(list, key, before)
  local value = type(key) == "table" and function(id) return key[id] end or key
  table.sort(list, function(a, b)
    local x, y = value(a), value(b)
    if x ~= y then return before(x, y) end
    return a < b
  end)
  return list
end

local function less(x, y) return x < y end
local function more(x, y) return x > y end

--- The least key first.
-- @tparam table list ids, numbers or strings
-- @tparam table|function key by id
-- @treturn table the same list
function sort.rising(list, key) return by(list, key, less) end

--- The largest key first.
function sort.falling(list, key) return by(list, key, more) end

--- The ids 1 to n.
function sort.ids(n)
  local out = {}
  for i = 1, n do out[i] = i end
  return out
end

return sort
