-- berth train tag.
local berth = require "berth"
local json = require "dkjson"
local shell = require "support.shell"

local failed, run, read, path_of = shell.failed, shell.run, shell.read, shell.path

describe("berth train tag", function()
  local file, checkpoint = path_of(".agent"), path_of(".checkpoint")
  local few = "calls=30,states=2,groups=4,passes=1,op_groups=8,nodes=8,edges=4,layers=1"

  teardown(function() shell.tidy() end)

  local function train(...)
    return run("train", "tag", "--save", file, "--size", "tiny", "--set", few, ...)
  end

  it("writes an agent, the same for the same seed, also from a checkpoint", function()
    local exit, out, err = train("--games", "3", "--seed", "2", "--json")
    assert.same({ 0, "" }, { exit, err })
    local got = assert(json.decode(out))
    assert.same({ "tag", "tiny", 2, 3, false },
      { got.agent, got.size, got.seed, got.games, got.interrupted })
    local whole = read(file)
    assert.equal("agent tag, tiny", (tostring(assert(berth.agents.load(file))):match "^[^:]*"))
    assert.equal(0, (train("--games", "3", "--seed", "2", "--checkpoint", checkpoint)))
    assert.equal(0, (train("--games", "3", "--seed", "2", "--checkpoint", checkpoint, "--resume")))
    assert.equal(whole, read(file))
  end)

  it("learns from visits, too", function()
    failed(2, "--set is given twice", train("--games", "1", "--set", few .. ",teacher=visits"))
    local exit, out, err = run("train", "tag", "--save", file, "--size", "tiny", "--games", "1",
      "--set", few .. ",teacher=visits")
    assert.same({ 0, "" }, { exit, err })
    assert.truthy(out:find("^agent tag, tiny: %d+ numbers\n1 games, "), out)
  end)

  it("refuses what it cannot do", function()
    local function refused(text, ...)
      failed(2, text, run("train", "tag", ...))
    end
    refused("--save FILE is needed")
    refused("--games or --minutes, not both", "--save", file, "--games", "1", "--minutes", "1")
    refused("--minutes: a number from 0.001 to 1000000000 is needed, not 0", "--save", file,
      "--minutes", "0")
    refused("--set: size: use --size", "--save", file, "--set", "size=tiny")
    refused("--resume: requires --checkpoint", "--save", file, "--resume")
    refused("unknown option 'depth'", "--save", file, "--set", "depth=3")
  end)
end)
