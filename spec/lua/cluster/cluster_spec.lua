-- Clusters: the event loop, plans, schedulers, files.
local berth = require "berth"
local json = require "berth.base.json"
local errors = require "support.errors"
local shell = require "support.shell"
local raised, refused, raises = errors.raised, errors.refused, errors.raises

local function read(path)
  local text = shell.take(path)
  return text
end

local two = { { arrival = 0, work = 6 }, { arrival = 1, work = 1, deadline = 5, kind = "x" } }

describe("a cluster", function()
  it("is pulled event by event", function()
    local c = berth.cluster.new(two, { machines = 2, capacity = { 4, 8 } })
    assert.equal(0, c:upcoming())
    assert.same({ "arrival", 0, 1 }, { c:next() })
    assert.equal(1, c:upcoming())
    assert.is_true(c:start(1, { 2, 1 }, { amounts = { { 2, 8 }, { 4, 2 } }, rate = 2 }))
    assert.same({ { 2, 1 }, { { 2, 8 }, { 4, 2 } } }, { c:places(1) })
    assert.same({ { 0, 6 }, { 2, 0 } }, c:free())
    assert.same({ { 4, 8 }, { 4, 8 } }, c:capacity())
    assert.same({ {}, 0 }, { c:idle() })
    assert.same({ { 1 }, { 3 } }, { c:running() })
    assert.same({ "arrival", 1, 2 }, { c:next() })
    c:set_rate(1, 1)
    c:wake(2)
    assert.same({ "wake", 2 }, { c:next() })
    c:pause(1)
    c:refuse(2, 42)
    assert.same({ { 1, 2 }, 2 }, { c:idle() })
    assert.same({ { 1 }, 2 }, { c:idle(1) })
    local r = c:record(1)
    assert.same({ state = "waiting", start = 0, left = 3, rate = 0, held = 4, ran = 2,
      pauses = 1 }, r)
    c:start(1, { 1 })
    assert.equal(5, c:record(1).ends)
    assert.same({ "finish", 5, 1 }, { c:next() })
    assert.same({ "over", 5 }, { c:next() })
    assert.equal(42, c:record(2).cause)
    assert.same({ arrival = 1, work = 1, deadline = 5 }, c:job(2))
    assert.same({ 5, 2, 2, 2 }, { c.now, c.machines, c.resources, #c })
    assert.equal(7, c:summary().machine_seconds)
    assert.matches("cluster: 2 machines, 2 jobs at 5", tostring(c))
  end)

  it("calls functions by event, until it is over or is stopped", function()
    local log = {}
    local c = berth.cluster.new(two, { machines = 2, capacity = { 4, 8 } })
    local function note(kind) return function(job) log[#log + 1] = kind .. (job or "") end end
    assert.is_true(c:run { arrival = function(job)
      note "arrival"(job)
      c:start(job, { job })
    end, finish = note "finish" })
    assert.same({ "arrival1", "arrival2", "finish2", "finish1" }, log)
    c = berth.cluster.new(two, { machines = 2 })
    assert.is_true(c:run { arrival = function() c:stop() end })
    assert.same({ "over", 0 }, { c:next() })
    assert.same({ 1 }, c:waiting())
  end)

  it("gives back what does not fit, and raises mistakes, with ids from 1", function()
    local c = berth.cluster.new(two, { machines = 2, capacity = 4 })
    c:next()
    refused("infeasible", "cluster: job 1 needs 5 of resource 1 on machine 2, where 4 is left",
      c:start(1, { 1, 2 }, { amounts = { 1, 5 } }))
    raises("cluster:start: cluster: start: job 2 has not arrived", c.start, c, 2, { 1 })
    raises("machine 1 is named twice", c.start, c, 1, { 1, 1 })
    raises("there is no machine 3", c.start, c, 1, { 3 })
    raises("there is no job 3", c.record, c, 3)
    raises("rate: expected a finite number above 0, got -1", c.start, c, 1, { 1 }, { rate = -1 })
    raises("wake at 0", function() c:next() c:wake(0) end)
    raises("job 2 arrives at 0 s, before job 1 (1 s)", berth.cluster.new,
      { { arrival = 1, work = 1 }, { arrival = 0, work = 1 } }, 1)
    raises("trace[2]: expected a table, got nil", berth.cluster.new, { two[1], nil, two[2] }, 1)
    raises("trace[1].name: expected a string, got table", berth.cluster.new,
      { { arrival = 1, work = 1, name = {} } }, 1)
    raises("machines: expected a whole number, got 1.5", berth.cluster.new, two,
      { machines = 1.5, capacity = { 1 } })
    raises("trace[1].work: expected a number, got nil", berth.cluster.new, { { arrival = 1 } }, 1)
    raises("capacity[2]: expected an array of 1 numbers", berth.cluster.new, two,
      { machines = 2, capacity = { { 1 }, { 1, 2 } } })
    raises("unknown option 'machine'", berth.cluster.new, two, { machine = 2 })
    c:close()
    raises("closed", c.next, c)
  end)
end)

describe("schedulers", function()
  it("ask the rate of a job on its machines", function()
    local r = berth.cluster.simulate({ { arrival = 0, work = 8, machines = 2 } }, 2, "fifo",
      { rate = function(job, machines) return job.machines * #machines end })
    assert.equal(2, r.records[1].finish)
  end)

  it("hear of slots and wakes", function()
    local heard = {}
    local r = berth.cluster.simulate({ { arrival = 0.5, work = 1 } }, { machines = 1, slot = 2 }, {
      begin = function(self) self.n = 0 end,
      slot = function(_, v) heard[#heard + 1] =
      ("slot %g"):format(v.now) return { wake = v.now + 0.75 } end,
      wake = function(_, v) return { start = { { job = v:waiting()[1], machines = { 1 } } } } end,
    })
    assert.same({ "slot 0" }, heard)
    assert.equal(1.75, r.records[1].finish)
  end)

  it("get messages about their plans", function()
    local function with(plan)
      return function() berth.cluster.simulate(two, 1,
        { name = "s", arrival = function() return plan end }) end
    end
    assert.matches("arrival of job 1 at 0 s: plan.pause%[1%]: pause: job 1 waits$",
      raised(with { pause = { 1 } }))
    raises("plan.start[1]: job: expected a number",
      with { start = { { job = "1", machines = { 1 } } } })
    assert.matches("arrival of job 2 at 1 s: plan.start%[1%]: .*job 1 runs",
      raised(with { start = { { job = 1, machines = { 1 } } } }))
  end)

  local first_come = {}
  function first_come:arrival(view, job) -- luacheck: ignore 212
    return { start = { { job = job, machines = view:idle(1) } } }
  end

  it("that start nothing leave jobs that wait, and the result says so", function()
    local jobs = { { arrival = 0, work = 1 }, { arrival = 0, work = 2 } }
    local idle = { name = "idle", arrival = function() return {} end }
    assert.equal("idle: 0 of 2 jobs done, 0 refused, 2 still wait: the scheduler started none",
      tostring(berth.cluster.simulate(jobs, 1, idle)))
    local once = { name = "once", arrival = function(_, _, j)
      return j == 1 and { start = { { job = j, machines = { 1 } } } } or nil
    end }
    assert.matches("^once: 1 of 2 jobs done, 0 refused, 1 still wait, mean completion time 1 s,",
      tostring(berth.cluster.simulate(jobs, 1, once)))
  end)

  it("get messages about the rate", function()
    local function with(rate)
      return raised(berth.cluster.simulate, two, 1, first_come, { rate = rate })
    end
    assert.matches("plan.start%[1%]: rate: expected a number, got nil$", with(function() end))
    assert.matches("rate of job 1: expected a number, got nil$",
      raised(berth.cluster.simulate, two, 1, "fifo", { rate = function() end }))
    assert.matches("plan.start%[1%]: rate: expected a number, got string$",
      with(function() return "2" end))
    assert.matches("rate: expected a finite number above 0, got 0$", with(function() return 0 end))
    assert.matches("scheduler, arrival of job 1 at 0 s: .*: boom$",
      with(function() error "boom" end))
    assert.equal("interrupted", with(function() error("interrupted", 0) end))
  end)
end)

local function random_trace(seed, n)
  local rng, jobs, now = berth.rng(seed), {}, 0
  for j = 1, n do
    now = now + rng:uniform()
    jobs[j] = { arrival = now, work = 5 * rng:uniform(), machines = rng:below(3), deadline = 8 }
  end
  return jobs
end

describe("runs", function()
  it("are saved: CSV, JSON lines, traces, the same bytes again", function()
    local path = os.tmpname()
    local jobs = random_trace(2, 20)
    jobs[3].name = 'a "b", c'
    local function play()
      return berth.cluster.simulate(jobs, { machines = 3, horizon = 9 }, "srtf", { seed = 5 })
    end
    local r = play()
    assert.is_true(r:save_csv(path))
    local csv = read(path)
    assert.matches(
      "^job,name,kind,machines,gpus,arrival_s,work,deadline_s,state,.*,scheduler,seed,version,"
        .. "options\n1,", csv)
    assert.truthy(csv:find('3,"a ""b"", c",', 1, true))
    assert.is_true(r:save_jsonl(path))
    local n = 0
    for line in read(path):gmatch("[^\n]+") do
      local x = assert(json.decode(line))
      if n == 0 then assert.same({ "srtf", 5, 9, 3 },
        { x.scheduler, x.seed, x.options.horizon, x.options.machines })
      else assert.equal(n, x.job) end
      n = n + 1
    end
    assert.equal(21, n)
    assert.is_true(r:save_trace(path))
    local text = read(path)
    assert.equal(text, play():trace())
    local events, kinds = assert(json.decode(text)).traceEvents, {}
    for _, e in ipairs(events) do kinds[e.ph] = (kinds[e.ph] or 0) + 1 end
    assert.is_true(kinds.X >= #r.runs and kinds.C > 2 and kinds.M == 4 + 2 * 3)
    assert.matches("srtf: %d+ of 20 jobs done", tostring(r))
    refused("io", "nowhere", r:save_csv("/nowhere/at/all.csv"))
    -- on a full disk nothing is left, and an old file stays
    refused("io", "/dev/full: cannot be written: No space left on device", r:save_csv("/dev/full"))
    raises("contains a zero byte", r.save_csv, r, path .. "\0.csv")
  end)

  it("take a table of arrays for a table per job", function()
    local jobs = { { arrival = 0, work = 2, name = "a" }, { arrival = 1, work = 3, name = "b" } }
    local arrays = { arrival = { 0, 1 }, work = { 2, 3 }, name = { "a", "b" } }
    assert.same(berth.cluster.simulate(jobs, 1, "fifo").records,
      berth.cluster.simulate(arrays, 1, "fifo").records)
    arrays.work = { 2 }
    raises("trace.work: expected an array of 2 entries (one per job)", berth.cluster.simulate,
      arrays, 1, "fifo")
    raises("trace[1].machines: expected a whole number of at least 1, got 1.5",
      berth.cluster.simulate, { { arrival = 0, work = 1, machines = 1.5 } }, 2, "fifo")
  end)

  it("names misspelt fields of jobs and machines", function()
    for field, meant in pairs { gpu = "gpus", machine = "machines", GPUs = "gpus", wrok = "work",
      deadlines = "deadline", prioritx = "priority" } do
      raises(("trace[1]: unknown field '%s'; did you mean '%s'?"):format(field, meant),
        berth.cluster.simulate, { { arrival = 0, work = 1, [field] = 1 } }, 2, "fifo")
    end
    assert(berth.cluster.simulate({ { arrival = 0, work = 1, model = "x", cost = 2 } }, 2, "fifo"))
    for _, capacity in ipairs { { gpu = 4 }, { { gpu = 4 }, { gpu = 4 } }, { { 4, gpu = 4 }, { 4 } } } do
      raises("capacity[1]: unknown key 'gpu': expected an array of 1 numbers", berth.cluster.simulate,
        { { arrival = 0, work = 1 } }, { machines = 2, capacity = capacity }, "fifo")
    end
    raises("unknown option 'machine' (legal: machines, capacity, horizon, slot, slack; did you mean "
      .. "'machines'?)", berth.cluster.simulate, {}, { machine = 2 }, "fifo")
  end)

  it("of no job", function()
    local r = berth.cluster.simulate({}, 1, "fifo")
    assert.same({ 0, 0 }, { #r.records, r.summary.time })
  end)
end)
