--- Files of jobs that others have recorded, as jobs of berth.cluster: docs/cluster.md, "Traces".
local core = require "berth.core"
local options = require "berth.base.options"
local text = require "berth.cluster.traces_text"
local throughputs = require "berth.cluster.throughputs"
local sort = require "berth.base.sort"

local FN = "berth.load_trace"

-- ---- values -------------------------------------------------------------------------------------

-- Sums of this many seconds, some 30 billion years, stay exact enough to compare.
local MOST = 1e18

-- Each gives the value, or nil and what was expected. scale: s of the column's unit.
local function number(cell, _, scale)
  local x = text.number(cell)
  if not x or x < 0 or x == math.huge then return nil, "expected a finite number not below 0" end
  if x * (scale or 1) > MOST then return nil, "expected at most 1e18" end
  return x * (scale or 1)
end

local function seconds(cell, _, scale)
  local x = text.span(cell)
  if x then return x end
  return number(cell, nil, scale)
end

local function moment(cell, reader, scale)
  local x, is_local = text.date_time(cell)
  if not x then return number(cell, nil, scale) end
  reader.dates, reader.without_zone = true, reader.without_zone or is_local
  return x
end

local function gang(cell)
  local x = text.number(cell)
  if x and x > 0 and x ~= math.floor(x) then
    return nil, "expected a whole number (jobs that share a GPU are not simulated)"
  end
  if not x or x < 1 or x > 2 ^ 31 - 1 then return nil, "expected a whole number of at least 1" end
  return x
end

local function word(cell)
  if cell == "" then return nil, "expected a text" end
  return cell
end

local READ = { arrival = moment, work = seconds, deadline = seconds, gpus = gang, name = word,
  kind = word, batch = number, steps = number }
local FIELDS = options.sorted_keys(READ)
local TIMES = { arrival = true, work = true, deadline = true }

-- Fields by other names that are common for them.
local CALLED = { runtime = "work", run_time = "work", duration = "work", time = "work",
  submit = "arrival", submitted = "arrival", submit_time = "arrival", num_gpus = "gpus",
  num_gpu = "gpus", id = "name", job = "name", job_id = "name", model = "kind" }

-- Ends of names of columns that are not in s.
local UNITS = { ns = "ns", us = "us", ms = "ms", min = "min", mins = "min", minutes = "min",
  h = "h", hr = "h", hrs = "h", hours = "h" }

-- ---- formats ------------------------------------------------------------------------------------

-- Columns that fields are read from. Without `work`, what fills it in.
local FORMATS = {
  philly = { arrival = "submit_s", work = "duration_s", gpus = "num_gpus", name = "job_id",
    kind = "vc" },
  tiresias = { arrival = "submit_time", work = "duration", gpus = "num_gpu", name = "job_id",
    kind = "model_name", steps = "iterations" },
  pollux = { arrival = "time", gpus = "num_replicas", name = "name", kind = "application",
    batch = "batch_size" },
}
local NAMES = { "gavel", "philly", "pollux", "tiresias" }

options.declare("load_trace", options.join({
  { key = "format", type = "choice", default = "by the header", text = "whose file it is",
    choices = {
      { name = "gavel", text = "Gavel: seven or ten cells between tabs, no header." },
      { name = "philly", text = "Philly: CSV with submit_s, duration_s, num_gpus, vc." },
      { name = "pollux", text = "Pollux: CSV with time, application, num_replicas, batch_size." },
      { name = "tiresias", text = "Tiresias: CSV with submit_time, duration, num_gpu." },
    } },
  { key = "columns", type = "table", default = "of the format",
    text = "names of the columns of other CSV files, by field: arrival, work, deadline (s; "
      .. "COLUMN:min is in min), gpus (or how many), name, kind, batch, steps" },
  { key = "skip", type = "flag", default = "false",
    text = "leaves out lines that are wrong, and counts them" },
  { key = "origin", type = "number", default = "0; of dates, and from 1e8 s on, the first arrival",
    low = -math.huge, high = MOST, text = "s that are subtracted from arrivals" },
  { key = "durations", type = "number or table", default = "none",
    text = "Pollux: s of all jobs, or by application" },
  { key = "throughputs", type = "file", default = "none",
    text = "Gavel: steps per s by type of GPU" },
  { key = "worker", type = "string", default = "v100",
    text = "Gavel: the type of GPU that times are of" },
}, options.rows("load", "most_bytes")))

-- Cells of a line by how many it has; seven: the older form.
local GAVEL = {
  [7] = { steps = 5, arrival = 6, gpus = 7 },
  [10] = { steps = 6, gpus = 7, priority = 8, slo = 9, arrival = 10 },
}

local function has_all(head, columns)
  for _, name in pairs(columns) do
    if not head[name] then return false end
  end
  return true
end

local function detect(head, cells, separator)
  for _, name in ipairs { "philly", "tiresias", "pollux" } do
    if has_all(head, FORMATS[name]) then return name end
  end
  if separator == "\t" and GAVEL[#cells] and text.number(cells[GAVEL[#cells].steps]) then
    return "gavel"
  end
end

-- ---- reading a table with a header --------------------------------------------------------------

local Reader = {}
Reader.__index = Reader

function Reader:fault(line, format, ...)
  return ("%s:%.0f: %s"):format(self.path, line, format:format(...))
end

-- A job that is left out, or the error that ends the reading.
function Reader:bad(line, why, ...)
  if not self.skip then return self:fault(line, why, ...) end
  self.left_out = self.left_out + 1
  self.first_left_out = self.first_left_out or self:fault(line, why, ...)
end

-- Places of columns by name; `twice`: names of those that are there more than once.
local function index(cells)
  local at, twice = {}, {}
  for i, cell in ipairs(cells) do
    local name = cell:match "^%s*(.-)%s*$"
    if at[name] then twice[name] = true end
    at[name] = at[name] or i
  end
  return at, twice
end

-- The column and the s of its unit, of "duration:min" if no column has all of this name.
local function with_unit(field, column, head)
  local name, unit = column:match "^(.*):(%a+)$"
  if head[column] or not TIMES[field] or not head[name] then return column end
  local scale, message = core.quantity("1 " .. unit, "seconds")
  if not scale then return nil, ("columns: %s: %s"):format(field, message) end
  return name, scale
end

-- A column that is named after another unit is taken as s, which a note says.
function Reader:check_unit(field, column, scale)
  local unit = UNITS[column:lower():match "[^%a](%a+)%)?$"]
  if not TIMES[field] or scale or not unit then return end
  table.insert(self.notes, ("%s is read in s; if it is in %s: %s=%s:%s in columns"):format(column,
    unit, field, column, unit))
end

-- { field, column, place, reader, scale } of all fields that are read; of gpus perhaps all: one
-- number for all jobs.
function Reader:plan(cells, columns)
  local out, head, twice = {}, index(cells)
  for _, field in ipairs(FIELDS) do
    local given = columns[field]
    if given and field == "gpus" and not head[given] and gang(given) then
      out[#out + 1] = { field = field, all = gang(given) }
    elseif given then
      local column, scale = with_unit(field, given, head)
      if not column then return nil, ("%s: %s"):format(self.path, scale) end
      if not head[column] or twice[column] then
        return nil, ("%s: there %s column %q for %s (there are: %s)"):format(self.path,
          twice[column] and "is more than one" or "is no", column, field,
          table.concat(cells, ", "))
      end
      self:check_unit(field, column, scale)
      out[#out + 1] = { field = field, column = column, at = head[column], read = READ[field],
        scale = scale }
    end
  end
  return out
end

function Reader:row(cells, line, n_cells, plan)
  if #cells ~= n_cells then
    return nil, self:bad(line, "%.0f cells, expected %.0f", #cells, n_cells)
  end
  local job = {}
  for i = 1, #plan do
    local p = plan[i]
    local x, why = p.all, nil
    if not x then x, why = p.read(cells[p.at], self, p.scale) end
    if x == nil then return nil, self:bad(line, "%s: %s, got %q", p.column, why, cells[p.at]) end
    job[p.field] = x
  end
  return job
end

--- Jobs of a CSV file whose header the iterator of rows has passed.
function Reader:table_of(rows, head, columns)
  local plan, message = self:plan(head, columns)
  if not plan then return nil, message end
  local jobs = {}
  for line, cells, why in rows do
    local job, fault
    if cells then
      job, fault = self:row(cells, line, #head, plan)
    else
      fault = self:bad(line, why)
    end
    if job and self.finish then job, fault = self:finish(job, line) end
    if fault then return nil, fault end
    jobs[#jobs + 1] = job
  end
  return jobs
end

-- ---- what a format lacks ------------------------------------------------------------------------

-- Traces of Pollux have arrivals, but no durations.
local function finish_pollux(self, job, line)
  local d = self.durations
  local x = type(d) == "table" and d[job.kind] or type(d) == "number" and d or nil
  if not x then return nil, self:bad(line, "no duration of %s: option durations", job.kind) end
  job.work = x
  return job
end

local GAVEL_FIELDS = { { "steps", "total steps", number }, { "gpus", "scale factor", gang },
  { "priority", "priority weight", number }, { "arrival", "arrival time", number } }

function Reader:gavel_row(cells, line)
  local places = GAVEL[#cells]
  if not places then return nil, self:bad(line, "%.0f cells, expected 7 or 10", #cells) end
  local job = { kind = cells[1] }
  for _, f in ipairs(GAVEL_FIELDS) do
    local cell = cells[places[f[1]]]
    if cell then
      local x, why = f[3](cell)
      if x == nil then return nil, self:bad(line, "%s: %s, got %q", f[2], why, cell) end
      job[f[1]] = x
    end
  end
  if not places.slo then return job end
  local slo = text.number(cells[places.slo])
  if not slo then
    return nil, self:bad(line, "SLO: expected a number, got %q", cells[places.slo])
  end
  if slo >= 0 then job.slo = slo end
  return job
end

-- Seconds on one type of GPU; how many of these it does per second on each.
function Reader:gavel_work(job, line)
  if not self.throughputs then
    job.work, self.in_steps = job.steps, true
    return job
  end
  job.rates = throughputs.of(self.throughputs, job.kind, job.gpus)
  local rate = job.rates and job.rates[self.worker]
  if not rate then
    return nil, self:bad(line, "no throughput of %q on %.0f %s", job.kind, job.gpus, self.worker)
  end
  job.work, job.step = job.steps / rate, 1 / rate
  local relative = {}
  for worker, x in pairs(job.rates) do relative[worker] = x / rate end
  job.rates = relative
  return job
end

function Reader:gavel(whole)
  local jobs = {}
  for line, cells, why in text.rows(whole, "\t") do
    local job, fault
    if cells then
      job, fault = self:gavel_row(cells, line)
    else
      fault = self:bad(line, why)
    end
    if job then job, fault = self:gavel_work(job, line) end
    if fault then return nil, fault end
    if job then job.name = ("job %.0f"):format(line) end
    jobs[#jobs + 1] = job
  end
  return jobs
end

-- ---- sorting ------------------------------------------------------------------------------------

local function sorted(jobs)
  for j = 2, #jobs do
    if jobs[j].arrival < jobs[j - 1].arrival then return false end
  end
  return true
end

-- By arrival; equal ones stay in the order of the file.
local function by_arrival(jobs)
  local order, out = sort.ids(#jobs), {}
  sort.rising(order, function(id) return jobs[id].arrival end)
  for i, j in ipairs(order) do out[i] = jobs[j] end
  return out
end

-- ---- all together -------------------------------------------------------------------------------

local function check_columns(columns)
  if columns == nil then return {} end
  options.expect(columns, "table", "%s: columns", FN)
  local out = {}
  for _, key in ipairs(options.sorted_keys(columns)) do
    if CALLED[key] then
      options.fail("%s: columns: unknown field '%s': it is called '%s' (legal: %s)", FN, key,
        CALLED[key], table.concat(FIELDS, ", "))
    end
    options.refuse(not READ[key], "%s: columns: unknown field '%s' (legal: %s)", FN, tostring(key),
      options.names_text(key, FIELDS))
    local one_number = key == "gpus" and type(columns[key]) == "number"
    if type(columns[key]) ~= "string" and not one_number then
      options.fail("%s: columns.%s: expected the name of a column, got %s", FN, key,
        core.kind(columns[key]))
    end
    out[key] = one_number and core.number_text(columns[key]) or columns[key]
  end
  return out
end

local function check(opts)
  local o = options.read(FN, "load_trace", opts)
  local kind = type(o.durations)
  options.refuse(kind ~= "nil" and kind ~= "table" and kind ~= "number",
    "%s: durations: expected s, or a table of s by application, got %s", FN, core.kind(o.durations))
  return o
end

local ONLY = { durations = "pollux", throughputs = "gavel" }

-- Raises for options that this format does not read.
local function check_readers(o, format)
  for _, key in ipairs { "durations", "throughputs" } do
    options.refuse(o[key] ~= nil and format ~= ONLY[key], "%s: %s: is read of format %s only", FN,
      key, ONLY[key])
  end
  options.refuse(o.columns ~= nil and format == "gavel", "%s: columns: format gavel has no header",
    FN)
  options.refuse(o.worker ~= nil and o.throughputs == nil, "%s: worker: requires throughputs", FN)
end

local function read_with(reader, whole, o, columns)
  local first_line = whole:match "^%s*([^\r\n]*)"
  local separator = text.separator(first_line)
  local rows = text.rows(whole, separator)
  local _, head, why = rows()
  if why then return nil, ("%s:1: %s"):format(reader.path, why) end
  if not head then return nil, reader.path .. ": there are no jobs in it" end
  local format = o.format or detect(index(head), head, separator)
  check_readers(o, format)
  if format == "gavel" then
    local jobs, message = reader:gavel(whole)
    return jobs, message, format
  end
  local known = options.merge(FORMATS[format], columns)
  if not known.arrival or not (known.work or format == "pollux") then
    return nil,
      ("%s: no trace that is known by its header (%s): option columns, as in --columns "
        .. "arrival=COLUMN,work=COLUMN,gpus=COLUMN; its columns: %s")
      :format(reader.path, table.concat(NAMES, ", "), table.concat(head, ", "))
  end
  if not known.gpus then
    return nil, ("%s: no column for gpus: add gpus=COLUMN to columns, or gpus=1 if each job takes "
      .. "one (there are: %s)"):format(reader.path, table.concat(head, ", "))
  end
  if format == "pollux" and not known.work then reader.finish = finish_pollux end
  local jobs, message = reader:table_of(rows, head, known)
  return jobs, message, format or "columns"
end

-- From here on arrivals are times of a clock, not of a trace: three years.
local CLOCK = 1e8

-- Subtracts the origin of time from the arrivals of jobs in their order; message of the first job
-- before it.
local function shift(reader, jobs, origin)
  local first = jobs[1].arrival
  origin = origin or (reader.dates or first >= CLOCK) and first or 0
  if first < origin then
    return nil, core.sprintf("%s: origin: a job arrives %.17g s before it", reader.path,
      origin - first)
  end
  if origin ~= 0 then
    for _, job in ipairs(jobs) do job.arrival = job.arrival - origin end
  end
  return origin
end

function Reader:said_left_out()
  return ("%.0f %s left out, the first: %s"):format(self.left_out,
    self.left_out == 1 and "line" or "lines", self.first_left_out)
end

local function notes_of(reader, was_sorted, origin)
  local out = reader.notes
  if not was_sorted then out[#out + 1] = "jobs were not in order of arrival: sorted" end
  if reader.left_out > 0 then
    out[#out + 1] = reader:said_left_out()
  end
  if origin ~= 0 then
    out[#out + 1] = ("arrivals count from %s"):format(core.number_text(origin))
      .. " s of the file, option origin"
  end
  if reader.without_zone then out[#out + 1] = "dates without a zone are taken as UTC" end
  if reader.in_steps then
    out[#out + 1] = "a step counts as 1 s: option throughputs has the steps per s"
  end
  return out
end

--- Reads a trace of jobs.
-- @tparam string path Philly, Tiresias, Pollux (CSV with these headers), Gavel (tab separated), or
--  any CSV with `columns`; or these packed by gzip
-- @tparam[opt] table opts format (from the header); columns ({ arrival = "submit_s", work, gpus,
--  name, kind, ... }: names of columns, "took:min" for one in minutes; gpus may be a number); skip
--  (false): lines that are wrong are left out, and counted; durations (Pollux: s, or { application
--  = s }); throughputs (Gavel: a file of steps per s), worker ("v100"); most_bytes of each file
-- @treturn[1] table jobs array of { arrival (s), work (s; Gavel without throughputs: steps), gpus,
--  name, kind, ... } by arrival
-- @treturn[1] table about format, jobs, left_out, sorted (they were not), origin (s), notes
-- @treturn[2] nil
-- @treturn[2] string message with file:line, the value and what is wrong
-- @treturn[2] string code
local function load_trace(path, opts)
  local o = check(opts)
  local columns = check_columns(o.columns)
  local whole, message, code = core.read(path, FN, { most_bytes = o.most_bytes })
  if not whole then return nil, message, code end
  whole, message = text.utf8(whole)
  if not whole then return nil, ("%s: %s"):format(path, message), "parse" end
  local reader = setmetatable({ path = path == "-" and "standard input" or path, skip = o.skip,
    left_out = 0, durations = o.durations, worker = o.worker or "v100", notes = {} }, Reader)
  if o.throughputs ~= nil then
    reader.throughputs, message, code = throughputs.load(o.throughputs, o.most_bytes)
    if not reader.throughputs then return nil, message, code end
    local workers = reader.throughputs.workers
    local found = false
    for _, name in ipairs(workers) do found = found or name == reader.worker end
    if not found then
      return nil, ("%s: no type of GPU %q, option worker (there are: %s)"):format(o.throughputs,
        reader.worker, table.concat(workers, ", ")), "parse"
    end
  end
  local jobs, fault, format = read_with(reader, whole, o, columns)
  if jobs and #jobs == 0 then
    jobs, fault = nil, ("%s: there are no jobs in it%s"):format(path, reader.left_out == 0 and ""
      or ": " .. reader:said_left_out())
  end
  if not jobs then return nil, fault, "parse" end
  local in_order = sorted(jobs)
  if not in_order then jobs = by_arrival(jobs) end
  local origin
  origin, fault = shift(reader, jobs, o.origin)
  if not origin then return nil, fault, "parse" end
  return jobs, { format = format, jobs = #jobs, left_out = reader.left_out, sorted = not in_order,
    origin = origin, notes = notes_of(reader, in_order, origin) }
end

return { load = load_trace, formats = NAMES }
