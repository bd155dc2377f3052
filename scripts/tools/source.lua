--- Common to the tools for developers: the trees and rooms of the source files, and a lexer for C
-- and Lua.
local source = {}

-- Listed folders, and their trees. Public headers belong to the room of the same name.
local TREES = {
  { "core", "core" }, { "lua/src", "binding" }, { "lua/berth", "lua" }, { "spec", "specs" }, { "scripts", "scripts" },
}

--- All lines that a command prints.
function source.lines(command)
  local pipe, list = assert(io.popen(command)), {}
  for line in pipe:lines() do list[#list + 1] = line end
  pipe:close()
  return list
end

function source.read(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read("*a")
  file:close()
  return text
end

function source.write(path, text)
  local file = assert(io.open(path, "wb"))
  file:write(text)
  assert(file:close())
end

local rooms_of_core

local function is_room(name)
  if not rooms_of_core then
    rooms_of_core = {}
    for _, path in ipairs(source.lines("ls -d core/*/")) do rooms_of_core[path:match("^core/(.*)/$")] = true end
  end
  return rooms_of_core[name]
end

--- Tree and room of a path: the first folder below the tree's root (below spec/c and spec/lua in
-- specs), "." if none.
function source.room(path)
  local header = path:match("^core/include/berth/(.*)%.h$")
  if header then return "core", is_room(header) and header or "include" end
  for _, tree in ipairs(TREES) do
    local rest = path:sub(1, #tree[1] + 1) == tree[1] .. "/" and path:sub(#tree[1] + 2)
    if rest then
      if tree[2] == "specs" then rest = rest:gsub("^c/", ""):gsub("^lua/", "") end
      return tree[2], rest:match("^([^/]+)/") or "."
    end
  end
end

--- Paths of the C and Lua files below some folders, sorted. No folders: all trees.
function source.files(...)
  local folders = { ... }
  if #folders == 0 then
    for i, tree in ipairs(TREES) do folders[i] = tree[1] end
  end
  return source.lines("find " .. table.concat(folders, " ") .. " -name '*.c' -o -name '*.h' -o -name '*.lua' | LC_ALL=C sort")
end

-- Longest first.
local OPERATORS = {
  c = {
    "<<=", ">>=", "...", "->", "++", "--", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "+=", "-=", "*=", "/=", "%=", "&=",
    "|=", "^=", "##",
  },
  lua = { "...", "..", "==", "~=", "<=", ">=", "//", "::", "<<", ">>" },
}

-- Kind and last byte of a comment or string that starts at byte i; nil if none does.
local match = {}

local function line_comment(text, i) return "comment", (text:find("\n", i, true) or #text + 1) - 1 end

local function quoted(text, i)
  local quote, last = text:match("^[\"']", i), i
  if not quote then return end
  repeat
    last = text:find("[\\\n" .. quote .. "]", last + 1) or #text
    local escaped = text:sub(last, last) == "\\"
    if escaped then last = last + 1 end
  until not escaped
  return "string", last
end

function match.c(text, i)
  if text:find("^/%*", i) then return "comment", select(2, text:find("*/", i + 2, true)) end
  if text:find("^//", i) then return line_comment(text, i) end
  return quoted(text, i)
end

function match.lua(text, i)
  local dashes, level = text:match("^(%-*)%[(=*)%[", i)
  if level and (dashes == "" or dashes == "--") then
    return dashes == "" and "string" or "comment", select(2, text:find("]" .. level .. "]", i, true))
  end
  if text:find("^%-%-", i) then return line_comment(text, i) end
  return quoted(text, i)
end

--- Tokens of a text, comments among them: { kind, text, first, line, directive }. Kind: comment, string, number, name, operator.
-- `directive` is true for tokens on a line of the C preprocessor.
function source.tokens(text, language)
  local list, i, line, directive = {}, 1, 1, false
  local function add(kind, last)
    local word = text:sub(i, last)
    list[#list + 1] = { kind = kind, text = word, first = i, line = line, directive = directive }
    line = line + select(2, word:gsub("\n", ""))
    i = last + 1
  end
  while i <= #text do
    local two = text:sub(i, i + 1)
    local one = two:sub(1, 1)
    local kind, last = match[language](text, i)
    if kind then
      add(kind, last or #text)
    elseif two == "\\\n" then
      line, i = line + 1, i + 2
    elseif one == "\n" then
      line, i, directive = line + 1, i + 1, false
    elseif one:find("%s") then
      i = i + 1
    elseif one:find("[%a_]") then
      add("name", select(2, text:find("^[%w_]+", i)))
    elseif two:find("^%.?%d") then
      last = i
      while text:find("^[%w_]", last + 1) or text:find("^%.[^.]", last + 1) or text:find("^[eEpP][+-]", last) do
        last = last + 1
      end
      add("number", last)
    else
      local before = list[#list]
      local first = not (before and before.line == line and before.kind ~= "comment")
      if language == "c" and one == "#" and first then directive = true end
      local length = 1
      for _, operator in ipairs(OPERATORS[language]) do
        if text:sub(i, i + #operator - 1) == operator then length = math.max(length, #operator) end
      end
      add("operator", i + length - 1)
    end
  end
  return list
end

--- The language of a path, by its suffix.
function source.language(path) return path:match("%.lua$") and "lua" or "c" end

--- The sets of lines of a text that hold code and that hold comment.
function source.kinds(text, language)
  local code, comment = {}, {}
  for _, token in ipairs(source.tokens(text, language)) do
    local set = token.kind == "comment" and comment or code
    local n = 0
    for piece in (token.text .. "\n"):gmatch("(.-)\n") do
      if piece:find("%S") then set[token.line + n] = true end
      n = n + 1
    end
  end
  return code, comment
end

return source
