--- Option tables and errors of the Lua modules, in the manner of the C ones.
local core = require "berth.core"
local sort = require "berth.base.sort"

-- Errors blame the first caller outside lua/berth/.
local home = debug and debug.getinfo(1, "S").source:match("^(.*)base/options%.lua$")
if home then core.set_home(home) end

local options = {}

--- Raises at the first caller outside berth's modules.
function options.fail(format, ...) error(core.where() .. core.sprintf(format, ...), 0) end

--- The same, if the condition holds; the values of the message are evaluated in any case.
function options.refuse(condition, format, ...)
  if condition then options.fail(format, ...) end
end

local KIND_OF = { array = "table", name = "string" }

--- Raises unless x is of a kind, of core.kind, or "array" or "name".
-- @tparam string format names x, with the values behind it
function options.expect(x, kind, format, ...)
  local wanted = KIND_OF[kind] or kind
  if type(x) == wanted or core.kind(x) == wanted then return end
  local article = (kind:find "^[aeiou]" or kind == "rng") and "an" or "a"
  options.fail("%s: expected %s %s, got %s", format:format(...), article, kind, core.kind(x))
end

--- The keys of a table in a fixed order.
function options.sorted_keys(t)
  local keys = {}
  for key in pairs(t) do keys[#keys + 1] = key end
  table.sort(keys, function(a, b)
    local ka, kb = type(a), type(b)
    if ka ~= kb then return ka < kb end
    if ka == "number" or ka == "string" then return sort.before(a, b) end
    return sort.before(tostring(a), tostring(b))
  end)
  return keys
end

--- The name that a word may be a misspelling or the beginning of; nil: none.
-- @treturn ?string
-- @treturn ?int how many letters differ
options.nearest = core.name_nearest

--- The legal names for a message about an unknown one: all, or the nearest of many; then "; did you
-- mean 'b'?", if one is near.
-- @tparam ?string word
-- @tparam table names
-- @tparam[opt] string all what lists all names: "berth models"
options.names_text = core.names_text

--- The option table itself, or an empty one; raises for keys that are not in `legal`: an array
-- (`was`: present keys by former ones), or the name of a function with rows.
function options.check(fn, given, legal)
  if given == nil then return {} end
  if type(given) ~= "table" then
    options.fail("%s: options: expected a table, got %s", fn, core.kind(given))
  end
  if type(legal) == "string" then legal = options.keys(legal) end
  local known = {}
  for _, key in ipairs(legal) do known[key] = true end
  for _, key in ipairs(options.sorted_keys(given)) do
    if legal.was and legal.was[key] then
      options.fail("%s: option '%s' is now '%s'", fn, key, legal.was[key])
    end
    if not known[key] then
      local topic = fn:match "^berth%.(.+)$"
      options.fail("%s: unknown option '%s' (legal: %s)", fn, tostring(key),
        options.names_text(key, legal, topic and ("berth.help(%q)"):format(topic)))
    end
  end
  return given
end

-- ---- descriptors --------------------------------------------------------------------------------

local declared = {}

--- Registers the options of a function in Lua. Checks, help, the command line and the tables of
-- docs/ find them by options.described.
-- @tparam string name of the function, without "berth.": "cluster.simulate"
-- @tparam table rows array of { key, type, default, text, low, high, above, choices }, as
--  core.options gives (choices: { name, text }); and readers (set of the names that read it; nil:
--  all), only (these in words), off (false is legal, too), required
function options.declare(name, rows) declared[name] = rows end

--- The rows of a function's options, declared or the core's; nil: it has none.
-- Without a name: names of all that have some.
function options.described(name)
  if name then return declared[name] or core.options(name) end
  local names = core.options()
  for _, key in ipairs(options.sorted_keys(declared)) do names[#names + 1] = key end
  return names
end

--- Keys of a function's options, in order, for options.check.
-- @tparam[opt] string reader only those that it reads
-- @treturn table array; `was`: present keys by former ones, if there are any
function options.keys(name, reader)
  local out = {}
  for _, o in ipairs(options.described(name)) do
    if not o.readers or o.readers[reader] then out[#out + 1] = o.key end
    if o.was then
      out.was = out.was or {}
      out.was[o.was] = o.key
    end
  end
  return out
end

--- Some rows of a function's options, for those of another that hands them on.
-- @tparam string name of the function
-- @tparam[opt] string keys with spaces between them; nil: all
function options.rows(name, keys)
  if not keys then return options.copy(options.described(name)) end
  local out, by_key = {}, options.by_key(name)
  for key in keys:gmatch "%S+" do out[#out + 1] = assert(by_key[key], key) end
  return out
end

--- All rows of the given lists in one.
function options.join(...)
  local out = {}
  for _, list in ipairs { ... } do
    for _, row in ipairs(list) do out[#out + 1] = row end
  end
  return out
end

--- The rows of a function's options by their keys.
function options.by_key(name)
  local out = {}
  for _, option in ipairs(options.described(name)) do out[option.key] = option end
  return out
end

-- Each: what is wrong with a value, or nil.
local wrong = {}
local KINDS = { flag = "boolean", string = "string", table = "table", ["function"] = "function",
  graph = "graph", topology = "topology", result = "result" }

function wrong.number(o, x)
  local text, low, high = core.number_text, o.low or 0, o.high
  if type(x) ~= "number" then return "expected a number, got " .. core.kind(x) end
  local finite = x == x and (math.abs(x) < math.huge or high == math.huge)
  local enough = x > low or x == low and not o.above
  if finite and enough and (not high or x <= high) then return nil end
  if low == -math.huge then
    return ("expected a finite number of at most %s, got %s"):format(text(high), text(x))
  end
  local from = (o.above and "above %s" or "%s"):format(text(low))
  if high and high < math.huge then
    return ("%s is out of range %s to %s"):format(text(x), from, text(high))
  end
  if not o.above then from = "from " .. from end
  return ("expected a finite number %s, got %s"):format(from, text(x))
end

function wrong.whole(o, x)
  if type(x) == "number" and x ~= math.floor(x) then
    return "expected a whole number, got " .. core.number_text(x)
  end
  return wrong.number(o, x)
end

function wrong.choice(o, x)
  local names = {}
  for i, choice in ipairs(o.choices) do
    names[i] = choice.name
    if x == choice.name then return nil end
  end
  local list = options.names_text(x, names)
  if type(x) == "string" then return ("'%s' is none of: %s"):format(x, list) end
  return ("expected one of: %s; got %s"):format(list, core.kind(x))
end

-- Or true or false.
wrong["whole or flag"] = function(o, x) return type(x) ~= "boolean" and wrong.whole(o, x) or nil end

-- A number, or { from, to }; of rows with `steps` also { from, to, steps }.
function wrong.course(o, x)
  if type(x) ~= "table" then return wrong.number(o, x) end
  for _, key in ipairs(options.sorted_keys(x)) do
    if key ~= 1 and key ~= 2 and not (key == 3 and o.steps) then
      return "expected a number or { from, to }, got key " .. tostring(key)
    end
  end
  local course_steps = x[3] and wrong.number({ low = 1, high = 1e12 }, x[3])
  if course_steps then return "[3]: " .. course_steps end
  local from, to = wrong.number(o, x[1]), wrong.number(o, x[2])
  return from and "[1]: " .. from or to and "[2]: " .. to or nil
end

local function wrong_with(o, x)
  if x == false and o.off then return nil end
  if wrong[o.type] then return wrong[o.type](o, x) end
  local kind = KINDS[o.type]
  if not kind or core.kind(x) == kind then return nil end
  local expected = kind == "boolean" and "true or false" or "a " .. kind
  return ("expected %s, got %s"):format(expected, core.kind(x))
end

--- Raises for values that the rows of a function do not allow; other keys are not checked.
function options.check_values(fn, name, given)
  for _, o in ipairs(options.described(name)) do
    local x = given[o.key]
    local why = (x ~= nil or o.required) and wrong_with(o, x)
    if why then options.fail("%s: %s%s%s", fn, o.key, why:find "^%[" and "" or ": ", why) end
  end
  return given
end

--- Raises unless the value of an option is absent or one of its choices, of rows that allow more.
function options.check_choice(fn, name, key, given)
  local x, o = given[key], options.by_key(name)[key]
  local why = x ~= nil and wrong.choice(o, x)
  if why then options.fail("%s: %s: %s", fn, key, why) end
end

--- The option table itself, or an empty one, its keys and values checked by the rows of a function.
-- Types besides flag, whole, whole or flag, number, course, choice, string, table, function, graph,
-- topology and result are the caller's to check.
-- @tparam string fn for messages
-- @tparam string name of the function
-- @tparam[opt] string reader only what it reads is legal
function options.read(fn, name, given, reader)
  return options.check_values(fn, name, options.check(fn, given, options.keys(name, reader)))
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
    options.fail("%s: options of '%s': expected a table, got %s", where, given[1],
      core.kind(given[2]))
  end
end

--- A function in place of one that has another name now: it raises.
function options.moved(old, new)
  return function() options.fail("%s: the name is %s now", old, new) end
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

--- (graph, topology, ...) or (cost, ...) as cost and the rest. The option table is `rest[at]`; its
-- field `cost` prices the graph.
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
