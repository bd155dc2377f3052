--- Option tables and errors of the Lua modules, in the manner of the C ones.
local core = require "berth.core"

-- Errors blame the first caller outside lua/berth/.
local home = debug and debug.getinfo(1, "S").source:match("^(.*)base/options%.lua$")
if home then core.set_home(home) end

local options = {}

--- Raises at the first caller outside berth's modules.
function options.fail(format, ...) error(core.where() .. format:format(...), 0) end

--- The keys of a table in a fixed order.
function options.sorted_keys(t)
  local keys = {}
  for key in pairs(t) do keys[#keys + 1] = key end
  table.sort(keys, function(a, b)
    local ka, kb = type(a), type(b)
    if ka ~= kb then return ka < kb end
    if ka == "number" or ka == "string" then return a < b end
    return tostring(a) < tostring(b)
  end)
  return keys
end

--- The option table itself, or an empty one; raises for keys that are not in `legal` (an array).
function options.check(fn, given, legal)
  if given == nil then return {} end
  if type(given) ~= "table" then options.fail("%s: options: expected a table, got %s", fn, core.kind(given)) end
  local known = {}
  for _, key in ipairs(legal) do known[key] = true end
  for _, key in ipairs(options.sorted_keys(given)) do
    if not known[key] then
      options.fail("%s: unknown option '%s' (legal: %s)", fn, tostring(key), table.concat(legal, ", "))
    end
  end
  return given
end

--- A time in s, given as a number or with a unit.
function options.seconds(where, given)
  local found, value, message = pcall(core.quantity, given, "seconds")
  if found and type(value) == "number" then return value end
  local text = tostring(found and message or value):gsub("^.*berth%.quantity: quantity: ", "")
  return options.fail("%s: %s", where, text)
end

--- Raises unless a table that begins with a name is `{ name, options }`, with nothing beside them.
function options.check_named(where, given)
  for _, key in ipairs(options.sorted_keys(given)) do
    if key ~= 1 and key ~= 2 then
      options.fail("%s: unknown key '%s': expected { name, options }", where, tostring(key))
    end
  end
  if given[2] ~= nil and type(given[2]) ~= "table" then
    options.fail("%s: options of '%s': expected a table, got %s", where, given[1], core.kind(given[2]))
  end
end

--- A new array with the same items.
function options.copy(list)
  local out = {}
  for i, item in ipairs(list) do out[i] = item end
  return out
end

--- A new table with the fields of all given ones, later ones winning. nil arguments are skipped.
function options.merge(...)
  local out = {}
  for i = 1, select("#", ...) do
    for key, value in pairs((select(i, ...)) or {}) do out[key] = value end
  end
  return out
end

--- (graph, topology, ...) or (cost, ...) as cost and the rest. The option table is `rest[at]`; its field `cost` prices the graph.
-- @treturn[1] cost
-- @treturn[1] table the arguments behind it
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code
function options.priced(fn, at, a, b, ...)
  if core.kind(a) == "cost" then
    local rest = { b, ... }
    local given = rest[at]
    if type(given) == "table" and given.cost ~= nil then
      options.fail("%s: cost: is given already, instead of graph and topology", fn)
    end
    return a, rest
  end
  local rest = { ... }
  local given = rest[at]
  local cost, message, code = core.priced(fn, a, b, type(given) == "table" and given.cost or nil)
  if not cost then return nil, message, code end
  return cost, rest
end

return options
