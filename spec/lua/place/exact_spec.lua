-- berth.exact and berth split, exact on the command line: proofs, budgets, interrupts, errors.
local berth = require "berth"
local refused = require("support.errors").refused
local shell = require "support.shell"

local ran, run = shell.ran, shell.run

local spread = table.unpack or unpack -- luacheck: ignore

-- Random graphs, each op reading one to three of the six before it.
local function random_graph(n, seed, types)
  local rng, ops, tensors = berth.rng(1000 * seed + n), {}, {}
  local function draw() return 1 + math.floor(rng:uniform() * 100) / 10 end
  for i = 1, n do
    local seconds = draw()
    ops[i] = { seconds = types and { seconds, draw() } or seconds }
  end
  for i = 2, n do
    local lowest, seen = math.max(1, i - 6), {}
    for _ = 1, 1 + math.floor(rng:uniform() * 3) do
      local from = lowest + math.floor(rng:uniform() * (i - lowest))
      if not seen[from] then
        seen[from] = true
        tensors[#tensors + 1] = { from = from, to = { i },
          bytes = math.floor(rng:uniform() * 100) / 10 }
      end
    end
  end
  return berth.graph { ops = ops, tensors = tensors, types = types }
end

local function identical(n) return berth.topology.mesh(n, { bandwidth = 1 }) end

-- Two sorts of device at different speeds, the third pair of links half as fast.
local function unlike()
  return berth.topology { devices = { { type = "a" }, { type = "b" }, { type = "a", speed = 1.5 } },
    links = { { 1, 2, bandwidth = 2 }, { 1, 3, bandwidth = 2 }, { 2, 3, bandwidth = 1 } } }
end

-- Independent ops of 3 3 2 2 2 s: 6 s on two devices.
local function five()
  local ops = {}
  for i, seconds in ipairs { 3, 3, 2, 2, 2 } do ops[i] = { seconds = seconds } end
  return berth.graph { ops = ops }
end

local function replayed(g, t, p)
  return berth.simulate(g, t, p, { dispatch = "planned", memory = "none" }).makespan
end

describe("berth.exact", function()
  after_each(function() berth.hooks {} end)

  it("finds the optimum and proves it: five ops on two devices", function()
    local g, t = five(), identical(2)
    local p, proof = assert(berth.exact(g, t))
    assert.equal("exact", p.placer)
    assert.same({ 6, 6, true, false, false },
      { proof.makespan, proof.bound, proof.proved, proof.interrupted, proof.timed_out })
    assert.matches("^makespan 6 s: optimal; ", tostring(proof))
    assert.equal(6, replayed(g, t, p))
  end)

  it("proves any twenty ops that communicate on three devices within the default budget", function()
    for seed = 1, 3 do
      for _, case in ipairs { { random_graph(20, seed), identical(3) },
        { random_graph(16, seed, { "a", "b" }), unlike() } } do
        local p, proof = assert(berth.exact(case[1], case[2]))
        assert.is_true(proof.proved)
        assert.near(proof.makespan, replayed(case[1], case[2], p), 1e-9)
        assert.is_true(proof.makespan <= berth.place(case[1], case[2],
          "heft").estimate * (1 + 1e-12))
        assert.is_true(proof.bound >= berth.bounds(case[1], case[2]).best * (1 - 1e-9))
      end
    end
  end)

  it("states the bound that a small budget reaches, and a larger one is nowhere worse", function()
    local g, t = random_graph(40, 1), identical(4)
    local _, little = berth.exact(g, t, { nodes = 100 })
    local _, more = berth.exact(g, t, { nodes = 20000 })
    assert.is_false(little.proved)
    assert.is_true(little.nodes >= 100 and little.nodes < 400)
    assert.is_true(little.bound < little.makespan)
    assert.is_true(more.makespan <= little.makespan and more.bound >= little.bound)
    assert.is_true(little.bound <= more.makespan and more.bound <= little.makespan)
    assert.matches("bound .*, at most 1%.%d+ times the optimum", tostring(little))
  end)

  it("is the same again, and with the priced graph", function()
    local g, t = random_graph(24, 2), identical(3)
    local p, one = berth.exact(g, t, { nodes = 3000 })
    local q, two = berth.exact(berth.cost(g, t), { nodes = 3000 })
    assert.same(one, two)
    for i = 1, #g do assert.equal(p[i], q[i]) end
  end)

  it("keeps within the seconds it is given, and says that they were over", function()
    local g, t = random_graph(60, 1), identical(4)
    local p, proof = assert(berth.exact(g, t, { seconds = "1 ns" }))
    assert.is_true(proof.timed_out and not proof.proved and not proof.interrupted)
    assert.matches("out of time", tostring(proof))
    assert.near(proof.makespan, replayed(g, t, p), 1e-9)
    local _, quick = berth.exact(five(), identical(2), { seconds = 3600 })
    assert.is_true(quick.proved and not quick.timed_out)
  end)

  it("keeps the best when it is interrupted, and says so", function()
    for _, case in ipairs { { random_graph(40, 1), 4, 1 }, { five(), 2, nil } } do
      local g, t = case[1], berth.topology.mesh(case[2], { bandwidth = case[3] or 1 })
      local whole = select(2, assert(berth.exact(g, t, { nodes = 20000 })))
      for after = 0, 400, 100 do
        local calls = 0
        berth.hooks { interrupt = function() calls = calls + 1 return calls > after end }
        local p, proof, code = berth.exact(g, t, { nodes = 20000 })
        berth.hooks {}
        if not p then
          assert.equal("interrupted", code) -- before the first placer had an answer
        elseif calls > after then
          assert.is_true(proof.interrupted)
          assert.matches(", interrupted", tostring(proof))
          assert.is_true(proof.makespan >= whole.makespan and proof.bound <= whole.makespan)
          assert.near(proof.makespan, replayed(g, t, p), 1e-9)
        end
      end
    end
    local g, t, calls = random_graph(40, 1), identical(4), 0
    berth.hooks { interrupt = function() calls = calls + 1 return calls > 200 end }
    local p, proof = berth.exact(g, t, { nodes = 100000 })
    assert.is_true(p ~= nil and proof.interrupted)
  end)

  it("respects pins, groups and memory, and says what does not fit", function()
    local t = berth.topology.mesh(2, { bandwidth = 1, memory = 10 })
    local g =
      berth.graph { ops = { { seconds = 1, params = 6, pin = 2 }, { seconds = 1, params = 6 },
      { seconds = 1, group = 1 }, { seconds = 1, group = 1 } } }
    local p, proof = assert(berth.exact(g, t))
    assert.is_true(proof.proved)
    assert.same({ 2, 1, 3 }, { p[1], p[2], proof.makespan })
    assert.equal(p[3], p[4])
    local why = refused("infeasible", "op 1 does not fit: .*1 B are missing",
      berth.exact(berth.graph { ops = { { seconds = 1, params = 11 } } }, t))
    assert.equal(1, why.op)
  end)

  it("refuses what is unknown", function()
    local g, t = five(), identical(2)
    local function message(...) return select(2, pcall(berth.exact, ...)) end
    assert.matches("berth.exact: unknown option 'node'", message(g, t, { node = 1 }))
    assert.matches("nodes: .*%-1", message(g, t, { nodes = -1 }))
    assert.matches("nodes: .*1.5", message(g, t, { nodes = 1.5 }))
    assert.matches("schedules: .*%-1", message(g, t, { schedules = -1 }))
    assert.matches("seconds: .*%-1", message(g, t, { seconds = -1 }))
    assert.matches("seconds: .*GB", message(g, t, { seconds = "1 GB" }))
    assert.matches("memory: 'all' is none of", message(g, t, { memory = "all" }))
    assert.matches("expected", message(g))
  end)
end)

-- ---- the command line ----

local GRAPH = "spec/fuzz/seeds/wfformat.json"

describe("berth place --placer exact", function()
  it("prints what is proved", function()
    local out = ran(run("place", GRAPH, "--placer", "exact"))
    assert.matches("makespan 7.17 s: optimal", out)
  end)

  it("has the proof in its JSON, and reads its budget", function()
    local out = ran(run("place", GRAPH, "mesh:2,bandwidth=1B/s", "--placer", "exact", "--nodes",
      "7", "--seconds", "5s", "--json"))
    assert.matches('"proved":true', out)
    assert.matches('"exact_bound_s":', out)
    assert.matches('"timed_out":false', out)
    assert.matches('"placer":"exact"', out)
  end)

  it("is shown against its own bound", function()
    local out = ran(run("place", GRAPH, "--placer", "exact", "--dispatch", "planned"))
    assert.matches("bound 7.17 s %(gap 0.0 %%%)", out)
    out = ran(run("place", GRAPH, "--placer", "exact:seconds=20s", "--json"))
    assert.matches('"proved":true', out)
    out = ran(run("place", GRAPH, "--placer", "exact:seconds=20s", "--links", "fair"))
    assert.is_nil(out:find("list schedules", 1, true))
    assert.equal(0,
      (run("place", GRAPH, "--placer", "exact", "--quantum", "1s", "--seconds", "5s")))
  end)

  it("judges its devices under other links, where it refuses a budget", function()
    assert.equal(0, (run("place", GRAPH, "--placer", "exact", "--links", "duplex")))
    for _, case in ipairs {
      { "--nodes: placer exact reads it on free links", "--placer", "exact", "--links", "duplex",
        "--nodes", "5" },
      { '"1" has no unit; write it as in 1s', "--placer", "exact", "--seconds", "1" },
      { '"1" has no unit; write it as in 1s', "--placer", "exact:seconds=1" },
      { '"1" has no unit; write it as in 1s', "--placer", "anneal:seconds=1" },
      { "--nodes: is for the placer exact", "--placer", "heft", "--nodes", "5" },
      { "--nodes: a whole number of at least 1 is needed, not \"0\"", "--placer", "exact",
        "--nodes", "0" },
      { "--seconds: \"-1s\" is negative", "--placer", "exact", "--seconds=-1s" },
      { "option 'tau' means nothing to exact", "--placer", "exact", "--tau", "0.1" },
    } do
      local exit, _, err = run("place", GRAPH, spread(case, 2))
      assert.equal(2, exit, case[1])
      assert.is_truthy(err:find(case[1], 1, true), err)
    end
  end)

  it("ends with 1 where nothing fits", function()
    local exit, _, err = run("place", GRAPH, "mesh:2,bandwidth=1B/s,memory=10B", "--placer",
      "exact")
    assert.equal(1, exit)
    assert.matches("cut_1", err)
  end)
end)

describe("berth split", function()
  local TOPOLOGY = "mesh:2,bandwidth=100B/s"

  it("prints loads, and has them in its JSON", function()
    local out = ran(run("split", GRAPH, TOPOLOGY))
    assert.matches("^split: largest load .*proven the best of these\n", out)
    assert.matches("device +ops +load", out)
    local again, json = run("split", GRAPH, TOPOLOGY, "--json")
    assert.equal(0, again)
    for _, key in ipairs { "max_load_s", "latency_s", "bound_s", "loads_s", "devices", "units",
      "ideals", "visits" } do
      assert.is_truthy(json:find('"' .. key .. '":', 1, true), key)
    end
    assert.matches('"proven":true', json)
    assert.matches('"objective":"max%-load"', json)
  end)

  it("seeks the least latency, moves ops, and stops at a budget", function()
    local json = ran(run("split", GRAPH, TOPOLOGY, "--objective", "latency", "--json"))
    assert.matches('"objective":"latency"', json)
    assert.equal(0,
      (run("split", GRAPH, TOPOLOGY, "--improve", "--search-memory", "1MB", "--cpu", "none")))
    local stopped, _, why = run("split", GRAPH, TOPOLOGY, "--visits", "1", "--json")
    assert.equal(130, stopped)
    assert.matches("stopped before a split was found", why)
  end)

  it("values a placement that it wrote", function()
    local path = os.tmpname()
    assert.equal(0, (run("split", GRAPH, TOPOLOGY, "--output", path)))
    local _, found = run("split", GRAPH, TOPOLOGY, "--json")
    local exit, valued = run("split", GRAPH, TOPOLOGY, "--placement", path, "--json")
    os.remove(path)
    assert.equal(0, exit)
    assert.equal(found:match('"max_load_s":[^,]+'), valued:match('"max_load_s":[^,]+'))
    assert.equal(found:match('"loads_s":%b[]'), valued:match('"loads_s":%b[]'))
  end)

  it("ends with 1 where nothing fits, or where a placement does not", function()
    local model, small = "model:resnet18,batch=4,granularity=layer",
      "mesh:2,preset=V100,bandwidth=10GB/s,memory=1MB"
    local exit, _, err = run("split", model, small)
    assert.equal(1, exit)
    assert.matches("split: ", err)
    local over, out = run("split", model, small, "--placement", "single:2")
    assert.equal(1, over)
    assert.matches("device d1 lacks", out)
  end)

  it("refuses bad values and options that would mean nothing", function()
    for _, case in ipairs {
      { "--objective", "--objective", "load" },
      { "--visits", "--visits", "many" },
      { "--search-memory", "--search-memory", "1s" },
      { "--improve is for the objective max-load", "--objective", "latency", "--improve" },
      { "--visits means nothing with --placement", "--placement", "single:1", "--visits", "3" },
      { "visits", "--visits=-1" },
      { "nowhere.json", "--placement", "nowhere.json" },
    } do
      local exit, _, err = run("split", GRAPH, TOPOLOGY, spread(case, 2))
      assert.equal(2, exit, case[1])
      assert.is_truthy(err:find(case[1], 1, true), err)
    end
  end)
end)
