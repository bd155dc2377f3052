--- Schedulers of gangs: a job runs on as many whole machines as its field `machines` says (1), all at once.
local options = require "berth.options"

local schedulers = {}

local TOO_LARGE = 1

local function need(view, j) return view:job(j).machines or 1 end

-- The next n of a list of machines, which has a place `at`.
local function peek(list, n)
  local out = {}
  for i = 1, n do out[i] = list[list.at + i] end
  return out
end

local function take(list, n)
  local out = peek(list, n)
  list.at = list.at + n
  return out
end

local function too_large(view, j)
  if need(view, j) > view.machines then return { refuse = { { job = j, cause = TOO_LARGE } } } end
end

local function begin(view, list, plan, j)
  local machines = take(list, need(view, j))
  local rate = view:rate(j, machines)
  plan.start[#plan.start + 1] = { job = j, machines = machines, rate = rate }
  return rate
end

-- ---- first in, first out -------------------------------------------------------------------------

local fifo = {}

-- When the first that waits can begin, at the ends known now, and how many machines it leaves then.
local function reservation(view, plan, idle, n)
  local jobs, ends = view:running()
  local list = {}
  for i, j in ipairs(jobs) do list[i] = { at = ends[i], machines = #(view:places(j)), job = j } end
  for _, x in ipairs(plan.start) do
    list[#list + 1] = { at = view.now + view:record(x.job).left / x.rate, machines = #x.machines, job = x.job }
  end
  table.sort(list, function(a, b)
    if a.at ~= b.at then return a.at < b.at end
    return a.job < b.job
  end)
  for _, x in ipairs(list) do
    idle = idle + x.machines
    if idle >= n then return x.at, idle - n end
  end
  return math.huge, 0
end

-- Those behind the first may begin if they do not put it off.
local function backfill(view, list, plan, waiting, from)
  local shadow, spare = reservation(view, plan, #list - list.at, need(view, waiting[from]))
  for i = from + 1, #waiting do
    if list.at == #list then return end
    local j = waiting[i]
    local n = need(view, j)
    if n <= #list - list.at then
      local seconds = view:record(j).left / view:rate(j, peek(list, n))
      local short = view.now + seconds <= shadow
      if short or n <= spare then
        begin(view, list, plan, j)
        if not short then spare = spare - n end
      end
    end
  end
end

local function admit(self, view)
  local list, waiting = view:idle(), view:waiting(not self.backfill and view.machines or nil)
  local plan, i = { start = {} }, 1
  list.at = 0
  while waiting[i] and need(view, waiting[i]) <= #list - list.at do
    begin(view, list, plan, waiting[i])
    i = i + 1
  end
  if self.backfill and waiting[i] then backfill(view, list, plan, waiting, i) end
  return plan
end

function fifo:arrival(view, j) return too_large(view, j) or admit(self, view) end
function fifo:finish(view) return admit(self, view) end

--- First in, first out. backfill: those behind a job that has to wait begin if they do not put it off, as far as is known (EASY).
-- @tparam[opt] table opts backfill (false)
function schedulers.fifo(opts)
  local o = options.check("berth.cluster.fifo", opts, { "backfill" })
  return setmetatable({ name = o.backfill and "backfill" or "fifo", backfill = o.backfill or false }, { __index = fifo })
end

-- ---- shortest remaining time first ------------------------------------------------------------------

local srtf = {}

-- Every job that is there, the shortest first; those that run before others that are as short.
local function by_time_left(view)
  local list, some = {}, { at = 0 }
  for m = 1, view.machines do some[m] = m end
  for _, j in ipairs((view:running())) do
    local r = view:record(j)
    list[#list + 1] = { job = j, n = #(view:places(j)), seconds = r.left / r.rate, runs = 0 }
  end
  for _, j in ipairs(view:waiting()) do
    local n = need(view, j)
    list[#list + 1] = { job = j, n = n, runs = 1, seconds = view:record(j).left / view:rate(j, peek(some, n)) }
  end
  table.sort(list, function(a, b)
    if a.seconds ~= b.seconds then return a.seconds < b.seconds end
    if a.runs ~= b.runs then return a.runs < b.runs end
    return a.job < b.job
  end)
  return list
end

local function choose(view)
  local list, plan, left, begins = view:idle(), { pause = {}, start = {} }, view.machines, {}
  list.at = 0
  for _, x in ipairs(by_time_left(view)) do
    local fits = x.n <= left
    left = left - (fits and x.n or 0)
    if fits and x.runs == 1 then begins[#begins + 1] = x.job end
    if not fits and x.runs == 0 then
      plan.pause[#plan.pause + 1] = x.job
      for _, m in ipairs((view:places(x.job))) do list[#list + 1] = m end
    end
  end
  table.sort(list)
  for _, j in ipairs(begins) do begin(view, list, plan, j) end
  return plan
end

function srtf:arrival(view, j) -- luacheck: ignore 212
  return too_large(view, j) or choose(view)
end
function srtf:finish(view) return choose(view) end -- luacheck: ignore 212

--- Shortest remaining time first, with pauses; longer ones that fit beside go on.
function schedulers.srtf() return setmetatable({ name = "srtf" }, { __index = srtf }) end

function schedulers.backfill() return schedulers.fifo { backfill = true } end

return schedulers
