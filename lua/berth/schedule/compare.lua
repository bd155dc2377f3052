--- Generators and the search on one pipeline; the answer prints as a table.
local align = require "berth.base.align"
local core = require "berth.core"
local object = require "berth.schedule.object"
local options = require "berth.base.options"
local percent = require "berth.base.percent"
local sort = require "berth.base.sort"

local compare = {}

local FN = "berth.schedule.compare"

-- ---- rows ---------------------------------------------------------------------------------------

local function row_of(name, s, message, code)
  if not s then return { name = name, error = message, code = code } end
  return { name = name, schedule = s, step = s.step, bubble = s.bubble, peak = s.most,
    bound = s.bound, fits = s.outcome == "runs", outcome = s.outcome, problem = s.problem }
end

-- Those within the limits first, by step; then the others; then those that are not made.
local function ordered(rows)
  local function class(row) return row.error and 3 or row.fits and 1 or 2 end
  table.sort(rows, function(a, b)
    if class(a) ~= class(b) then return class(a) < class(b) end
    if not a.error and a.step ~= b.step then return a.step < b.step end
    return sort.before(a.name, b.name)
  end)
  return rows
end

-- ---- text ---------------------------------------------------------------------------------------

local function note(row)
  if row.outcome == "memory" then return "over the limit" end
  return row.outcome == "deadlock" and "deadlock" or ""
end

-- Cells of a row for tables.
function compare.cells(row)
  if row.error then
    local reason = row.error:gsub("^berth%.schedule%.%w+: ", ""):gsub("^schedule: ", "")
    return { row.name, "-", "-", "-", "-", "-", reason }
  end
  local gap = row.fits and row.bound and row.bound > 0
    and percent(math.max(row.step / row.bound - 1, 0)) or "-"
  local chunks = row.problem.chunks > 1
    and ("%.0f %s"):format(row.problem.chunks, row.problem.map) or "1"
  return { row.name, chunks, core.format(row.step, "seconds"),
    row.outcome == "deadlock" and "-" or percent(math.max(row.bubble, 0)), gap,
    object.peak_text(row.schedule), note(row) }
end

compare.head = { "generator", "chunks", "step", "bubble", "gap", "peak", "" }

local Rows = {}

function Rows:__tostring()
  local lines = { compare.head }
  for i, row in ipairs(self) do lines[i + 1] = compare.cells(row) end
  return table.concat(align.lines(lines, { true, true, [7] = true }), "\n")
end

-- ---- running ------------------------------------------------------------------------------------

-- A name or function, or { it, options }.
local function parts_of(x, opts)
  if type(x) ~= "table" then return x, opts end
  options.check_named(FN .. ": names", x)
  return x[1], options.merge(opts, x[2])
end

local function run(schedule, x, opts)
  if x == "search" then return schedule.search(opts) end
  local plain = options.merge(opts)
  plain.calls, plain.seconds, plain.seed = nil, nil, nil
  local s, message, code = schedule.make(x, plain)
  if s then s.bound = schedule.bound(s).best end
  return s, message, code
end

--- @tparam table schedule the module: its make, search and bound
-- @tparam ?table names of generators, functions, "search", or { one of these, options }; nil: all
--  generators whose chunks fit
-- @tparam table opts options of berth.schedule.make; for "search" also calls, seconds, seed
-- @treturn table rows, best first: { name, schedule, step, bubble, peak, bound, fits, outcome } or
--  { name, error, code }; prints as a table. interrupted: an interrupt ended a search, what came
--  after it did not run
function compare.run(schedule, names, opts)
  options.expect(opts, "table", "%s: options", FN)
  options.refuse(names ~= nil and type(names) ~= "table", "%s: names: expected an array, got %s",
    FN, core.kind(names))
  local rows = {}
  for i, x in ipairs(names or schedule.generators { chunks = opts.chunks, map = opts.map }) do
    local what, own = parts_of(type(x) == "table" and x.name or x, opts)
    local name = type(what) == "function" and "own" or what
    rows[i] = rows.interrupted and row_of(name, nil, "interrupted", "interrupted")
      or row_of(name, run(schedule, what, own))
    local s = rows[i].schedule
    rows.interrupted = rows.interrupted or s and s.interrupted or rows[i].code == "interrupted"
  end
  return setmetatable(ordered(rows), Rows)
end

return compare
