--- Pieces of SVG. All text from outside is escaped by svg.escape.
local colours = require "berth.report.colours"
local scale = require "berth.report.scale"
local utf8 = require "berth.base.utf8"

local svg = {}

local num = scale.number

-- XML has no control characters, and not the last two of the first plane.
local function is_legal(text, first, last)
  local a, b, c = text:byte(first, last)
  if first == last then return a >= 0x20 and a ~= 0x7F end
  return not (a == 0xEF and b == 0xBF and c >= 0xBE)
end

-- Spaces for line breaks and tabs; U+FFFD for bytes that no XML may have.
local function clean(text)
  text = text:gsub("[\t\n\r]", " ")
  return text:find("[^\32-\126]") and utf8.repaired(text, is_legal) or text
end

local entity = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;",
  ["'"] = "&#39;" }

--- Text as it may stand in an element or an attribute of XML and HTML.
function svg.escape(text) return (clean(text):gsub("[&<>\"']", entity)) end

--- The same of each line of a text: line breaks stay.
function svg.escape_lines(text) return (text:gsub("[^\n]+", svg.escape)) end

-- Widths of ASCII characters in thousandths of an em, as in the widest of the fonts that figures
-- ask for.
local em = {}
for chars, width in pairs { ["ijl'|"] = 290, [" I.,:;/\\!()[]-"] = 400, ['fJrst"{}*`'] = 470,
    ["_?cvxyzkL"] = 600, ["&DGHNOQUABCKPRVX"] = 790, ["wMm%@W<>=+~^#"] = 990 } do
  for char in chars:gmatch(".") do em[char] = width end
end

-- Other scripts take a whole em from three bytes on; Latin, Greek and Cyrillic letters do not.
local function width_of(char)
  return em[char] or #char >= 3 and 1000 or #char == 2 and 700 or 640
end

--- About how wide a text is, rather more than less, in the size of figures.
function svg.width(text, size)
  local sum = 0
  for char in clean(text):gmatch("[^\128-\191][\128-\191]*") do sum = sum + width_of(char) end
  return sum * (size or 12) / 1000
end

--- The text, or its beginning and an ellipsis, in at most `room`.
function svg.fit(text, room, size)
  text, size = clean(text), size or 12
  if svg.width(text, size) <= room then return text end
  local out, sum = {}, 1000
  for char in text:gmatch("[^\128-\191][\128-\191]*") do
    sum = sum + width_of(char)
    if sum * size / 1000 > room then break end
    out[#out + 1] = char
  end
  return #out > 0 and table.concat(out):gsub("%s+$", "") .. "…" or ""
end

function svg.text(x, y, text, class)
  local how = class and (' class="%s"'):format(class) or ""
  return ('<text x="%s" y="%s"%s>%s</text>'):format(num(x), num(y), how, svg.escape(text))
end

--- A rectangle; with a tip if there is a title.
function svg.rect(x, y, w, h, class, title)
  local head = ('<rect x="%s" y="%s" width="%s" height="%s" class="%s"'):format(num(x), num(y),
    num(w), num(h), class)
  return title and ("%s><title>%s</title></rect>"):format(head, svg.escape(title)) or head .. "/>"
end

function svg.line(x1, y1, x2, y2, class)
  return ('<path d="M%s %sL%s %s" class="%s"/>'):format(num(x1), num(y1), num(x2), num(y2), class)
end

function svg.path(d, class) return ('<path d="%s" class="%s"/>'):format(d, class) end

--- A spot; with a tip if there is a title.
function svg.dot(x, y, class, title)
  local head = ('<circle cx="%s" cy="%s" r="2.5" class="%s"'):format(num(x), num(y), class)
  return title and ("%s><title>%s</title></circle>"):format(head, svg.escape(title)) or head .. "/>"
end

-- Methods of pictures: out:rect(...) appends svg.rect(...); out:print(...), svg.text(...), since
-- `text` is a field.
local Picture = {}
Picture.__index = Picture
for _, name in ipairs { "text", "rect", "line", "path", "dot" } do
  Picture[name == "text" and "print" or name] = function(self, ...)
    self[#self + 1] = svg[name](...)
  end
end

--- A picture without pieces yet, for svg.document.
-- @tparam table fields kind, label, text, width (default svg.WIDTH); its height is set when
--  it is drawn
function svg.picture(fields)
  fields.width = fields.width or svg.WIDTH
  return setmetatable(fields, Picture)
end

--- The part of a path that draws a rectangle.
function svg.block(x, y, w, h)
  return ("M%s %sh%sv%sh-%sz"):format(num(x), num(y), num(w), num(h), num(w))
end

-- A label below an axis: its middle, and half of its width.
local function label_place(out, x, label)
  local half = svg.width(label, 11) / 2
  return math.min(x, out.width - half), half
end

--- Lines, and labels below them, at round values of 0..most.
-- @tparam[opt] string close the label at `most`; those of round values make space for it
function svg.axis(out, at, most, unit, top, bottom, close)
  local last, values, text_of = -1e9, scale.labelled(most, unit, 8)
  local stop = math.huge
  if close then
    local middle, half = label_place(out, at(most), close)
    out:print(middle, bottom + 14, close, "mid small")
    stop = middle - half - 6
  end
  for _, value in ipairs(values) do
    local x, label = at(value), text_of(value)
    out:line(x, top, x, bottom, "rule")
    local middle, half = label_place(out, x, label)
    if middle - half > last and middle + half < stop then
      out:print(middle, bottom + 14, label, "mid small faint")
      last = middle + half + 6
    end
  end
end

local swatch = {
  line = function(x, y, class) return svg.line(x - 2, y - 4, x + 12, y - 4, class) end,
  bar = function(x, y, class) return svg.rect(x, y - 6, 10, 4, class) end,
  dot = function(x, y, class) return svg.dot(x + 5, y - 4, class) end,
  frame = function(x, y, class) return svg.rect(x, y - 8, 9, 9, class .. " lane") end,
}

--- Rows of samples with labels, { class, text, "line" | "bar" | "dot" | "frame" | nil: a square };
-- gives the height.
function svg.legend(out, entries, left, right, top)
  local x, y = left, top
  for _, entry in ipairs(entries) do
    local text = svg.fit(entry[2], 200, 11)
    local need = 16 + svg.width(text, 11) + 14
    if x > left and x + need > right then x, y = left, y + 17 end
    out[#out + 1] = entry[3] and swatch[entry[3]](x, y, entry[1]) or svg.rect(x, y - 9, 10, 10,
      entry[1])
    out:print(x + 15, y, text, "small")
    x = x + need
  end
  return y + 8 - top
end

--- Sentences below a picture, one a line; false ones are left out. Gives the height.
function svg.notes(out, left, top, sentences)
  local y = top
  for _, sentence in ipairs(sentences) do
    if sentence then
      y = y + 16
      out:print(left, y - 4, sentence, "small faint")
    end
  end
  return y + 4
end

-- The element, with its title and description for screen readers.
local function open_tag(figure, alone)
  local w, h = num(figure.width), num(figure.height)
  return ('<svg xmlns="http://www.w3.org/2000/svg" class="berth" viewBox="0 0 %s %s" width="%s" '
    .. 'height="%s" role="img" aria-labelledby="%s-title %s-text"%s>')
    :format(w, h, w, h, figure.kind, figure.kind,
      alone and "" or (' style="--w:%spx"'):format(w))
end

--- A whole picture.
-- @tparam table figure of svg.picture, with its height: label is its title, text says what it shows
-- @tparam boolean alone with its rules, patterns and ground, as a file of its own
function svg.document(figure, alone)
  local out = { open_tag(figure, alone), ('<title id="%s-title">%s</title>'):format(figure.kind,
    svg.escape(figure.label)),
    ('<desc id="%s-text">%s</desc>'):format(figure.kind, svg.escape(figure.text)) }
  if alone then
    out[#out + 1] = "<style>" .. colours.style .. "</style>"
    out[#out + 1] = colours.patterns()
    out[#out + 1] = ('<rect class="ground" width="%s" height="%s"/>'):format(num(figure.width),
      num(figure.height))
  end
  out[#out + 1] = table.concat(figure, "\n")
  return table.concat(out, "\n") .. "\n</svg>\n"
end

svg.WIDTH, svg.LEFT, svg.RIGHT = 820, 124, 806

return svg
