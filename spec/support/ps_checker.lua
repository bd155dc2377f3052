--- Whether a run of workers and parameter servers keeps the rules, and went as the model says. It reads the problem's tables and
-- the log, and recomputes progress, ends and utilities; it shares no code with what it judges.
local checker = {}

local EPSILON = 1e-9

local function wrong(format, ...) error(format:format(...), 0) end

local function near(x, y, what, ...)
  if math.abs(x - y) > 1e-6 * math.max(1, math.abs(x), math.abs(y)) then
    wrong("%s: %.12g in the run, %.12g here", what:format(...), x, y)
  end
end

-- A number above or at a whole one by rounding errors only is that one.
local function up(x) return math.ceil(x * (1 - 1e-12)) end

local function capacity_of(cluster, m, r)
  local list = cluster.capacity
  if type(list[1]) == "table" then return list[m][r] end
  return list[r]
end

-- ---- the log -----------------------------------------------------------------------------------------

-- [slot][job] = places; machines of a job in a slot differ, in order.
local function by_slot(problem, log)
  local out = {}
  for t = 0, problem.cluster.slots - 1 do out[t] = {} end
  for i = 1, #log.slot do
    local slot, job, m, w, s = log.slot[i], log.job[i], log.machine[i], log.workers[i], log.servers[i]
    if not out[slot] then wrong("entry %d: slot %s", i, tostring(slot)) end
    if not problem.jobs[job] then wrong("entry %d: job %s", i, tostring(job)) end
    if m < 1 or m > problem.cluster.machines or m ~= math.floor(m) then wrong("entry %d: machine %s", i, tostring(m)) end
    if w < 0 or s < 0 or w + s < 1 or w ~= math.floor(w) or s ~= math.floor(s) then
      wrong("entry %d: %g workers, %g servers", i, w, s)
    end
    if i > 1 then
      local before = log.slot[i - 1] * 2 ^ 40 + log.job[i - 1] * 2 ^ 20 + log.machine[i - 1]
      if slot * 2 ^ 40 + job * 2 ^ 20 + m <= before then wrong("entry %d is not in order, or there twice", i) end
    end
    out[slot][job] = out[slot][job] or {}
    table.insert(out[slot][job], { machine = m, workers = w, servers = s })
  end
  return out
end

local function check_capacity(problem, slot, given)
  local cluster, used = problem.cluster, {}
  for job, places in pairs(given) do
    local j = problem.jobs[job]
    for _, at in ipairs(places) do
      for r = 1, #j.worker do
        local key = (at.machine - 1) * #j.worker + r
        used[key] = (used[key] or 0) + at.workers * j.worker[r] + at.servers * j.server[r]
      end
    end
  end
  for m = 1, cluster.machines do
    for r = 1, #cluster.resources do
      local x, most = used[(m - 1) * #cluster.resources + r] or 0, capacity_of(cluster, m, r)
      if x > most * (1 + EPSILON) then
        wrong("slot %d: machine %d has %g of resource %d, %g are assigned", slot, m, most, r, x)
      end
    end
  end
end

-- ---- the model -----------------------------------------------------------------------------------------

local function totals(places)
  local w, s = 0, 0
  for _, at in ipairs(places) do w, s = w + at.workers, s + at.servers end
  return w, s
end

local function in_one_rack(cluster, places)
  if not cluster.rack then return false end
  for _, at in ipairs(places) do
    if cluster.rack[at.machine] ~= cluster.rack[places[1].machine] then return false end
  end
  return true
end

local function link(cluster, job, places)
  return in_one_rack(cluster, places) and (job.rack or 0) > 0 and job.rack or job.across
end

-- The slowest of all pairs when what goes out of a machine is shared.
local function shared(cluster, job, places)
  local w, s = totals(places)
  local b, out = math.huge, link(cluster, job, places)
  for _, at in ipairs(places) do
    if at.workers > 0 and at.servers > 0 then b = math.min(b, job.inside) end
    if at.workers > 0 and s > at.servers then b = math.min(b, out / (s - at.servers)) end
    if at.servers > 0 and w > at.workers then b = math.min(b, out / (w - at.workers)) end
  end
  return job.batch / (job.tau * job.batch / w + 2 * job.bytes / (s * b))
end

local function speed(cluster, job, places)
  local w, s = totals(places)
  if w == 0 or s < math.max(1, up(math.min(w, job.batch) / job.ratio)) then return 0 end
  if cluster.comm == "shared" then return shared(cluster, job, places) end
  local b = #places == 1 and job.inside or link(cluster, job, places)
  return math.min(w, job.batch) / (job.tau + 2 * job.bytes * job.ratio / (b * job.batch)) -- equation 1
end

local function utility(job, slots) return job.importance / (1 + math.exp(job.urgency * (slots - job.target))) end

local function same(a, b)
  if #a ~= #b then return false end
  for i = 1, #a do
    if a[i].machine ~= b[i].machine or a[i].workers ~= b[i].workers or a[i].servers ~= b[i].servers then return false end
  end
  return true
end

-- ---- jobs ------------------------------------------------------------------------------------------------

local function check_places(j, job, slot, places, strict)
  local w, s = totals(places)
  if slot < job.arrival then wrong("slot %d: job %d arrives in slot %d", slot, j, job.arrival) end
  if w > job.batch then wrong("slot %d: job %d has %d workers, batch %d", slot, j, w, job.batch) end
  if strict and (w == 0 or s < math.max(1, up(w / job.ratio))) then
    wrong("slot %d: job %d has %d workers, %d servers, ratio %g", slot, j, w, s, job.ratio)
  end
end

-- Runs a job through its places: slot in which it is done, end, samples left.
local function replay(problem, given, j, strict)
  local cluster, job = problem.cluster, problem.jobs[j]
  local all = job.epochs * job.samples
  local left, owed, last = all, 0, nil
  for slot = 0, cluster.slots - 1 do
    local places = given[slot][j]
    if places then
      check_places(j, job, slot, places, strict)
      if last and not same(last, places) then owed = job.moving or 0 end
      last = places
      local v, works = speed(cluster, job, places), math.max(0, 1 - owed)
      if left - v * works <= EPSILON * all then return slot, slot + math.min(1, (1 - works) + left / v), 0 end
      left, owed = left - v * works, math.max(0, owed - 1)
    end
  end
  return nil, nil, left
end

local function check_job(problem, given, result, j, strict)
  local job, record = problem.jobs[j], result.records[j]
  local done, finish, left = replay(problem, given, j, strict)
  if record.done ~= done then wrong("job %d: done in %s in the run, %s here", j, tostring(record.done), tostring(done)) end
  if (record.state == "done") ~= (done ~= nil) then wrong("job %d: state %s", j, record.state) end
  near(record.utility, done and utility(job, done - job.arrival) or 0, "utility of job %d", j)
  if not done then near(record.left, left, "samples left of job %d", j) return end
  near(record.finish, finish, "end of job %d", j)
  for slot = done + 1, problem.cluster.slots - 1 do
    if given[slot][j] then wrong("slot %d: job %d was done in slot %d", slot, j, done) end
  end
end

--- Raises what is wrong.
-- @tparam table problem jobs, cluster
-- @tparam table result log, records, utility
-- @tparam[opt] boolean strict each job that has anything has workers, and servers enough for them
function checker.check(problem, result, strict)
  local given, sum = by_slot(problem, result.log), 0
  for slot = 0, problem.cluster.slots - 1 do check_capacity(problem, slot, given[slot]) end
  for j = 1, #problem.jobs do
    check_job(problem, given, result, j, strict)
    sum = sum + result.records[j].utility
  end
  near(result.utility, sum, "total utility")
end

return checker
