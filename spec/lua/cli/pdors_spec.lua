-- berth cluster pdors.
local berth = require "berth"
local json = require "dkjson"
local shell = require "support.shell"

local failed, ran, read, path_of = shell.failed, shell.ran, shell.read, shell.path

local function run(...) return shell.run("cluster", "pdors", ...) end

describe("berth cluster pdors", function()
  teardown(function()
    shell.tidy()
  end)

  local function small(...)
    return run("--jobs", "12", "--machines", "6", "--slots", "30", "--draw", "load=0.1", ...)
  end

  it("prints each policy, and what no schedule exceeds", function()
    local exit, out, err = small("--seed", "3")
    assert.same({ 0, "" }, { exit, err })
    assert.matches("^12 jobs, 6 machines, 30 slots: 8 can be done in time, no schedule is worth more "
      .. "than %d+%.%d+", out)
    for _, name in ipairs(berth.pdors.policies) do
      assert.truthy(out:find("\n" .. name .. " ", 1, true), name)
    end
  end)

  it("plays what the library plays", function()
    local exit, out = small("--seed", "3", "--policy", "pd-ors,oasis", "--set", "floor=0.1",
      "--json")
    local found = json.decode(out)
    local p = berth.pdors.problem(berth.pdors.generate("default",
      { jobs = 12, machines = 6, slots = 30, load = 0.1, seed = 3 }))
    assert.equal(0, exit)
    for i, name in ipairs { "pd-ors", "oasis" } do
      local r = berth.pdors.simulate(p, name, { floor = 0.1, seed = 3 })
      assert.equal(name, found.runs[i].policy)
      assert.near(r.utility, found.runs[i].utility, 1e-9)
      assert.near(r.bound, found.runs[i].bound, 1e-9)
      assert.near(r.summary.used.gpu, found.runs[i].used.gpu, 1e-9)
    end
  end)

  it("writes the problem, and plays it again from the file", function()
    local file = path_of ".json"
    local _, first = small("--seed", "4", "--policy", "drf", "--save", file)
    local again = ran(run("--problem", file, "--policy", "drf"))
    assert.equal(first, again .. "\nwritten: " .. file)
  end)

  it("has means with intervals over seeds, and goes on from a file", function()
    local file = path_of ".jsonl"
    local out = ran(small("--seeds", "3", "--policy", "pd-ors,fifo", "--path", file))
    assert.matches("\npd%-ors +3 +%d+%.%d+ %+%- %d+%.%d+", out)
    local before = read(file)
    local _, again = small("--seeds", "3", "--policy", "pd-ors,fifo", "--path", file)
    assert.equal(out, again)
    assert.equal(before, read(file))
    local _, text = small("--seeds", "3", "--policy", "pd-ors,fifo", "--path", file, "--json")
    local points = json.decode(text).points
    assert.equal(2, #points)
    assert.is_true(points[1].utility.low <= points[1].utility.mean
      and points[1].utility.mean <= points[1].utility.high)
  end)

  it("writes rows, a timeline and a page", function()
    local csv, jsonl, trace, page = path_of ".csv", path_of ".jsonl", path_of ".json",
      path_of ".html"
    local exit = small("--policy", "pd-ors", "--csv", csv, "--jsonl", jsonl, "--trace", trace,
      "--report", page)
    assert.equal(0, exit)
    assert.matches("^job,name,kind,arrival_slot", read(csv))
    assert.equal(13, select(2, read(jsonl):gsub("\n", "\n")))
    assert.truthy(json.decode(read(trace)).traceEvents)
    local text = read(page)
    for _, id in ipairs { "utility", "resources", "machines", "numbers", "jobs", "made" } do
      assert.truthy(text:find(('<section id="%s">'):format(id), 1, true), id)
    end
  end)

  it("says when no job can be done in time", function()
    local out = ran(run("--jobs", "3", "--machines", "1", "--slots", "2", "--policy", "pd-ors"))
    assert.matches("^3 jobs, 1 machines, 2 slots: no job can be done in time, under any policy\n", out)
    assert.matches("\npd%-ors +0%.0000 +%- +0 +3", out)
    local found = json.decode(ran(run("--jobs", "3", "--machines", "1", "--slots", "2", "--policy",
      "pd-ors", "--json")))
    assert.equal(0, found.possible)
    assert.equal(0, found.runs[1].bound)
    assert.is_nil(found.runs[1].ratio)
  end)

  it("draws realistic jobs", function()
    local out = ran(run("--generate", "realistic", "--jobs", "10", "--policy", "pd-ors"))
    assert.matches("^10 jobs, 20 machines, 100 slots", out)
  end)

  it("says what is wrong", function()
    local function fails(text, ...)
      failed(2, text, run(...))
    end
    fails("--policy: no \"srtf\"", "--policy", "srtf")
    fails("--set: none of the policies takes mode", "--policy", "drf", "--set", "mode=exact")
    fails("--set: KEY=VALUE is needed", "--set", "mode")
    fails("--draw: gain is given twice", "--draw", "gain=1,gain=2")
    fails("unknown option 'gains'", "--draw", "gains=1")
    fails("--seeds: the problem is in --problem", "--problem", "x.json", "--seeds", "2")
    fails("x.json", "--problem", "/nowhere/x.json")
    fails("--report: is for one problem", "--seeds", "2", "--report", "x.html")
    fails("--csv: is for one policy", "--csv", "x.csv")
    fails("cluster pdors: no option --decider (legal: ", "--decider", "para-max")
    fails("cluster pdors: 2 arguments", "profiles")
  end)
end)
