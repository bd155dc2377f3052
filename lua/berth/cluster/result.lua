--- What became of the jobs of a simulation.
local core = require "berth.core"
local files = require "berth.cluster.files"
local write = require "berth.base.write"

local result = {}

-- ---- what happens, as it happens ----------------------------------------------------------------

local Log = {}
Log.__index = Log

--- runs: { job, machines, amounts (of the first resource; nil: all), start, finish }; counts: idle
-- machines and waiting jobs whenever they change; fast: a job runs at more than 1 s of work per s.
function result.log() return setmetatable({ runs = {}, open = {}, counts = {} }, Log) end

function Log:start(job, machines, time, amounts)
  local run = { job = job, machines = {}, amounts = amounts and {}, start = time }
  for i, m in ipairs(machines) do
    run.machines[i] = m
    local held = amounts and amounts[i]
    if held then run.amounts[i] = type(held) == "table" and held[1] or held end
  end
  self.runs[#self.runs + 1], self.open[job] = run, run
end

function Log:stop(job, time)
  self.open[job].finish = time
  self.open[job] = nil
end

function Log:count(c)
  local last, time, waiting, _, idle = self.counts[#self.counts], c.now, c.n_waiting, c:idle(0)
  if last and last.idle == idle and last.waiting == waiting then return end
  if last and last.time == time then last.idle, last.waiting = idle, waiting return end
  self.counts[#self.counts + 1] = { time = time, idle = idle, waiting = waiting }
end

-- ---- records ------------------------------------------------------------------------------------

local function record_of(c, job, j)
  local r = c:record(j)
  r.job, r.name, r.kind, r.machines, r.gpus = j, job.name, job.kind, job.machines, job.gpus
  r.arrival, r.work, r.deadline = job.arrival, job.work, job.deadline
  if r.state == "done" then
    r.jct = r.finish - r.arrival
    r.queued = r.jct - r.ran
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

local function summarise(c, records)
  local s, jct, wait, queued, late, last, pauses = c:summary(), {}, {}, {}, 0, 0, 0
  for _, r in ipairs(records) do
    if r.jct then jct[#jct + 1], queued[#queued + 1] = r.jct, r.queued end
    if r.wait then wait[#wait + 1] = r.wait end
    if r.late then late = late + 1 end
    if r.state == "done" and r.finish > last then last = r.finish end
    pauses = pauses + r.pauses
  end
  s.late, s.makespan, s.pauses, s.mean_jct, s.mean_wait, s.mean_queued = late, last, pauses,
    mean(jct), mean(wait), mean(queued)
  table.sort(jct)
  s.median_jct, s.p95_jct, s.p99_jct = quantile(jct, 0.5), quantile(jct, 0.95), quantile(jct, 0.99)
  s.blocking_rate = s.arrived > 0 and s.refused / s.arrived or 0
  s.utilisation = s.time > 0 and s.share_seconds / (s.time * c.machines) or 0
  return s
end

-- ---- the object ---------------------------------------------------------------------------------

local methods = {}
local meta = { __name = "berth.cluster.result" }
local later = setmetatable({}, { __mode = "k" }) -- functions that make fields which are long

function meta.__index(self, key)
  local make = (key == "runs" or key == "counts") and later[self] and later[self][key]
  if make then rawset(self, key, make()) end
  return make and rawget(self, key) or methods[key]
end

function meta:__tostring()
  local s = self.summary
  local done = ("%s: %.0f of %.0f jobs done, %.0f refused"):format(self.scheduler, s.done,
    #self.records, s.refused)
  if s.waiting > 0 then
    local none = s.done == 0 and s.running_seconds == 0
    done = ("%s, %.0f still wait%s"):format(done, s.waiting,
      none and ": the scheduler started none" or "")
  end
  if not s.mean_jct then return done end
  local mean_time = core.format(s.mean_jct, "seconds")
  if s.bound_jct then
    mean_time = ("%s (bound %s)"):format(mean_time, core.format(s.bound_jct, "seconds"))
  end
  return core.sprintf("%s, mean completion time %s, machines busy %.1f %%", done, mean_time,
    s.utilisation * 100)
end

--- A line per job: numbers in s, or in machines times s.
-- @treturn[1] boolean true
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code
function methods:save_csv(path) return write(path, files.csv(self)) end
--- A line about the simulation, then one per job.
function methods:save_jsonl(path) return write(path, files.jsonl(self)) end
--- Chrome's trace format, for Perfetto: a row per machine, more where jobs share one; counters of
-- idle machines, waiting jobs.
function methods:save_trace(path) return write(path, files.trace(self)) end
--- The text of save_trace.
function methods:trace() return table.concat(files.trace(self)) end

-- What was chosen, for files: the cluster's, and what is plain of the scheduler's.
local function chosen(c, about)
  local out = { machines = c.machines, resources = c.resources }
  if type(about.cluster) == "table" then
    for _, key in ipairs { "capacity", "horizon", "slot", "slack" } do
      out[key] = about.cluster[key]
    end
  end
  for key, x in pairs(about.given) do
    if key ~= "seed" and type(x) ~= "function" then out[key] = x end
  end
  return out
end

--- @param c the core's cluster, at its end
-- @tparam table rows a table per job
-- @tparam table log runs and counts, or functions that make them
-- @tparam table about scheduler, seed, cluster, given (options)
function result.new(c, rows, log, about)
  local records = {}
  for j = 1, #rows do records[j] = record_of(c, rows[j], j) end
  local self = setmetatable({
    records = records, summary = summarise(c, records), scheduler = about.scheduler,
    seed = about.seed, version = core.version, options = chosen(c, about), machines = c.machines,
  }, meta)
  if type(log.runs) == "function" then
    later[self] = log
  else
    self.runs, self.counts = log.runs, log.counts
  end
  return self
end

return result
