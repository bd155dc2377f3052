-- berth train, and agent files as placers, with a small agent in place of the real ones.
local berth = require "berth"
local shell = require "support.shell"

local failed, ran, run = shell.failed, shell.ran, shell.run

local GRAPH = "model:einsum,program=chain,layers=2"

local seen, result

-- Puts all ops on device 2, whatever it was taught.
local Agent = { name = "stand-in" }
Agent.__index = Agent

function Agent.train(_, tasks, opts)
  seen.tasks, seen.opts = tasks, opts
  if opts.progress then
    for _ = 1, 2 do opts.progress { stage = "II", episode = 8, calls = 8, best = 2, mean = 3 } end
  end
  if result.refused then return nil, result.refused, result.code end
  local own = {}
  for i, task in ipairs(tasks) do
    local devices = {}
    for op = 1, #task.graph do devices[op] = 2 end
    own[i] = { best = 1.5, greedy = 2.5, placement = devices }
  end
  return { episodes = 12, calls = 10, tasks = own, interrupted = result.interrupted }
end

function Agent.save(_, path)
  seen.saved = path
  if result.full then return nil, path .. ": no space", "io" end
  return true
end

function Agent.place(_, cost, options)
  seen.place = options
  local devices = {}
  for op = 1, #cost.graph do devices[op] = 2 end
  return devices
end

local function make(given)
  seen.made = given
  return setmetatable({}, Agent)
end

local agents = { doppler = make, placeto = make, gdp = make }

function agents.load(path)
  if path ~= "taught.agent" then return nil, path .. ": no such file", "io" end
  return setmetatable({}, Agent)
end

describe("berth train", function()
  local before
  before_each(function()
    before, seen, result = rawget(berth, "agents"), {}, {}
    rawset(berth, "agents", agents)
  end)
  after_each(function() rawset(berth, "agents", before) end)

  it("makes the agent, teaches it and writes it", function()
    local out = ran(run("train", "doppler", GRAPH, GRAPH .. ",seed=2", "--devices", "4", "--design",
      "compact", "--seed", "3", "--estimates", "load", "--set",
      "gamma=0.99,how=greedy,clip=false,rate=1e-3..0", "--stages", "I:500,II",
      "--episodes", "40", "--calls", "90", "--batch", "8", "--checkpoint", "c", "--resume",
      "--save", "a.agent"))
    assert.same({ design = "compact", seed = 3, estimates = "load", gamma = 0.99, how = "greedy",
      clip = false,
      rate = { 1e-3, 0 } }, seen.made)
    assert.same({ { stage = "I", episodes = 500 }, { stage = "II", episodes = 40 } },
      seen.opts.stages)
    assert.same({ 90, 8, "c", true },
      { seen.opts.calls, seen.opts.batch, seen.opts.checkpoint, seen.opts.resume })
    assert.is_nil(seen.opts.ranks)
    assert.equal(2, #seen.tasks)
    assert.equal(4, #seen.tasks[2].topology)
    assert.equal("a.agent", seen.saved)
    assert.truthy(out:find("doppler: 12 episodes, 10 simulator calls", 1, true), out)
    assert.truthy(out:find("on 4 devices: best seen 1.5 s, greedy 2.5 s", 1, true), out)
  end)

  it("hands the simulator's options and an engine on", function()
    local exit, _, err = run("train", "gdp", GRAPH, "--devices", "2", "--save", "a", "--preset",
      "doppler",
      "--stages", "II:8,III:2", "--engine", "paced", "--engine-seconds", "4ms", "--links", "free")
    assert.equal(0, exit, err)
    assert.same({ preset = "doppler", links = "free" }, seen.tasks[1].judge)
    local devices = {}
    for op = 1, #seen.tasks[1].graph do devices[op] = op % 2 + 1 end
    assert.is_true(seen.opts.objective({ devices })[1] > 1e-3)
  end)

  it("prints one JSON object", function()
    local out = ran(run("train", "gdp", GRAPH, "--topology", "mesh:2,bandwidth=1B/s", "--save", "a",
      "--json"))
    assert.truthy(
      out:find(
      '"agent":"gdp","seed":0,"episodes":12,"simulator_calls":10,"saved":"a","interrupted":false,'
        .. '"tasks":[{',
      1, true), out)
    assert.truthy(out:find('"devices":2,"best_s":1.5,"greedy_s":2.5}]}', 1, true), out)
  end)

  it("reports progress once, and an interrupt", function()
    result.interrupted = "interrupted"
    local exit, _, err = run("train", "placeto", GRAPH, "--devices", "2", "--save", "a",
      "--progress")
    assert.equal(130, exit)
    assert.equal("a", seen.saved)
    assert.equal("berth: stage II, episode 8, 8 calls: best 2 s, mean 3 s\n"
      .. "berth: interrupted: the agent is as it was after the last update", err)
  end)

  it("writes the best placement", function()
    local path = os.tmpname()
    local exit, _, err = run("train", "gdp", GRAPH, "--devices", "2", "--save", "a",
      "--output", path)
    assert.equal(0, exit, err)
    assert.equal(2, assert(berth.load_placement(path))[1])
    os.remove(path)
  end)

  it("passes refusals on", function()
    result.refused, result.code = "op 1 fits nowhere", "infeasible"
    assert.equal(1, (run("train", "gdp", GRAPH, "--devices", "2", "--save", "a")))
    result.refused, result.code = "c: is of another agent", "io"
    assert.equal(2, (run("train", "gdp", GRAPH, "--devices", "2", "--save", "a")))
    result = { full = true }
    failed(2, "a: no space", run("train", "gdp", GRAPH, "--devices", "2", "--save", "a"))
  end)

  it("refuses what means nothing", function()
    local function refuses(text, ...)
      failed(2, text, run("train", ...))
    end
    refuses("train: no \"etf\" (legal: doppler, placeto, gdp", "etf", GRAPH, "--save", "a",
      "--devices", "2")
    refuses("--save FILE is needed", "gdp", GRAPH, "--devices", "2")
    refuses("is instead of --topology", "gdp", GRAPH, "--save", "a", "--devices", "2", "--topology",
      "mesh:2")
    refuses("--resume: requires --checkpoint", "gdp", GRAPH, "--save", "a", "--devices", "2",
      "--resume")
    refuses("--output: is for one graph", "gdp", GRAPH, GRAPH, "--save", "a", "--devices", "2",
      "--output", "p")
    refuses("--design: is for doppler", "gdp", GRAPH, "--save", "a", "--devices", "2", "--design",
      "compact")
    refuses("\"IV\" is no stage", "gdp", GRAPH, "--save", "a", "--devices", "2", "--stages", "I,IV")
    refuses("--episodes: 2 stages need at least an episode each", "gdp", GRAPH, "--save", "a",
      "--devices", "2", "--episodes", "1")
    refuses("KEY=VALUE is needed", "gdp", GRAPH, "--save", "a", "--devices", "2", "--set", "gamma")
    refuses("--engine: is for stage III", "gdp", GRAPH, "--save", "a", "--devices", "2", "--engine",
      "paced")
    refuses("III runs one graph", "gdp", GRAPH, GRAPH, "--save", "a", "--devices", "2", "--stages",
      "III")
    refuses("holds no topology", "gdp", GRAPH, "--save", "a")
  end)

  it("looks at its files before it works", function()
    local function refuses(text, ...)
      failed(2, text, run("train", "gdp", GRAPH, "--devices", "2", ...))
      assert.is_nil(seen.tasks)
    end
    local nowhere = "/no/such/place/a"
    local missing = nowhere .. ": cannot be written: No such file"
    refuses("--save: " .. missing, "--save", nowhere)
    refuses("--output: " .. missing, "--save", "a", "--output", nowhere)
    refuses("--checkpoint: " .. missing, "--save", "a", "--checkpoint", nowhere)
    refuses("each needs a file of its own", "--save", "a", "--checkpoint", "a")
    assert.is_nil(io.open("a", "rb"))
  end)

  it("refuses what would be ignored", function()
    local function refuses(text, ...)
      failed(2, text, run("train", "gdp", GRAPH, "--devices", "2", "--save", "a", ...))
    end
    refuses("--episodes: all --stages have theirs", "--stages", "I:8", "--episodes", "4")
    refuses("--set: batch: use --batch", "--batch", "8", "--set", "batch=4")
    refuses("--set: seed: use --seed", "--set", "seed=4")
  end)

  it("reports how to go on after an interrupt", function()
    result.interrupted = "interrupted"
    local path = os.tmpname()
    failed(130, "; to go on: --checkpoint " .. path .. " --resume",
      run("train", "gdp", GRAPH, "--devices", "2", "--save", "a", "--checkpoint", path))
    os.remove(path)
  end)

  it("has its topologies for place, too", function()
    local out = ran(run("place", GRAPH, "--devices", "3", "--placer", "single", "--json"))
    assert.truthy(out:find('"topology":"mesh 3"', 1, true) or out:find('mesh 3', 1, true), out)
    assert.equal(0,
      (run("place", GRAPH, "--topology", "mesh:2,bandwidth=1B/s", "--placer", "single")))
    failed(2, "--devices: the topology is given already: mesh:2",
      run("place", GRAPH, "mesh:2", "--devices", "2"))
    failed(2, "--devices: is instead of --topology",
      run("place", GRAPH, "--topology", "mesh:2", "--devices", "2"))
  end)

  it("goes on from a checkpoint to the same bytes", function()
    rawset(berth, "agents", before)
    local dir = os.tmpname()
    local function file(name) return dir .. name end
    local function bytes(name)
      local text = shell.take(file(name))
      return text
    end
    local function teach(episodes, save, ...)
      local exit, _, err = run("train", "doppler", GRAPH, "--devices", "2", "--seed", "1",
        "--set", "hidden=8,inner=8,rounds=1,rate=1e-3", "--stages", "I:16,II:" .. episodes,
        "--save", file(save), ...)
      assert.equal(0, exit, err)
    end
    teach(32, "whole", "--checkpoint", file "first")
    teach(16, "half", "--checkpoint", file "second")
    teach(32, "rest", "--checkpoint", file "second", "--resume")
    assert.equal(bytes "whole", bytes "rest")
    assert.equal(bytes "first", bytes "second")
    os.remove(file "half")
    os.remove(dir)
    failed(2, "--calls", run("train", "doppler", GRAPH, "--devices", "2", "--seed", "1", "--save",
      "a", "--calls", "0"))
  end)

  it("makes placers of place and compare", function()
    local out = ran(run("place", GRAPH, "mesh:2,bandwidth=1B/s", "--placer", "agent:taught.agent",
      "--seed", "4", "--json"))
    assert.truthy(out:find('"placer":"stand-in"', 1, true), out)
    assert.equal(4, seen.place.seed)
    assert.is_nil(seen.place.samples)
    assert.equal(0, (run("place", GRAPH, "mesh:2,bandwidth=1B/s", "--placer", "agent:taught.agent",
      "--samples", "5", "--links", "duplex", "--noise", "0.1")))
    assert.same({ 5, { links = "duplex" } }, { seen.place.samples, seen.place.judge })
    failed(2, "--samples: is for the placer agent:FILE",
      run("place", GRAPH, "mesh:2,bandwidth=1B/s", "--placer", "etf", "--samples", "5"))
    out = ran(run("compare", GRAPH, "mesh:2,bandwidth=1B/s", "--placers",
      "single,agent:taught.agent"))
    assert.truthy(out:find("stand%-in"), out)
    failed(2, "none: no such file",
      run("place", GRAPH, "mesh:2,bandwidth=1B/s", "--placer", "agent:none"))
    assert.equal(2, (run("place", GRAPH, "mesh:2,bandwidth=1B/s", "--placer", "agent:")))
  end)

  it("says where there are no agents", function()
    rawset(berth, "agents", {})
    failed(2, "there is no agent gdp in this installation",
      run("train", "gdp", GRAPH, "--devices", "2", "--save", "a"))
  end)
end)
