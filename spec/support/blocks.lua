--- The fenced code blocks of a Markdown text.
--
-- The words behind the fence tell what a block is: "lua", "json" and "sh" are run by
-- spec/lua/docs/docs_spec.lua; "lua sketch" is only compiled; "text" is for reading.
local blocks = {}

--- Array of { words = { "lua" }, text, line }; line: of the first line in the block.
function blocks.of(markdown)
  local found, open, line = {}, nil, 0
  for s in (markdown .. "\n"):gmatch("(.-)\n") do
    line = line + 1
    local fence = s:match("^```(.*)$")
    if fence and not open then
      open = { words = {}, lines = {}, line = line + 1 }
      for word in fence:gmatch("%S+") do open.words[#open.words + 1] = word end
    elseif fence then
      found[#found + 1] = { words = open.words, text = table.concat(open.lines, "\n"),
        line = open.line }
      open = nil
    elseif open then
      open.lines[#open.lines + 1] = s
    end
  end
  assert(not open, "a fence is not closed")
  return found
end

--- The texts of those whose words are exactly `words`, such as "lua sketch".
function blocks.those(list, words)
  local out = {}
  for _, block in ipairs(list) do
    if table.concat(block.words, " ") == words then out[#out + 1] = block end
  end
  return out
end

--- What the comments "--> text" of a Lua block say that it prints.
function blocks.promises(text)
  local out = {}
  for promise in text:gmatch("%-%-> ([^\n]*)") do out[#out + 1] = (promise:gsub("%s+$", "")) end
  return out
end

return blocks
