--- UTF-8, on interpreters that have no library for it.
local utf8 = {}

--- Length of the well-formed sequence at byte i; nil: there is none.
function utf8.length(text, i)
  local a, b = text:byte(i, i + 1)
  if a < 0x80 then return 1 end
  if a < 0xC2 or a > 0xF4 then return nil end
  local length = a < 0xE0 and 2 or a < 0xF0 and 3 or 4
  if not text:sub(i + 1, i + length - 1):match("^" .. ("[\128-\191]"):rep(length - 1) .. "$") then
    return nil
  end
  if a == 0xE0 and b < 0xA0 or a == 0xF0 and b < 0x90 then return nil end
  if a == 0xF4 and b > 0x8F or a == 0xED and b > 0x9F then return nil end
  return length
end

--- The text with U+FFFD for bytes that are no part of a sequence, or of none that is legal.
-- @tparam string text
-- @tparam[opt] function legal of text and the first and last byte of a sequence
function utf8.repaired(text, legal)
  local out, i = {}, 1
  while i <= #text do
    local length = utf8.length(text, i)
    local fine = length and (not legal or legal(text, i, i + length - 1))
    out[#out + 1] = fine and text:sub(i, i + length - 1) or "\239\191\189"
    i = i + (length or 1)
  end
  return table.concat(out)
end

--- The sequence of a code point, up to 0x10FFFF.
function utf8.char(code)
  if code < 0x80 then return string.char(code) end
  local last = 0x80 + math.fmod(code, 64)
  local rest = math.floor(code / 64)
  if code < 0x800 then return string.char(0xC0 + rest, last) end
  local middle = 0x80 + math.fmod(rest, 64)
  rest = math.floor(rest / 64)
  if code < 0x10000 then return string.char(0xE0 + rest, middle, last) end
  return string.char(0xF0 + math.floor(rest / 64), 0x80 + math.fmod(rest, 64), middle, last)
end

return utf8
