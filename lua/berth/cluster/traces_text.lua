--- Text of trace files: encodings, separators, rows of cells (RFC 4180), numbers, times.
local text = {}

-- ---- encodings ----------------------------------------------------------------------------------

local function utf8_of(code)
  if code < 0x80 then return string.char(code) end
  local first, units = 0xC0, { math.floor(code / 64) }
  if code >= 0x10000 then
    first, units = 0xF0, { math.floor(code / 0x40000), math.floor(code / 0x1000) % 64,
      math.floor(code / 64) % 64 }
  elseif code >= 0x800 then
    first, units = 0xE0, { math.floor(code / 0x1000), math.floor(code / 64) % 64 }
  end
  local bytes = { string.char(first + units[1]) }
  for i = 2, #units do bytes[i] = string.char(0x80 + units[i]) end
  return table.concat(bytes) .. string.char(0x80 + code % 64)
end

-- A text in UTF-16 from byte `at` on; nil if a surrogate is alone or a byte is left over.
local function from_utf16(whole, at, little)
  local out, high = {}, nil
  if (#whole - at) % 2 == 0 then return nil end
  for i = at, #whole - 1, 2 do
    local a, b = whole:byte(i, i + 1)
    local unit = little and a + 256 * b or 256 * a + b
    local is_low = unit >= 0xDC00 and unit < 0xE000
    if is_low ~= (high ~= nil) then return nil end
    if unit >= 0xD800 and unit < 0xDC00 then
      high = unit
    else
      local code = high and 0x10000 + (high - 0xD800) * 1024 + (unit - 0xDC00) or unit
      out[#out + 1], high = utf8_of(code), nil
    end
  end
  return high == nil and table.concat(out) or nil
end

--- A text in UTF-8, with or without a byte order mark, or in UTF-16 with one, as UTF-8.
-- @treturn[1] string
-- @treturn[2] nil
-- @treturn[2] string what is wrong
function text.utf8(whole)
  local mark = whole:sub(1, 2)
  if mark == "\255\254" or mark == "\254\255" then
    local found = from_utf16(whole, 3, mark == "\255\254")
    if not found then return nil, "the byte order mark is of UTF-16, but this is not UTF-16" end
    whole = found
  elseif whole:sub(1, 3) == "\239\187\191" then
    whole = whole:sub(4)
  end
  -- Ctrl-Z ends files of DOS
  if whole:find("\26", -4, true) then whole = whole:gsub("\26[\26\r\n]*$", "") end
  local zero = whole:find("\0", 1, true)
  if zero then return nil, ("byte %.0f is zero: this is no text"):format(zero - 1) end
  return whole
end

-- ---- rows of cells ------------------------------------------------------------------------------

--- The separator that is in the first line most often: comma, semicolon, tab or bar.
function text.separator(line)
  local best, most = ",", 0
  local plain = line:gsub('"[^"]*"', "")
  for _, separator in ipairs { ",", ";", "\t", "|" } do
    local _, n = plain:gsub(separator, separator)
    if n > most then best, most = separator, n end
  end
  return best
end

-- A cell in quotes, from behind the first one: the cell, and what is behind it.
local function quoted(whole, at)
  local out = {}
  while true do
    local stop = whole:find('"', at, true)
    if not stop then return nil end
    out[#out + 1] = whole:sub(at, stop - 1)
    if whole:sub(stop + 1, stop + 1) ~= '"' then return table.concat(out), stop + 1 end
    out[#out + 1], at = '"', stop + 2
  end
end

-- A row some of whose cells are in quotes, which may hold separators and ends of lines: the cells,
-- and where the next row begins; or nil, and what is wrong.
local function quoted_row(whole, at, separator)
  local out = {}
  while true do
    local cell
    if whole:sub(at, at) == '"' then
      cell, at = quoted(whole, at + 1)
      if not cell then return nil, "a quote is not closed" end
      if whole:sub(at, at + 1) == "\r\n" then at = at + 1 end
    else
      local stop = whole:find("[" .. separator .. "\n]", at) or #whole + 1
      cell, at = whole:sub(at, stop - 1), stop
      if whole:sub(stop, stop) ~= separator then cell = cell:gsub("\r$", "") end
    end
    out[#out + 1] = cell
    local behind = whole:sub(at, at)
    if behind == "" or behind == "\n" then return out, at + 1 end
    if behind ~= separator then return nil, "text follows a quote" end
    at = at + 1
  end
end

local function plain_row(line, separator)
  local out, n = {}, 0
  for cell in (line .. separator):gmatch("([^" .. separator .. "]*)" .. separator) do
    n = n + 1
    out[n] = cell
  end
  return out
end

--- Iterates over the rows: number of the line where it begins; cells, or nil and what is wrong.
-- Blank lines are skipped. A quote that is not closed spoils its line only.
function text.rows(whole, separator)
  local at, line_number = 1, 0
  return function()
    while at <= #whole do
      local stop = whole:find("\n", at, true) or #whole + 1
      local line = whole:sub(at, stop - 1)
      line_number = line_number + 1
      local from, number = at, line_number
      at = stop + 1
      if line:byte(-1) == 13 then line = line:sub(1, -2) end
      if line:find('"', 1, true) then
        local cells, next_row = quoted_row(whole, from, separator)
        if not cells then return number, nil, next_row end
        local _, breaks = whole:sub(from, next_row - 2):gsub("\n", "")
        at, line_number = next_row, line_number + breaks
        return number, cells
      end
      if line:find "%S" then return number, plain_row(line, separator) end
    end
  end
end

-- ---- numbers and times --------------------------------------------------------------------------

--- A number in decimal digits; nil: the cell is none.
function text.number(cell) return cell:find "^[%s%d.eE+-]+$" and tonumber(cell) or nil end

local function days_from_civil(year, month, day)
  if month <= 2 then year = year - 1 end
  local era_year = year % 400
  local from_march = math.floor((153 * ((month + 9) % 12) + 2) / 5) + day - 1
  local in_era = era_year * 365 + math.floor(era_year / 4) - math.floor(era_year / 100) + from_march
  return math.floor(year / 400) * 146097 + in_era - 719468
end

local MONTH = { 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 }

-- Offset of a zone from UTC, s; nil: it is none.
local function zone(word)
  word = word:match "^%s*(.-)%s*$"
  if word == "" then return 0, true end
  if word == "Z" or word == "UTC" or word == "GMT" then return 0 end
  local sign, hours, minutes = word:match "^([+-])(%d%d):?(%d?%d?)$"
  if not sign or #minutes == 1 then return nil end
  return (sign == "-" and -1 or 1) * (tonumber(hours) * 3600 + (tonumber(minutes) or 0) * 60)
end

--- A date with a time of day, as in 2020-04-01 00:00:59 or 2020-04-01T00:00:59.5+08:00.
-- @treturn[1] number s since 1970-01-01 00:00 UTC
-- @treturn[1] boolean|nil true: it has no zone, and was taken as UTC
-- @treturn[2] nil it is none
function text.date_time(cell)
  local year, month, day, rest = cell:match "^%s*(%d%d%d%d)[-/](%d%d?)[-/](%d%d?)(.*)$"
  if not year then return nil end
  local hour, minute, second, behind = rest:match "^[ T](%d%d?):(%d%d):?([%d.]*)(.*)$"
  if not hour then hour, minute, second, behind = 0, 0, 0, rest end
  if second == "" then second = 0 end
  year, month, day = tonumber(year), tonumber(month), tonumber(day)
  hour, minute, second = tonumber(hour), tonumber(minute), tonumber(second)
  local offset, is_local = zone(behind)
  if not offset or not second or month < 1 or month > 12 or day < 1 or day > MONTH[month]
      or hour > 23 or minute > 59 or second >= 61 then
    return nil
  end
  return days_from_civil(year, month, day) * 86400 + hour * 3600 + minute * 60 + second - offset,
    is_local
end

--- A span of time as in 1:02:03, 02:03 or 4-01:02:03 (days), in s; nil: it is none.
function text.span(cell)
  local days, clock = cell:match "^%s*(%d+)-([%d:.]+)%s*$"
  local hours, minutes, seconds = (clock or cell):match "^%s*(%d+):(%d%d):(%d%d%.?%d*)%s*$"
  if not hours then
    hours, minutes, seconds = "0", (clock or cell):match "^%s*(%d+):(%d%d%.?%d*)%s*$"
  end
  if not minutes then return nil end
  return (tonumber(days) or 0) * 86400 + tonumber(hours) * 3600 + tonumber(minutes) * 60
    + tonumber(seconds)
end

return text
