--- The command line as pages show it.
local typed = {}

local function base_name(path) return path:match("([^/\\]+)$") or path end

--- A word as a POSIX shell reads it back.
function typed.quoted(word)
  if word:find("^[%w%-_%./:=,+@%%]+$") then return word end
  return "'" .. word:gsub("'", "'\\''") .. "'"
end

--- The command as it was typed, but for the directory of what it wrote.
-- @tparam string name of the command
-- @tparam table words after the name
-- @tparam string output name of the option that gives the file
function typed.command(name, words, output)
  local out, option = { "berth " .. name }, "--" .. output
  for i, word in ipairs(words) do
    if words[i - 1] == option then word = base_name(word)
    elseif word:sub(1, #option + 1) == option .. "=" then
      word = option .. "=" .. base_name(word:sub(#option + 2))
    end
    out[#out + 1] = typed.quoted(word)
  end
  return table.concat(out, " ")
end

return typed
