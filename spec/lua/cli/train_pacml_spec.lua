-- berth train pacml, and what it writes as a decider of berth cluster pacml.
local berth = require "berth"
local json = require "dkjson"
local shell = require "support.shell"
local ranks = require "berth.agents.ranks"
local small = require "support.small_jobs"

local unpack = rawget(table, "unpack") or rawget(_G, "unpack")
local ran, run, read, path_of = shell.ran, shell.run, shell.read, shell.path

local function profile(ending, forward, backward)
  return shell.file(ending, small.profile(forward, backward))
end

local SETS = { planner = "slice=200,train_futures=2,train_depth=3,futures=2,depth=3",
  ppo = "fragment=8,actors=4,passes=1",
  dqn = "start=100,capacity=500,train_every=64,batch=32,actors=4" }

describe("berth train pacml", function()
  local A, B, agent = profile("-a.txt", 100, 300), profile("-b.txt", 40, 60), path_of(".agent")

  teardown(function()
    shell.tidy()
  end)

  local function train(...)
    return run("train", "pacml", A, B, "--jobs", "40", "--interarrival", "900s", "--save",
      agent, ...)
  end

  for _, algorithm in ipairs { "planner", "ppo", "dqn" } do
    it("teaches " .. algorithm .. ", which berth cluster lets decide", function()
      local exit, out, err = train("--algorithm", algorithm, "--beta", "B,D", "--steps", "400",
        "--set", SETS[algorithm], "--evaluate", "2", "--json")
      assert.same({ 0, "" }, { exit, err })
      local got = assert(json.decode(out))
      assert.same({ "pacml", algorithm, agent, false },
        { got.agent, got.algorithm, got.saved, got.interrupted })
      assert.is_true(got.decisions >= 400)
      assert.same({ "B", "D" }, { got.evaluated[1].beta, got.evaluated[2].beta })
      exit, out, err = run("cluster", "pacml", A, B, "--jobs", "40", "--interarrival", "900s",
        "--agent", agent, "--beta", "B,D", "--seeds", "2", "--json")
      assert.same({ 0, "" }, { exit, err })
      for i, point in ipairs(assert(json.decode(out)).points) do
        assert.equal(got.evaluated[i].blocking_rate, point.blocking_rate.mean)
      end
    end)

    it("goes on with " .. algorithm .. " from its checkpoint to the same bytes", function()
      local words = { "--algorithm", algorithm, "--steps", "400", "--set", SETS[algorithm] }
      local checkpoint = path_of(".checkpoint")
      assert.equal(0, (train(unpack(words))))
      local whole = read(agent)
      for _, word in ipairs { "--checkpoint", checkpoint } do words[#words + 1] = word end
      assert.equal(0, (train(unpack(words))))
      words[#words + 1] = "--resume"
      assert.equal(0, (train(unpack(words))))
      assert.equal(whole, read(agent))
      os.remove(("%s.400.state"):format(checkpoint))
    end)
  end

  it("prints what came of it", function()
    local _, out, err = train("--steps", "400", "--set", SETS.planner, "--evaluate", "2",
      "--progress")
    assert.matches(
      "^agent pacml, planner: %d+ numbers, 400 decisions, 2 updates; at the end of training 0%.%d+ "
        .. "blocked", out)
    assert.matches("\nA +2 +0%.%d+ +%+%- 0%.%d+\nwritten: ", out)
    assert.matches("200 decisions, 1 updates: 0%.%d+ blocked, exploration included", err)
    assert.matches("2 of 2: beta A, seed 1: 0%.%d+ blocked", err)
  end)

  it("keeps what was learned when it is interrupted", function()
    local before = berth.agents.pacml
    rawset(berth.agents, "pacml", function(o)
      local one = before(o)
      local teach = one.train
      function one:train(env, opts)
        opts.progress = function() error("interrupted", 0) end
        return teach(self, env, opts)
      end
      return one
    end)
    local exit, out, err = train("--steps", "400", "--set", SETS.planner, "--evaluate", "2")
    rawset(berth.agents, "pacml", before)
    assert.same({ 130, "berth: interrupted: the agent is as it was after the last update" },
      { exit, err })
    assert.matches(", 200 decisions, 1 updates", out)
    assert.truthy(berth.agents.load(agent))
  end)

  it("has a help text of its own", function()
    for _, words in ipairs { { "train", "pacml", "--help" }, { "help", "train", "pacml" } } do
      local out = ran(run(unpack(words)))
      assert.matches("^usage: berth train pacml PROFILE", out)
    end
  end)

  it("refuses what makes no sense", function()
    local function refused(message, ...)
      local exit, _, err = run("train", "pacml", A, ...)
      assert.same({ 2, "berth: " .. message }, { exit, err })
    end
    refused("train pacml: --save FILE is needed: where the agent goes", "--steps", "3")
    refused("--resume: requires --checkpoint", "--save", agent, "--resume")
    refused("--save and --checkpoint: each needs a file of its own", "--save", agent,
      "--checkpoint", agent)
    refused("--preset: is for dqn and ppo", "--save", agent, "--preset", "published")
    refused("--set: steps: use --steps", "--save", agent, "--set", "steps=3")
    refused("--set: betas: use --beta", "--save", agent, "--set", "betas=3")
    refused("--beta: A is there twice", "--save", agent, "--beta", "A,A")
    refused('--algorithm: no "td" (legal: planner, dqn, ppo)', "--save", agent, "--algorithm", "td")
    local launched = ranks.launched
    ranks.launched = function() return true end
    refused("train pacml: learns in one process: not under mpirun", "--save", agent)
    ranks.launched = launched
    local exit, _, err = run("train", "--save", agent, "pacml", A)
    assert.same({ 2, "berth: train: pacml comes first: berth train pacml PROFILE... [options]" },
      { exit, err })
  end)
end)
