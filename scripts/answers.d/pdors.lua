-- Jobs of workers and parameter servers: policies and their options, the scheduler by hand, bounds, pages.
local berth = require "berth"

local workload = {
  default = berth.pdors.generate("default", { seed = 1, jobs = 14, machines = 12, slots = 24 }),
  realistic = berth.pdors.generate("realistic", { seed = 2, jobs = 14, machines = 5, slots = 24, worker_slots = { 2, 30 } }),
  tiny = berth.pdors.generate("realistic", { seed = 3, jobs = 3, machines = 2, slots = 4, batch = { 2, 4 },
    worker_slots = { 1, 5 },
    target = { 1, 3 } }),
}
local problems = {}
for name, w in pairs(workload) do problems[name] = berth.pdors.problem(w) end

local function told(problem, policy, options)
  return function()
    local r, message, code = berth.pdors.simulate(problem, policy, options)
    if not r then return nil, message, code end
    local s = r.summary
    return { r.utility, r.bound or "-", s.done, s.refused, s.unfinished }, { r.records, r.log, s }
  end
end

local runs = {
  { "pd-ors" }, { "pd-ors", { per_job = true, floor = 1 } }, { "pd-ors", { mode = "exact" } },
  { "pd-ors-published" }, { "pd-ors-published", { per_job = true, floor = 1 } },
  { "pd-ors-published", { mode = "faithful" } }, { "pd-ors-published", { mode = "exact" } },
  { "pd-ors-published", { favour = "covering", gdelta = "tight" } }, { "pd-ors-published", { bounds = "online" } },
  { "pd-ors-published", { extend = true, tries = 3 } },
  { "oasis" }, { "oasis", { per_job = true, floor = 1 } }, { "fifo" }, { "fifo-backfill" }, { "drf" }, { "dorm" },
  { "dorm", { theta_f = 0.3, theta_a = 0.5 } }, { "dorm", { most_jobs = 0 } }, { "dorm", { nodes = 5 } }, { "optimus" },
}

local shortest = { name = "shortest", slot = function(_, view)
  local j, places, free = nil, {}, view:free()
  for _, other in ipairs(view:active()) do
    if not j or view:left(other) * view:job(other).tau < view:left(j) * view:job(j).tau then j = other end
  end
  local job = j and view:job(j)
  for m = 1, j and math.min(view.machines, job.batch) or 0 do
    local fits = true
    for r, x in ipairs(job.worker) do fits = fits and x + job.server[r] <= free[m][r] end
    if fits then places[#places + 1] = { m, 1, 1 } end
  end
  return j and { assign = { { job = j, places = places } } } or nil
end }

local function named(options)
  local cells = {}
  for key, value in pairs(options or {}) do cells[#cells + 1] = key .. "=" .. tostring(value) end
  table.sort(cells)
  return #cells > 0 and " " .. table.concat(cells, ",") or ""
end

return function(add)
  for _, kind in ipairs { "default", "realistic" } do
    local problem = problems[kind]
    add("ps jobs " .. kind, function() return { #workload[kind].jobs, workload[kind].jobs[1].epochs }, workload[kind] end)
    for _, x in ipairs(runs) do add(("ps %s %s%s"):format(kind, x[1], named(x[2])), told(problem, x[1], x[2])) end
    add("ps own policy " .. kind, told(problem, shortest))
    for _, steps in ipairs { 0, 20 } do
      add(("ps bound %s %d"):format(kind, steps), function() return { (problem:bound(steps)) } end)
    end
  end
  add("ps offline", function()
    local best = problems.tiny:offline { nodes = 20000 }
    return { best.utility, best.bound, best.proved, problems.tiny:bound() }, best.jobs
  end)
  for _, policy in ipairs { "pd-ors", "pd-ors-published", "oasis", "drf" } do
    add("ps tiny " .. policy, told(problems.tiny, policy, { certify = 30 }))
  end
  local shared = berth.pdors.problem(berth.pdors.generate("realistic", { seed = 4, jobs = 8, machines = 4, slots = 16,
    comm = "shared", moving = 0.2,
    worker_slots = { 2, 20 } }))
  for _, policy in ipairs { "pd-ors", "pd-ors-published", "optimus", "drf" } do
    add("ps shared " .. policy, told(shared, policy))
  end
  add("ps scheduler", function()
    local s = assert(berth.pdors.scheduler(problems.realistic, { plans = "final", per_job = true, floor = 1 }))
    local plans = {}
    for j = 1, 6 do plans[j] = s:admit(j) end
    local low, high = s:range(1, 2)
    return { plans[1].utility or "-", plans[1].cost or "-", low, high, s:price(1, 2, 3) }, { plans, s:committed(2), s:counts() }
  end)
  add("ps model", function()
    local p = problems.realistic
    return { p:speed(1, { { 1, 2, 1 } }), p:speed(1, { { 1, 2, 0 }, { 2, 0, 1 } }), p:utility(1, 5), p:worker_slots(1, 1e9) }
  end)
  add("ps gdelta", function()
    local f, options = berth.pdors.gdelta, berth.pdors.options "pd-ors"
    return { type(f) }, options
  end)
  add("ps files", function()
    local path, r = os.tmpname(), assert(berth.pdors.simulate(problems.realistic, "pd-ors-published"))
    local texts = {}
    local function read(name)
      local file = assert(io.open(path))
      texts[name] = file:read "*a"
      file:close()
    end
    for _, save in ipairs { "save_csv", "save_jsonl", "save_trace" } do
      assert(r[save](r, path))
      read(save)
    end
    assert(berth.pdors.report(path, { r, assert(berth.pdors.simulate(problems.realistic, "drf")) }))
    read "page"
    assert(problems.realistic:save(path))
    read "problem"
    local again = assert(berth.pdors.load(path))
    os.remove(path)
    return { #texts.page, #texts.save_csv, #texts.problem, (again:bound(3)) }, texts
  end)
end
