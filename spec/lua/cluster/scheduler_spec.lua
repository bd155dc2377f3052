-- One table of methods schedules clusters, parameter servers and PAC-ML.
local berth = require "berth"
local problems = require "support.ps_problems"
local small = require "support.small_jobs"

-- Three jobs on one machine, or on all servers of a RAMP cluster. `entry`: how a plan of that kind
-- says that a job runs, in its list `list`. `each_slot`: it says so again in each slot.
-- `at_arrival`: at the job's arrival, or never.
local kinds = {
  { name = "cluster", what = "scheduler", where = "at 0 s", list = "start",
    events = { "arrival", "finish", "slot", "wake" },
    entry = function(job) return { job = job, machines = { 1 } } end,
    play = function(s)
      local r = berth.cluster.simulate({ { arrival = 0, work = 2 }, { arrival = 0, work = 1 },
        { arrival = 5, work = 1 } },
        { machines = 1, slot = 1 }, s)
      return { r.records[1].finish, r.records[2].finish, r.records[3].finish }
    end },
  { name = "workers and servers", what = "policy", where = "in slot 0", list = "assign",
    events = { "arrival", "finish", "slot" },
    entry = function(job) return { job = job, places = { { 1, 2, 1 } } } end, each_slot = true,
    play = function(s)
      -- a worker does 50 samples in a slot
      local jobs = { problems.one_job { epochs = 20 }, problems.one_job(),
        problems.one_job { arrival = 5 } }
      local r = assert(berth.pdors.simulate({ jobs = jobs, cluster = problems.machines(1, 9, 3) },
        s, { certify = false }))
      return { r.records[1].finish, r.records[2].finish, r.records[3].finish }
    end },
  { name = "PAC-ML", what = "decider", where = "at 0 s", list = "start",
    events = { "arrival", "finish" }, at_arrival = true,
    entry = function(job) return { job = job, pieces = 8 } end,
    play = function(s)
      -- in 8 pieces a job takes 1 s; the second finds no server
      local trace = { model = { 1, 1, 1 }, beta = { 1, 1, 1 }, arrival = { 0, 0, 5 } }
      local _, records = assert(berth.pacml.simulate(small.env(), trace, s))
      return { records[1].end_s, records[2].end_s or -1, records[3].end_s }
    end },
}

-- First in, first out: a queue, one job at a time. It uses only what all kinds report.
local function fifo(kind)
  local s, queue, running = { name = "fifo" }, {}, nil
  local function plan()
    running = running or table.remove(queue, 1)
    return running and { [kind.list] = { kind.entry(running) } } or nil
  end
  function s.arrival(_, _, job)
    if kind.at_arrival and running then return { refuse = { job } } end
    queue[#queue + 1] = job
    if not kind.each_slot and not running then return plan() end
  end
  function s.finish()
    running = nil
    if not kind.each_slot and not kind.at_arrival then return plan() end
  end
  if kind.each_slot then s.slot = plan end
  return s
end

local function message(kind, s)
  local ok, text = pcall(kind.play, s)
  assert.is_false(ok, kind.name)
  return text
end

local function has(text, pattern)
  assert.truthy(tostring(text):find(pattern, 1, true), text .. "\n" .. pattern)
end

local function arrival(answer) return { name = "mine", arrival = function() return answer end } end

-- What is wrong with a scheduler of a kind, and the message then; words after $ are replaced by
-- those of the kind.
local cases = {
  { "what is no table", function() return 3 end, "$what: expected a name" },
  { "no methods", function() return {} end, "$what$none" },
  { "an unknown method alone", function() return { arrives = function() end } end, "$what$none" },
  { "a method that is none", function() return { arrival = 3 } end,
    "$what.arrival: expected a function, got number" },
  { "begin that is none", function() return { begin = 3, arrival = function() end } end,
    "$what.begin: expected a function, got number" },
  { "begin that raises",
    function() return { begin = function() error "oh" end, arrival = function() end } end,
    "simulate: $what, begin $where: " },
  { "its name", function() return { name = "mine", arrival = function() error "oh" end } end,
    "simulate: mine, arrival of job 1 $where: " },
  { "no plan", function() return arrival(true) end,
    "mine, arrival of job 1 $where: expected a plan or nil, got boolean" },
  { "an unknown key", function() return arrival { begin = {} } end,
    "mine, arrival of job 1 $where: plan: unknown key 'begin'" },
  { "no list", function(kind) return arrival { [kind.list] = 3 } end,
    "plan.$list: expected an array, got number" },
  { "a table of names", function(kind) return arrival { [kind.list] = { job = 1 } } end,
    "plan.$list: expected an array of entries, got a table with 'job'" },
  { "a hole", function() return arrival { refuse = { nil, 1 } } end,
    "plan.refuse[1]: expected an entry, got nil" },
  { "no entry", function(kind) return arrival { [kind.list] = { 1 } } end,
    "plan.$list[1]: expected a table, got number" },
  { "neither a job nor a table", function() return arrival { refuse = { "x" } } end,
    "plan.refuse[1]: expected a job or a table, got string" },
  { "an unknown key of an entry",
    function(kind) return arrival { [kind.list] = { { job = 1, machine = 1 } } } end,
    "mine, arrival of job 1 $where: plan.$list[1]: unknown key 'machine'" },
  { "another job", function() return arrival { refuse = { 3 } } end, "plan.refuse[1]: " },
}

describe("the same scheduler", function()
  it("is played by all kinds", function()
    local ends = { { 2, 3, 6 }, { 2, 3, 6 }, { 1, -1, 6 } }
    for i, kind in ipairs(kinds) do
      for j, time in ipairs(kind.play(fifo(kind))) do
        assert.near(ends[i][j], time, 1e-9, kind.name)
      end
    end
  end)

  it("gets messages about it", function()
    for _, kind in ipairs(kinds) do
      for _, case in ipairs(cases) do
        local words = { what = kind.what, where = kind.where, list = kind.list,
          none = kind.at_arrival and ".arrival: expected a function, got nil"
            or ": has none of the methods arrival, finish, slot" }
        has(message(kind, case[2](kind)), (case[3]:gsub("%$(%a+)", words)))
      end
    end
  end)

  it("is blamed for texts that it raises, at each event, and not for other values", function()
    for _, kind in ipairs(kinds) do
      for _, event in ipairs(kind.events) do
        local mark = {}
        local function with(raised)
          local s = fifo(kind)
          if event == "wake" then s.slot = function(_, view) return { wake = view.now } end end
          s[event] = function() error(raised) end
          return message(kind, s)
        end
        local text = with "oh"
        assert.matches("%.simulate: fifo, " .. event
          .. "[%w ]* [ai][tn] [%w ]+: .*scheduler_spec.lua:%d+: oh$", text)
        assert.equal(mark, with(mark))
      end
      assert.equal("interrupted",
        message(kind, { arrival = function() error("interrupted", 0) end }))
    end
  end)

  it("calls begin once, before all, and hears of ends", function()
    for _, kind in ipairs(kinds) do
      local s, reported = fifo(kind), {}
      for _, event in ipairs { "begin", "arrival", "finish" } do
        local method = s[event]
        s[event] = function(self, view, job)
          assert.equal(s, self)
          assert.truthy(view)
          reported[#reported + 1] = event .. (job and (" %d"):format(job) or "")
          return method and method(self, view, job)
        end
      end
      kind.play(s)
      assert.equal("begin,arrival 1,arrival 2,finish 1", table.concat(reported, ",", 1, 4))
      assert.equal("finish 3", reported[#reported])
    end
  end)
end)

describe("a plan", function()
  it("stops a cluster", function()
    local r = berth.cluster.simulate({ { arrival = 0, work = 9 }, { arrival = 5, work = 9 } },
      { machines = 1, horizon = 100 },
      { arrival = function(_, _, job) return job == 1
        and { start = { { job = 1, machines = { 1 } } } } or { stop = true } end })
    assert.same({ 5, "running", 4, "waiting" },
      { r.summary.time, r.records[1].state, r.records[1].left, r.records[2].state })
    has(message(kinds[1], arrival { stop = 1 }), "plan.stop: expected true or nil, got 1")
  end)

  it("of PAC-ML decides about the job that arrives, once, and about no other", function()
    local kind = kinds[3]
    has(message(kind, arrival()),
      "expected a decision about job 1, or a plan that starts or refuses it")
    has(message(kind, arrival {}),
      "expected a decision about job 1, or a plan that starts or refuses it")
    has(message(kind, { finish = function() end }), "decider.arrival: expected a function, got nil")
    has(message(kind, arrival { refuse = { 1 }, start = { { job = 1, pieces = 2 } } }),
      "plan.start[1]: job 1: only the job that arrives")
    has(message(kind, arrival { start = { { job = 1, pieces = 3 } } }),
      "plan.start[1]: decision: expected 0, 1 or an even number")
    has(message(kind, arrival { start = { { job = 1 } } }),
      "plan.start[1]: decision: expected a number, got nil")
    has(message(kind, arrival(9)),
      "arrival of job 1 at 0 s: answer: decision: 9 is out of range 0..8")
    has(message(kind, { arrival = function() return 1 end,
      finish = function(_, _, job) return { refuse = { job } } end }),
      "finish of job 1 at 8 s: plan.refuse[1]: job 1: only the job that arrives is decided about")
    local taken = {}
    kind.play { arrival = function(_, run, job)
      taken[#taken + 1] = run.free
      return { start = { { job = job, pieces = 2, block = job == 1 and { 7, 8 } or nil } } }
    end }
    assert.same({ 8, 6, 8 }, taken)
  end)

  it("is what a function that decides comes to", function()
    local env = small.env { times = { 1, 0.3 } }
    local trace = berth.pacml.trace { models = 2, seed = 1, jobs = 200, interarrival = { 0, 2 } }
    local decide = berth.pacml.decider "capped"
    local report, records = berth.pacml.simulate(env, trace, "capped", { name = "x" })
    local again, same = berth.pacml.simulate(env, trace,
      { name = "x", arrival = function(_, run, job)
      local d = decide(run)
      return d > 0 and { start = { { job = job, pieces = d } } } or { refuse = { job } }
    end })
    assert.same(report, again)
    assert.equal(records:csv(), same:csv())
    assert(berth.pacml.study(env,
      { deciders = { { "mine", { arrival = function() return 0 end } } }, betas = { "A" },
      seeds = 1,
      trace = { jobs = 5 } }))
  end)
end)
