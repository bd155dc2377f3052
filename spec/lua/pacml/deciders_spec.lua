-- Deciders of PAC-ML, whole runs, their records; and the published blocking rates.
local berth = require "berth"
local json = require "dkjson"
local runs = require "support.runs"
local shared = require "support.shared"
local small = require "support.small_jobs"
local windows = require "berth.pacml.windows"
local xml = require "support.xml"
local errors = require "support.errors"
local raised, raises = errors.raised, errors.raises
local read = require("support.shell").read

-- A run of which only what deciders ask for is there.
local function standing(beta, paper, exact)
  return { beta = beta, mask = function(_, which) return which == "paper" and paper or exact end }
end

-- of 4 x 4 x 2: 0, 1, 2, 4, 6, 8, 16
local ALL = { 1, 1, 1, 0, 1, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1 }
local SIX = { 1, 1, 1, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 } -- six servers are free
local FULL = { 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

local function decide(what, beta, paper, exact)
  return berth.pacml.decider(what)(standing(beta, paper, exact))
end

describe("a decider", function()
  it("takes the most pieces: para-max", function()
    assert.equal(16, decide("para-max", 0.5, ALL))
    assert.equal(6, decide("para-max", 0.5, SIX))
    assert.equal(0, decide("para-max", 0.5, FULL))
  end)

  it("takes the fewest pieces from 1 / beta on, else the most: para-min", function()
    local wanted = { [1] = 1, [0.99] = 2, [0.5] = 2, [0.49] = 4, [0.34] = 4, [0.25] = 4, [0.2] = 6,
      [0.15] = 8, [0.12] = 16,
      [0.1] = 16 }
    for beta, d in pairs(wanted) do assert.equal(d, decide("para-min", beta, ALL), beta) end
    assert.equal(6, decide("para-min", 0.1, SIX))
    assert.equal(0, decide("para-min", 0.1, FULL))
  end)

  it("is not led astray by rounding: a beta of 0.5, less an ulp, needs 2 pieces", function()
    for _, k in ipairs { 1, 2, 4, 6, 8, 16 } do
      for ulp = -2, 2 do
        local beta = 1 / k * (1 + ulp * 2.3e-16)
        assert.equal(k, decide("para-min", beta, ALL), ("%.17g"):format(beta))
      end
    end
  end)

  it("takes any but 0: random", function()
    local f, count = berth.pacml.decider("random", { seed = 3 }), {}
    for _ = 1, 6000 do
      local d = f(standing(1, ALL))
      count[d] = (count[d] or 0) + 1
    end
    assert.is_nil(count[0])
    for _, d in ipairs { 1, 2, 4, 6, 8, 16 } do assert.near(1000, count[d], 150) end
    assert.equal(0, f(standing(1, FULL)))
    local a, b = berth.pacml.decider("random:7"), berth.pacml.decider("random", { seed = 7 })
    for _ = 1, 50 do assert.equal(a(standing(1, ALL)), b(standing(1, ALL))) end
  end)

  it("takes 1, or 2: sequential, min-parallelism", function()
    assert.equal(1, decide("sequential", 1, ALL))
    assert.equal(0, decide("sequential", 1, FULL))
    assert.equal(2, decide("min-parallelism", 1, ALL))
    assert.equal(1, decide("min-parallelism", 1, { 1, 1, 0 }))
    assert.equal(0, decide("min-parallelism", 1, FULL))
    assert.equal(1, decide("min-parallelism", 1, { 1, 1 }))
  end)

  it("looks ahead: largest-feasible, smallest-feasible, capped", function()
    local exact = { 1, 0, 1, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0 } -- 2, 4 and 8 will do
    assert.equal(8, decide("largest-feasible", 1, ALL, exact))
    assert.equal(2, decide("smallest-feasible", 1, ALL, exact))
    assert.equal(4, decide("capped", 1, ALL, exact))
    assert.equal(2, decide("capped:2", 1, ALL, exact))
    assert.equal(2, decide("capped:1", 1, ALL, exact)) -- the fewest above
    assert.equal(4, decide("capped:7", 1, ALL, exact))
    assert.equal(8, decide("capped:100", 1, ALL, exact))
    for _, name in ipairs { "largest-feasible", "smallest-feasible", "capped" } do
      assert.equal(0, decide(name, 1, ALL, FULL))
    end
  end)

  it("has a name, or is a function", function()
    local function f() return 0 end
    assert.equal(f, berth.pacml.decider(f))
    assert.equal(9, #berth.pacml.deciders)
    for _, name in ipairs(berth.pacml.deciders) do
      local opts = name == "rolling-horizon" and { env = { planner = function() return {} end },
        beta = "A" } or nil
      assert.equal("function", type(berth.pacml.decider(name, opts)))
    end
    raises('no "greedy" (legal: para-max, para-min, random', berth.pacml.decider, "greedy")
    raises('no "para-max:3"', berth.pacml.decider, "para-max:3")
    raises("expected a name or a function, got number", berth.pacml.decider, 3)
    raises("cap: 0 is out of range 1 to", berth.pacml.decider, "capped", { cap = 0 })
    raises("seed: expected a number, got string", berth.pacml.decider, "random", { seed = "a" })
    raises("unknown option 'cap'", berth.pacml.decider, "random", { cap = 3 })
  end)
end)

-- ---- runs -----------------------------------------------------------------

-- In 8, 4, 2 pieces 1, 2, 4 s.
local simulate = berth.pacml.simulate
local TRACE = { model = { 1, 1, 1, 1 }, beta = { 1, 1, 0.2, 1 }, arrival = { 0, 0.5, 2, 2.5 } }

local function handmade(run) return ({ 8, 1, 2, 4 })[run.job] end

describe("a whole run", function()
  it("gives a report and records", function()
    local report, records = simulate(small.env(), TRACE, handmade,
      { horizon = 4, name = "by hand" })
    assert.equal(4, #records)
    assert.same({ 4, 1, 1, 1 },
      { report.arrived, report.completed, report.late, report.unfinished })
    assert.same({ "accepted", "op_placement", "jct", "accepted" },
      { records[1].cause, records[2].cause, records[3].cause, records[4].cause })
    assert.same({ 1, 2, 3, 4, 5, 6, 7, 8 }, records[1].server_numbers)
    assert.same({}, records[3].server_numbers)
    assert.near(4, records[3].completion_s, 1e-9)
    assert.near(2, records[3].speedup, 1e-9)
    assert.same({ true, false }, { records[1].completed, records[4].completed })
    assert.equal("records: 4 jobs, by hand", tostring(records))
    assert.matches("^2 of 4 jobs blocked %(0.5000%), completion time 1 s, 8.00 times as fast",
      tostring(report))
  end)

  it("reports what the cluster does", function()
    local _, records = simulate(small.env(), TRACE, handmade, { horizon = 4 })
    local got = {}
    for i, row in ipairs(records:cluster()) do
      got[i] = ("%.3f %s %s %d %d %d %d %.1f"):format(row.time_s, row.event, row.job or "-",
        row.arrived, row.blocked, row.running, row.servers_held, row.servers_computing)
    end
    assert.same({ "0.000 arrival 1 1 0 1 8 8.0", "0.500 arrival 2 2 1 1 8 8.0",
      "1.000 end 1 2 1 0 0 0.0",
      "2.000 arrival 3 3 2 0 0 0.0", "2.500 arrival 4 4 2 1 4 4.0",
      "4.000 over - 4 2 1 4 4.0" }, got)
  end)

  it("has no overlap of jobs on a server, and ends what it began", function()
    for _, compat in ipairs { true, false } do
      local env = small.env { compat = compat, times = { 1, 0.3 }, bandwidth = 500 }
      local trace = berth.pacml.trace { models = 2, seed = 1, jobs = 300, interarrival = { 0, 2 } }
      for _, name in ipairs(berth.pacml.deciders) do
        local known = name == "rolling-horizon" and { env = env, beta = "A",
          interarrival = { 0.1, 2 }, futures = 2, depth = 3 }
        local chosen = berth.pacml.decider(name, known or nil)
        local report, records = simulate(env, trace, chosen, { name = name })
        local free_at, accepted = {}, 0
        for _, row in ipairs(records) do
          if row.accepted then accepted = accepted + 1 end
          assert.equal(row.accepted and row.servers or 0, #row.server_numbers)
          for _, s in ipairs(row.server_numbers) do
            assert.is_true((free_at[s] or 0) <= row.arrival_s + 1e-7)
            free_at[s] = row.end_s
          end
          assert.is_true(not row.accepted or row.completion_s <= row.deadline_s * (1 + 1e-9))
        end
        assert.equal(report.completed, accepted)
        assert.equal(report.blocked, 300 - accepted)
        local rows = records:cluster()
        assert.same({ 300, 300 - accepted, 0, 0 },
          { rows[#rows].arrived, rows[#rows].blocked, rows[#rows].running,
          rows[#rows].servers_held })
        assert.same(report,
          (simulate(env, trace, berth.pacml.decider(name, known or nil), { records = false })))
      end
    end
  end)

  it("takes blocks that the decider chooses", function()
    local function last(run) return 2, run.job == 1 and { 7, 8 } or nil end
    local _, records = simulate(small.env(), TRACE, last)
    assert.same({ 7, 8 }, records[1].server_numbers)
    assert.same({ 1, 5 }, records[2].server_numbers)
  end)

  it("refuses what is none", function()
    raises("env: expected what berth.pacml.env gives, got table", simulate, {}, TRACE, "random")
    raises("trace: expected a table, got nil", simulate, small.env(), nil, "random")
    local function with(opts) return raised(simulate, small.env(), TRACE, "random", opts) end
    assert.matches("simulate: horizon: %-1 is negative", with { horizon = -1 })
    assert.matches("simulate: horizon: expected a number or a string such as",
      with { horizon = {} })
    assert.matches("simulate: name: expected a string, got number", with { name = 3 })
    assert.matches("simulate: about: expected a table, got number", with { about = 3 })
    assert.equal(2, select(2, simulate(small.env(), TRACE, "random", { horizon = "2 s" })).horizon)
    raises("unknown option 'horzion'", simulate, small.env(), TRACE, "random", { horzion = 1 })
    raises("expected a name or a function, got nil", simulate, small.env(), TRACE)
    raises("decider, arrival of job 1 at 0 s: it has decided about job 1 itself", simulate,
      small.env(), TRACE, function(run) run:decide(1) return 1 end)
  end)
end)

-- ---- files ----------------------------------------------------------------

describe("records", function()
  local _, records = simulate(small.env(), TRACE, handmade,
    { horizon = 4, name = "by hand", about = { seed = 7 } })

  it("are comma-separated values, units in the names, with how they were made", function()
    local lines = {}
    for line in records:csv():gmatch("[^\n]+") do lines[#lines + 1] = line end
    assert.equal(5, #lines)
    local options = json.decode((lines[2]:match('"({.*})"$'):gsub('""', '"')))
    assert.same({ 4, 2, 16 }, { options.horizon_s, options.ramp.groups, 2 * options.most })
    assert.equal(
      "job,model,arrival_s,beta,sequential_s,deadline_s,decision,accepted,cause,pieces,servers,"
        .. "channels,completion_s,"
      .. "end_s,speedup,completed,server_numbers,decider,seed,version,options", lines[1])
    local ending = "by hand,7," .. berth.version .. ',"{""'
    assert.matches("2,model 1,0.5,1,8,8,1,false,op_placement,,,,,,,false,," .. ending, lines[3],
      1, true)
    assert.matches("^4,model 1,2.5,1,8,8,4,true,accepted,4,4,12,.*,false,1 3 5 7,", lines[5])
  end)

  it("are JSON lines", function()
    local rows = {}
    for line in records:jsonl():gmatch("[^\n]+") do rows[#rows + 1] = assert(json.decode(line)) end
    assert.equal(5, #rows)
    assert.equal(7, rows[1].seed)
    assert.same({ 1, 3, 5, 7 }, rows[5].server_numbers)
    assert.is_nil(rows[3].completion_s)
    local n = select(2, records:jsonl("cluster"):gsub("\n", "\n"))
    assert.equal(1 + #records:cluster(), n)
  end)

  it("are a timeline", function()
    local whole = assert(json.decode(records:timeline()))
    local events = whole.traceEvents
    local slices, blocked = 0, 0
    for _, e in ipairs(events) do
      if e.ph == "X" then slices = slices + 1 end
      if e.ph == "i" then blocked = blocked + 1 end
    end
    assert.same({ 8 + 4, 2 }, { slices, blocked })
    assert.equal("server 6: group 2, rack 1, slot 2", events[6 + 2 * 5 + 1].args.name)
    assert.same({ "by hand", 7 }, { whole.otherData.decider, whole.otherData.seed })
  end)

  it("have windows that add up to the report", function()
    for _, compat in ipairs { true, false } do
      local env = small.env { compat = compat, times = { 1, 0.3 } }
      local trace = berth.pacml.trace { models = 2, beta = "A", jobs = 200,
        interarrival = { 0.1, 1.5 } }
      for _, horizon in ipairs { 90, math.huge } do
        local report, rows = simulate(env, trace, "capped", { horizon = horizon })
        local w = windows.of(rows, 7)
        local function mean(list)
          local sum = 0
          for i = 1, 7 do sum = sum + list[i] end
          return sum / 7
        end
        assert.near(report.time, 7 * w.width, 1e-9)
        assert.near(report.mounted_fraction, mean(w.held), 1e-12)
        assert.near(report.utilisation, mean(w.computing), 1e-12)
        local load, arrived, blocked = 0, { 0, 0, 0, 0, 0, 0, 0 }, 0
        for j, at in ipairs(trace.arrival) do
          local i = math.min(7, math.floor(at / w.width) + 1)
          if at <= report.time then arrived[i] = arrived[i] + 1 end
          if at < report.time then load = load + env.sequential[trace.model[j]] end
        end
        for i = 1, 7 do blocked = blocked + (arrived[i] > 0 and w.blocked[i] * arrived[i] or 0) end
        assert.near(report.blocked, blocked, 1e-9)
        assert.near(load, mean(w.load) * report.time * 8, 1e-9)
      end
    end
  end)

  it("end as the report has it, also within its slack", function()
    local env = small.env { compat = true }
    for _, by in ipairs { 0, -5e-8, -2e-7 } do
      local report, rows = simulate(env, { model = { 1 }, beta = { 1 }, arrival = { 1e6 - 1 } },
        "para-max", { horizon = 1e6 + by })
      assert.equal(report.completed == 1, rows[1].completed)
    end
  end)

  it("are written", function()
    local path = os.tmpname()
    for _, ending in ipairs { "csv", "jsonl" } do
      assert.is_true(records:save(path .. "." .. ending, "cluster"))
      assert.equal(records[ending](records, "cluster"), read(path .. "." .. ending))
      os.remove(path .. "." .. ending)
    end
    assert.is_true(records:save_trace(path))
    assert.equal(records:timeline(), read(path))
    os.remove(path)
    assert.same({ nil, "io" },
      { (records:save "/nowhere/a.csv"), (select(3, records:save "/nowhere/a.csv")) })
    raises("ends in .csv or .jsonl", records.save, records, "a.txt")
    raises('expected "jobs" or "cluster", got "servers"', records.csv, records, "servers")
  end)

  it("are a page", function()
    local path = os.tmpname()
    local _, other = simulate(small.env(), TRACE, "para-max", { horizon = 4 })
    assert.is_true(berth.pacml.report(path, { records, other }, { title = "Jobs & servers" }))
    local text = read(path)
    os.remove(path)
    assert.matches("<h1>Jobs &amp; servers</h1>", text, 1, true)
    for _, id in ipairs { "load", "blocking", "utilisation", "numbers", "made" } do
      assert.matches('<section id="' .. id .. '">', text, 1, true)
    end
    assert.is_nil(text:find("nan", 1, true))
    assert.is_nil(text:find("http://[^w]"))
    assert.matches('class="strong">by hand</text>', text, 1, true)
    raises("runs: expected 1 to 16", berth.pacml.report, path, {})
    raises("title: expected a string, got number", berth.pacml.report, path, { records },
      { title = 3 })
    raises("runs[1]: expected records", berth.pacml.report, path, { 3 })
    assert.equal("io", (select(3, berth.pacml.report("/nowhere/page.html", records))))
  end)
end)

describe("a page", function()
  local function page(env, trace, opts)
    local path = os.tmpname()
    local _, rows = simulate(env, trace, "para-max", opts)
    assert(berth.pacml.report(path, { rows }))
    local text = read(path)
    os.remove(path)
    return text
  end

  it("is of XML in its figures, whatever names there are", function()
    local evil = '"<script>alert(1)</script>&\n,\255'
    local model = small.env().models
    local env = berth.pacml.env { models = model, names = { evil }, steps = 1, most = 8 }
    local text = page(env, TRACE, { name = evil, about = { note = evil } })
    assert.is_nil(text:find("<script", 1, true))
    for figure in text:gmatch("<svg.-</svg>") do xml.elements(figure) end
    assert.matches("&lt;script&gt;alert", text, 1, true)
  end)

  it("has figures of runs that take no time, and of one that has no jobs", function()
    for n = 0, 1 do
      local trace = { model = {}, beta = {}, arrival = {} }
      -- late, so it is over at 0 s
      if n == 1 then trace.model[1], trace.beta[1], trace.arrival[1] = 1, 0.01, 0 end
      local text = page(small.env(), trace)
      assert.is_nil(text:find("nan", 1, true))
      assert.is_nil(text:find("inf", 1, true))
      for figure in text:gmatch("<svg.-</svg>") do xml.elements(figure) end
    end
  end)

  it("writes long times in days, within the picture", function()
    local trace = { model = { 1, 1 }, beta = { 1, 1 }, arrival = { 0, 1e6 } }
    local text = page(small.env { compat = true }, trace, { horizon = 1e6 })
    assert.matches(">10 d</text>", text, 1, true)
    assert.is_nil(text:find("e%+%d+[^<]*</text>"))
  end)
end)

-- ---- studies --------------------------------------------------------------

describe("a study", function()
  it("plays deciders on the same jobs, and goes on from its file", function()
    local path, env, played = os.tmpname(), small.env(), 0
    os.remove(path)
    local given = { deciders = { "para-max", "random", { "mine", function() return 2 end } },
      betas = { "B", "D" },
      seeds = { 4, 5 }, trace = { jobs = 40, interarrival = 2 }, path = path,
        progress = function() played = played + 1 end }
    local first = assert(berth.pacml.study(env, given))
    assert.same({ 12, 12, 0 }, { played, #first.rows, first.failed })
    local again = assert(berth.pacml.study(env, given))
    assert.equal(12, played)
    assert.same(first:summary(), again:summary())
    local t = berth.pacml.trace { models = 1, beta = "B", seed = 4, jobs = 40, interarrival = 2 }
    local report = simulate(env, t, "para-max", { horizon = 78 })
    for _, row in ipairs(first.rows) do
      if row.seed == 4 and row.parameters.beta == "B" and row.parameters.decider == "para-max" then
        assert.near(report.blocking_rate, row.result.blocking_rate, 1e-15)
        assert.near(report.jct, row.result.completion_s, 1e-15)
      end
    end
    given.trace = { jobs = 41 } -- something else
    assert(berth.pacml.study(env, given))
    assert.equal(24, played)
    os.remove(path)
  end)

  it("refuses what makes no sense", function()
    local env = small.env()
    raises('deciders[2]: "random" is there twice', berth.pacml.study, env,
      { deciders = { "random", "random" } })
    raises("no \"what\"", berth.pacml.study, env, { deciders = { "what" } })
    raises("deciders: expected an array", berth.pacml.study, env, { deciders = {} })
    raises("deciders[1]: expected a name or", berth.pacml.study, env, { deciders = { 3 } })
    raises("beta", berth.pacml.study, env, { betas = { "E" } })
    raises("unknown option 'seed'", berth.pacml.study, env, { trace = { seed = 3 } })
    -- raised, not recorded as the error of each trial
    raises("jobs: -1 is out of range 0 to 2147483647", berth.pacml.study, env,
      { trace = { jobs = -1 } })
    raises("study: horizon: -1 is negative", berth.pacml.study, env, { horizon = -1 })
    raises('study: horizon: "x" is not a number', berth.pacml.study, env, { horizon = "x" })
    raises("study: env: expected what berth.pacml.env gives, got nil", berth.pacml.study)
  end)
end)

-- ---- the published numbers ------------------------------------------------

if not shared.present() or not shared.read("reference/pacml_lookahead.csv") then
  describe("published blocking rates", function()
    it("are compared", function() pending("no " .. shared.dir .. ": its files are the inputs") end)
  end)
  return
end

local function published_env()
  local ramp, models, names = berth.ramp { compat = true }, {},
    { "alexnet", "gnmt", "resnet18", "squeezenet1_0", "vgg16" }
  for i, name in ipairs(names) do
    models[i] = assert(berth.pacml.profile(ramp, shared.path("data/pipedream/" .. name .. ".txt")))
  end
  return assert(berth.pacml.env { models = models, names = names })
end

describe("published blocking rates", function()
  local env = published_env()

  it("come out again, on sequences of 1001 jobs", function()
    local e = assert(berth.pacml.study(env, { seeds = runs(5, 20) }))
    local within = { ["para-max"] = 0.015, ["para-min"] = 0.03, random = 0.03 }
    for _, point in ipairs(e:summary()) do
      local beta, name = point.parameters.beta, point.parameters.decider
      local got, wanted = point.fields.blocking_rate.mean, berth.pacml.published[name][beta]
      assert.is_true(math.abs(got - wanted) <= within[name],
        ("%s, beta %s: %.4f, not %.4f"):format(name, beta, got, wanted))
    end
  end)

  it("of the rule that looks ahead are those of a replay", function()
    local wanted = { A = 0.223, B = 0.358, C = 0.144, D = 0.115 } -- 2 or 3 seeds
    local e = assert(berth.pacml.study(env, { deciders = { "capped:4" }, seeds = 5 }))
    for _, point in ipairs(e:summary()) do
      assert.near(wanted[point.parameters.beta], point.fields.blocking_rate.mean, 0.02,
        point.parameters.beta)
    end
  end)

  -- beta B: Para_max 1884 s, 15.67, 16.13 servers, 245 links; 2.35e7 B/s
  it("come with their other means", function()
    local e = assert(berth.pacml.study(env,
      { deciders = { "para-max", "para-min" }, betas = { "B" }, seeds = 5 }))
    local max, min = e:summary()[1].fields, e:summary()[2].fields
    assert.near(1884, max.completion_s.mean, 30)
    assert.near(15.67, max.speedup.mean, 0.05)
    assert.near(16.13, max.servers.mean, 0.05)
    assert.near(245, max.channels.mean, 2)
    assert.near(2.3506e7, max.throughput_bytes_per_s.mean, 4e5)
    assert.near(7350, min.completion_s.mean, 250)
    assert.near(4.54, min.speedup.mean, 0.15)
    assert.near(5.2, min.servers.mean, 0.2)
    assert.near(1.9233e7, min.throughput_bytes_per_s.mean, 8e5)
  end)
end)
