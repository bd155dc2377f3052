-- berth train, and agent files as placers. The command is thin: an agent of ours stands for the real ones, which have specs of
-- their own.
local berth = require "berth"
local main = require "berth.cli.main"

local GRAPH = "model:einsum,program=chain,layers=2"

local function run(...)
  local out, err = {}, {}
  local exit = main.run({ ... }, {
    write = function(line) out[#out + 1] = line end,
    complain = function(line) err[#err + 1] = line end,
  })
  return exit, table.concat(out, "\n"), table.concat(err, "\n")
end

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
    local exit, out, err = run("train", "doppler", GRAPH, GRAPH .. ",seed=2", "--devices", "4", "--design", "compact",
      "--seed", "3", "--estimates", "load", "--set", "gamma=0.99,how=greedy,clip=false,rate=1e-3..0", "--stages", "I:500,II",
      "--episodes", "40", "--calls", "90", "--batch", "8", "--checkpoint", "c", "--resume", "--save", "a.agent")
    assert.equal(0, exit, err)
    assert.same({ design = "compact", seed = 3, estimates = "load", gamma = 0.99, how = "greedy", clip = false,
      rate = { 1e-3, 0 } }, seen.made)
    assert.same({ { stage = "I", episodes = 500 }, { stage = "II", episodes = 40 } }, seen.opts.stages)
    assert.same({ 90, 8, "c", true }, { seen.opts.calls, seen.opts.batch, seen.opts.checkpoint, seen.opts.resume })
    assert.is_nil(seen.opts.ranks)
    assert.equal(2, #seen.tasks)
    assert.equal(4, #seen.tasks[2].topology)
    assert.equal("a.agent", seen.saved)
    assert.truthy(out:find("doppler: 12 episodes, 10 simulator calls", 1, true), out)
    assert.truthy(out:find("on 4 devices: best seen 1.5 s, greedy 2.5 s", 1, true), out)
  end)

  it("hands the simulator's options and an engine on", function()
    local exit, _, err = run("train", "gdp", GRAPH, "--devices", "2", "--save", "a", "--preset", "doppler",
      "--stages", "II:8,III:2", "--engine", "paced", "--engine-seconds", "4ms", "--links", "free")
    assert.equal(0, exit, err)
    assert.same({ preset = "doppler", links = "free" }, seen.tasks[1].judge)
    local devices = {}
    for op = 1, #seen.tasks[1].graph do devices[op] = op % 2 + 1 end
    assert.is_true(seen.opts.objective({ devices })[1] > 1e-3)
  end)

  it("prints one JSON object", function()
    local exit, out = run("train", "gdp", GRAPH, "--topology", "mesh:2,bandwidth=1B/s", "--save", "a", "--json")
    assert.equal(0, exit)
    assert.truthy(out:find('"agent":"gdp","seed":0,"episodes":12,"simulator_calls":10,"saved":"a","interrupted":false,"tasks":[{',
      1, true), out)
    assert.truthy(out:find('"devices":2,"best_s":1.5,"greedy_s":2.5}]}', 1, true), out)
  end)

  it("tells of progress once, and of an interrupt", function()
    result.interrupted = "interrupted"
    local exit, _, err = run("train", "placeto", GRAPH, "--devices", "2", "--save", "a", "--progress")
    assert.equal(130, exit)
    assert.equal("a", seen.saved)
    assert.equal("berth: stage II, episode 8, 8 calls: best 2 s, mean 3 s\n"
      .. "berth: interrupted: the agent is as it was after the last update", err)
  end)

  it("writes the best placement", function()
    local path = os.tmpname()
    local exit, _, err = run("train", "gdp", GRAPH, "--devices", "2", "--save", "a", "--output", path)
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
    local exit, _, err = run("train", "gdp", GRAPH, "--devices", "2", "--save", "a")
    assert.equal(2, exit)
    assert.truthy(err:find("a: no space", 1, true))
  end)

  it("refuses what means nothing", function()
    local function refuses(text, ...)
      local exit, _, err = run("train", ...)
      assert.equal(2, exit)
      assert.truthy(err:find(text, 1, true), err)
    end
    refuses("no agent \"etf\"; legal: doppler placeto gdp", "etf", GRAPH, "--save", "a", "--devices", "2")
    refuses("--save FILE is needed", "gdp", GRAPH, "--devices", "2")
    refuses("is instead of --topology", "gdp", GRAPH, "--save", "a", "--devices", "2", "--topology", "mesh:2")
    refuses("--resume: from which --checkpoint?", "gdp", GRAPH, "--save", "a", "--devices", "2", "--resume")
    refuses("--output: is for one graph", "gdp", GRAPH, GRAPH, "--save", "a", "--devices", "2", "--output", "p")
    refuses("--design: is for doppler", "gdp", GRAPH, "--save", "a", "--devices", "2", "--design", "compact")
    refuses("\"IV\" is no stage", "gdp", GRAPH, "--save", "a", "--devices", "2", "--stages", "I,IV")
    refuses("--episodes: of which --stages?", "gdp", GRAPH, "--save", "a", "--devices", "2", "--episodes", "9")
    refuses("KEY=VALUE is needed", "gdp", GRAPH, "--save", "a", "--devices", "2", "--set", "gamma")
    refuses("--engine: is for stage III", "gdp", GRAPH, "--save", "a", "--devices", "2", "--engine", "paced")
    refuses("III runs one graph", "gdp", GRAPH, GRAPH, "--save", "a", "--devices", "2", "--stages", "III")
    refuses("holds no topology", "gdp", GRAPH, "--save", "a")
  end)

  it("makes placers of place and compare", function()
    local exit, out, err = run("place", GRAPH, "mesh:2,bandwidth=1B/s", "--placer", "agent:taught.agent", "--seed", "4", "--json")
    assert.equal(0, exit, err)
    assert.truthy(out:find('"placer":"stand-in"', 1, true), out)
    assert.equal(4, seen.place.seed)
    exit, out, err = run("compare", GRAPH, "mesh:2,bandwidth=1B/s", "--placers", "single,agent:taught.agent")
    assert.equal(0, exit, err)
    assert.truthy(out:find("stand%-in"), out)
    local refused, _, why = run("place", GRAPH, "mesh:2,bandwidth=1B/s", "--placer", "agent:none")
    assert.equal(2, refused)
    assert.truthy(why:find("none: no such file", 1, true), why)
    assert.equal(2, (run("place", GRAPH, "mesh:2,bandwidth=1B/s", "--placer", "agent:")))
  end)

  it("says where there are no agents", function()
    rawset(berth, "agents", {})
    local exit, _, err = run("train", "gdp", GRAPH, "--devices", "2", "--save", "a")
    assert.equal(2, exit)
    assert.truthy(err:find("there is no agent gdp in this installation", 1, true), err)
  end)
end)
