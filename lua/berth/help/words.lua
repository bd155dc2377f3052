--- Help about the names of placers and the values of options: berth.help "m-sct", berth.help
-- "insertion". Lines are wrapped; the lookup ignores what is not a letter or digit only in
-- words.letters.
local rules = require "berth.help.rules"

local words = {}

local WIDTH = 100

local function wrap(out, first, s)
  local line, pad = first, (" "):rep(#first)
  for word in s:gmatch("%S+") do
    if #line + 1 + #word > WIDTH and #line > #pad then
      out[#out + 1] = line
      line = pad
    end
    line = line .. (#line > #pad and " " or "") .. word
  end
  out[#out + 1] = line
end

-- Rule, source, when to use it and its weakness.
local function add_placer(out, p)
  out[#out + 1] = p.variant == "" and ("placer %q"):format(p.name)
    or ("placer %q, variant %q"):format(p.name, p.variant)
  wrap(out, "  ", p.rule)
  if p.source ~= "" then wrap(out, "  source: ", p.source) end
  wrap(out, "  use: ", p.good)
  wrap(out, "  weak: ", p.weak)
end

-- The function, the option and the value, with the text of the value.
local function add_option(out, option)
  out[#out + 1] = ("option %s"):format(option)
  wrap(out, "  ", rules.options[option])
  for _, v in ipairs(rules.values) do
    if v.option == option then wrap(out, ("  %-12s "):format(v.name), v.rule) end
  end
end

--- Lines about all that bears the name: a placer, its variants, a variant, an option, a value of
-- one.
function words.about(name)
  local out = {}
  for _, p in ipairs(rules.placers) do
    if p.name == name or p.variant == name then add_placer(out, p) end
  end
  if rules.options[name] then add_option(out, name) end
  for _, v in ipairs(rules.values) do
    if v.name == name then
      out[#out + 1] = ("option %s = %q"):format(v.option, name)
      wrap(out, "  ", v.rule)
    end
  end
  return out
end

function words.is_known(name) return #words.about(name) > 0 end

-- The values of a key in a list, each once, in order.
local function unique(list, key)
  local names, seen = {}, {}
  for _, item in ipairs(list) do
    if not seen[item[key]] then names[#names + 1] = item[key] end
    seen[item[key]] = true
  end
  return names
end

--- Lines that list the names.
function words.overview()
  local out = {}
  wrap(out, "placers: ", table.concat(unique(rules.placers, "name"), " "))
  local options = {}
  for i, name in ipairs(unique(rules.values, "option")) do options[i] = name end
  wrap(out, "options that help explains, with their values: ", table.concat(options, " "))
  return out
end

--- Lines about names with `part` in them.
function words.similar(part)
  local out = {}
  for _, name in ipairs(unique(rules.placers, "name")) do
    if name:find(part, 1, true) then out[#out + 1] = ("  placer %s"):format(name) end
  end
  for _, v in ipairs(rules.values) do
    if v.name:find(part, 1, true) then out[#out + 1] = ("  %s = %q"):format(v.option, v.name) end
  end
  return out
end

local function all_names()
  local out = {}
  for _, p in ipairs(rules.placers) do out[#out + 1] = p.name end
  for _, p in ipairs(rules.placers) do
    if p.variant ~= "" then out[#out + 1] = p.variant end
  end
  for _, v in ipairs(rules.values) do
    out[#out + 1] = v.option
    out[#out + 1] = v.name
  end
  return out
end

--- All names that words.about has lines for.
words.names = all_names

--- Only letters and digits, small.
function words.letters(name) return (name:lower():gsub("[^%w]", "")) end

--- Has the text all words of the query in it?
function words.has_all(text, query)
  local lower = text:lower()
  for word in query:gmatch("%S+") do
    if not lower:find(word, 1, true) then return false end
  end
  return true
end

--- Lines about placers and values whose rules have the words in them.
function words.mentions(query)
  local out = {}
  for _, p in ipairs(rules.placers) do
    if p.variant == "" and words.has_all(p.rule, query) then
      out[#out + 1] = ("  placer %s"):format(p.name)
    end
  end
  for _, v in ipairs(rules.values) do
    if words.has_all(v.rule, query) then out[#out + 1] = ("  %s = %q"):format(v.option, v.name) end
  end
  return out
end

return words
