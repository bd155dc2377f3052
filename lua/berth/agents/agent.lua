--- Agents: a policy, and what it takes to train it, keep it and place with it.
-- @module berth.agents.agent
local core = require "berth.core"
local options = require "berth.base.options"
local checkpoint = require "berth.agents.checkpoint"
local settings = require "berth.agents.settings"
local trainer = require "berth.agents.trainer"

local agent = {}
agent.__index = agent

--- @tparam table what kind, options (as given, for the file), preset, seed, settings, features (of
--  berth.assignment), policy (devices -> policy)
function agent.new(what)
  what.name = what.kind
  return setmetatable(what, agent)
end

--- The policy; made when the number of devices is known, which some networks are tied to.
function agent:network(devices)
  if not self.made then
    self.made, self.devices = self.policy(self.devices or devices), self.devices or devices
  end
  return self.made
end

function agent:__tostring()
  local p = self.made and self.made.params
  return p and ("agent %s: %.0f numbers"):format(self.kind, p.size)
    or ("agent %s: not trained"):format(self.kind)
end

--- Teaches the agent. See berth.agents.trainer.
function agent:train(tasks, opts)
  options.expect(tasks, "table", "agent:train: tasks")
  if type(opts) == "table" then settings.check_training("agent:train", opts, #tasks) end
  return trainer.train(self, tasks, opts)
end

local function judged(e, cost, judge)
  local times, message, code = e:simulate(cost, judge)
  if not times then return nil, message, code end
  local best = 1
  for i = 2, #times do
    if times[i] < times[best] then best = i end
  end
  return e:placement(best), times[best]
end

local function sampled(policy, view, state, env, o)
  local e = env:episodes(o.samples)
  e:start(o.seed or 0, 1)
  policy:rollout(view, state, e, { how = "sample", epsilon = 0 })
  return judged(e, o.cost, o.judge)
end

options.declare("agents.place", options.join({
  { key = "samples", type = "whole", high = 1e6, default = "0",
    text = "placements that are drawn and simulated" },
  { key = "judge", type = "table", default = "none",
    text = "more options of berth.simulate for these simulations" },
  { key = "seed", type = "whole", high = 2 ^ 53 - 1, default = "0", text = "of the draws" },
}, options.rows("simulate", "links memory param_multiple quantum"), {
  { key = "cost", type = "cost or table", default = "none",
    text = "prices of the graph, or options of berth.cost" },
}))

-- The judge is the simulator with the options that hold for all placers, and its own.
local function place_options(given)
  local fn = "agent:place"
  local o = options.merge(options.read(fn, "agents.place", given))
  o.judge = options.merge({ links = o.links, memory = o.memory, param_multiple = o.param_multiple,
    quantum = o.quantum }, o.judge)
  return o
end

-- Where some devices do not reach one another an agent may have led itself astray.
local function check_routes(name, cost, env, placement)
  if not env.restricted then return placement end
  local r, message, code = core.simulate(cost, placement, { memory = "none", bound = false })
  if not r then return nil, ("%s: %s"):format(name, message), code end
  return placement
end

--- The placement of an op's likeliest devices in the likeliest order; with `samples` also the best
-- of that many episodes, as the simulator times them (samples + 1 calls).
-- @tparam cost cost
-- @tparam[opt] table given samples (0), seed (0), judge (the simulator's options); links, memory,
--  param_multiple and quantum are the judge's too
-- @treturn[1] placement
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code
function agent:place(cost, given)
  local o = place_options(given)
  local env, message, code = core.assignment(cost, self.features)
  if not env then return nil, message, code end
  local policy = self:network(env.devices)
  if (policy.devices or env.devices) ~= env.devices then
    local text = "%s: the network is for %.0f devices, the topology has %.0f"
    return nil, text:format(self.name, policy.devices, env.devices), "unsupported"
  end
  local view = policy:view(env)
  local state, e = policy:encode(view), env:episodes(1)
  e:start(0, 0)
  policy:rollout(view, state, e, { how = "greedy", epsilon = 0 })
  local devices, seconds = e:placement(1), nil
  if (o.samples or 0) > 0 then
    devices, seconds, code = judged(e, cost, o.judge)
    if not devices then return nil, seconds, code end
    local ask = { samples = o.samples, seed = o.seed, cost = cost, judge = o.judge }
    local other, time, why = sampled(policy, view, state, env, ask)
    if not other then return nil, time, why end
    if time < seconds then devices, seconds = other, time end
  end
  return check_routes(self.name, cost, env,
    core.placement(devices, { placer = self.name, estimate = seconds }))
end

--- What a file records of the agent.
function agent:header()
  return { kind = self.kind, options = self.options, devices = self.devices }
end

--- Writes the agent.
-- @tparam string path
-- @treturn[1] boolean true
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code
function agent:save(path)
  if not self.made then options.fail("agent:save: the agent has no weights yet: train it first") end
  options.expect(path, "string", "agent:save: path")
  return checkpoint.write(path, self.made.params, nil, self:header())
end

return agent
