--- Megatron's layout of a pipeline, --pipeline-model-parallel-layout: "Et*3|(tt|)*29,m|L".
--
-- Letters are layers (E embedding, t transformer layer, m multi-token prediction, L loss), | ends a
-- chunk, x*n repeats a layer or a group in parentheses; commas and spaces mean nothing. Chunk c is
-- on stage c modulo stages.
local layout = {}

local LEGAL = { E = true, t = true, m = true, L = true, ["|"] = true }
local MOST = 65536 -- letters of an expanded layout

local Bad = {}

local function refuse(at, format, ...)
  error(setmetatable({ text = ("character %d: "):format(at) .. format:format(...) }, Bad), 0)
end

-- The number behind a star at `at`, and where it ends; 1 without a star.
local function times(text, at)
  local digits, after = text:match("^[%s,]*%*%s*(%d+)()", at)
  if digits then return tonumber(digits), after end
  if text:find("^[%s,]*%*", at) then refuse(at, "a number is needed behind *") end
  return 1, at
end

-- The letters from `at` to the end, or to the parenthesis that closes the group begun at `open`.
local function expand(text, at, open)
  local out = ""
  while at <= #text do
    local c, item, begin = text:sub(at, at), nil, at
    if c == ")" then
      if not open then refuse(at, "')' without '('") end
      return out, at + 1
    elseif c == "(" then item, at = expand(text, at + 1, at)
    elseif c:find "[%s,]" then at = at + 1
    elseif LEGAL[c] then item, at = c, at + 1
    else refuse(at, "'%s' is none of E t m L | ( ) * ,", c) end
    if item then
      local n, after = times(text, at)
      if #out + n * #item > MOST then refuse(begin, "more than %d layers", MOST) end
      out, at = out .. item:rep(n), after
    end
  end
  if open then refuse(open, "'(' without ')'") end
  return out
end

--- The layers of each chunk, a string of letters each; an empty one has none.
-- @treturn[1] table array of strings
-- @treturn[2] nil
-- @treturn[2] string message
function layout.parse(text)
  local fine, letters = pcall(expand, text, 1)
  if not fine then
    if getmetatable(letters) ~= Bad then error(letters, 0) end
    return nil, letters.text
  end
  local out = {}
  for chunk in (letters .. "|"):gmatch "([^|]*)|" do out[#out + 1] = chunk end
  return out
end

-- "ttt" as "t*3"
local function shortened(letters)
  return (letters:gsub("(t+)", function(run) return #run > 1 and "t*" .. #run or run end))
end

--- The text of such an array.
function layout.text(chunks)
  local out = {}
  for i, letters in ipairs(chunks) do out[i] = shortened(letters) end
  return table.concat(out, "|")
end

return layout
