--- PyTorch's CSV of a pipeline schedule: a row a rank, cells `{stage}{F|I|W|B}{micro-batch}`.
--
-- I is the gradient of inputs, W of weights, B both, unless the file has a W of the same stage and
-- micro-batch: then B is I. `(a;b)OVERLAP_F_B` is one slot; an empty cell is idle. PyTorch's stage
-- is a chunk of the model here, its rank a stage. All numbers count from 0.
local maps = require "berth.schedule.maps"

local csv = {}

-- ---- cells --------------------------------------------------------------------------------------

local LETTER = { F = "F", B = "I", W = "W", BW = "B" }
local KIND = { F = "F", I = "B", W = "W", B = "B" }

local function cell_of(a, joined)
  local letter = joined and a.kind == "B" and "B" or LETTER[a.kind]
  return ("%.0f%s%.0f"):format(a.chunk - 1, letter, a.microbatch - 1)
end

--- The cells of a stage's actions.
function csv.cells(actions, joined)
  local out, i = {}, 1
  while i <= #actions do
    local text = cell_of(actions[i], joined)
    if actions[i].overlapped then
      i = i + 1
      text = ("(%s;%s)OVERLAP_F_B"):format(text, cell_of(actions[i], joined))
    end
    out[#out + 1], i = text, i + 1
  end
  return out
end

--- The text of a schedule, a line a stage; idle cells are not written.
function csv.text(s)
  local out = {}
  for stage, actions in ipairs(s.list) do
    out[stage] = table.concat(csv.cells(actions, s.problem.joined), ",") .. "\n"
  end
  return table.concat(out)
end

-- Raised by what reads; csv.read returns it.
local Bad = {}

local function refuse(a, format, ...)
  error(setmetatable({ text = ("row %d, cell %d: '%s': %s"):format(a.row, a.cell, a.text,
    format:format(...)) }, Bad), 0)
end

local function refuse_row(row, format, ...)
  error(setmetatable({ text = ("row %d: %s"):format(row, format:format(...)) }, Bad), 0)
end

local function action_of(text, where)
  local chunk, letter, microbatch = text:match "^(%d+)([FIWB])(%d+)$"
  if not chunk or #chunk > 6 or #microbatch > 8 then
    if text:find "SEND" or text:find "RECV" or text:find "SHARD" or text:find "REDUCE" then
      refuse(where, "communication is not read: export the schedule with computation alone")
    end
    refuse(where, "expected {stage}{F, I, W or B}{micro-batch}")
  end
  return { kind = KIND[letter], letter = letter, chunk = tonumber(chunk) + 1,
    microbatch = tonumber(microbatch) + 1, row = where.row, cell = where.cell, text = where.text }
end

--- The actions of one cell, appended to a row.
local function add_cell(out, row, cell, text)
  local where = { row = row, cell = cell, text = text }
  local first, second = text:match "^%(%s*(%w+)%s*;%s*(%w+)%s*%)OVERLAP_F_B$"
  out[#out + 1] = action_of(first or text, where)
  if not second then return end
  local a, b = out[#out], action_of(second, where)
  if a.letter ~= "F" or b.letter ~= "B" and b.letter ~= "I" or a.chunk == b.chunk then
    refuse(where, "a slot is an F, and a B or I of another stage")
  end
  a.overlapped = true
  out[#out + 1] = b
end

local function rows_of(text)
  local out, row = {}, 0
  text = text:gsub("^\239\187\191", ""):gsub("\r\n?", "\n"):gsub("%s+$", "")
  for line in (text .. "\n"):gmatch "([^\n]*)\n" do
    row = row + 1
    local actions, cell = {}, 0
    for part in (line .. ","):gmatch "%s*([^,]-)%s*," do
      cell = cell + 1
      if part ~= "" then add_cell(actions, row, cell, part) end
    end
    out[row] = actions
  end
  return out
end

-- ---- shape --------------------------------------------------------------------------------------

local function each(rows, f)
  for _, actions in ipairs(rows) do
    for _, a in ipairs(actions) do f(a) end
  end
end

-- Turns B into F's partner: "BW" unless the chunk has a W of the micro-batch.
local function set_kinds(rows)
  local has_w = {}
  local function key(a) return a.chunk * 2 ^ 30 + a.microbatch end
  each(rows, function(a) if a.kind == "W" then has_w[key(a)] = true end end)
  each(rows, function(a)
    if a.letter == "B" and not has_w[key(a)] then a.kind = "BW" end
  end)
end

-- [chunk] its row, from the first cell of each.
local function row_of_chunks(rows)
  local out, most = {}, 0
  each(rows, function(a)
    local row = out[a.chunk]
    if row and row ~= a.row then
      refuse(a, "stage %d is on row %d already", a.chunk - 1, row)
    end
    out[a.chunk], most = a.row, math.max(most, a.chunk)
  end)
  return out, most
end

local function fits(map, rows, row, chunks)
  for c = 1, chunks do
    if row[c] ~= maps.stage_of(map, rows, c) then return false end
  end
  return true
end

-- [chunk] first and last micro-batch.
local function ranges(rows, chunks)
  local first, last = {}, {}
  for c = 1, chunks do first[c], last[c] = math.huge, 0 end
  each(rows, function(a)
    first[a.chunk] = math.min(first[a.chunk], a.microbatch)
    last[a.chunk] = math.max(last[a.chunk], a.microbatch)
  end)
  return first, last
end

-- The map that has the chunks on their rows; two copies of a model have other micro-batches.
local function shape_of(rows)
  local row, chunks = row_of_chunks(rows)
  local p = #rows
  if chunks == 0 then refuse_row(1, "has no action") end
  for c = 1, chunks do
    if not row[c] then refuse_row(p, "stage %d is on no row", c - 1) end
  end
  if chunks % p ~= 0 then refuse_row(p, "%d stages on %d rows: not the same on each", chunks, p) end
  local map = fits("interleaved", p, row, chunks) and "interleaved"
    or fits("zigzag", p, row, chunks) and "zigzag"
  if not map then
    refuse_row(1, "stages are neither interleaved (c on row c mod %d) nor in a zigzag", p)
  end
  local first, last = ranges(rows, chunks)
  local m = 0
  for c = 1, chunks do m = math.max(m, last[c]) end
  if map == "zigzag" and chunks == 2 * p and first[chunks] > last[1] then
    if p % 2 + m % 2 > 0 then
      refuse_row(1, "two copies of a model need even numbers of rows (%d) and micro-batches (%d)",
        p, m)
    end
    map = "bidirectional"
  end
  return { stages = p, chunks = chunks / p, map = map, microbatches = m }, first, last
end

-- ---- order --------------------------------------------------------------------------------------

local COUNTS = { F = { "F" }, B = { "B" }, W = { "W" }, BW = { "B", "W" } }
local BEFORE = { B = "F", W = "B" }

-- The next micro-batch of each kind of a chunk is due in order, behind its F, or B.
local function check_order(rows, first)
  local done = {}
  each(rows, function(a)
    local chunk = done[a.chunk] or { F = first[a.chunk] - 1, B = first[a.chunk] - 1,
      W = first[a.chunk] - 1 }
    done[a.chunk] = chunk
    for _, kind in ipairs(COUNTS[a.kind]) do
      local due = chunk[kind] + 1
      if a.microbatch < due then refuse(a, "is there twice") end
      if a.microbatch > due then
        refuse(a, "micro-batches out of order: that of %d is missing before it", due - 1)
      end
      if BEFORE[kind] and chunk[BEFORE[kind]] < a.microbatch then
        refuse(a, "comes before its %s", BEFORE[kind] == "F" and "F" or "gradient of inputs")
      end
      chunk[kind] = due
    end
  end)
  return done
end

local NAMES = { F = "F", B = "gradient of inputs (I or B)", W = "gradient of weights (W or B)" }

local function check_complete(done, row, shape, first, last)
  for c = 1, shape.stages * shape.chunks do
    local half = shape.map == "bidirectional"
    local from = half and c > shape.stages and shape.microbatches / 2 + 1 or 1
    local to = half and c <= shape.stages and shape.microbatches / 2 or shape.microbatches
    if first[c] ~= from then
      refuse_row(row[c], "stage %d lacks the F of micro-batch %d", c - 1, from - 1)
    end
    for _, kind in ipairs { "F", "B", "W" } do
      if done[c][kind] < math.max(to, last[c]) then
        refuse_row(row[c], "stage %d lacks the %s of micro-batch %d", c - 1, NAMES[kind],
          done[c][kind])
      end
    end
  end
end

local function read(text)
  local rows = rows_of(text)
  local shape, first, last = shape_of(rows)
  set_kinds(rows)
  local done = check_order(rows, first)
  check_complete(done, row_of_chunks(rows), shape, first, last)
  return { shape = shape, rows = rows }
end

--- Reads and checks a text: every action once, micro-batches in order, no gradient before what it
-- needs on its row.
-- @treturn[1] table shape (stages, chunks, map, microbatches), rows of actions, each with its cell
-- @treturn[2] nil
-- @treturn[2] string message with row, cell and value
function csv.read(text)
  local fine, found = pcall(read, text)
  if fine then return found end
  if getmetatable(found) ~= Bad then error(found, 0) end
  return nil, found.text
end

--- "row 1, cell 4: '0B0'"
function csv.place(a) return ("row %d, cell %d: '%s'"):format(a.row, a.cell, a.text) end

return csv
