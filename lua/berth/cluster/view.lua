--- What a scheduler sees of a cluster: all that is, nothing that is to come.
local scheduler = require "berth.cluster.scheduler"

local view = {}
local meta = { __index = view, __name = "berth.cluster.view" }

--- @param core_cluster the core's
-- @tparam table jobs a table per job
-- @tparam table opts rate, seed's rng
function view.new(core_cluster, jobs, rng, rate)
  return setmetatable({
    core = core_cluster, jobs = jobs, rng = rng, now = 0, machines = core_cluster.machines, resources = core_cluster.resources,
    how_fast = rate, queue = {}, first = 1, last = 0, waits = {}, n_waiting = 0,
  }, meta)
end

--- The job's own table, as in the trace.
function view:job(j) return self.jobs[j] end
scheduler.forward(view, "core", { "record", "upcoming", "running", "places", "free", "capacity", "idle" })

--- Work per s of a job on machines: the option `rate`, or 1.
function view:rate(j, machines, amounts)
  if not self.how_fast then return 1 end
  return self.how_fast(self.jobs[j], machines, amounts)
end

-- ---- who waits: numbers of jobs in order, some of which do not wait any more ---------------------------

local function compact(self)
  local kept = {}
  for i = self.first, self.last do
    local j = self.queue[i]
    if self.waits[j] then kept[#kept + 1] = j end
  end
  self.queue, self.first, self.last = kept, 1, #kept
end

--- Jobs that wait, in order of arrival; the first `most`.
function view:waiting(most)
  if self.last - self.first + 1 > 2 * self.n_waiting + 32 then compact(self) end
  local out, i = {}, self.first
  while i <= self.last and (not most or #out < most) do
    local j = self.queue[i]
    if self.waits[j] then out[#out + 1] = j
    elseif i == self.first then self.first = i + 1 end
    i = i + 1
  end
  return out
end

--- For the simulator: a job begins to wait. One that was paused may still be in the queue from before.
function view:enter(j)
  self.waits[j], self.n_waiting = true, self.n_waiting + 1
  if self.last < self.first or self.queue[self.last] < j then
    self.last = self.last + 1
    self.queue[self.last] = j
    return
  end
  local low, high = self.first, self.last
  while low < high do
    local middle = math.floor((low + high) / 2)
    if self.queue[middle] < j then low = middle + 1 else high = middle end
  end
  if self.queue[low] == j then return end
  for i = self.last, low, -1 do self.queue[i + 1] = self.queue[i] end
  self.queue[low], self.last = j, self.last + 1
end

--- For the simulator: it does not wait any more.
function view:leave(j) self.waits[j], self.n_waiting = nil, self.n_waiting - 1 end

return view
