--- berth.help: short texts about functions, objects, methods, modules and words.
--
-- help(x) returns an object that prints as its text: print(berth.help "place"), or
-- help(berth.place) at the prompt.
local sort = require "berth.base.sort"
local fields = require "berth.help.fields"
local options = require "berth.base.options"
local topics = require "berth.help.topics"
local words = require "berth.help.words"

local help = {}

for _, part in ipairs { "berth.help.learning", "berth.help.pacml", "berth.help.cluster",
    "berth.help.pdors", "berth.help.deploy", "berth.help.schedule", "berth.help.llm",
    "berth.help.objects" } do
  for _, topic in ipairs(require(part)) do topics[#topics + 1] = topic end
end

-- These declare options.
for _, module in ipairs { "agents", "agents.gdp", "agents.pacml.train", "agents.placeto",
  "agents.tasks", "cluster.traces", "deploy.page", "deploy.plan_load", "exec.calibrate",
  "experiment", "llm.launch", "llm.page", "llm.search", "nn", "pacml", "pacml.page", "pdors",
  "pdors.page",
  "place.compare", "place.gaps", "report.cluster", "report.draw", "schedule", "schedule.page",
  "schedule.picture", "topology.tag_clusters" } do
  require("berth." .. module)
end

local by_name = {}
for _, topic in ipairs(topics) do by_name[topic[1]] = topic end

local Text = { __tostring = function(self) return self.text end }

-- An object whose tostring is the lines, so that the prompt and print show them alike.
local function text(lines)
  return setmetatable({ text = table.concat(lines, "\n") }, Text)
end

local function indent(s)
  return "  " .. s:gsub("\n", "\n  ")
end

local function add_all(lines, more)
  for _, line in ipairs(more) do lines[#lines + 1] = line end
end

-- The lines of a topic: use, text, example.
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

-- Topics of a module: those whose name begins with its path.
local function children(prefix)
  local found = {}
  for _, topic in ipairs(topics) do
    local rest = topic[1]:sub(#prefix + 1)
    if topic[1]:sub(1, #prefix) == prefix and not rest:find("[.:]") then
      found[#found + 1] = topic
    end
  end
  return found
end

-- A title, and names with the first sentences of their texts.
local function add_list(lines, title, list)
  if #list == 0 then return end
  lines[#lines + 1] = title
  for _, topic in ipairs(list) do
    lines[#lines + 1] = string.format("  %-24s %s", topic[1], brief(topic))
  end
end

-- The text of berth.help() without arguments.
local function overview()
  local lines = { "berth places, simulates and schedules distributed machine-learning graphs.", "" }
  add_list(lines, "functions of berth, and words (help \"place\"):", children(""))
  add_all(lines, words.overview())
  lines[#lines + 1] = "methods and fields: help \"graph\", or help(g) for an object g; one method: "
    .. "help(g.op), help \"graph:op\""
  return text(lines)
end

-- Fields of the class of that name.
local function add_fields(lines, name)
  if not fields[name] then return end
  if #fields[name] > 0 then lines[#lines + 1] = "fields:" end
  for _, field in ipairs(fields[name]) do
    lines[#lines + 1] = string.format("  %-24s %s", field[1], field[2])
  end
end

-- Methods of the class of that name.
local function add_methods(lines, name)
  add_list(lines, "methods:", children(name .. ":"))
  if not fields[name] or name == "plan" then return end
  local close = "Gives its memory back at once; else the garbage collector does"
  lines[#lines + 1] = string.format("  %-24s %s", name .. ":close", close)
end

-- The legal values of an option: its choices, or its range.
local function legal(option)
  if not option.choices then return option.type end
  local names = {}
  for i, choice in ipairs(option.choices) do names[i] = choice.name end
  return table.concat(names, ", ")
end

-- The options that are described; those of a method of graphs have its name alone, and of planners
-- without "pacml_".
local function add_options(lines, name)
  local described = options.described(name)
    or options.described((name:gsub("^graph:", ""):gsub("^pacml_", "")))
  if not described then return end
  lines[#lines + 1] = "options:"
  for _, option in ipairs(described) do
    lines[#lines + 1] = ("  %-24s %s (%s; default %s)"):format(option.key, option.text,
      legal(option), option.default)
  end
end

-- All that is known by a name: topic, fields, methods, options, words.
local function about(name)
  local lines = by_name[name] and entry(by_name[name]) or {}
  add_options(lines, name)
  add_list(lines, "functions:", children(name .. "."))
  add_fields(lines, name)
  add_methods(lines, name)
  add_all(lines, words.about(name))
  return lines
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
  if fields[class] and class ~= "plan" then names[#names + 1] = "close" end
  table.sort(names, sort.before)
  return names
end

--- Names of the fields of a class, sorted.
function help.fields(class)
  local names = {}
  for i, field in ipairs(fields[class] or {}) do names[i] = field[1] end
  return names
end

-- ---- values -------------------------------------------------------------------------------------

-- A value of the module (or of a module in it) is known by its identity.
local function path_of(x, berth)
  if x == berth then return "" end
  for _, topic in ipairs(topics) do
    local value = berth
    for part in topic[1]:gmatch("[^.]+") do
      value = type(value) == "table" and rawget(value, part) or nil
    end
    if value ~= nil and value == x then return topic[1] end
  end
  return nil
end

-- One object of each class; its methods are those of all objects of the class.
local function samples(berth)
  local graph, topology = berth.graph { ops = { { seconds = 1 } } }, berth.topology.mesh(1)
  local cost = berth.cost(graph, topology)
  local placement = berth.place(cost, "single")
  local nn = berth.nn
  local p, ramp = nn.parameters(), berth.ramp()
  return { graph = graph, topology = topology, cost = cost, placement = placement,
    result = berth.simulate(cost, placement), rng = berth.rng(), array = nn.zeros { 1 },
    index = nn.index {}, segments = nn.segments {}, tape = nn.tape(), parameters = p,
    adam = nn.adam(p), ramp = ramp }
end

-- Adds the methods of an object to the table by identity.
local function note_methods(known, class, object)
  for _, name in ipairs(help.methods(class)) do known[object[name]] = class .. ":" .. name end
end

local function find_methods(berth)
  local known = {}
  for class, object in pairs(samples(berth)) do note_methods(known, class, object) end
  berth.place(berth.graph { ops = { { seconds = 1 } } }, berth.topology.mesh(1), {
    device = function(_, _, plan) note_methods(known, "plan", plan) end,
  })
  return known
end

local methods -- by identity, filled when first needed

local function method_of(x, berth)
  methods = methods or find_methods(berth)
  return methods[x]
end

-- The name that help has for a value: a path, a method, or the class of an object.
local function name_of(x)
  local berth = package.loaded.berth
  if type(berth) ~= "table" or type(x) ~= "function" and type(x) ~= "table" then return nil end
  return path_of(x, berth) or method_of(x, berth)
end

-- Tables that the library's functions give, such as bounds, name what explains them.
local function topic_of(x)
  local meta = type(x) == "table" and getmetatable(x)
  local name = type(meta) == "table" and rawget(meta, "__name")
  return type(name) == "string" and by_name[name:match("^berth%.(.+)$")]
    and name:match("^berth%.(.+)$") or nil
end

-- ---- words --------------------------------------------------------------------------------------

-- Topics with the word in their names.
local function similar(word)
  local found = {}
  for _, topic in ipairs(topics) do
    if topic[1]:lower():find(word, 1, true) then found[#found + 1] = topic end
  end
  return found
end

-- Topics whose texts have all the words in them.
local function mentions(word)
  local found = {}
  for _, topic in ipairs(topics) do
    if words.has_all(topic[1] .. " " .. topic[3], word) then found[#found + 1] = topic end
  end
  return found
end

-- The one name that has the same letters: "msct".
local function same_letters(word)
  local found
  local function note(name)
    if words.letters(name) ~= words.letters(word) then return end
    found = found == nil and name or found == name and name or false
  end
  for _, topic in ipairs(topics) do note(topic[1]) end
  for _, name in ipairs(words.names()) do note(name) end
  return found
end

-- Methods of that name: "fuse" is one of graphs.
local function add_methods_named(lines, name)
  for _, topic in ipairs(topics) do
    if topic[1]:match("^%a+:(.+)$") == name then add_all(lines, entry(topic)) end
  end
end

-- The answer where a name is unknown: what is similar.
local function nothing(name)
  local lines = { string.format("nothing under %q", name) }
  add_list(lines, "there is:", similar(name:lower()))
  add_all(lines, words.similar(name:lower()))
  if #lines > 1 then return lines end
  add_list(lines, "texts that speak of it:", mentions(name:lower()))
  add_all(lines, words.mentions(name:lower()))
  if #lines == 1 then
    local names = options.join(words.names(), options.sorted_keys(by_name))
    local meant = options.nearest(name, names)
    lines[2] = meant and ("did you mean '%s'?"):format(meant) or "help() lists what there is"
  end
  return lines
end

local about_word
function about_word(word)
  local name = word:gsub("^berth%.", "")
  if name == "berth" then return overview() end
  local class = name:match("^(%a+):close$")
  if class and fields[class] then return text(about(class)) end
  local lines = (by_name[name] or fields[name] or words.is_known(name) or options.described(name))
    and about(name) or {}
  if not by_name[name] then add_methods_named(lines, name) end
  if #lines > 0 then return text(lines) end
  local same = same_letters(name)
  return same and about_word(same) or text(nothing(word))
end

--- What is known about x: a function, a method, an object, a module, a word.
-- @return an object whose tostring is the text
function help.about(x)
  if type(x) == "string" then return about_word(x) end
  if x == nil then
    return text { "that is nil: is its name spelt right? help() lists what there is, help "
      .. "\"place\" explains a word" }
  end
  local class = help.class(x)
  if class then return text(about(class)) end
  local name = name_of(x)
  if name == "" then return overview() end
  if name then return about_word(name) end
  local topic = topic_of(x)
  if topic then return about_word(topic) end
  return text { string.format("no help for this %s; help() lists what there is", type(x)) }
end

--- All topics, in order: arrays { name, use, text, example }.
help.topics = topics

return setmetatable(help, { __call = function(_, ...)
  if select("#", ...) == 0 then return overview() end
  return help.about((...))
end })
