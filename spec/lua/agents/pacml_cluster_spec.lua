-- The published agent of PAC-ML on a RAMP cluster of eight servers.
local berth = require "berth"
local profile_text = require "support.profile_text"
local shell = require "support.shell"

local profiles = {
  profile_text({ { "Input", 0, 0, 1000, 0 }, { "Conv2d(3, 8)", 20, 40, 4e6, 1e6 },
    { "Linear(8, 2)", 10, 10, 1000, 2e6 } }, { { 1, 2 }, { 2, 3 } }),
  profile_text({ { "Embedding", 0.015, 1, 2e6, 1e6 }, { "LSTM", 9, 30, 2e6, 4e6 } }, { { 1, 2 } }),
}

local function model(ramp, text)
  local path = os.tmpname()
  shell.write(path, text)
  local m = assert(berth.pacml.profile(ramp, path))
  os.remove(path)
  return m
end

local function cluster(compat)
  local ramp = berth.ramp { compat = compat, groups = 2, racks = 2, slots = 2, time_scale = 1000,
    quantum = 0.01 }
  return assert(berth.pacml.env { models = { model(ramp, profiles[1]), model(ramp, profiles[2]) },
    most = 8 })
end

local function trace(seed, jobs)
  return berth.pacml.trace { models = 2, beta = "C", seed = seed, jobs = jobs or 100,
    interarrival = 500 }
end

for _, compat in ipairs { true, false } do
  describe(("on a RAMP cluster, compat = %s,"):format(tostring(compat)), function()
    local env = cluster(compat)

    local kinds = {
      { algorithm = "dqn", start = 100, capacity = 500, train_every = 64, batch = 32 },
      { algorithm = "ppo", mask = "exact", fragment = 16, passes = 1 },
      { algorithm = "ppo", mask = "paper", fragment = 16, passes = 1 } }
    for _, o in ipairs(kinds) do
      local name = o.mask and ("%s with the %s mask"):format(o.algorithm, o.mask) or o.algorithm
      it(name .. " trains, goes on from its checkpoint, and decides what is legal", function()
        local path = os.tmpname()
        o.actors, o.steps = 4, 600
        local given = { traces = { beta = "C", jobs = 50, interarrival = 500 } }
        local whole = berth.agents.pacml(o)
        assert(whole:train(env, given))
        given.checkpoint, given.every, given.resume = path, 250, true
        given.progress = function() error("stop", 0) end
        os.remove(path)
        assert.has_error(function() berth.agents.pacml(o):train(env, given) end, "stop")
        given.progress = nil
        local again = berth.agents.pacml(o)
        local report = assert(again:train(env, given))
        assert.same(whole.made.params:flat("values"):flat(),
          again.made.params:flat("values"):flat())
        os.remove(path)
        os.remove(("%s.%.0f.state"):format(path, report.steps))
        local run = env:run(trace(2))
        while not run.done do
          local action = again(run)
          assert.equal(1, run:mask(o.mask or "paper")[action + 1])
          run:decide(action)
        end
      end)
    end
  end)
end
