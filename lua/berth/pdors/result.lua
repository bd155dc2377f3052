--- What became of the jobs of a run.
local core = require "berth.core"
local decimals = require "berth.base.decimals"
local files = require "berth.cluster.files"
local options = require "berth.base.options"
local percent = require "berth.base.percent"
local write = require "berth.base.write"

local result = {}

-- Name in files, name in records. Slots count from 0.
local COLUMNS = {
  { "job", "job" }, { "name", "name" }, { "kind", "kind" }, { "arrival_slot", "arrival" },
  { "work_samples", "work" }, { "state", "state" }, { "cause", "cause" }, { "why", "why" },
  { "first_slot", "first" }, { "done_slot", "done" }, { "finish_slots", "finish" },
  { "left_samples", "left" }, { "utility", "utility" }, { "importance", "importance" },
  { "worker_slots", "worker_slots" }, { "server_slots", "server_slots" }, { "slots", "slots" },
  { "slots_on_one_machine", "inside" }, { "moves", "moves" },
}
local WHY = { "no schedule", "does not pay" } -- of pd-ors and oasis, by cause

local function record_of(problem, run, j, why)
  local r, job = run:record(j), problem.jobs[j]
  r.job, r.name, r.kind, r.arrival, r.importance = j, job.name, job.kind, job.arrival,
    job.importance
  r.work = job.epochs * job.samples
  if why and r.cause then r.why = WHY[r.cause] end
  return r
end

-- ---- the log ------------------------------------------------------------------------------------

local Result = { __name = "berth.pdors.result" }
Result.__index = Result

--- Calls f(slot, job, places) for each job in each slot in which it had places.
function Result:each(f)
  local log, i = self.log, 1
  while i <= #log.slot do
    local slot, job, places = log.slot[i], log.job[i], {}
    while log.slot[i] == slot and log.job[i] == job do
      places[#places + 1] = { log.machine[i], log.workers[i], log.servers[i] }
      i = i + 1
    end
    f(slot, job, places)
  end
end

--- Share of each resource that is assigned, over all machines: an array for each resource with an
-- entry for each slot (from 1).
function Result:usage()
  local problem, out, all = self.problem, {}, {}
  local capacity = problem.core:capacity()
  for r = 1, #problem.resources do
    out[r], all[r] = {}, 0
    for m = 1, problem.machines do all[r] = all[r] + capacity[m][r] end
    for t = 1, problem.slots do out[r][t] = 0 end
  end
  self:each(function(slot, job, places)
    local j = problem.jobs[job]
    for _, place in ipairs(places) do
      for r = 1, #out do
        out[r][slot + 1] = out[r][slot + 1] + place[2] * j.worker[r] + place[3] * j.server[r]
      end
    end
  end)
  for r = 1, #out do
    for t = 1, problem.slots do out[r][t] = all[r] > 0 and out[r][t] / all[r] or 0 end
  end
  return out
end

-- ---- traces -------------------------------------------------------------------------------------

local function key_of(places)
  local out = {}
  for i, place in ipairs(places) do
    out[i] = ("%.0f:%.0f:%.0f"):format(place[1], place[2], place[3])
  end
  return table.concat(out, " ")
end

-- Slots on the same places, one after the other, are one run.
local function runs_of(self)
  local runs, open, width = {}, {}, self.problem.slot_seconds
  self:each(function(slot, job, places)
    local last, key = open[job], key_of(places)
    if last and last.key == key and last.slot == slot - 1 then
      last.slot, last.run.finish = slot, (slot + 1) * width
      return
    end
    local run = { job = job, machines = {}, start = slot * width, finish = (slot + 1) * width }
    for i, place in ipairs(places) do run.machines[i] = place[1] end
    runs[#runs + 1], open[job] = run, { key = key, slot = slot, run = run }
  end)
  return runs
end

-- Of each slot: idle machines, and jobs that have arrived and hold nothing.
local function counts_of(self)
  local p, out, busy, served = self.problem, {}, {}, {}
  for t = 1, p.slots do
    out[t], busy[t], served[t] = { time = (t - 1) * p.slot_seconds, idle = p.machines,
      waiting = 0 }, {}, {}
  end
  self:each(function(slot, job, places)
    served[slot + 1][job] = true
    for _, place in ipairs(places) do
      if not busy[slot + 1][place[1]] then out[slot + 1].idle = out[slot + 1].idle - 1 end
      busy[slot + 1][place[1]] = true
    end
  end)
  for _, r in ipairs(self.records) do
    local last = r.state == "refused" and -1 or r.done or p.slots - 1
    for t = r.arrival + 1, last + 1 do
      if not served[t][r.job] then out[t].waiting = out[t].waiting + 1 end
    end
  end
  return out
end

-- In seconds, as the writer of traces has them.
local function timeline(self)
  local records, p = {}, self.problem
  for j, r in ipairs(self.records) do
    records[j] = { job = j, name = r.name, kind = r.kind, arrival = r.arrival * p.slot_seconds,
      work = r.work }
  end
  return files.trace { machines = p.machines, runs = runs_of(self), counts = counts_of(self),
    records = records, summary = { time = p.slots * p.slot_seconds }, scheduler = self.scheduler,
    seed = self.seed, version = self.version, options = self.options }
end

-- ---- the object ---------------------------------------------------------------------------------

function Result:__tostring()
  local s, words = self.summary, {}
  words[1] = ("%s: utility %s"):format(self.scheduler, decimals(s.utility, 4))
  if self.possible == 0 then
    words[2] = "no job can be done in time"
  elseif s.ratio then
    words[2] = ("%s of the bound %s"):format(percent(s.ratio), decimals(s.bound, 4))
  end
  words[#words + 1] = ("%.0f of %.0f jobs done, %.0f refused"):format(s.done, #self.records,
    s.refused)
  return table.concat(words, ", ")
end

--- A line per job; slots count from 0.
-- @treturn[1] boolean true
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code
function Result:save_csv(path) return write(path, files.csv(self)) end
--- A line about the run, then one per job.
function Result:save_jsonl(path) return write(path, files.jsonl(self)) end
--- Chrome's trace format, for Perfetto: rows of machines; counters of idle machines and waiting
-- jobs.
function Result:save_trace(path) return write(path, timeline(self)) end
--- The text of save_trace.
function Result:trace() return table.concat(timeline(self)) end

local function summary_of(problem, report, certificate)
  local s = { utility = report.utility, done = report.done, refused = report.refused,
    unfinished = report.unfinished, training_mean_slots = report.training_mean,
    training_median_slots = report.training_median, inside = report.inside, used = {} }
  for r, name in ipairs(problem.resources) do s.used[name] = report.used[r] end
  return options.merge(s, certificate)
end

--- @tparam table about scheduler, seed, options, certificate ({ bound, ratio, worst_case }),
--  possible, counts, why
function result.new(problem, run, about)
  local records = {}
  for j = 1, #problem.jobs do records[j] = record_of(problem, run, j, about.why) end
  local summary = summary_of(problem, run:report(), about.certificate)
  return setmetatable({
    problem = problem, records = records, log = run:log(), summary = summary, columns = COLUMNS,
    scheduler = about.scheduler, seed = about.seed, version = core.version, counts = about.counts,
    possible = about.possible, utility = summary.utility, bound = summary.bound,
    ratio = summary.ratio,
    options = options.merge(about.options, { machines = problem.machines, slots = problem.slots,
      resources = problem.resources, slot_seconds = problem.slot_seconds }),
  }, Result)
end

function result.is(x) return getmetatable(x) == Result end

return result
