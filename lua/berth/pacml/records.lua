--- What became of the jobs of a run, and of the cluster: rows, as CSV, as JSON lines, and as a
-- timeline.
local core = require "berth.core"
local json = require "berth.base.json"
local writer = require "berth.base.json_writer"
local options = require "berth.base.options"
local schema = require "berth.base.schema"
local timeline = require "berth.pacml.timeline"
local write = require "berth.base.write"

local Records = { __name = "berth.pacml.records" }
Records.__index = Records

-- Names of columns, with units; the servers of a job are numbers.
local COLUMNS = {
  jobs = { "job", "model", "arrival_s", "beta", "sequential_s", "deadline_s", "decision",
    "accepted", "cause", "pieces", "servers", "channels", "completion_s", "end_s", "speedup",
    "completed", "server_numbers" },
  cluster = { "time_s", "event", "job", "arrived", "blocked", "running", "servers_held",
    "servers_computing" },
}

function Records.__tostring(r)
  return ("records: %.0f jobs, %s"):format(#r, r.about.decider or "a decider of one's own")
end

-- ---- jobs ---------------------------------------------------------------------------------------

-- Times of a job that is late are those that it would have had.
local function job_of(given, j)
  local env, trace, result = given.env, given.trace, given.run:result(j)
  local model, arrival = trace.model[j], trace.arrival[j]
  local sequential, accepted = env.sequential[model], result.cause == "accepted"
  local row = { job = j, model = env.names[model], arrival_s = arrival, beta = trace.beta[j],
    sequential_s = sequential, deadline_s = trace.beta[j] * sequential, decision = result.decision,
    accepted = accepted, cause = result.cause, pieces = result.pieces, servers = result.servers,
    channels = result.channels, completion_s = result.jct, completed = false,
    server_numbers = given.servers[j] }
  if result.jct and result.jct > 0 then row.speedup = sequential / result.jct end
  if accepted then
    row.end_s = arrival + result.jct
    row.completed = row.end_s <= given.report.time + (env.ramp.compat and 1e-7
      or 1e-9 * given.report.time)
  end
  return row
end

-- ---- the cluster --------------------------------------------------------------------------------

local function ends_of(jobs)
  local ends = {}
  for _, row in ipairs(jobs) do
    if row.accepted then ends[#ends + 1] = row end
  end
  table.sort(ends, function(a, b)
    if a.end_s ~= b.end_s then return a.end_s < b.end_s end
    return a.job < b.job
  end)
  return ends
end

local function note(rows, now, time, event, job)
  rows[#rows + 1] = { time_s = time, event = event, job = job, arrived = now.arrived,
    blocked = now.blocked, running = now.running, servers_held = now.held,
    servers_computing = now.running > 0 and now.computing or 0 }
end

local function change(now, row, sign)
  now.running, now.held = now.running + sign, now.held + sign * row.servers
  now.computing = now.computing + sign * (row.speedup or 0)
end

--- What is after each arrival, each end, and when it is over: jobs that run, servers that they
-- hold, and how many of these compute, on average over a step.
-- @treturn table rows time_s, event ("arrival", "end", "over"), job, arrived, blocked, running,
--  servers_held, servers_computing
function Records:cluster()
  local rows, now, ends, k = {}, { arrived = 0, blocked = 0, running = 0, held = 0, computing = 0 },
    ends_of(self), 1
  -- as the run has it
  local slack = self.env.ramp.compat and 1e-7 or #self > 0 and 1e-14 * self[#self].arrival_s or 0
  local function leave(before, first)
    while ends[k] and ends[k].end_s <= before + slack and ends[k].job < first do
      change(now, ends[k], -1)
      note(rows, now, math.min(ends[k].end_s, before), "end", ends[k].job)
      k = k + 1
    end
  end
  local over = self.report.time
  for j, row in ipairs(self) do
    if row.arrival_s > over then break end
    leave(row.arrival_s, j)
    now.arrived = now.arrived + 1
    if row.accepted then change(now, row, 1) else now.blocked = now.blocked + 1 end
    note(rows, now, row.arrival_s, "arrival", j)
  end
  leave(over, math.huge)
  note(rows, now, over, "over")
  return rows
end

-- ---- files --------------------------------------------------------------------------------------

local function cell(x)
  if x == nil then return "" end
  if type(x) == "number" then return core.number_text(x) end
  if type(x) == "table" then
    local out = {}
    for i, server in ipairs(x) do out[i] = ("%.0f"):format(server) end
    return table.concat(out, " ")
  end
  local text = tostring(x)
  return text:find('[",\r\n]') and '"' .. text:gsub('"', '""') .. '"' or text
end

-- The end of all lines.
local function made(about)
  local rest = options.merge(about)
  rest.decider, rest.seed, rest.berth = nil, nil, nil
  return (",%s,%s,%s,%s"):format(cell(about.decider), cell(about.seed), cell(about.berth),
    cell(json.encode(rest)))
end

local function rows_of(self, what)
  if what == nil or what == "jobs" then return self, COLUMNS.jobs end
  if what == "cluster" then return self:cluster(), COLUMNS.cluster end
  return options.fail("records: expected \"jobs\" or \"cluster\", got %s",
    type(what) == "string" and ("%q"):format(what) or core.kind(what))
end

--- Comma-separated values: names with units, a line per row. Servers of a job have spaces between
-- them. Each line ends with decider, seed (of `about`), version and how the run was made otherwise
-- (JSON), so that files can be put together.
-- @tparam[opt] string what "jobs" (default), "cluster"
-- @treturn string
function Records:csv(what)
  local rows, columns = rows_of(self, what)
  local out, ending = { table.concat(columns, ",") .. ",decider,seed,version,options" },
    made(self.about)
  for _, row in ipairs(rows) do
    local cells = {}
    for i, name in ipairs(columns) do cells[i] = cell(row[name]) end
    out[#out + 1] = table.concat(cells, ",") .. ending
  end
  return table.concat(out, "\n") .. "\n"
end

--- JSON lines: first how the run was made, then an object per row.
-- @tparam[opt] string what "jobs" (default), "cluster"
-- @treturn string
function Records:jsonl(what)
  local rows, columns = rows_of(self, what)
  local about = options.merge(self.about, { schema = schema.numbers["records of pacml"] })
  local out = { json.encode(about) }
  for _, row in ipairs(rows) do
    local members = {}
    for i, name in ipairs(columns) do members[i] = { name, row[name] } end
    out[#out + 1] = writer.encode(writer.object(members))
  end
  return table.concat(out, "\n") .. "\n"
end

--- The run in the Chrome trace format, which Perfetto opens: a row per server, and how many jobs
-- run.
-- @treturn string
function Records:timeline() return table.concat(timeline(self)) end

--- Writes rows.
-- @tparam string path ends in .csv or .jsonl
-- @tparam[opt] string what "jobs" (default), "cluster"
-- @treturn[1] boolean true
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code "io"
function Records:save(path, what)
  local ending = type(path) == "string" and path:match("%.(%w+)$")
  if ending == "csv" then return write(path, self:csv(what)) end
  if ending == "jsonl" then return write(path, self:jsonl(what)) end
  return options.fail("records:save: path: expected a name that ends in .csv or .jsonl, got %s",
    type(path) == "string" and ("%q"):format(path) or core.kind(path))
end

--- Writes the timeline.
-- @tparam string path
-- @treturn[1] boolean true
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code "io"
function Records:save_trace(path) return write(path, timeline(self)) end

local records = { columns = COLUMNS }

-- ---- making -------------------------------------------------------------------------------------

local function about(given)
  local env, ramp = given.env, {}
  for _, key in ipairs(options.sorted_keys(env.ramp.options)) do
    ramp[key] = env.ramp.options[key]
  end
  return options.merge(given.about, { berth = core.version, decider = given.decider,
    horizon_s = given.horizon, ramp = ramp, models = env.names, steps = env.steps, most = env.most,
    jobs = #given.trace.model })
end

--- @tparam table given env, trace, run (all decided), servers (of each accepted job), report,
--  horizon, decider (its name), about
function records.new(given)
  local out = { about = about(given), report = given.report, env = given.env,
    horizon = given.horizon }
  for j = 1, #given.trace.model do out[j] = job_of(given, j) end
  return setmetatable(out, Records)
end

return records
