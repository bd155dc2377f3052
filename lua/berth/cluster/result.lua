--- What became of the jobs of a simulation.
local core = require "berth.core"
local files = require "berth.cluster.files"
local write = require "berth.write"

local result = {}

-- ---- what happens, as it happens -----------------------------------------------------------------

local Log = {}
Log.__index = Log

--- runs: { job, machines, start, finish }; counts: idle machines and waiting jobs whenever they change.
function result.log() return setmetatable({ runs = {}, open = {}, counts = {} }, Log) end

function Log:start(job, machines, time)
  local run = { job = job, machines = {}, start = time }
  for i, m in ipairs(machines) do run.machines[i] = m end
  self.runs[#self.runs + 1], self.open[job] = run, run
end

function Log:stop(job, time)
  self.open[job].finish = time
  self.open[job] = nil
end

function Log:count(time, view)
  local _, idle = view.core:idle(0)
  local last = self.counts[#self.counts]
  if last and last.idle == idle and last.waiting == view.n_waiting then return end
  if last and last.time == time then last.idle, last.waiting = idle, view.n_waiting return end
  self.counts[#self.counts + 1] = { time = time, idle = idle, waiting = view.n_waiting }
end

-- ---- records -------------------------------------------------------------------------------------

local function record_of(view, j)
  local r, job = view.core:record(j), view.jobs[j]
  r.job, r.name, r.kind, r.machines = j, job.name, job.kind, job.machines
  r.arrival, r.work, r.deadline = job.arrival, job.work, job.deadline
  if r.state == "done" then
    r.jct = r.finish - r.arrival
    r.late = r.deadline ~= nil and r.jct > r.deadline
  end
  if r.start then r.wait = r.start - r.arrival end
  return r
end

local function mean(list)
  local sum = 0
  for i = 1, #list do sum = sum + list[i] end
  return #list > 0 and sum / #list or nil
end

-- The least value that at least this share of the sorted list does not exceed.
local function quantile(list, share) return list[math.max(1, math.ceil(share * #list))] end

local function summarise(view, records)
  local s, jct, wait, late, last = view.core:summary(), {}, {}, 0, 0
  for _, r in ipairs(records) do
    if r.jct then jct[#jct + 1] = r.jct end
    if r.wait then wait[#wait + 1] = r.wait end
    if r.late then late = late + 1 end
    if r.state == "done" then last = math.max(last, r.finish) end
  end
  table.sort(jct)
  s.late, s.makespan, s.mean_jct, s.mean_wait = late, last, mean(jct), mean(wait)
  s.median_jct, s.p95_jct = quantile(jct, 0.5), quantile(jct, 0.95)
  s.blocking_rate = s.arrived > 0 and s.refused / s.arrived or 0
  s.utilisation = s.time > 0 and s.share_seconds / (s.time * view.machines) or 0
  return s
end

-- ---- the object ------------------------------------------------------------------------------------

local methods = {}
local meta = { __index = methods, __name = "berth.cluster.result" }

function meta:__tostring()
  local s = self.summary
  local done = ("%s: %.0f of %.0f jobs done, %.0f refused"):format(self.scheduler, s.done, #self.records, s.refused)
  if not s.mean_jct then return done end
  local mean_time = core.format(s.mean_jct, "seconds")
  return ("%s, mean completion time %s, machines busy %.1f %%"):format(done, mean_time, s.utilisation * 100)
end

--- A line per job: numbers in s, or in machines times s.
-- @treturn[1] boolean true
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code
function methods:save_csv(path) return write(path, files.csv(self)) end
--- A line about the simulation, then one per job.
function methods:save_jsonl(path) return write(path, files.jsonl(self)) end
--- Chrome's trace format, for Perfetto: a row per machine, more where jobs share one; counters of idle machines, waiting jobs.
function methods:save_trace(path) return write(path, files.trace(self)) end
--- The text of save_trace.
function methods:trace() return table.concat(files.trace(self)) end

function result.new(view, log, about)
  local records = {}
  for j = 1, #view.jobs do records[j] = record_of(view, j) end
  about.options = { machines = view.machines, resources = view.resources }
  if type(about.cluster) == "table" then
    for _, key in ipairs { "capacity", "horizon", "slot", "slack" } do about.options[key] = about.cluster[key] end
  end
  return setmetatable({
    records = records, summary = summarise(view, records), runs = log.runs, counts = log.counts, scheduler = about.scheduler,
    seed = about.seed, version = core.version, options = about.options, machines = view.machines,
  }, meta)
end

return result
