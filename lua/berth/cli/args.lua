--- Options of a command: { name, kind, value (placeholder), text, choices } and their parsing.
-- kind: flag, string, choice, count (whole, from 1), whole (from 0), number (from 0), numbers
-- (A,B,...), or a unit of berth.quantity ("seconds", "bytes", "bytes/s"). A value follows its
-- option as --name=VALUE or as the next word; "--" ends the options. Values are converted here, so
-- that a command gets numbers in base units. numbers with the field `unit` may have that, or none.
local fail = require "berth.cli.fail"
local lists = require "berth.cli.lists"
local names = require "berth.cli.names"

local args = {}

-- A whole number from `least` to 2^53, which both interpreters hold exactly.
local function whole(name, text, least)
  local n = tonumber(text)
  fail.refuse(not n or n ~= math.floor(n) or n < least or n >= 2 ^ 53,
    "--%s: a whole number of at least %d is needed, not %q", name, least, text)
  return math.floor(n)
end

local UNITS = { seconds = "5us", bytes = "16GB", ["bytes/s"] = "25GB/s", flop = "3GFLOP",
  ["flop/s"] = "15TFLOP/s" }

--- The number of a quantity in base units. Its unit must be there, but for 0 and inf: 25
-- could be bytes or gigabytes.
-- @tparam string what for messages: "--quantum"
-- @tparam string text
-- @tparam string unit of berth.quantity
function args.quantity(what, text, unit)
  local bare = text:match("^%s*[%d.]+%s*$") or text:match("^%s*[%d.]+[eE][+-]?%d+%s*$")
  if bare and tonumber(text) ~= 0 then
    fail.usage("%s: %q has no unit; write it as in %s", what, text,
      unit == "seconds" and text:match "%S+" .. "s" or UNITS[unit])
  end
  local value, message = require("berth").quantity(text, unit)
  if not value then fail.usage("%s: %s", what, message) end
  return value
end

local convert = {}

function convert.string(_, text) return text end
function convert.count(option, text) return whole(option.name, text, 1) end
function convert.whole(option, text) return whole(option.name, text, 0) end
function convert.number(option, text)
  local n = tonumber(text)
  fail.refuse(not n or n ~= n or n < 0, "--%s: a number of at least 0 is needed, not %q",
    option.name, text)
  return n
end
function convert.numbers(option, text)
  local out = {}
  for i, part in ipairs(lists.pieces(option.name, text)) do
    out[i] = tonumber(part) or option.unit and args.quantity("--" .. option.name, part, option.unit)
      or fail.usage("--%s: a number is needed, not %q", option.name, part)
  end
  return out
end
function convert.choice(option, text)
  for _, choice in ipairs(option.choices) do
    if choice == text then return text end
  end
  return names.refuse("--" .. option.name, text, option.choices)
end

-- The converted value; kinds without a converter are units.
local function value_of(option, text)
  local f = convert[option.kind]
  if f then return f(option, text) end
  return args.quantity("--" .. option.name, text, option.kind)
end

-- The option of a command, or a message that lists all of them.
local function find(command, name)
  for _, option in ipairs(command.options) do
    if option.name == name or option.also == name then return option end
  end
  local legal = { "--help" }
  for i, option in ipairs(command.options) do legal[i + 1] = "--" .. option.name end
  return names.refuse(command.name, "--" .. name, legal, ("berth %s --help"):format(command.name),
    "option")
end

-- Reads the option at argv[i]; returns the index of the last argument that it took.
local function take(command, argv, i, options)
  local name, text = argv[i]:match("^%-%-([^=]+)=(.*)$")
  name = name or argv[i]:sub(3)
  local option = find(command, name)
  name = option.name
  if options[name] ~= nil then fail.usage("--%s is given twice", name) end
  if option.kind == "flag" then
    if text then fail.usage("--%s takes no value", name) end
    options[name] = true
    return i
  end
  if not text then
    i = i + 1
    text = argv[i]
    if not text then
      local example = UNITS[option.kind] or (option.choices or option.names or {})[1]
      fail.usage("--%s needs a value: %s%s", name, option.value,
        example and (", as in --%s %s"):format(name, example) or "")
    end
  end
  options[name] = value_of(option, text)
  return i
end

-- Whether the value is legal where there are choices: preset=V100 is of a topology.
local function may_be(option, value)
  for _, choice in ipairs(option.choices or { value }) do
    if choice == value then return true end
  end
  return false
end

-- Which argument is one too many, and what is to be typed if it is KEY=VALUE.
local function surplus(command, positional)
  local extra = positional[command.most + 1]
  if not extra then return "" end
  local before = positional[command.most]
  for i = 2, #positional do
    if positional[i]:find "^[%w_]+=" then extra, before = positional[i], positional[i - 1] break end
  end
  local key, value = extra:match "^([%w_]+)=(.*)$"
  if not key then return (" (%q is one too many)"):format(extra) end
  for _, option in ipairs(command.options) do
    if option.name == key:gsub("_", "-") and may_be(option, value) then
      return (" (%q: type --%s %s)"):format(extra, option.name, value)
    end
  end
  return (" (%q: options of an argument are behind a comma, %s,%s)"):format(extra,
    (before:gsub(",$", "")), extra)
end

--- Positional arguments, and a table of option values by name.
-- @tparam table command name, options, least and most (how many positional arguments), use
-- @tparam table argv words behind the command
-- @treturn table positional arguments
-- @treturn table values by option name; help: true if --help is among them
function args.parse(command, argv)
  local positional, options, i, only_positional = {}, {}, 1, false
  while i <= #argv do
    local word = argv[i]
    if only_positional or word == "-" or word:sub(1, 1) ~= "-" then
      positional[#positional + 1] = word
    elseif word == "--" then only_positional = true
    elseif word == "-h" or word == "--help" then options.help = true
    elseif word:sub(1, 2) == "--" then i = take(command, argv, i, options)
    else
      fail.usage("%s: no option %s; options start with --: is --%s meant? See berth %s --help",
        command.name, word, word:sub(2), command.name)
    end
    i = i + 1
  end
  if options.help then return positional, options end
  if #positional < command.least or #positional > command.most then
    fail.usage("%s: %d arguments%s; usage: berth %s", command.name, #positional,
      surplus(command, positional), command.use)
  end
  return positional, options
end

--- "--name VALUE", the left column of the help text.
function args.left_column(option)
  if option.kind == "flag" then return "--" .. option.name end
  return "--" .. option.name .. " " .. option.value
end

--- The text with the choices behind it.
function args.right_column(option)
  if not option.choices then return option.text end
  return option.text .. " (" .. table.concat(option.choices, " ") .. ")"
end

--- Lines of at most `width` characters.
function args.wrap(text, width)
  local lines, line = {}, ""
  for word in text:gmatch("%S+") do
    if #line > 0 and #line + 1 + #word > width then
      lines[#lines + 1] = line
      line = word
    else
      line = #line > 0 and line .. " " .. word or word
    end
  end
  lines[#lines + 1] = line
  return lines
end

--- The text of --help.
function args.help(command)
  local out = { "usage: berth " .. command.use, "", command.text, "", "options:" }
  for _, option in ipairs(command.options) do
    local lines = args.wrap(args.right_column(option), 92)
    out[#out + 1] = string.format("  %-26s %s", args.left_column(option), lines[1])
    for i = 2, #lines do out[#out + 1] = string.format("  %-26s %s", "", lines[i]) end
  end
  out[#out + 1] = string.format("  %-26s %s", "--help", "this text")
  if command.notes then
    out[#out + 1] = ""
    out[#out + 1] = command.notes
  end
  return table.concat(out, "\n")
end

return args
