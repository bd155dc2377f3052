-- An independent reader and checker of PyTorch's CSV of a pipeline schedule. It shares no code with
-- lua/berth/schedule: cells become plain records, start times come from sweeps over all of them
-- until nothing changes.
local checker = {}

-- [row] array of { chunk, microbatch, takes = set of "F", "B", "W", slot }; both actions of an
-- overlapped cell have the same slot.
local function rows_of(text)
  local rows, weights = {}, {}
  for c, m in text:gmatch "(%d+)W(%d+)" do weights[c .. "." .. m] = true end
  for line in text:gmatch "[^\n]+" do
    local row, slot = {}, 0
    for cell in line:gmatch "[^,]+" do
      slot = slot + 1
      for c, letter, m in cell:gsub("OVERLAP_F_B", ""):gmatch "(%d+)(%a)(%d+)" do
        local takes = ({ F = { F = true }, I = { B = true }, W = { W = true },
          B = weights[c .. "." .. m] and { B = true } or { B = true, W = true } })[letter]
        row[#row + 1] = { chunk = tonumber(c), microbatch = tonumber(m), takes = takes,
          slot = slot }
      end
    end
    rows[#rows + 1] = row
  end
  return rows
end

-- Who runs each action, by "F 3 0"; fails if one is there twice.
local function index_of(rows)
  local index, chunks, microbatches = {}, 0, 0
  for r, row in ipairs(rows) do
    for _, a in ipairs(row) do
      a.row = r
      for kind in pairs(a.takes) do
        local key = ("%s %d %d"):format(kind, a.chunk, a.microbatch)
        assert(not index[key], key .. " is there twice")
        index[key] = a
      end
      chunks, microbatches = math.max(chunks, a.chunk + 1), math.max(microbatches, a.microbatch + 1)
    end
  end
  return index, chunks, microbatches
end

local function seconds(a, times)
  local sum = 0
  for kind in pairs(a.takes) do sum = sum + times[kind] end
  return sum
end

-- What has to end before an action, and p2p on the way.
local function inputs(a, index, chunks, p2p)
  local out = {}
  local function needs(kind, chunk)
    local other = index[("%s %d %d"):format(kind, chunk, a.microbatch)]
    assert(other, ("%s %d %d is missing"):format(kind, chunk, a.microbatch))
    out[#out + 1] = { other, other.row ~= a.row and p2p or 0 }
  end
  if a.takes.F and a.chunk > 0 then needs("F", a.chunk - 1) end
  if a.takes.B then
    needs("F", a.chunk)
    if a.chunk < chunks - 1 then needs("B", a.chunk + 1) end
  end
  if a.takes.W and not a.takes.B then needs("B", a.chunk) end
  return out
end

-- Start and finish of each action; false: some never run.
local function run(rows, index, chunks, costs)
  local done, left = 0, 0
  for _, row in ipairs(rows) do left = left + #row end
  repeat
    local before = done
    for _, row in ipairs(rows) do
      local now, i = 0, 1
      while i <= #row do
        local n = row[i + 1] and row[i + 1].slot == row[i].slot and 2 or 1
        local start, took = now, 0
        for k = i, i + n - 1 do
          for _, input in ipairs(inputs(row[k], index, chunks, costs.p2p or 0)) do
            start = input[1].finish and math.max(start, input[1].finish + input[2]) or math.huge
            if start == math.huge then break end
          end
          took = took + seconds(row[k], costs)
          if start == math.huge then break end
        end
        if start == math.huge then break end
        for k = i, i + n - 1 do
          if not row[k].finish then done = done + 1 end
          row[k].start, row[k].finish = start, start + took
        end
        now, i = start + took, i + n
      end
    end
  until done == before
  return done == left
end

-- The most that a row holds: F takes 1, B frees `freed` of it, W the rest, at the end of its cell.
local function peaks(rows, freed)
  local out = {}
  for r, row in ipairs(rows) do
    local held, most, pending = 0, 0, 0
    for i, a in ipairs(row) do
      if a.takes.F then held = held + 1 end
      if a.takes.B then pending = pending + freed end
      if a.takes.W then pending = pending + 1 - freed end
      most = math.max(most, held)
      if not (row[i + 1] and row[i + 1].slot == a.slot) then held, pending = held - pending, 0 end
    end
    assert(math.abs(held) < 1e-9, "a row does not free what it took")
    out[r] = most
  end
  return out
end

-- Checks a text and gives { makespan, span, peaks (chunk activations) }; makespan nil: deadlock.
function checker.check(text, costs)
  local rows = rows_of(text)
  local index, chunks, microbatches = index_of(rows)
  for c = 0, chunks - 1 do
    for m = 0, microbatches - 1 do
      for _, kind in ipairs { "F", "B", "W" } do
        assert(index[("%s %d %d"):format(kind, c, m)], ("%s %d %d is missing"):format(kind, c, m))
      end
    end
  end
  local out = { stages = #rows, chunks = chunks / #rows, microbatches = microbatches,
    peaks = peaks(rows, costs.freed or 0.5) }
  if not run(rows, index, chunks, costs) then return out end
  out.makespan, out.span = 0, 0
  for _, row in ipairs(rows) do
    out.makespan = math.max(out.makespan, row[#row].finish)
    out.span = math.max(out.span, row[#row].finish - row[1].start)
  end
  return out
end

return checker
