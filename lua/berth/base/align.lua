--- Aligned tables of text, and how they fit a terminal.
local core = require "berth.core"

local align = {}

local GAP = "  "
local LEAST = 12 -- columns that a text keeps, however narrow the terminal
local MOST_LINES = 3

--- Columns of what is no terminal.
align.COLUMNS = 100

-- Columns that tables may have now.
local limit = math.huge

--- Columns of the terminal: COLUMNS, else what the terminal says, else 100.
function align.columns()
  local given = (os.getenv "COLUMNS" or ""):match "^%d+$"
  return given and tonumber(given) > 0 and tonumber(given) or core.columns() or align.COLUMNS
end

--- What f returns; tables that it makes have at most that many columns: texts are wrapped, and
-- tables of many columns are printed in parts, each with the first column.
function align.within(columns, f, ...)
  local before = limit
  limit = columns
  local function after(fine, ...)
    limit = before
    if not fine then error((...), 0) end
    return ...
  end
  return after(pcall(f, ...))
end

-- ---- long texts ---------------------------------------------------------------------------------

-- Where the text is cut so that at most n bytes come first: at a space, else within a word, but not
-- within a character.
local function cut_at(text, n)
  for i = n + 1, math.max(2, math.floor(n / 2)), -1 do
    if text:sub(i, i) == " " then return i - 1, i + 1 end
  end
  while n > 1 and text:byte(n + 1) >= 0x80 and text:byte(n + 1) < 0xC0 do n = n - 1 end
  return n, n + 1
end

-- The text in lines of at most n bytes; what is left after three is replaced by dots.
local function wrapped(text, n)
  local lines = {}
  while #text > n and #lines < MOST_LINES - 1 do
    local last, next_one = cut_at(text, n)
    lines[#lines + 1], text = text:sub(1, last), text:sub(next_one)
  end
  if #text > n then text = text:sub(1, (cut_at(text, n - 3))) .. "..." end
  lines[#lines + 1] = text
  return lines
end

-- Widths of columns of which those in `texts` are narrowed, the widest first, until all of them
-- have at most `limit`.
local function narrowed(width, texts)
  local total, out, most = -#GAP, {}, 0
  for i, w in ipairs(width) do
    total, out[i] = total + w + #GAP, w
    if texts[i] then most = math.max(most, w) end
  end
  for cap = most - 1, LEAST, -1 do
    if total <= limit then break end
    for i, w in ipairs(out) do
      if texts[i] and w > cap then total, out[i] = total - 1, cap end
    end
  end
  return out
end

-- ---- tables -------------------------------------------------------------------------------------

local function pad(cell, width, left)
  local space = (" "):rep(width - #cell)
  return left and cell .. space or space .. cell
end

-- The numbers of the columns of each part of the table.
local function parts(width)
  local out, total = { { 1 } }, width[1] or 0
  for i = 2, #width do
    total = total + #GAP + width[i]
    if total > limit and #out[#out] > 1 then
      out[#out + 1], total = { 1 }, width[1] + #GAP + width[i]
    end
    table.insert(out[#out], i)
  end
  return out
end

-- Adds the lines of a row: those of its cells whose numbers are listed.
local function add_row(lines, row, columns, width, is_left)
  local cells, n = {}, 1
  for k, i in ipairs(columns) do
    local cell = row[i] or ""
    cells[k] = #cell > width[i] and wrapped(cell, width[i]) or { cell }
    n = math.max(n, #cells[k])
  end
  for k = 1, n do
    local out = {}
    for c, i in ipairs(columns) do out[c] = pad(cells[c][k] or "", width[i], is_left(i, row)) end
    lines[#lines + 1] = (table.concat(out, GAP):gsub("%s+$", ""))
  end
end

local function aligned(rows, is_left)
  local width, texts, lines = {}, {}, {}
  for _, row in ipairs(rows) do
    for i, cell in ipairs(row) do
      if cell:find "[%c\128-\255]" then row[i] = core.escape(cell) end
    end
    for i, cell in ipairs(row) do
      width[i], texts[i] = math.max(width[i] or 0, #cell), texts[i] or is_left(i, row)
    end
  end
  width = narrowed(width, texts)
  for k, columns in ipairs(parts(width)) do
    if k > 1 then lines[#lines + 1] = "" end
    for _, row in ipairs(rows) do add_row(lines, row, columns, width, is_left) end
  end
  return lines
end

--- Lines of a table: the first row is the header; columns are right-aligned but those in `left`,
-- which are wrapped where the table is too wide.
-- @tparam table rows arrays of strings
-- @tparam table left set of column numbers
-- @treturn table array of strings
function align.lines(rows, left) return aligned(rows, function(i) return left[i] end) end

--- The same as one text, the first and the last column to the left.
-- @treturn string
function align.text(rows)
  return table.concat(aligned(rows, function(i, row) return i == 1 or i == #row end), "\n")
end

return align
