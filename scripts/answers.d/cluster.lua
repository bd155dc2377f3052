-- Clusters: gang schedulers, resizable jobs, types of GPUs, schedulers of one's own, the event loop, bounds.
local berth = require "berth"

local function gangs(seed, n, fields)
  local rng, jobs, now = berth.rng(seed), {}, 0
  for j = 1, n do
    now = now + math.floor(200 * rng:uniform())
    local long = rng:below(6) == 1
    jobs[j] = { arrival = now, work = (long and 4000 or 300) * (1 + rng:below(100) / 64), gpus = 2 ^ (rng:below(4) - 1),
      skewed = rng:below(3) == 1, kind = long and "long" or "short", deadline = long and 20000 or 1500 }
    for key, f in pairs(fields or {}) do jobs[j][key] = f(j, jobs[j]) end
  end
  return jobs
end

local function told(jobs, cluster, scheduler, options)
  return function()
    local r = berth.cluster.simulate(jobs, cluster, scheduler, options)
    local s = r.summary
    return { s.done, s.refused, s.mean_jct or "-", s.p95_jct or "-", s.makespan or "-", s.pauses,
      s.bound_jct or "-" }, { r.records, r.runs, s }
  end
end

local least = { name = "least work first" }
function least:arrival(v) -- luacheck: ignore 212
  local free, list, plan = v:free()[1], v:waiting(), { start = {} }
  table.sort(list, function(a, b)
    local x, y = v:job(a).work * v:job(a).gpus, v:job(b).work * v:job(b).gpus
    if x ~= y then return x < y end
    return a < b
  end)
  for _, j in ipairs(list) do
    local n = v:job(j).gpus
    if n <= free then plan.start[#plan.start + 1], free = { job = j, machines = { 1 }, amounts = { n } }, free - n end
  end
  return plan
end
least.finish = least.arrival

return function(add)
  local jobs, pool, nodes = gangs(3, 60), { machines = 1, capacity = 16 }, { machines = 4, capacity = 4 }
  for _, rule in ipairs { "fifo", "fit-first", "backfill", "sjf", "srtf", "srtf-2d", "fewest", "las", "las-2d",
    "gittins", least } do
    add("gangs " .. (rule.name or rule), told(jobs, pool, rule))
    if rule ~= least then add("gangs nodes " .. rule, told(jobs, nodes, rule)) end
  end
  for _, placement in ipairs { "any", "spread", "consolidate", "skewed" } do
    add("gangs placement " .. placement, told(jobs, nodes, "fifo", { placement = placement }))
  end
  add("gangs las limits", told(jobs, pool, "las", { limits = { 200, 900 }, promote = 8, tick = 1 }))
  add("gangs las-2d published", told(jobs, pool, "las-2d", { limits = { 500, 4000 }, published = true }))
  add("gangs gittins history", told(jobs, pool, "gittins", { history = { 100, 800, 9000 }, quantum = 500 }))
  add("gangs rate", told(jobs, nodes, "srtf", { rate = function(_, machines) return 1 / #machines end }))
  add("gangs horizon", told(jobs, { machines = 4, capacity = 4, horizon = 3000 }, "backfill"))
  local whole = gangs(4, 40, { gpus = function() return nil end, machines = function(j) return 1 + j % 4 end })
  for j = 1, #whole do whole[j].gpus = nil end
  for _, rule in ipairs { "fifo", "backfill", "srtf" } do add("machines " .. rule, told(whole, { machines = 6 }, rule)) end

  local model = { grad = 0.05, grad_sample = 0.002, sync_near = 0.02, sync_far = 0.1, noise = 500, batch = 128,
    most_batch = 4096, overlap = 2 }
  add("goodput", function()
    local speeds = {}
    for n = 1, 8 do speeds[n] = { berth.cluster.goodput(model, n, n > 4 and 2 or 1) } end
    return { speeds[1][1], speeds[4][1], speeds[8][1] }, speeds
  end)
  local elastic = gangs(5, 24, { speeds = function(j)
    local out = {}
    for n = 1, 8 do out[n] = n / (1 + 0.05 * (j % 5) * (n - 1)) end
    return out
  end })
  for _, rule in ipairs { "optimus", "pollux" } do
    add("elastic " .. rule, told(elastic, { machines = 1, capacity = 8 }, rule, { restart = 10 }))
    add("elastic slots " .. rule, told(elastic, { machines = 2, capacity = 4, slot = 60 }, rule))
    add("elastic alone " .. rule, function()
      local ask = {}
      for j = 1, 5 do ask[j] = { speeds = elastic[j].speeds, left = elastic[j].work, now = j % 3, change = 0.9 } end
      local given = berth.cluster[rule](ask, 12)
      return given
    end)
  end
  local typed = gangs(6, 20, { rates = function(j) return { v100 = 2 + j % 3, k80 = 1 } end,
    priority = function(j) return 1 + j % 2 end })
  for _, goal in ipairs { "max-min", "makespan", "finish-time", "max-sum" } do
    add("gavel " .. goal, told(typed, { machines = 2, capacity = 8 }, "gavel", { round = 120, types = { "v100",
      "k80" }, goal = goal }))
    add("gavel alone " .. goal, function()
      local shares, value = berth.cluster.gavel({ throughputs = { { 40, 10 }, { 12, 4 }, { 100, 50 } }, gpus = { 1, 1 },
        left = goal ~= "max-min" and goal ~= "max-sum" and { 500, 200, 800 } or nil,
        elapsed = goal == "finish-time" and { 5, 6, 7 } or nil, alone = goal == "finish-time" and { 20, 30, 10 } or nil }, goal)
      return { value }, shares
    end)
  end
  add("events", function()
    local c, seen = berth.cluster.new(jobs, { machines = 3, capacity = 8 }), {}
    for _ = 1, 120 do
      local kind, time, job = c:next()
      if not kind then break end
      seen[#seen + 1] = { kind, time, job, c:free() }
      if kind == "arrival" then
        local idle = c:idle(1)
        if #idle > 0 then seen[#seen + 1] = { c:start(job, idle, { rate = 1.5 }) } else c:refuse(job, 7) end
      end
    end
    local s = c:summary()
    return { s.done, s.refused }, { seen, s }
  end)
  add("records", function()
    local path, r = os.tmpname(), berth.cluster.simulate(jobs, pool, "srtf")
    local texts = {}
    for _, save in ipairs { "save_csv", "save_jsonl", "save_trace" } do
      assert(r[save](r, path))
      local f = assert(io.open(path))
      texts[save] = f:read "*a"
      f:close()
    end
    os.remove(path)
    return { #texts.save_csv, #texts.save_jsonl, #texts.save_trace }, texts
  end)
end
