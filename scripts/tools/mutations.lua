--- Small changes of C and Lua source text, which a test should detect.
local source = require "source"

local mutations = {}

local function set(words)
  local t = {}
  for word in words:gmatch("%S+") do t[word] = true end
  return t
end

local SWAPS = {
  c = {
    ["<"] = "<=", ["<="] = "<", [">"] = ">=", [">="] = ">", ["=="] = "!=", ["!="] = "==", ["&&"] = "||", ["||"] = "&&",
    ["++"] = "--", ["--"] = "++", ["+="] = "-=", ["-="] = "+=", ["*="] = "/=", ["/="] = "*=", ["%"] = "/", ["/"] = "*",
    fmin = "fmax", fmax = "fmin", ["true"] = "false", ["false"] = "true",
  },
  lua = {
    ["<"] = "<=", ["<="] = "<", [">"] = ">=", [">="] = ">", ["=="] = "~=", ["~="] = "==", ["and"] = "or", ["or"] = "and",
    ["%"] = "/", ["/"] = "*", ["//"] = "*", min = "max", max = "min", ["true"] = "false", ["false"] = "true",
  },
}
-- Of two operands only: "-" and "*" have other uses. A pointer's "*" has no blank after it.
local BINARY = { ["+"] = "-", ["-"] = "+", ["*"] = "/" }
local NO_OPERAND = set "return case sizeof else do and or not in then until while if elseif"
local NO_STATEMENT = set "return goto case default else do if for while switch break continue"
local NO_VERB = set ": , * ;"
local ENDS = { [";"] = true, ["{"] = true, ["}"] = true }
local PAIRS = { ["("] = ")", ["{"] = "}" }

local function number(text)
  local suffix = not text:find("^0[xX]") and text:match("[uUlLfF]+$") or ""
  local digits = text:sub(1, #text - #suffix)
  local x = tonumber(digits)
  if digits:find("^%d+$") and not suffix:find("[fF]") and x < 2 ^ 53 then return ("%d%s"):format(x + 1, suffix) end
  if not x or x ~= x // 1 and text:find("[xX]") then return nil end
  if text:find("^0[xX]") then
    return x < 2 ^ 53 and ("0x%x"):format(x + 1) or nil
  end
  return x == 0 and "1.0" .. suffix or ("%.14g"):format(x * 1.5):gsub("^%d+$", "%0.0") .. suffix
end

-- Index of the token that closes the bracket at i.
local function closing(tokens, i)
  local open, close, depth = tokens[i].text, PAIRS[tokens[i].text], 0
  for k = i, #tokens do
    if tokens[k].text == open then depth = depth + 1 end
    if tokens[k].text == close then depth = depth - 1 end
    if depth == 0 then return k end
  end
end

-- Tokens within an enum's braces and within assert(...) stay.
local function fixed(tokens)
  local skip = {}
  for i, token in ipairs(tokens) do
    local open
    if token.text == "assert" and tokens[i + 1] and tokens[i + 1].text == "(" then open = i + 1 end
    if token.text == "enum" then
      open = tokens[i + 1].text == "{" and i + 1 or tokens[i + 2] and tokens[i + 2].text == "{" and i + 2
    end
    for k = i, open and closing(tokens, open) or i - 1 do skip[k] = true end
  end
  return skip
end

-- The last token of a statement "x = y;" or "f(...);" of C that starts at token i.
local function statement_end(tokens, i)
  local second = tokens[i + 1] and tokens[i + 1].text
  if not (tokens[i - 1] and ENDS[tokens[i - 1].text]) or NO_STATEMENT[tokens[i].text] then return nil end
  if tokens[i].kind ~= "name" or tokens[i + 1].kind ~= "operator" or NO_VERB[second] or tokens[i].depth > 0 then return nil end
  for k = i + 1, #tokens do
    local text = tokens[k].text
    if text == ";" then return k end
    if text == "}" and k > i or text == "{" and tokens[k - 1].text ~= ")" then return nil end
  end
end

-- The first and last token of the condition of an `if` at token i.
local function condition(tokens, i, language)
  if language == "c" then return i + 2, closing(tokens, i + 1) - 1 end
  for k = i + 1, #tokens do
    if tokens[k].text == "then" then return i + 1, k - 1 end
    if tokens[k].text == "function" then return nil end
  end
end

--- Every mutation of a text: a list by line of { first, last, new }, which put `new` in place of the bytes from first to last.
function mutations.list(text, language)
  local tokens, by_line = {}, {}
  local depth = 0 -- of parentheses
  for _, token in ipairs(source.tokens(text, language)) do
    if token.kind ~= "comment" and not token.directive then tokens[#tokens + 1] = token end
    depth = depth + (token.text == "(" and 1 or token.text == ")" and -1 or 0)
    token.depth = depth
  end
  local skip = fixed(tokens)
  local function last_byte(k) return tokens[k].first + #tokens[k].text - 1 end
  local function add(i, k, new)
    local list = by_line[tokens[i].line] or {}
    by_line[tokens[i].line] = list
    list[#list + 1] = { first = tokens[i].first, last = last_byte(k), new = new }
  end
  local function try(i, token)
    local before = tokens[i - 1] or { kind = "operator", text = "" }
    local operand = before.kind == "number" or before.kind == "name" and not NO_OPERAND[before.text]
      or before.text:find("^[)%]]$")
    if text:find("^%*%S", token.first) then operand = false end
    local new = token.kind ~= "string" and SWAPS[language][token.text] or operand and BINARY[token.text]
    if new then add(i, i, new) end
    local array = before.text == "[" and tokens[i - 3] and tokens[i - 2].kind == "name" and tokens[i - 3].text:find("^[%a_*]")
    if token.kind == "number" and not (array and not NO_OPERAND[tokens[i - 3].text]) then
      new = number(token.text)
      if new then add(i, i, new) end
    end
    if token.text == "if" or token.text == "elseif" then
      local a, b = condition(tokens, i, language)
      if a then add(a, b, (language == "c" and "!(%s)" or "not (%s)"):format(text:sub(tokens[a].first, last_byte(b)))) end
    end
    local stop = language == "c" and statement_end(tokens, i)
    if stop then add(i, stop, ";") end
  end
  for i, token in ipairs(tokens) do
    if not skip[i] then try(i, token) end
  end
  return by_line
end

--- The text with a mutation, and on one line what its lines were and are.
function mutations.apply(text, m)
  local head, tail = text:sub(1, m.first - 1), text:sub(m.last + 1)
  local left, right = head:match("[^\n]*$"), tail:match("^[^\n]*")
  local function plain(s) return (s:gsub("%s+", " "):gsub("^ ", ""):gsub(" $", "")) end
  return head .. m.new .. tail, plain(left .. text:sub(m.first, m.last) .. right) .. "  ->  " .. plain(left .. m.new .. right)
end

return mutations
