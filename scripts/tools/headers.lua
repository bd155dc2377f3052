--- What the public headers declare, in their order.
local source = require "source"

local headers = {}

-- The text of a comment without its marks.
local function words_of(comment)
  local lines = {}
  for line in (comment:gsub("^/%*+", ""):gsub("%*/$", "") .. "\n"):gmatch("(.-)\n") do
    lines[#lines + 1] = line:gsub("^%s*%* ?", ""):gsub("^%s?(%S)", "%1"):gsub("%s+$", "")
  end
  return table.concat(lines, "\n"):match("^%s*(.-)%s*$")
end

local function name_of(text)
  local flat = text:gsub("%b{}", "{}")
  return text:match("^#define%s+([%w_]+)") or flat:match("%(%*([%w_]+)%)%s*%(")
    or flat:match("([%w_]+)%s*%b()%s*;$") or flat:match("([%w_]+)%s*;$")
    or text:match("^enum%s*{%s*([%w_]+)")
end

local function kind_of(text)
  if text:find("^#define") then return "macro" end
  if text:find("^typedef") or text:find("^struct") or text:find("^enum") then return "type" end
  return text:find("%)%s*;$") and "function" or "value"
end

-- The number of the last token of the declaration that starts at token i.
local function last_of(tokens, i)
  local depth = 0
  for k = i, #tokens do
    local token = tokens[k]
    if tokens[i].directive then
      local after = tokens[k + 1]
      local next_directive = after and after.directive and after.text == "#"
      if not after or not after.directive or next_directive then return k end
    elseif token.text == "{" or token.text == "(" then
      depth = depth + 1
    elseif token.text == "}" or token.text == ")" then
      depth = depth - 1
    elseif token.text == ";" and depth == 0 then
      return k
    end
  end
  return #tokens
end

-- The lines of C++ around the declarations.
local function is_linkage(tokens, i)
  local token = tokens[i]
  return token.text == "extern" or token.text == "}" or token.text == '"C"' or token.text == "{"
end

local function lines_in(text) return select(2, text:gsub("\n", "")) end

--- Array of { kind, name, text, doc, code } and of { kind = "text", doc }, in order. text: as in
-- the source; code: the same without comments, on one line; doc: the comment above it, "" if there
-- is none. A comment behind a declaration on its line is added to its doc.
function headers.declarations(text)
  local tokens, out = source.tokens(text, "c"), {}
  local doc, doc_end, last_line
  local function flush()
    if doc then out[#out + 1] = { kind = "text", doc = doc } end
    doc = nil
  end
  local i = 1
  while i <= #tokens do
    local token = tokens[i]
    if token.kind == "comment" and token.line == last_line then
      local last = out[#out]
      last.doc = last.doc .. (last.doc == "" and "" or "\n\n") .. words_of(token.text)
    elseif token.kind == "comment" then
      flush()
      doc, doc_end = words_of(token.text), token.line + lines_in(token.text)
    elseif not is_linkage(tokens, i) then
      local last = last_of(tokens, i)
      local stop = tokens[last].first + #tokens[last].text - 1
      local whole = text:sub(token.first, stop)
      last_line = tokens[last].line
      local plain = whole:gsub("/%*.-%*/", ""):gsub("\\\n", " "):gsub("%s+", " ")
      local kind, name = kind_of(plain), name_of(plain)
      if doc and doc_end + 1 ~= token.line then flush() end
      if not token.directive or (kind == "macro" and name:find("^BERTH_") and not name:find("_H$"))
      then
        out[#out + 1] = { kind = kind, name = name, text = whole, doc = doc or "", code = plain }
        doc = nil
      end
      i = last
    end
    i = i + 1
  end
  flush()
  return out
end

return headers
