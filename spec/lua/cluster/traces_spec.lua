-- Recorded traces, and their jobs under schedulers at the shell.
local berth = require "berth"
local json = require "dkjson"
local shell = require "support.shell"
local shared = require "support.shared"
local errors = require "support.errors"
local refused, raises = errors.refused, errors.raises

local scratch

local function write(text)
  shell.write(scratch, text)
  return scratch
end

local IN_STEPS = "a step counts as 1 s: option throughputs has the steps per s"

-- What is wrong with a file.
local function fault(text, opts)
  local jobs, why, code = berth.load_trace(write(text), opts)
  assert.is_nil(jobs)
  return why:gsub("^.*/", ""), code
end

local PACKED =
  "\031\139\008\000\000\000\000\000\002\255\203\202\079\138\207\076\209\041\046\077\202\205\044"
  .. "\137\047\214\073\041\045\074\044\201\204\207\003\050\243\074\115\227\211\011\074\139"
  .. "\117\202\146\185\204\117\076\117\012"
  .. "\013\116\140\116\018\185\000\070\061\110\209\050\000\000\000"

describe("a trace of jobs", function()
  before_each(function() scratch = os.tmpname() end)
  after_each(function() os.remove(scratch) end)

  it("of Philly, by its header", function()
    local jobs, about =
      berth.load_trace(write "job_id,submit_s,duration_s,num_gpus,vc\n7,5,10,2,a\n8,6.5,20,1,b\n")
    assert.same({ { arrival = 5, work = 10, gpus = 2, name = "7", kind = "a" },
      { arrival = 6.5, work = 20, gpus = 1, name = "8", kind = "b" } }, jobs)
    assert.same({ format = "philly", jobs = 2, left_out = 0, sorted = false, origin = 0,
      notes = {} }, about)
  end)

  it("may be packed, have CRLF, quotes, a mark, blank lines, spaces in its header", function()
    local jobs = assert(berth.load_trace(write(PACKED)))
    assert.same({ { arrival = 5, work = 10, gpus = 2, name = "7", kind = "a" } }, jobs)
    jobs = assert(berth.load_trace(write
      '\239\187\191job_id, submit_s,duration_s,num_gpus,vc\r\n\r\n"7, ""b""",5,10,2,"a"\r\n'))
    assert.same({ { arrival = 5, work = 10, gpus = 2, name = '7, "b"', kind = "a" } }, jobs)
  end)

  it("of Tiresias", function()
    local jobs, about = berth.load_trace(write(
      "job_id,num_gpu,submit_time,iterations,model_name,duration,interval\n"
        .. "0,4,30,606,vgg19,164,30\n"))
    assert.same({ { arrival = 30, work = 164, gpus = 4, name = "0", kind = "vgg19",
      steps = 606 } }, jobs)
    assert.equal("tiresias", about.format)
  end)

  it("of Pollux, with durations", function()
    local text =
      "name,time,application,num_replicas,batch_size\nc-0,53,cifar10,6,2048\nb-1,60,bert,1,12\n"
    local jobs = assert(berth.load_trace(write(text), { durations = { cifar10 = 100, bert = 7 } }))
    assert.same({ arrival = 53, work = 100, gpus = 6, name = "c-0", kind = "cifar10",
      batch = 2048 }, jobs[1])
    assert.equal(7, jobs[2].work)
    assert.equal(9, assert(berth.load_trace(write(text), { durations = 9 }))[2].work)
    local why, code = fault(text, { durations = { cifar10 = 100 } })
    assert.matches(":3: no duration of bert: option durations", why)
    assert.equal("parse", code)
  end)

  local gavel = "LM (batch size 5)\tpython x\tdir\t--steps\t1\t5000\t2\t1\t-1.000000\t0\n"
    .. "A3C\tpython y\trl\t--max-steps\t0\t300\t1\t2\t5.5\t7\n"

  it("of Gavel; with throughputs, times on one type of GPU and rates on all", function()
    local jobs, about = berth.load_trace(write(gavel))
    assert.same({ { arrival = 0, work = 5000, steps = 5000, gpus = 2, priority = 1,
      kind = "LM (batch size 5)", name = "job 1" },
      { arrival = 7, work = 300, steps = 300, gpus = 1, priority = 2, slo = 5.5, kind = "A3C",
        name = "job 2" } }, jobs)
    assert.equal("gavel", about.format)
    local rates = os.tmpname()
    local file = assert(io.open(rates, "wb"))
    file:write(
      "worker_type,job_type,scale_factor,steps_per_s\n"
      .. 'k80,"LM (batch size 5)",2,2.5\nv100,"LM (batch size 5)",2,10\n'
      .. "k80,A3C,1,3\n")
    file:close()
    local path = write(gavel)
    local none, why = berth.load_trace(path, { throughputs = rates })
    assert.is_nil(none)
    assert.matches(':2: no throughput of "A3C" on 1 v100', why)
    jobs, about = berth.load_trace(path, { throughputs = rates, skip = true })
    assert.same({ 1, 1, 500, { k80 = 0.25, v100 = 1 } },
      { #jobs, about.left_out, jobs[1].work, jobs[1].rates })
    jobs = assert(berth.load_trace(path, { throughputs = rates, worker = "k80" }))
    assert.same({ 2000, 100 }, { jobs[1].work, jobs[2].work })
    os.remove(rates)
  end)

  it("of any columns", function()
    local text = "start,len,g,who\n3,4,2,x\n"
    assert.matches("no trace that is known by its header %(gavel, philly, pollux, tiresias%)",
      (fault(text)))
    local jobs, about = berth.load_trace(write(text),
      { columns = { arrival = "start", work = "len", gpus = "g", name = "who" } })
    assert.same({ { arrival = 3, work = 4, gpus = 2, name = "x" } }, jobs)
    assert.equal("columns", about.format)
    assert.matches("no column for gpus: .* %(there are: start, len, g, who%)",
      (fault(text, { columns = { arrival = "start", work = "len" } })))
    for _, gpus in ipairs { 3, "3" } do
      jobs = assert(berth.load_trace(write(text),
        { columns = { arrival = "start", work = "len", gpus = gpus } }))
      assert.same({ { arrival = 3, work = 4, gpus = 3 } }, jobs)
    end
    assert.matches('no column "cores" for gpus',
      (fault(text, { columns = { arrival = "start", work = "len", gpus = "cores" } })))
    -- a single one of a known format
    text = "job_id,submit_s,duration_s,num_gpus,vc,user\n7,5,10,2,a,me\n"
    assert.equal("me",
      assert(berth.load_trace(write(text), { columns = { name = "user" } }))[1].name)
  end)

  it("has times in s, or in the unit behind a column's name", function()
    local text = "at,took_min,late_h,a:h,g\n60,1.5,2,1,1\n120,01:30,2,2,1\n"
    local jobs, about = berth.load_trace(write(text), { columns = { arrival = "at:ms",
      work = "took_min:min", deadline = "late_h:h", gpus = "g" } })
    -- 1:30 is a span already
    assert.same({ 0.06, 90, 7200, 90 }, { jobs[1].arrival, jobs[1].work, jobs[1].deadline,
      jobs[2].work })
    assert.same({}, about.notes)
    jobs, about = berth.load_trace(write(text),
      { columns = { arrival = "a:h", work = "took_min", gpus = "g" } })
    assert.same({ 1, 1.5 }, { jobs[1].arrival, jobs[1].work })
    assert.same({ "a:h is read in s; if it is in h: arrival=a:h:h in columns",
      "took_min is read in s; if it is in min: work=took_min:min in columns" }, about.notes)
    assert.matches('columns: work: "1 mins": the unit "mins" is unknown: type "1 min"',
      (fault(text, { columns = { arrival = "at", work = "took_min:mins", gpus = "g" } })), 1, true)
    assert.matches('no column "none:min" for work',
      (fault(text, { columns = { arrival = "at", work = "none:min", gpus = "g" } })), 1, true)
    assert.matches("took_min: expected at most 1e18", (fault("at,took_min\n0,1e18\n",
      { columns = { arrival = "at", work = "took_min:min", gpus = 1 } })), 1, true)
  end)

  it("is put in order of arrival; equal ones stay in the order of the file", function()
    local jobs, about = berth.load_trace(write
      "job_id,submit_s,duration_s,num_gpus,vc\n1,5,1,1,a\n2,3,1,1,a\n3,5,1,1,a\n4,3,1,1,a\n")
    local names = {}
    for i, job in ipairs(jobs) do names[i] = job.name end
    assert.equal("2413", table.concat(names))
    assert.is_true(about.sorted)
    assert.same({ "jobs were not in order of arrival: sorted" }, about.notes)
  end)

  it("reports file, line, column, value and reason; or leaves such lines out", function()
    local head = "job_id,submit_s,duration_s,num_gpus,vc\n1,0,5,1,a\n"
    assert.matches(':3: submit_s: expected a finite number not below 0, got "%-1"',
      (fault(head .. "2,-1,5,1,a\n")))
    assert.matches(':3: duration_s: .* got "nan"', (fault(head .. "2,1,nan,1,a\n")))
    assert.matches(':3: num_gpus: expected a whole number of at least 1, got "0"',
      (fault(head .. "2,1,5,0,a\n")))
    assert.matches(':3: vc: expected a text, got ""', (fault(head .. "2,1,5,1,\n")))
    assert.matches(":3: 4 cells, expected 5", (fault(head .. "2,1,5,1\n")))
    assert.matches(":3: a quote is not closed", (fault(head .. '2,1,5,1,"a\n')))
    assert.matches(": there are no jobs in it", (fault ""))
    assert.matches(":1: 2 cells, expected 7 or 10", (fault("a\tb\n", { format = "gavel" })))
    local jobs, about = berth.load_trace(write(head .. "2,-1,5,1,a\n3,2,5,1,a\n4,2,5,0,a\n"),
      { skip = true })
    assert.same({ 2, 2 }, { #jobs, about.left_out })
    assert.matches("^2 lines left out, the first: .*:3: submit_s", about.notes[1])
  end)

  local HEAD = "job_id,submit_s,duration_s,num_gpus,vc\n"

  it("of Gavel's older form, seven cells", function()
    local jobs, about = berth.load_trace(write
      "LM (batch size 5)\tcd x && python3 y\t-n\t1\t1000\t5.5\t2\n")
    assert.same({ { arrival = 5.5, work = 1000, steps = 1000, gpus = 2, name = "job 1",
      kind = "LM (batch size 5)" } }, jobs)
    assert.same({ "gavel", { IN_STEPS } }, { about.format, about.notes })
  end)

  it("has other separators, and line breaks in quotes", function()
    for _, separator in ipairs { ";", "\t", "|" } do
      local text = (HEAD .. "1,0,5,2,a\n"):gsub(",", separator)
      assert.same({ { arrival = 0, work = 5, gpus = 2, name = "1", kind = "a" } },
        (berth.load_trace(write(text))), separator)
    end
    local jobs = assert(berth.load_trace(write(HEAD .. '1,0,5,2,"a\r\nb"\r\n2,1,5,2,"c"\r\n')))
    assert.same({ "a\r\nb", "c" }, { jobs[1].kind, jobs[2].kind })
    -- a quote that is not closed spoils its line only; lines are counted over breaks in quotes
    local about
    jobs, about = berth.load_trace(write(HEAD .. '1,0,5,2,"a\nb"\n2,1,5,2,"c\n3,1,5,2,d\n'),
      { skip = true })
    assert.same({ 2, "d" }, { #jobs, jobs[2].kind })
    assert.matches("^1 line left out, the first: .*:4: a quote is not closed", about.notes[1])
    assert.matches(":2: text follows a quote", (fault(HEAD .. '1,0,5,2,"a"b\n')))
  end)

  it("in UTF-16 of either order", function()
    local text = HEAD .. "1,0,5,2,\195\169\240\159\152\128\n"
    for mark, pattern in pairs { ["\255\254"] = "%1\0", ["\254\255"] = "\0%1" } do
      local little = mark == "\255\254"
      local wide = (HEAD .. "1,0,5,2,"):gsub("(.)", pattern)
        .. (little and "\233\0\061\216\000\222\010\000" or "\0\233\216\061\222\000\000\010")
      local jobs = assert(berth.load_trace(write(mark .. wide)))
      assert.equal(text:match "([^,]*)\n$", jobs[1].kind)
    end
    assert.matches("mark is of UTF%-16, but this is not UTF%-16", (fault "\255\254a"))
    assert.matches("mark is of UTF%-16, but this is not UTF%-16", (fault "\255\254\061\216a\0"))
    assert.matches("byte 4 is zero: this is no text", (fault "job_\0id"))
    for _, ending in ipairs { "\26", "\26\26\r\n", ("\26"):rep(127) } do
      assert.equal(1, #assert(berth.load_trace(write(HEAD .. "1,0,5,2,a\r\n" .. ending))))
    end
  end)

  it("has dates and spans; arrivals count from the first", function()
    local text = "at,took,n\n2020-04-01 00:00:59,1-00:03:58,8\n"
      .. "2020-04-01T08:01:00.5+08:00,02:03,1\n"
    local columns = { arrival = "at", work = "took", gpus = "n" }
    local jobs, about = berth.load_trace(write(text), { columns = columns })
    assert.same({ { arrival = 0, work = 86638, gpus = 8 },
      { arrival = 1.5, work = 123, gpus = 1 } }, jobs)
    assert.equal(1585699259, about.origin) -- date -u -d "2020-04-01 00:00:59" +%s
    assert.same({ "arrivals count from 1585699259 s of the file, option origin",
      "dates without a zone are taken as UTC" }, about.notes)
    jobs = assert(berth.load_trace(write(text), { columns = columns, origin = 1585699200 }))
    assert.equal(59, jobs[1].arrival)
    local why, code = fault(text, { columns = columns, origin = 1585699260 })
    assert.matches(": origin: a job arrives 1 s before it", why)
    assert.equal("parse", code)
    for _, date in ipairs { "2020-13-01 00:00:00", "2020-04-32", "2020-04-01 24:00:00",
      "2020-04-01 00:00:00+8", "20-04-01" } do
      assert.matches(":2: at: expected a finite number", (fault("at,took\n" .. date .. ",1\n",
        { columns = { arrival = "at", work = "took", gpus = 1 } })))
    end
  end)

  it("counts arrivals of a clock from the first, others from 0", function()
    local jobs, about = berth.load_trace(write(HEAD
      .. "1,1507300802,5,2,a\n2,1507300802.5,5,2,a\n"))
    assert.same({ 0, 0.5, 1507300802 }, { jobs[1].arrival, jobs[2].arrival, about.origin })
    jobs, about = berth.load_trace(write(HEAD .. "1,99999999,5,2,a\n"))
    assert.same({ 99999999, 0, {} }, { jobs[1].arrival, about.origin, about.notes })
    jobs = berth.load_trace(write(HEAD .. "1,10,5,2,a\n"), { origin = -5 })
    assert.equal(15, jobs[1].arrival)
  end)

  it("has decimal numbers of finite sums, and whole GPUs", function()
    for cell, why in pairs { ["0x10"] = "expected a finite number not below 0",
      ["1e308"] = "expected at most 1e18", inf = "expected a finite number",
      ["1,5"] = "6 cells, expected 5" } do
      assert.matches(":2: .*" .. why, (fault(HEAD .. "1,0," .. cell .. ",2,a\n")))
    end
    assert.matches('num_gpus: expected a whole number %(jobs that share a GPU are not simulated%), '
      .. 'got "0.5"', (fault(HEAD .. "1,0,5,0.5,a\n")))
  end)

  it("without jobs is no trace", function()
    assert.matches(": there are no jobs in it$", (fault(HEAD)))
    refused("parse", ": there are no jobs in it: 1 line left out, the first: .*:2: num_gpus",
      berth.load_trace(write(HEAD .. "1,0,5,0,a\n"), { skip = true }))
  end)

  it("reads the options of its format only", function()
    local philly = write(HEAD .. "1,0,5,2,a\n")
    for key, case in pairs { durations = { 5, "is read of format pollux only" },
      throughputs = { philly, "expected the header" },
      worker = { "v100", "requires throughputs" } } do
      local ok, why, more = pcall(berth.load_trace, philly, { [key] = case[1] })
      assert.matches(case[2], ok and more or why)
    end
    raises("columns: format gavel has no header", berth.load_trace, write(gavel),
      { columns = { work = "x" } })
    local rates = os.tmpname()
    shell.write(rates, "worker_type,job_type,scale_factor,steps_per_s\nk80,A3C,1,3\n")
    local none, why = berth.load_trace(write(gavel), { throughputs = rates })
    assert.is_nil(none)
    assert.matches('no type of GPU "v100", option worker %(there are: k80%)', why)
    for row, reason in pairs { ["k80,A3C,1"] = "expected a type of GPU, .* steps per s, got",
      ["k80,A3C,1,-3"] = "steps per s, got", ['k80,"A3C,1,3'] = "a quote is not closed" } do
      shell.write(rates, "worker_type,job_type,scale_factor,steps_per_s\n" .. row .. "\n")
      refused("parse", ":2: .*" .. reason, berth.load_trace(write(gavel), { throughputs = rates }))
    end
    os.remove(rates)
    local cells = "A3C\tpython y\trl\t--max-steps\t0\t300\t1\t2\tsoon\t7\n"
    assert.matches(':1: SLO: expected a number, got "soon"', (fault(cells)))
    assert.matches(":1: a quote is not closed", (fault('A\t"b\tc\td\t1\t1000\t5.5\t2\n',
      { format = "gavel" })))
    raises("columns.work: expected the name of a column, got number", berth.load_trace, philly,
      { columns = { arrival = "submit_s", work = 2 } })
  end)

  it("takes no other options", function()
    raises("unknown option 'colums'", berth.load_trace, "x", { colums = {} })
    raises("format: 'csv' is none of: gavel, philly", berth.load_trace, "x", { format = "csv" })
    raises("columns: unknown field 'gpu' (legal: ", berth.load_trace, "x",
      { columns = { gpu = "g" } })
    raises("durations: expected s, or a table", berth.load_trace, "x", { durations = "5" })
    refused("io", "/nowhere/at/all.csv: cannot be opened", berth.load_trace "/nowhere/at/all.csv")
  end)

  it("of all that are published", function()
    if not shared.present() then
      return pending("needs ../shared/data/traces, which is not here")
    end
    local folder = shared.path "data/traces/"
    for _, case in ipairs { { "philly_jobs.csv.gz", 82247 }, { "philly_multi_week.csv", 427 },
      { "philly_vc_day.csv", 879 },
      { "tiresias_60_job.csv", 60 }, { "pollux/workload-1.csv", 160, { durations = 60 } },
      { "pollux/workload-6.csv", 160, { durations = 60 } }, { "gavel/max_min_fairness.trace", 96 },
      { "gavel/minimize_makespan.trace", 100,
        { throughputs = folder .. "gavel/isolated_throughputs.csv" } } } do
      local jobs, about = berth.load_trace(folder .. case[1], case[3])
      assert.equal(case[2], jobs and #jobs, about)
      assert.same(case[1]:find "max_min" and { IN_STEPS } or {}, about.notes)
    end
  end)

  it("with the GPU-seconds that they are said to have", function()
    if not shared.present() then
      return pending("needs ../shared/data/traces, which is not here")
    end
    for name,
      wanted in pairs { ["philly_multi_week.csv"] = 28432784, ["philly_vc_day.csv"] = 3288816 } do
      local sum = 0
      for _, job in ipairs((berth.load_trace(shared.path("data/traces/" .. name)))) do
        sum = sum + job.gpus * job.work
      end
      assert.equal(wanted, sum, name)
    end
  end)
end)

-- ---- at the shell ---------------------------------------------------------

local ran, run, run_all = shell.ran, shell.run, shell.run_all

describe("berth cluster FILE", function()
  before_each(function() scratch = os.tmpname() end)
  after_each(function() os.remove(scratch) end)

  -- on 2 GPUs: 1 has both until 10; 2 has one for 4 s; 3 waits for both
  local day = "job_id,submit_s,duration_s,num_gpus,vc\n1,0,10,2,a\n2,1,4,1,a\n3,2,6,2,a\n"

  it("prints a table", function()
    local out = ran(run("cluster", write(day), "--gpus", "2", "--scheduler", "fifo,srtf"))
    local lines = {}
    for line in out:gmatch "[^\n]+" do lines[#lines + 1] = line:gsub("%s+", " ") end
    assert.matches("3 jobs on 2 GPUs; job completion times", lines[1])
    assert.equal("scheduler mean median p95 p99 queued makespan over bound done pauses GPUs busy",
      lines[2])
    -- fifo: 10, 13, 18; 36 of 40 GPU-s. srtf: 2 at 1, 3 at 5, 1 at 11: 20, 4, 9
    -- bound: served at 2, 6, and 2 and 18 GPU-s at 0.5 and 13.5: (20.2 + 10 - 3) / 3
    assert.equal("fifo 13.7 s 13 s 18 s 18 s 7 s 20 s 50.7 % 3 0 90.0 %", lines[3])
    assert.equal("srtf 11 s 9 s 20 s 20 s 4.33 s 20 s 21.3 % 3 1 90.0 %", lines[4])
  end)

  it("reports jobs that no machine has GPUs for, and where time begins", function()
    local text = "job_id,submit_s,duration_s,num_gpus,vc\n1,3,10,4,a\n2,3,10,128,a\n"
    local out = ran(run("cluster", write(text), "--gpus", "4")):gsub(" +", " ")
    assert.matches("over bound done refused pauses GPUs busy\n", out)
    assert.matches("0.0 %% 1 1 0 76.9 %%\n", out)
    assert.matches("\n1 job refused: more GPUs than 4; the first: 2, 128 GPUs\n", out)
    assert.matches("\nmakespan and GPUs busy count from 0 s; the first job arrives at 3 s$", out)
    out = ran(run("cluster", write(text), "--gpus", "4", "--origin", "3")):gsub(" +", " ")
    assert.matches("^arrivals count from 3 s of the file, option origin\n", out)
    assert.matches("0.0 %% 1 1 0 100.0 %%\n", out)
    assert.is_nil(out:find("makespan and", 1, true))
  end)

  it("prints JSON, and writes files", function()
    local csv = os.tmpname()
    local out = ran(run("cluster", write(day), "--gpus", "2", "--scheduler", "las-2d", "--limits",
      "4,8", "--json", "--csv", csv))
    local x = assert(json.decode(out))
    assert.same({ "philly", 3, 2, "las-2d", 3 },
      { x.format, x.jobs, x.gpus, x.runs[1].scheduler, x.runs[1].done })
    local text = shell.take(csv)
    assert.matches("^job,name,kind,machines,gpus,", text)
    assert.matches('""limits"":%[4,8%]', text)
  end)

  shell.try(it, pending)("replaces a file whole, or leaves the old one", function()
    local csv = shell.file(".csv", "old")
    local small = "trap '' XFSZ; ulimit -f 1; BERTH_BUILD=%s BERTH_LUA=%s scripts/berth cluster %s "
      .. "--gpus 2 --csv %s 2>&1; echo exit $?; ls %s*"
    local out = shell.capture(small:format(shell.build, os.getenv "BERTH_LUA" or "lua5.4",
      write(day), csv, csv))
    assert.matches("cannot be written: File too large\nexit 2\n[^\n]*%.csv\n$", out)
    assert.equal("old", shell.read(csv))
    shell.tidy()
  end)

  it("has machines, and places gangs on them", function()
    local out = ran(run("cluster", write(day), "--gpus", "4", "--per-machine", "2", "--placement",
      "consolidate", "--json"))
    -- 3 waits for two GPUs of one machine: 2 leaves one at 5
    assert.equal(11, json.decode(out).runs[1].makespan_s)
  end)

  it("plays rounds on types of GPUs", function()
    local out = ran(run("cluster", write(day), "--types", "a=2,b=2", "--scheduler", "gavel",
      "--round", "1s", "--json"))
    local x = json.decode(out)
    assert.same({ 4, 3 }, { x.gpus, x.runs[1].done })
  end)

  it("reports what is wrong", function()
    local path = write(day)
    for _, case in ipairs {
      { {}, "how many GPUs are there%? %-%-gpus N" },
      { { "--gpus", "2", "--scheduler", "lifo" }, 'no "lifo" %(legal: .*fifo' },
      { { "--gpus", "2", "--scheduler", "fifo,fifo" }, "fifo is there twice" },
      { { "--gpus", "5", "--per-machine", "2" }, "5 is no multiple" },
      { { "--gpus", "2", "--limits", "3" }, "none of the schedulers takes it" },
      { { "--gpus", "2", "--scheduler", "las", "--limits", "3,x" }, "a number is needed" },
      { { "--gpus", "2", "--csv", "x.csv", "--scheduler", "fifo,sjf" }, "is for one scheduler" },
      { { "--gpus", "2", "--decider", "random" },
        "cluster: no option %-%-decider %(legal: " },
      { { "--scheduler", "gavel" }, "alone, and with %-%-types" },
      { { "--scheduler", "gavel", "--types", "a=x" }, "a whole number of at least 1" },
      { { "--scheduler", "gavel", "--types", "a=1", "--gpus", "2" }, "gives the GPUs" },
      { { "--gpus", "2", "--types", "a=1" }, "%-%-types: is for gavel" },
      { { "--gpus", "2", "--round", "5s" }, "%-%-round: none of the schedulers takes it" },
      { { "--gpus", "2", "--goal", "makespan" }, "none of the schedulers takes it" },
      { { "--gpus", "2", "--columns", "work" }, "KEY=VALUE is needed" },
      { { "--gpus", "2", "--columns", "work=nope" }, 'no column "nope"' },
    } do
      local words = { "cluster", path }
      for _, word in ipairs(case[1]) do words[#words + 1] = word end
      local exit, _, err = run_all(words)
      assert.equal(2, exit)
      assert.matches(case[2], err)
    end
  end)
end)
