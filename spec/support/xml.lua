-- Raises if a text is no well-formed XML; gives the elements { name, attributes, parent }.
--
-- Every element is closed in its order, attributes are quoted and named once, only characters and
-- references that XML has.
local xml = {}

local entities = { amp = true, lt = true, gt = true, quot = true, apos = true }

local function check_references(text)
  for at in text:gmatch("&()") do
    local name = text:match("^(#?%w+);", at)
    if not name then error("a bare & before " .. text:sub(at, at + 20)) end
    if name:sub(1, 1) == "#" then
      if not name:match("^#%d+$") and not name:match("^#x%x+$") then
        error("no reference: " .. name)
      end
    elseif not entities[name] then error("no entity of XML: " .. name) end
  end
  local bad = text:match("[%z\1-\8\11\12\14-\31\127]")
  if bad then error("a control character: " .. bad:byte()) end
end

local function attributes_of(text)
  local out, at = {}, 1
  while true do
    local name, quote, start = text:match("^%s+([%a_:][%w_:%.%-]*)=([\"'])()", at)
    if not name then break end
    local stop = text:find(quote, start, true) or error("an open quote: " .. text)
    local value = text:sub(start, stop - 1)
    if value:find("<", 1, true) then error("< in an attribute: " .. value) end
    if out[name] then error("twice: " .. name) end
    check_references(value)
    out[name], at = value, stop + 1
  end
  if text:find("%S", at) then error("no attributes: " .. text:sub(at)) end
  return out
end

-- The end of the tag that begins at `from`: a > outside quotes.
local function tag_end(text, from)
  local at = from
  while at do
    local mark
    at, mark = text:match("()([\"'>])", at)
    if mark == ">" then return at end
    at = at and text:find(mark, at + 1, true)
    at = at and at + 1
  end
  error("an open tag: " .. text:sub(from, from + 40))
end

--- @tparam string text with or without `<!DOCTYPE html>`
function xml.elements(text)
  text = text:gsub("^<!DOCTYPE html>%s*", "")
  local all, open, at = {}, {}, 1
  while true do
    local from = text:find("<", at, true)
    local between = text:sub(at, (from or #text + 1) - 1)
    check_references(between)
    if #open == 0 and between:find("%S") then error("text outside: " .. between) end
    if not from then break end
    local to = tag_end(text, from)
    local close, name, rest, single = text:sub(from, to):match("^<(/?)(%a[%w:%-]*)(.-)(/?)>$")
    if not name then error("no tag: " .. text:sub(from, to)) end
    if close == "/" then
      local last = table.remove(open)
      if not last or last.name ~= name or rest:find("%S") then
        error("closed out of order: " .. name)
      end
    else
      if #open == 0 and #all > 0 then error("a second root: " .. name) end
      local one = { name = name, attributes = attributes_of(rest), parent = open[#open] }
      all[#all + 1] = one
      if single == "" then open[#open + 1] = one end
    end
    at = to + 1
  end
  if #open > 0 then error("never closed: " .. open[#open].name) end
  if #all == 0 then error("no element") end
  return all
end

return xml
