--- Files of jobs that others have recorded, as jobs of berth.cluster: docs/cluster.md, "Traces".
local core = require "berth.core"
local options = require "berth.base.options"
local text = require "berth.cluster.traces_text"
local throughputs = require "berth.cluster.throughputs"
local sort = require "berth.base.sort"

local FN = "berth.load_trace"

-- ---- values -------------------------------------------------------------------------------------

-- Each gives the value, or nil and what was expected.
local function number(cell)
  local x = tonumber(cell)
  if not x or x ~= x or x < 0 or x == math.huge then
    return nil, "expected a finite number not below 0"
  end
  return x
end

local function gang(cell)
  local x = tonumber(cell)
  if not x or x < 1 or x ~= math.floor(x) or x > 2 ^ 31 - 1 then
    return nil, "expected a whole number of at least 1"
  end
  return x
end

local function word(cell)
  if cell == "" then return nil, "expected a text" end
  return cell
end

local READ = { arrival = number, work = number, deadline = number, gpus = gang, name = word,
  kind = word, batch = number, steps = number }
local FIELDS = options.sorted_keys(READ)

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

options.declare("load_trace", {
  { key = "format", type = "choice", default = "by the header", text = "whose file it is",
    choices = {
      { name = "gavel", text = "Gavel: ten cells between tabs, no header." },
      { name = "philly", text = "Philly: CSV with submit_s, duration_s, num_gpus, vc." },
      { name = "pollux", text = "Pollux: CSV with time, application, num_replicas, batch_size." },
      { name = "tiresias", text = "Tiresias: CSV with submit_time, duration, num_gpu." },
    } },
  { key = "columns", type = "table", default = "of the format",
    text = "names of the columns of other CSV files, by field" },
  { key = "skip", type = "flag", default = "false",
    text = "leaves out lines that are wrong, and counts them" },
  { key = "durations", type = "number or table", default = "none",
    text = "Pollux: s of all jobs, or by application" },
  { key = "throughputs", type = "file", default = "none",
    text = "Gavel: steps per s by type of GPU" },
  { key = "worker", type = "string", default = "v100",
    text = "Gavel: the type of GPU that times are of" },
})
local GAVEL = 10 -- cells of a line

local function has_all(head, columns)
  for _, name in pairs(columns) do
    if not head[name] then return false end
  end
  return true
end

local function detect(head, line)
  for _, name in ipairs { "philly", "tiresias", "pollux" } do
    if has_all(head, FORMATS[name]) then return name end
  end
  if #text.tabbed(line) == GAVEL then return "gavel" end
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

local function index(cells)
  local at = {}
  for i, cell in ipairs(cells) do
    local name = cell:match "^%s*(.-)%s*$"
    at[name] = at[name] or i
  end
  return at
end

-- { field, column, place, reader } of all fields that are read.
function Reader:plan(head, columns)
  local out = {}
  for _, field in ipairs(FIELDS) do
    local column = columns[field]
    if column then
      if not head[column] then
        return nil, ("%s: there is no column %q for %s"):format(self.path, column, field)
      end
      out[#out + 1] = { field = field, column = column, at = head[column], read = READ[field] }
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
    local x, why = p.read(cells[p.at])
    if x == nil then return nil, self:bad(line, "%s: %s, got %q", p.column, why, cells[p.at]) end
    job[p.field] = x
  end
  return job
end

--- Jobs of a CSV file.
function Reader:table_of(whole, columns)
  local next_line = text.lines(whole)
  local cells = text.cells((next_line()))
  local plan, message = self:plan(index(cells), columns)
  if not plan then return nil, message end
  local jobs, n = {}, #cells
  for line, number_of_it in next_line do
    local found, why = text.cells(line)
    local job, fault
    if found then
      job, fault = self:row(found, number_of_it, n, plan)
    else
      fault = self:bad(number_of_it, why)
    end
    if fault then return nil, fault end
    if job and self.finish then job, fault = self:finish(job, number_of_it) end
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

local GAVEL_CELLS = { { 6, "total steps", "steps", number }, { 7, "scale factor", "gpus", gang },
  { 8, "priority weight", "priority", number }, { 10, "arrival time", "arrival", number } }

function Reader:gavel_row(line, number_of_it)
  local cells = text.tabbed(line)
  if #cells ~= GAVEL then
    return nil, self:bad(number_of_it, "%.0f cells, expected %.0f", #cells, GAVEL)
  end
  local job = { kind = cells[1] }
  for _, c in ipairs(GAVEL_CELLS) do
    local x, why = c[4](cells[c[1]])
    if x == nil then
      return nil, self:bad(number_of_it, "%s: %s, got %q", c[2], why, cells[c[1]])
    end
    job[c[3]] = x
  end
  local slo = tonumber(cells[9])
  if not slo then return nil, self:bad(number_of_it, "SLO: expected a number, got %q", cells[9]) end
  if slo >= 0 then job.slo = slo end
  return job
end

-- Seconds on one type of GPU; how many of these it does per second on each.
function Reader:gavel_work(job, line)
  if not self.throughputs then
    job.work = job.steps
    return job
  end
  job.rates = throughputs.of(self.throughputs, job.kind, job.gpus)
  local rate = job.rates and job.rates[self.worker]
  if not rate then
    return nil, self:bad(line, "no throughput of %q on %.0f %s", job.kind, job.gpus, self.worker)
  end
  job.work = job.steps / rate
  local relative = {}
  for worker, x in pairs(job.rates) do relative[worker] = x / rate end
  job.rates = relative
  return job
end

function Reader:gavel(whole)
  local jobs = {}
  for line, number_of_it in text.lines(whole) do
    local job, fault = self:gavel_row(line, number_of_it)
    if job then job, fault = self:gavel_work(job, number_of_it) end
    if fault then return nil, fault end
    if job then job.name = ("job %.0f"):format(number_of_it) end
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
  for _, key in ipairs(options.sorted_keys(columns)) do
    options.refuse(not READ[key], "%s: columns: unknown field '%s' (legal: %s)", FN, tostring(key),
      table.concat(FIELDS, ", "))
    if type(columns[key]) ~= "string" then
      options.fail("%s: columns.%s: expected the name of a column, got %s", FN, key,
        core.kind(columns[key]))
    end
  end
  return columns
end

local function check(opts)
  local o = options.read(FN, "load_trace", opts)
  local kind = type(o.durations)
  options.refuse(kind ~= "nil" and kind ~= "table" and kind ~= "number",
    "%s: durations: expected s, or a table of s by application, got %s", FN, core.kind(o.durations))
  return o
end

local function read_with(reader, whole, o, columns)
  local first = text.lines(whole)()
  if not first then return nil, reader.path .. ": there are no jobs in it" end
  local head = index(text.cells(first) or {})
  local format = o.format or detect(head, first)
  if format == "gavel" then
    local jobs, message = reader:gavel(whole)
    return jobs, message, format
  end
  local known = options.merge(FORMATS[format], columns)
  if not known.arrival or not (known.work or format == "pollux") then
    return nil,
      ("%s: no trace that is known by its header (%s); option columns = { arrival = ..., work = "
        .. "..., gpus = ... }")
      :format(reader.path, table.concat(NAMES, ", "))
  end
  if format == "pollux" and not known.work then reader.finish = finish_pollux end
  local jobs, message = reader:table_of(whole, known)
  return jobs, message, format or "columns"
end

local function notes_of(reader, was_sorted)
  local out = {}
  if not was_sorted then out[#out + 1] = "jobs were not in order of arrival: sorted" end
  if reader.left_out > 0 then
    out[#out + 1] = ("%.0f lines left out, the first: %s"):format(reader.left_out,
      reader.first_left_out)
  end
  return out
end

--- Reads a trace of jobs.
-- @tparam string path Philly, Tiresias, Pollux (CSV with these headers), Gavel (tab separated), or
--  any CSV with `columns`; or these packed by gzip
-- @tparam[opt] table opts format (from the header); columns ({ arrival = "submit_s", work, gpus,
--  name, kind, ... }: names of columns); skip (false): lines that are wrong are left out, and
--  counted; durations (Pollux: s, or { application = s }); throughputs (Gavel: a file of steps per
--  s), worker ("v100")
-- @treturn[1] table jobs array of { arrival (s), work (s; Gavel without throughputs: steps), gpus,
--  name, kind, ... } by arrival
-- @treturn[1] table about format, jobs, left_out, sorted (they were not), notes
-- @treturn[2] nil
-- @treturn[2] string message with file:line, the value and what is wrong
-- @treturn[2] string code
local function load_trace(path, opts)
  local o = check(opts)
  local columns = check_columns(o.columns)
  local whole, message, code = core.read(path, FN)
  if not whole then return nil, message, code end
  local reader = setmetatable({ path = path, skip = o.skip, left_out = 0, durations = o.durations,
    worker = o.worker or "v100" },
    Reader)
  if o.throughputs ~= nil then
    reader.throughputs, message, code = throughputs.load(o.throughputs)
    if not reader.throughputs then return nil, message, code end
  end
  local jobs, fault, format = read_with(reader, whole, o, columns)
  if not jobs then return nil, fault, "parse" end
  local in_order = sorted(jobs)
  if not in_order then jobs = by_arrival(jobs) end
  return jobs, { format = format, jobs = #jobs, left_out = reader.left_out, sorted = not in_order,
    notes = notes_of(reader, in_order) }
end

return { load = load_trace, formats = NAMES }
