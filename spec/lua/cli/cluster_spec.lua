-- berth cluster.
local berth = require "berth"
local json = require "dkjson"
local shell = require "support.shell"
local small = require "support.small_jobs"

local ran, run, run_all, read, path_of = shell.ran, shell.run, shell.run_all, shell.read, shell.path

local function profile(ending, forward, backward)
  return shell.file(ending, small.profile(forward, backward))
end

describe("berth cluster pacml", function()
  local A, B = profile("-a.txt", 100, 300), profile("-b.txt", 40, 60)

  teardown(function()
    shell.tidy()
  end)

  local function cluster(...)
    return run("cluster", "pacml", A, B, "--jobs", "60", "--interarrival", "900s", ...)
  end

  it("prints what came of a run", function()
    local exit, out, err = cluster("--decider", "para-max,capped:8", "--beta", "B", "--seed", "3")
    assert.same({ 0, "" }, { exit, err })
    assert.matches("para%-max +capped:8", out)
    assert.matches("blocking rate +0%.%d+ +0%.%d+", out)
    assert.matches("jobs arrived +60 +60", out)
    assert.matches("job completion time +[%d.]+ s", out)
  end)

  it("plays what the library plays", function()
    local out = ran(cluster("--json", "--beta", "C", "--seed", "5", "--decider", "random"))
    local got = assert(json.decode(out)).runs[1]
    local ramp = berth.ramp { compat = true }
    local env = berth.pacml.env { models = { assert(berth.pacml.profile(ramp, A)),
      assert(berth.pacml.profile(ramp, B)) } }
    local trace = berth.pacml.trace { models = 2, beta = "C", seed = 5, jobs = 60,
      interarrival = 900 }
    local report = berth.pacml.simulate(env, trace, "random:5", { horizon = 59 * 900 })
    assert.same({ "random", "C", 5 }, { got.decider, got.beta, got.seed })
    assert.equal(report.blocked, got.blocked)
    assert.equal(report.jct, got.completion_s)
    assert.equal(report.throughput, got.throughput_bytes_per_s)
  end)

  it("has options for the cluster, the jobs and the horizon", function()
    local out = ran(cluster("--json", "--mode", "exact", "--ramp",
      "groups=2,racks=2,slots=2,time_scale=1000", "--steps", "10",
      "--most", "8", "--horizon", "inf", "--copies", "1"))
    local got = assert(json.decode(out)).runs[1]
    assert.equal(0, got.unfinished)
    assert.is_true(got.servers <= 8)
    out = ran(run("cluster", "pacml", A, "--jobs", "5", "--interarrival", "1s..2s", "--horizon",
      "1s", "--json"))
    assert.equal(1, assert(json.decode(out)).runs[1].arrived)
  end)

  it("writes rows, a timeline and a page", function()
    local csv, jsonl, rows, trace, page = path_of ".csv", path_of ".jsonl", path_of "-c.csv",
      path_of ".json", path_of ".html"
    assert.equal(0, (cluster("--csv", csv, "--jsonl", jsonl, "--cluster", rows, "--trace", trace,
      "--output", page)))
    assert.matches('\n1,a?.*,para%-max,0,[%d.]+,"{""beta"":""A""', read(csv))
    assert.equal(61, select(2, read(csv):gsub("\n", "\n")))
    assert.equal(61, select(2, read(jsonl):gsub("\n", "\n")))
    assert.matches(
      "time_s,event,job,arrived,blocked,running,servers_held,servers_computing,decider", read(rows),
      1, true)
    assert.is_table(json.decode(read(trace)).traceEvents)
    assert.matches('<section id="utilisation">', read(page), 1, true)
  end)

  it("gives means over seeds, and goes on from its file", function()
    local path = path_of ".jsonl"
    local _, out, err = cluster("--seeds", "3", "--beta", "A,D", "--path", path, "--progress")
    assert.matches("para%-max +A +3 +0%.%d+ %+%- 0%.%d+", out)
    assert.matches("6 of 6: para%-max, beta D, seed 2: 0%.%d+ blocked", err)
    local _, again, quiet = cluster("--seeds", "3", "--beta", "A,D", "--path", path, "--progress")
    assert.same({ out, "" }, { again, quiet })
    out = ran(cluster("--seeds", "3", "--beta", "A,D", "--path", path, "--json"))
    local got = assert(json.decode(out))
    assert.same({ 3, 2 }, { got.seeds, #got.points })
    assert.is_true(got.points[1].blocking_rate.low <= got.points[1].blocking_rate.mean)
  end)

  it("redoes the paper's table, by shards", function()
    local path = path_of ".jsonl"
    local stem = path:gsub("%.jsonl$", "")
    local one, two = stem .. ".1-of-2.jsonl", stem .. ".2-of-2.jsonl"
    shell.keep_in_mind(one)
    shell.keep_in_mind(two)
    local out = ran(cluster("--table", "--seeds", "2", "--path", path, "--shard", "1/2"))
    assert.matches("12 of 24 runs are done", out)
    assert.equal(0, (cluster("--table", "--seeds", "2", "--path", path, "--shard", "2/2")))
    out = ran(cluster("--table", "--seeds", "2", "--also", one .. "," .. two))
    for _, text in ipairs { "beta A +beta B +beta C +beta D", "\npara%-min +0%.%d+ %+%- ",
      "\nrandom +0%.",
      "published random +0.5171", "published pac%-ml +0.2209 +0.2641 +0.1246 +0.1037" } do
      assert.matches(text, out)
    end
  end)

  it("plays agents from files", function()
    local ramp = berth.ramp { compat = true }
    local env = berth.pacml.env { models = { assert(berth.pacml.profile(ramp, A)),
      assert(berth.pacml.profile(ramp, B)) } }
    local path = path_of ".agent"
    local agent = berth.agents.pacml { algorithm = "ppo", seed = 3 }:use(env)
    assert(agent:save(path))
    local out = ran(cluster("--json", "--agent", path, "--decider", "para-min", "--beta", "C"))
    local got = assert(json.decode(out)).runs
    assert.same({ "para-min", "agent:" .. path }, { got[1].decider, got[2].decider })
    local trace = berth.pacml.trace { models = 2, beta = "C", jobs = 60, interarrival = 900 }
    assert.equal(berth.pacml.simulate(env, trace, agent, { horizon = 59 * 900 }).blocked,
      got[2].blocked)
  end)

  it("reports what is wrong", function()
    local wrong = {
      { { "cluster", "slurm", A }, "cluster: 2 arguments (" },
      { { "cluster", "pacml" },
        "cluster pacml: 1 arguments; usage: berth cluster pacml PROFILE..." },
      { { "cluster", "pacml", "/nowhere.txt" }, "/nowhere.txt: cannot be opened" },
      { { "cluster", "pacml", "/tmp" }, "/tmp/alexnet.txt: cannot be opened" },
      { { "cluster", "pacml", A, "--decider", "greedy" }, 'no "greedy"' },
      { { "cluster", "pacml", A, "--decider", "random,random" },
        "--decider: random is there twice" },
      { { "cluster", "pacml", A, "--decider", "agent:/nowhere" }, "/nowhere" },
      { { "cluster", "pacml", A, "--beta", "Z" }, 'got "Z"' },
      { { "cluster", "pacml", A, "--interarrival", "5" }, '--interarrival: "5" has no unit' },
      { { "cluster", "pacml", A, "--ramp", "groups" },
        '--ramp: KEY=VALUE is needed, not "groups"' },
      { { "cluster", "pacml", A, "--ramp", "compat=1" }, "--ramp: compat: use --mode" },
      { { "cluster", "pacml", A, "--ramp", "group=1" }, "unknown option 'group'" },
      { { "cluster", "pacml", A, "--csv", "a.txt" }, "--csv a.txt: the name must end in .csv" },
      { { "cluster", "pacml", A, "--cluster", "a.txt" },
        "--cluster a.txt: the name must end in .csv or .jsonl" },
      { { "cluster", "pacml", A, "--csv", "a.csv", "--seeds", "2" },
        "--csv: is for one decider, one beta, one seed" },
      { { "cluster", "pacml", A, "--output", "a.html", "--beta", "A,B" },
        "--output: is for one beta and one seed" },
      { { "cluster", "pacml", A, "--shard", "1/2" },
        "--shard: where do the results go? --path FILE" },
      { { "cluster", "pacml", A, "--csv", "/nowhere/a.csv" }, "/nowhere/a.csv" },
      { { "cluster", "pacml", A, "--also", "/nowhere/a.jsonl" }, "/nowhere/a.jsonl" },
    }
    for _, one in ipairs(wrong) do
      local exit, _, err = run_all(one[1])
      assert.equal(2, exit, one[2])
      assert.matches(one[2], err, 1, true)
    end
  end)

  it("explains itself", function()
    local out = ran(run("cluster", "--help"))
    assert.matches("usage: berth cluster FILE --gpus N", out, 1, true)
    local exit
    exit, out = run("cluster", "pacml", "--help")
    assert.equal(0, exit)
    for _, name in ipairs(berth.pacml.deciders) do assert.matches(name, out, 1, true) end
  end)
end)
