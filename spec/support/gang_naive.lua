-- Naive gang schedulers: each event goes through whole lists. Whole seconds.
local naive = {}

local function by(list, key)
  local order = {}
  for i, j in ipairs(list) do order[i] = { j, key(j), i } end
  table.sort(order, function(a, b)
    if a[2] ~= b[2] then return a[2] < b[2] end
    return a[3] < b[3]
  end)
  for i, x in ipairs(order) do list[i] = x[1] end
end

-- Those that run, in the order of the list, each if it fits; the others pause.
local function greedy(s, list)
  local free = s.gpus
  for _, j in ipairs(list) do
    local fits = j.gpus <= free
    if fits then free = free - j.gpus end
    if j.running and not fits then j.pauses = j.pauses + 1 end
    if fits and not j.running and not j.start then j.start = s.now end
    j.running = fits
  end
end

local function free_of(s)
  local free = s.gpus
  for _, j in ipairs(s.live) do free = free - (j.running and j.gpus or 0) end
  return free
end

local function begin(s, j)
  j.running, j.start = true, s.now
end

local rules = {}

function rules.fifo(s)
  for _, j in ipairs(s.live) do
    if not j.running then
      if j.gpus > free_of(s) then return end
      begin(s, j)
    end
  end
end

rules["fit-first"] = function(s)
  for _, j in ipairs(s.live) do
    if not j.running and j.gpus <= free_of(s) then begin(s, j) end
  end
end

function rules.sjf(s)
  local list = {}
  for i, j in ipairs(s.live) do list[i] = j end
  by(list, function(j) return j.work end)
  for _, j in ipairs(list) do
    if not j.running and j.gpus <= free_of(s) then begin(s, j) end
  end
end

-- When so many are free, by the ends of those that run, and how many more are then.
local function reservation(s, n)
  local list, free = {}, free_of(s)
  for _, j in ipairs(s.live) do
    if j.running then list[#list + 1] = j end
  end
  by(list, function(j) return j.left end)
  for _, j in ipairs(list) do
    free = free + j.gpus
    if free >= n then return s.now + j.left, free - n end
  end
end

function rules.backfill(s)
  local head, shadow, left_over
  for _, j in ipairs(s.live) do
    if not j.running then
      local fits = j.gpus <= free_of(s)
      if head then
        local short = s.now + j.work <= shadow
        if fits and (short or j.gpus <= left_over) then
          begin(s, j)
          left_over = left_over - (short and 0 or j.gpus)
        end
      elseif fits then
        begin(s, j)
      else
        head = j
        shadow, left_over = reservation(s, j.gpus)
      end
    end
  end
end

local function preemptive(key)
  return function(s)
    by(s.live, key)
    greedy(s, s.live)
  end
end
rules.srtf = preemptive(function(j) return j.left end)
rules["srtf-2d"] = preemptive(function(j) return j.left * j.gpus end)
rules.fewest = preemptive(function(j) return j.gpus end)

-- ---- least attained service -----------------------------------------------

local function remove(list, x)
  for i, y in ipairs(list) do
    if y == x then return table.remove(list, i) end
  end
end

local function service(j, dimensions) return j.run * (dimensions == 2 and j.gpus or 1) end

local function las(dimensions)
  return function(s)
    for _, j in ipairs(s.fresh) do
      j.level, j.run, j.waited = 1, 0, 0
      table.insert(s.queues[1], j)
    end
    for _, j in ipairs(s.arrived) do
      local limit = s.limits[j.level]
      if j.running and limit and service(j, dimensions) >= limit then
        remove(s.queues[j.level], j)
        j.level = j.level + 1
        table.insert(s.queues[j.level], j)
      elseif s.promote and not j.running and j.level > 1 and j.run > 0
        and j.waited >= s.promote * j.run then
        remove(s.queues[j.level], j)
        j.level, j.run, j.waited = 1, 0, 0
        table.insert(s.queues[1], j)
      end
    end
    local all = {}
    for _, q in ipairs(s.queues) do
      for _, j in ipairs(q) do all[#all + 1] = j end
    end
    greedy(s, all)
    for _, q in ipairs(s.queues) do by(q, function(j) return j.running and 0 or 1 end) end
    s.jump = math.huge
    for _, j in ipairs(s.arrived) do
      local limit = s.limits[j.level]
      if j.running and limit then
        s.jump = math.min(s.jump,
          s.now + math.ceil((limit - service(j, dimensions)) / (dimensions == 2 and j.gpus or 1)))
      elseif s.promote and not j.running and j.level > 1 and j.run > 0 then
        s.jump = math.min(s.jump, s.now + math.ceil(s.promote * j.run - j.waited))
      end
    end
  end
end
rules.las, rules["las-2d"] = las(1), las(2)

-- ---- the Gittins index ----------------------------------------------------

-- Pr[S - a <= D | S > a] / E[min(S - a, D) | S > a]
local function index(history, quantum, a)
  local n, ends, spent = 0, 0, 0
  for _, x in ipairs(history) do
    if x > a then
      n = n + 1
      if x - a <= quantum then ends = ends + 1 end
      spent = spent + math.min(x - a, quantum)
    end
  end
  return n > 0 and ends / spent or 0
end

-- Moved to the end when it begins and after each quantum: the order of those that run.
local function to_end(s, j)
  s.moves = (s.moves or 0) + 1
  j.moved = s.moves
end

function rules.gittins(s)
  local quantum, before, list = s.quantum, {}, {}
  for i, j in ipairs(s.arrived) do
    local whole = math.floor((j.run or 0) * j.gpus / quantum + 1e-9)
    if j.running and whole > j.whole then to_end(s, j) end
    j.whole = whole
    j.running = j.running or false
    before[j], list[i] = j.running, j
    j.number = i
  end
  table.sort(list, function(a, b)
    local x, y = index(s.history, quantum, a.whole * quantum),
      index(s.history, quantum, b.whole * quantum)
    if x ~= y then return x > y end
    if a.running ~= b.running then return a.running end
    if a.running then return a.moved < b.moved end
    return a.number < b.number
  end)
  greedy(s, list)
  s.jump = math.huge
  for _, j in ipairs(list) do
    if j.running and not before[j] then to_end(s, j) end
    if j.running then
      s.jump = math.min(s.jump, s.now + ((j.whole + 1) * quantum / j.gpus - (j.run or 0)))
    end
  end
end

-- ---- events ---------------------------------------------------------------

local function advance(s, time)
  for _, j in ipairs(s.live) do
    if j.running then
      j.left = j.left - (time - s.now)
      j.run, j.waited = (j.run or 0) + time - s.now, 0
    elseif (j.run or 0) > 0 then
      j.waited = j.waited + time - s.now
    end
  end
  s.now = time
end

local function leave(s)
  for _, list in ipairs { s.live, s.arrived } do
    for i = #list, 1, -1 do
      if list[i].running and list[i].left == 0 then
        list[i].finish = s.now
        if s.queues[list[i].level] then remove(s.queues[list[i].level], list[i]) end
        if list == s.arrived then list[i].running = false end
        table.remove(list, i)
      end
    end
  end
end

--- @return array of { start, finish, pauses }
function naive.run(jobs, gpus, rule, opts)
  local s = { gpus = gpus, now = 0, live = {}, arrived = {}, queues = { {}, {}, {}, {} },
    jump = math.huge }
  s.limits, s.promote = opts and opts.limits or { 3250, 7200 }, opts and opts.promote
  s.history, s.quantum = opts and opts.history, opts and opts.quantum
  local all, next_one = {}, 1
  for i, j in ipairs(jobs) do
    all[i] = { arrival = j.arrival, work = j.work, left = j.work, gpus = j.gpus, pauses = 0 }
  end
  while true do
    local time = math.min(all[next_one] and all[next_one].arrival or math.huge, s.jump)
    for _, j in ipairs(s.live) do
      if j.running then time = math.min(time, s.now + j.left) end
    end
    if time == math.huge then return all end
    advance(s, time)
    leave(s)
    s.fresh, s.jump = {}, math.huge
    while all[next_one] and all[next_one].arrival == time do
      for _, list in ipairs { s.live, s.arrived, s.fresh } do table.insert(list, all[next_one]) end
      next_one = next_one + 1
    end
    rules[rule](s)
  end
end

return naive
