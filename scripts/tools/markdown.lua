--- Markdown within 100 columns: paragraphs, and tables or what replaces them. A table with a row
-- that is too long becomes several tables, each with its key columns and some of the others, or,
-- if its cells are longer, a list.
local markdown = {}

local COLUMNS = 100
local NAME, PHRASE = 30, 45 -- most columns of a name, and of a cell that is a value

--- Characters of a text in UTF-8.
function markdown.length(text) return #(text:gsub("[\128-\191]", "")) end

local length = markdown.length

local function widest(lines)
  local most = 0
  for _, line in ipairs(lines) do most = math.max(most, length(line)) end
  return most
end

-- Words that stay on one line: short code, and what would begin a list or a heading.
local function pieces(text)
  local list = {}
  for word in text:gmatch("%S+") do
    local last = list[#list] or ""
    local open = select(2, last:gsub("`", "")) % 2 == 1 and #last + #word < 60
    if last ~= "" and (open or word:find("^[-+*=]$") or word:find("^%d+[.)]$")
        or word:find("^[#>|]")) then
      list[#list] = last .. " " .. word
    else
      list[#list + 1] = word
    end
  end
  return list
end

--- The lines of a text that begins with `first`, and with `rest` on all but the first line.
function markdown.wrap(text, first, rest)
  local out, line, start = {}, first, true
  for _, piece in ipairs(pieces(text)) do
    if not start and length(line) + 1 + length(piece) > COLUMNS then
      out[#out + 1], line, start = line, rest, true
    end
    line, start = line .. (start and "" or " ") .. piece, false
  end
  out[#out + 1] = line
  return out
end

-- Lines of a table with only these columns.
local function rendered(head, rows, columns)
  local function row_of(cells)
    local kept = {}
    for i, c in ipairs(columns) do kept[i] = cells[c] == "" and "" or cells[c] .. " " end
    return "| " .. table.concat(kept, "| ") .. "|"
  end
  local out = { row_of(head), "|" .. ("---|"):rep(#columns) }
  for _, cells in ipairs(rows) do out[#out + 1] = row_of(cells) end
  return out
end

-- 1 .. last.
local function first(last)
  local list = {}
  for c = 1, last do list[c] = c end
  return list
end

-- How many of the first columns tell the rows apart; nil if all of them do not.
local function keys(head, rows)
  for k = 1, #head - 1 do
    local seen, unique = {}, true
    for _, cells in ipairs(rows) do
      local key = table.concat(cells, "\n", 1, k)
      unique = unique and not seen[key]
      seen[key] = true
    end
    if unique then return k end
  end
end

-- Several tables, each with the key columns and as many of the next as fit; nil if one is too wide.
local function split(head, rows)
  local k = keys(head, rows)
  local out, c = {}, k and k + 1
  while c and c <= #head do
    local columns, fits = first(k), {}
    repeat
      columns[#columns + 1] = c
      local lines = rendered(head, rows, columns)
      if widest(lines) > COLUMNS then break end
      fits, c = lines, c + 1
    until c > #head
    if #fits == 0 then return nil end
    if #out > 0 then out[#out + 1] = "" end
    for _, line in ipairs(fits) do out[#out + 1] = line end
  end
  return c and out
end

local function are_phrases(head, rows)
  local cells, phrases = 0, 0
  for _, row in ipairs(rows) do
    for c = 2, #head do
      cells, phrases = cells + 1, phrases + (length(row[c]) > PHRASE and 1 or 0)
    end
  end
  return #head < 4 or phrases > 0.08 * cells
end

--- One item for each row: its first cell, the second, then each other one after its heading.
function markdown.list(head, rows)
  local out = {}
  for _, row in ipairs(rows) do
    local is_name = length(row[1]) <= NAME and not row[1]:find("`", 1, true)
    local text = (is_name and "**%s**:" or "%s:"):format(row[1])
    for c = 2, #head do
      if row[c] ~= "" then
        local name = (c > 2 and head[c] ~= "") and head[c] .. ": " or ""
        if text:find("[.]$") then name = name:gsub("^%l", string.upper) end
        text = text .. (text:find("[.:;]$") and " " or "; ") .. name .. row[c]
      end
    end
    for _, line in ipairs(markdown.wrap(text, "- ", "  ")) do out[#out + 1] = line end
  end
  return out
end

--- Lines that show a table.
-- @tparam {string,...} head headings
-- @tparam {{string,...},...} rows a cell for each heading
function markdown.table(head, rows)
  local whole = rendered(head, rows, first(#head))
  if widest(whole) <= COLUMNS then return whole end
  return not are_phrases(head, rows) and split(head, rows) or markdown.list(head, rows)
end

--- The anchors of headings, in order: lower case, without punctuation, hyphens for spaces; of equal
-- ones the second has "-1" at its end.
function markdown.anchors(headings)
  local list, taken = {}, {}
  for i, heading in ipairs(headings) do
    local name = heading:lower():gsub("%[(.-)%]%(.-%)", "%1")
      :gsub("[^%w%s_\128-\255-]", ""):gsub("%s", "-")
    local free, k = name, 0
    while taken[free] do k, free = k + 1, name .. "-" .. k + 1 end
    list[i], taken[free] = free, true
  end
  return list
end

-- Cells of a line of a table; a bar within a cell is escaped.
local function cells_of(line)
  local cells = {}
  for cell in line:gsub("\\|", "\1"):gsub("^|", ""):gmatch("([^|]*)|") do
    cells[#cells + 1] = cell:match("^%s*(.-)%s*$"):gsub("\1", "\\|")
  end
  return cells
end

-- What shows the table of these lines.
local function narrowed(lines)
  if widest(lines) <= COLUMNS then return lines end
  local head, rows = cells_of(lines[1]), {}
  for i = 3, #lines do
    rows[i - 2] = cells_of(lines[i])
    for c = #rows[i - 2] + 1, #head do rows[i - 2][c] = "" end
  end
  return markdown.table(head, rows)
end

--- The text with its tables within 100 columns.
function markdown.narrow(text)
  local out, rows = {}, {}
  local function flush()
    for _, row in ipairs(rows[1] and narrowed(rows) or {}) do out[#out + 1] = row end
    rows = {}
  end
  for line in (text .. "\n"):gmatch("(.-)\n") do
    if line:find("^|") then
      rows[#rows + 1] = line
    else
      flush()
      out[#out + 1] = line
    end
  end
  flush()
  return table.concat(out, "\n")
end

return markdown
