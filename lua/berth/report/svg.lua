--- Pieces of SVG. All text that comes from outside goes through svg.escape.
local colours = require "berth.report.colours"
local scale = require "berth.report.scale"

local svg = {}

local num = scale.number

-- Length of the well-formed UTF-8 sequence at byte i that XML allows; nil: there is none.
local function sequence(text, i)
  local a, b, c = text:byte(i, i + 2)
  if a < 0x80 then return a >= 0x20 and a ~= 0x7F and 1 or nil end
  if a < 0xC2 or a > 0xF4 then return nil end
  local length = a < 0xE0 and 2 or a < 0xF0 and 3 or 4
  if not text:sub(i + 1, i + length - 1):match("^" .. ("[\128-\191]"):rep(length - 1) .. "$") then return nil end
  if a == 0xE0 and b < 0xA0 or a == 0xF0 and b < 0x90 then return nil end
  if a == 0xF4 and b > 0x8F or a == 0xED and b > 0x9F then return nil end
  if a == 0xEF and b == 0xBF and c >= 0xBE then return nil end
  return length
end

-- Spaces for line breaks and tabs; U+FFFD for bytes that no XML may have.
local function clean(text)
  text = text:gsub("[\t\n\r]", " ")
  if not text:find("[^\32-\126]") then return text end
  local out, i = {}, 1
  while i <= #text do
    local length = sequence(text, i)
    out[#out + 1] = length and text:sub(i, i + length - 1) or "\239\191\189"
    i = i + (length or 1)
  end
  return table.concat(out)
end

local entity = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;", ["'"] = "&#39;" }

--- Text as it may stand in an element or an attribute of XML and HTML.
function svg.escape(text) return (clean(text):gsub("[&<>\"']", entity)) end

-- Wide scripts take a whole em, others about 0.58.
local function width_of(char, size) return (#char >= 3 and 1 or 0.58) * size end

--- About how wide a text is, in the size of figures.
function svg.width(text, size)
  local sum = 0
  for char in clean(text):gmatch("[^\128-\191][\128-\191]*") do sum = sum + width_of(char, size or 12) end
  return sum
end

--- The text, or its beginning and an ellipsis, in at most `room`.
function svg.fit(text, room, size)
  text, size = clean(text), size or 12
  if svg.width(text, size) <= room then return text end
  local out, sum = {}, size
  for char in text:gmatch("[^\128-\191][\128-\191]*") do
    sum = sum + width_of(char, size)
    if sum > room then break end
    out[#out + 1] = char
  end
  return #out > 0 and table.concat(out) .. "…" or ""
end

function svg.text(x, y, text, class)
  local how = class and (' class="%s"'):format(class) or ""
  return ('<text x="%s" y="%s"%s>%s</text>'):format(num(x), num(y), how, svg.escape(text))
end

--- A rectangle; with a tip if there is a title.
function svg.rect(x, y, w, h, class, title)
  local head = ('<rect x="%s" y="%s" width="%s" height="%s" class="%s"'):format(num(x), num(y), num(w), num(h), class)
  return title and ("%s><title>%s</title></rect>"):format(head, svg.escape(title)) or head .. "/>"
end

function svg.line(x1, y1, x2, y2, class)
  return ('<path d="M%s %sL%s %s" class="%s"/>'):format(num(x1), num(y1), num(x2), num(y2), class)
end

function svg.path(d, class) return ('<path d="%s" class="%s"/>'):format(d, class) end

--- The part of a path that draws a rectangle.
function svg.block(x, y, w, h)
  return ("M%s %sh%sv%sh-%sz"):format(num(x), num(y), num(w), num(h), num(w))
end

--- Lines, and labels below them, at round values of 0..most.
function svg.axis(out, at, most, unit, top, bottom)
  local last = -1e9
  for _, value in ipairs(scale.ticks(most, 8)) do
    local x = at(value)
    out[#out + 1] = svg.line(x, top, x, bottom, "rule")
    local label = scale.quantity(value, unit)
    local half = svg.width(label, 11) / 2
    if x - half > last then
      out[#out + 1] = svg.text(x, bottom + 14, label, "mid small faint")
      last = x + half + 6
    end
  end
end

--- Rows of coloured squares with labels, { class, text }; gives the height.
function svg.legend(out, entries, left, right, top)
  local x, y = left, top
  for _, entry in ipairs(entries) do
    local text = svg.fit(entry[2], 200, 11)
    local need = 16 + svg.width(text, 11) + 14
    if x > left and x + need > right then x, y = left, y + 17 end
    out[#out + 1] = svg.rect(x, y - 9, 10, 10, entry[1])
    out[#out + 1] = svg.text(x + 15, y, text, "small")
    x = x + need
  end
  return y + 8 - top
end

--- A whole picture.
-- @tparam table figure width, height, label, and pieces
-- @tparam boolean alone with its rules, as a file of its own
function svg.document(figure, alone)
  return table.concat {
    ('<svg xmlns="http://www.w3.org/2000/svg" class="berth" viewBox="0 0 %s %s" width="%s" height="%s" role="img" '
      .. 'aria-label="%s">'):format(num(figure.width), num(figure.height),
      num(figure.width), num(figure.height), svg.escape(figure.label)),
    alone and "<style>" .. colours.style .. "</style>" or "", "\n", table.concat(figure, "\n"), "\n</svg>\n",
  }
end

svg.WIDTH, svg.LEFT, svg.RIGHT = 820, 124, 806

return svg
