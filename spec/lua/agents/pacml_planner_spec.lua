-- The planner as an agent, on a RAMP cluster of eight servers.
local berth = require "berth"
local merged = require "support.merged"
local profile_text = require "support.profile_text"
local shell = require "support.shell"

local function env()
  local ramp = berth.ramp { compat = true, groups = 2, racks = 2, slots = 2 }
  local path = os.tmpname()
  shell.write(path, profile_text({ { "Input", 0, 0, 1000, 0 },
    { "Conv2d(3, 8)", 20, 40, 4e6, 1e6 } }, { { 1, 2 } }))
  local model = assert(berth.pacml.profile(ramp, path))
  os.remove(path)
  return berth.pacml.env { models = { model }, most = 8 }
end

local function made(more)
  local o = merged({ hidden = 8, interval = 300, betas = { "B", "D" }, steps = 6000, slice = 1000,
    futures = 4, depth = 4 }, more)
  return berth.agents.pacml(o)
end

describe("the planner as an agent", function()
  local e = env()

  local function path_of(agent)
    local run, out = e:run(berth.pacml.trace { models = 1, beta = "B", jobs = 60,
      interarrival = 300, seed = 3 }), {}
    while not run.done do
      local action, block = agent(run)
      out[#out + 1] = ("%d:%s"):format(action, block and table.concat(block, ",") or "")
      run:decide(action, block)
    end
    return out
  end

  it("goes on from a checkpoint to the same bytes, and is the same from its file", function()
    local whole, path = made(), os.tmpname()
    os.remove(path)
    assert.equal(6000, assert(whole:train(e)).steps)
    local calls = 0
    assert.has_error(function()
      made():train(e, { checkpoint = path, progress = function()
        calls = calls + 1
        if calls == 3 then error("stop", 0) end
      end })
    end, "stop")
    local again = made()
    assert.equal(6000, assert(again:train(e, { checkpoint = path, resume = true })).steps)
    assert.same(whole.made.params.weights:flat(), again.made.params.weights:flat())
    local loaded = assert(berth.agents.load(path)):use(e)
    assert.same(path_of(whole), path_of(loaded))
    assert.equal(tostring(whole), tostring(loaded))
    os.remove(path)
  end)

  it("refuses what makes no sense", function()
    assert.has_error(function() made { rate = 0 } end,
      "berth.agents.pacml: rate: 0 is out of range above 0 to 1e+15")
    assert.has_error(function() made { betas = {} } end,
      "berth.agents.pacml: betas: expected a table of what berth.pacml.beta takes")
    assert.has_error(
      function() made():decide(e:run(berth.pacml.trace { models = 1, jobs = 1 })) end,
      "agent:decide: the agent has no environment: call agent:use(env) first")
    assert.equal("agent pacml, planner: not trained", tostring(made()))
  end)
end)
