--- berth.help: short texts about functions, objects, modules and words.
--
-- help(x) returns an object that prints as its text: print(berth.help "place"), or help(berth.place) at the prompt.
local fields = require "berth.help.fields"
local topics = require "berth.help.topics"

local help = {}

local by_name = {}
for _, topic in ipairs(topics) do by_name[topic[1]] = topic end

local Text = { __tostring = function(self) return self.text end }

local function text(lines)
  return setmetatable({ text = table.concat(lines, "\n") }, Text)
end

local function indent(s)
  return "  " .. s:gsub("\n", "\n  ")
end

local function entry(topic)
  local lines = { topic[2], indent(topic[3]) }
  if topic[4] then lines[#lines + 1] = "  > " .. topic[4] end
  return lines
end

-- First sentence of a text.
local function brief(topic)
  local line = topic[3]:gsub("\n", " ")
  return line:match("^(.-)%.%s") or (line:gsub("%.$", ""))
end

local function children(prefix)
  local found = {}
  for _, topic in ipairs(topics) do
    local rest = topic[1]:sub(#prefix + 1)
    if topic[1]:sub(1, #prefix) == prefix and not rest:find("[.:]") then found[#found + 1] = topic end
  end
  return found
end

local function add_list(lines, title, list)
  if #list == 0 then return end
  lines[#lines + 1] = title
  for _, topic in ipairs(list) do lines[#lines + 1] = string.format("  %-24s %s", topic[1], brief(topic)) end
end

local function overview()
  local lines = { "berth places, simulates and schedules distributed machine-learning graphs.", "" }
  add_list(lines, "functions of berth, and words (help \"place\"):", children(""))
  lines[#lines + 1] = "methods: help \"graph\", or help(g) for an object g"
  return text(lines)
end

local function about(name)
  local lines = by_name[name] and entry(by_name[name]) or {}
  add_list(lines, "functions:", children(name .. "."))
  if fields[name] and #fields[name] > 0 then lines[#lines + 1] = "fields: " .. table.concat(fields[name], " ") end
  add_list(lines, "methods:", children(name .. ":"))
  return text(lines)
end

--- Class of an object of the library ("graph"), or nil.
function help.class(x)
  local key = type(x) == "userdata" and getmetatable(x)
  return type(key) == "string" and key:match("^berth%.(.+)$") or nil
end

--- Names of the methods of a class, sorted.
function help.methods(class)
  local names = {}
  for _, topic in ipairs(children(class .. ":")) do names[#names + 1] = topic[1]:sub(#class + 2) end
  table.sort(names)
  return names
end

--- Names of the fields of a class, sorted.
function help.fields(class)
  return fields[class] or {}
end

-- A value of the module (or of a module in it) is known by its identity.
local function path_of(x)
  local berth = package.loaded.berth
  if type(berth) ~= "table" then return nil end
  if x == berth then return "" end
  for _, topic in ipairs(topics) do
    local value = berth
    for part in topic[1]:gmatch("[^.]+") do value = type(value) == "table" and rawget(value, part) or nil end
    if value ~= nil and value == x then return topic[1] end
  end
  return nil
end

local function similar(word)
  local found = {}
  for _, topic in ipairs(topics) do
    if topic[1]:find(word, 1, true) then found[#found + 1] = topic end
  end
  return found
end

local function about_word(word)
  local name = word:gsub("^berth%.", "")
  if name == "berth" then return overview() end
  if by_name[name] then return about(name) end
  local lines = { string.format("nothing under %q", word) }
  add_list(lines, "there is:", similar(name:lower()))
  return text(lines)
end

--- What is known about x: a function, an object, a module, a word; nil: everything in short.
-- @return an object whose tostring is the text
function help.about(x)
  if x == nil then return overview() end
  if type(x) == "string" then return about_word(x) end
  local class = help.class(x)
  if class then return about(class) end
  local path = (type(x) == "function" or type(x) == "table") and path_of(x)
  if path == "" then return overview() end
  if path then return about(path) end
  return text { string.format("no help for this %s; help() lists what there is", type(x)) }
end

--- All topics, in order: arrays { name, use, text, example }.
help.topics = topics

return setmetatable(help, { __call = function(_, x) return help.about(x) end })
