--- Lists and settings in the value of one option: A,B,... and KEY=VALUE,...
local fail = require "berth.cli.fail"

local lists = {}

--- The entries of A,B,...
-- @tparam string name of the option
-- @tparam string value
-- @tparam[opt] boolean once no entry may be there twice
function lists.pieces(name, value, once)
  local out, seen = {}, {}
  for part in (value .. ","):gmatch "%s*(.-)%s*," do
    if part == "" then fail.usage("--%s: %q has an empty entry", name, value) end
    if once and seen[part] then fail.usage("--%s: %s is there twice", name, part) end
    out[#out + 1], seen[part] = part, true
  end
  return out
end

--- The settings of KEY=VALUE,...
-- @tparam string what for messages: "--set"
-- @tparam ?string text
-- @tparam function convert text of a value and its key -> the value
-- @tparam[opt] table out takes the settings; none may be there already
function lists.settings(what, text, convert, out)
  out = out or {}
  for part in (text or ""):gmatch "[^,]+" do
    local key, value = part:match "^%s*([^%s=]+)%s*=%s*(.-)%s*$"
    if not key or value == "" then fail.usage("%s: KEY=VALUE is needed, not %q", what, part) end
    if out[key] ~= nil then fail.usage("%s: %s is given twice", what, key) end
    out[key] = convert(value, key)
  end
  return out
end

--- A number, FROM..TO as { from, to }, true, false, or the text itself.
function lists.value(text)
  local from, to = text:match "^(.-)%.%.(.+)$"
  if tonumber(from) and tonumber(to) then return { tonumber(from), tonumber(to) } end
  if text == "true" or text == "false" then return text == "true" end
  return tonumber(text) or text
end

return lists
