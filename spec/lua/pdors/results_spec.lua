-- What berth.pdors.simulate gives: files, pages, studies.
local berth = require "berth"
local decimals = require "berth.base.decimals"
local json = require "berth.base.json"
local problems = require "support.ps_problems"
local shell = require "support.shell"

local pdors = berth.pdors

describe("results of pdors.simulate", function()
  local p = pdors.problem(pdors.generate("default",
    { seed = 1, jobs = 12, machines = 8, slots = 20, load = 0.1 }))
  local r = assert(pdors.simulate(p, "pd-ors", { seed = 5 }))

  local function read(save)
    local path = os.tmpname()
    assert(save(r, path))
    local text = shell.take(path)
    return text
  end

  it("go to CSV with units in the names", function()
    local text = read(r.save_csv)
    local head = text:match "^[^\n]+"
    assert.equal(
      "job,name,kind,arrival_slot,work_samples,state,cause,why,first_slot,done_slot,finish_slots,"
        .. "left_samples,utility,"
      .. "importance,worker_slots,server_slots,slots,slots_on_one_machine,moves,scheduler,seed,"
      .. "version,options", head)
    assert.equal(13, select(2, text:gsub("\n", "\n")))
  end)

  it("go to JSON lines", function()
    local lines = {}
    for line in read(r.save_jsonl):gmatch "[^\n]+" do lines[#lines + 1] = json.decode(line) end
    assert.equal("pd-ors", lines[1].scheduler)
    assert.near(r.utility, lines[1].summary.utility, 1e-12)
    assert.near(r.bound, lines[1].summary.bound, 1e-12)
    assert.equal(13, #lines)
  end)

  it("go to a Chrome trace with a row for each machine", function()
    local trace = json.decode((read(r.save_trace):gsub("\n", " ")))
    local busy, held = 0, 0
    for _, e in ipairs(trace.traceEvents) do
      if e.ph == "X" then busy = busy + e.dur / 1e6 / 1200 end
    end
    r:each(function(_, _, places) held = held + #places end)
    assert.near(held, busy, 1e-6)
  end)

  it("tell how much of each resource is used", function()
    local usage, mean = r:usage(), 0
    for t = 1, 20 do mean = mean + usage[2][t] / 20 end
    assert.near(r.summary.used.cpu, mean, 1e-9)
  end)
end)

describe("pdors.simulate where no job can be done in time", function()
  -- 100 samples at 100 in a slot at most, or more, in no more than two slots
  local function of(epochs)
    return assert(pdors.simulate(pdors.problem({ problems.one_job { epochs = epochs } },
      problems.machines(1, 2, 4)), "pd-ors"))
  end

  it("says so, and has no ratio", function()
    local r = of(21)
    assert.same({ 0, 0, 0 }, { r.utility, r.bound, r.possible })
    assert.is_nil(r.ratio)
    assert.equal("pd-ors: utility 0.0000, no job can be done in time, 0 of 1 jobs done, 1 refused",
      tostring(r))
  end)

  it("counts those that can", function()
    local r = of(20)
    assert.equal(1, r.possible)
    assert.near(1, r.ratio, 1e-6)
  end)
end)

describe("pdors.report", function()
  local p =
    pdors.problem(pdors.generate("realistic", { seed = 1, jobs = 6, machines = 3, slots = 12 }))
  local runs = {}
  for i, name in ipairs { "pd-ors", "drf" } do
    runs[i] = assert(pdors.simulate(p, name, { certify = 10 }))
  end

  it("is one page about runs of one problem", function()
    local path = os.tmpname()
    assert(pdors.report(path, runs, { title = "Two <policies>" }))
    local text = shell.take(path)
    assert.truthy(text:find("Two &lt;policies&gt;", 1, true))
    assert.is_nil(text:find("src=", 1, true))
    for _, r in ipairs(runs) do
      assert.truthy(text:find("utility " .. decimals(r.utility, 2), 1, true))
    end
    assert.truthy(text:find("1 inception-bn", 1, true) or text:find(">1 ", 1, true))
  end)

  it("says what is wrong", function()
    local other = assert(pdors.simulate(pdors.generate("realistic", { jobs = 2 }), "drf",
      { certify = false }))
    assert.error_matches(function() pdors.report("x", { runs[1], other }) end,
      "runs%[2%]: is of another problem than the first")
    assert.error_matches(function() pdors.report("x", { 3 }) end,
      "runs%[1%]: expected a result of berth.pdors.simulate, got number")
    local done, message, code = pdors.report("/nowhere/x.html", runs)
    assert.is_nil(done)
    assert.equal("io", code)
    assert.truthy(message:find "/nowhere/x.html")
  end)
end)

describe("pdors.study", function()
  local given = { policies = { "pd-ors", { "per job", "pd-ors", { per_job = true, floor = 1 } } },
    certify = 10, seeds = 3,
    given = { jobs = 8, slots = 20, load = 0.1 }, grid = { machines = { 4, 8 } } }

  it("plays all on the same problems", function()
    local e = assert(pdors.study(given))
    assert.equal(12, #e.rows)
    assert.equal(0, e.failed)
    local by = {}
    for _, row in ipairs(e.rows) do
      local key = ("%d %d"):format(row.parameters.machines, row.seed)
      by[key] = by[key] or row.result.bound
      assert.equal(by[key], row.result.bound)
    end
    local p = pdors.generate("default",
      { jobs = 8, slots = 20, load = 0.1, machines = 8, seed = 2 })
    local r =
      assert(pdors.simulate(p, "pd-ors", { per_job = true, floor = 1, seed = 2, certify = 10 }))
    for _, row in ipairs(e.rows) do
      if row.seed == 2 and row.parameters.machines == 8 and row.parameters.policy == "per job" then
        assert.near(r.utility, row.result.utility, 1e-12)
      end
    end
  end)

  it("does not mix what differs in options in one file", function()
    local path = os.tmpname()
    local function trials(more)
      local list = { path = path, policies = { { "x", "pd-ors", more } }, certify = false,
        seeds = 1,
        given = { jobs = 2, machines = 2, slots = 9 } }
      return assert(pdors.study(list)).rows[1].result.utility
    end
    trials()
    trials { floor = 0.5 }
    local file, n = assert(io.open(path)), 0
    for _ in file:lines() do n = n + 1 end
    file:close()
    os.remove(path)
    assert.equal(2, n)
  end)

  it("says what is wrong", function()
    assert.error_matches(function() pdors.study { policies = { "no" } } end, "no policy 'no'")
    assert.error_matches(function() pdors.study { policies = { "drf", "drf" } } end,
      "policies%[2%]: \"drf\" is there twice")
    assert.error_matches(function() pdors.study { grid = { policy = { "drf" } } } end,
      "grid.policy: use policies")
  end)
end)
