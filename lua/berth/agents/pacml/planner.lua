--- The planner of berth.pacml as an agent: a value that learns in C, block choice, rollouts.
-- docs/learning.md, PAC-ML.
-- @module berth.agents.pacml.planner
local core = require "berth.core"
local nn = require "berth.nn"
local checkpoint = require "berth.agents.checkpoint"
local interrupt = require "berth.base.interrupt"
local options = require "berth.base.options"
local record = require "berth.agents.record"

local planner = {}
planner.__index = planner

local fn = "berth.agents.pacml"
local defaults = { hidden = 64, blocks = 3, discount = 0.985, interval = 1000, betas = { "A" },
  futures = 64, depth = 16, seed = 0, explore = 0.02, trace = 0.5, train_futures = 8,
  train_depth = 16, train_choices = 4 }
-- A job takes some 5 us with temporal differences alone, some 1 ms with rollouts, which teach more.
local by_value = { rate = 0.05, last_rate = 0.0005, steps = 8000000, slice = 200000 }
local by_rollouts = { rate = 0.05, last_rate = 0.002, steps = 300000, slice = 10000 }

options.declare("agents.pacml.training", {
  { key = "steps", type = "whole", low = 1, high = 1e15,
    default = "300000; train_futures 0: 8000000", text = "jobs in all" },
  { key = "slice", type = "whole", low = 1, high = 1e15, default = "10000; train_futures 0: 200000",
    text = "jobs between reports and checkpoints" },
  { key = "rate", type = "number", above = true, high = 1e15, default = "0.05",
    text = "rate of learning at the beginning" },
  { key = "last_rate", type = "number", above = true, high = 1e15,
    default = "0.002; train_futures 0: 0.0005",
    text = "rate of learning at the end; geometrically in between" },
  { key = "explore", type = "number", default = "0.02",
    text = "share of random choices, falling to 0" },
  { key = "trace", type = "number", default = "0.5", text = "lambda of the temporal differences" },
  { key = "train_futures", type = "whole", default = "8",
    text = "rollouts of the most promising choices from which the value learns, some 1 ms a job; "
      .. "0: temporal differences alone, some 5 us a job" },
  { key = "train_depth", type = "whole", default = "16",
    text = "arrivals in each of these rollouts" },
  { key = "train_choices", type = "whole", default = "4", text = "most promising choices" },
})

options.declare("agents.pacml.planner", options.join({
  { key = "algorithm", type = "choice", default = "planner", text = "planner", choices = {
    { name = "planner", text = "A value learned in C, a choice of the block of servers, "
      .. "rollouts." } } },
  { key = "betas", type = "table", default = '{ "A" }',
    text = "array of what berth.pacml.beta takes; slices of training take turns, rollouts draw "
      .. "from all" },
  { key = "interval", type = "seconds or array", default = "1000 s",
    text = "time between arrivals, or { least, most }" },
  { key = "hidden", type = "whole", default = "64",
    text = "units of the hidden layer of the value" },
  { key = "blocks", type = "whole", default = "3", text = "blocks of servers that are compared" },
  { key = "discount", type = "number", default = "0.985", text = "of the value" },
  { key = "futures", type = "whole", default = "64",
    text = "rollouts of a decision for each choice, in the mean (some 10 ms); 0: the value alone" },
  { key = "depth", type = "whole", default = "16", text = "arrivals in each rollout" },
}, options.rows("planner:decide", "reject rules horizon"), {
  { key = "seed", type = "whole", default = "0", text = "of weights and rollouts" },
}, options.rows "agents.pacml.training"))

options.declare("agents.pacml.planner:train",
  options.join(options.rows "agents.pacml.training", options.rows "agents.checkpoint"))

options.declare("agents.pacml.planner:decide",
  options.rows("agents.pacml.planner", "futures depth reject rules horizon"))

local training = options.keys "agents.pacml.training"
local deciding = options.keys "agents.pacml.planner:decide"

-- Defaults of steps and rates depend on whether training has rollouts.
local function complete(...)
  local given = options.merge(defaults, ...)
  return options.merge(given.train_futures == 0 and by_value or by_rollouts, given)
end

--- @tparam[opt] table opts as declared above
function planner.new(opts)
  local given = options.read(fn, "agents.pacml.planner", opts)
  options.refuse(given.betas and #given.betas == 0,
    "%s: betas: expected a table of what berth.pacml.beta takes", fn)
  return setmetatable({ kind = "pacml", name = "pacml", options = given, algorithm = "planner",
    o = complete(given) }, planner)
end

-- ---- planners -----------------------------------------------------------------------------------

-- Values and masses of some distributions, all alike.
local function mixture(list)
  local beta, mass = {}, {}
  for _, given in ipairs(list) do
    local d, total = require("berth.pacml").beta(given), 0
    for i = 1, #d.mass do total = total + d.mass[i] end
    for i = 1, #d.mass do beta[#beta + 1], mass[#mass + 1] = d.values[i], d.mass[i] / total end
  end
  return beta, mass
end

local function make(self, env, betas)
  local o, beta, mass = self.o, mixture(betas)
  local made, message = env:planner { hidden = o.hidden, blocks = o.blocks, discount = o.discount,
    gap = o.interval, beta = beta, mass = mass }
  if not made then options.fail("agent:use: %s", message) end
  return made
end

-- Made when the number of weights is known.
function planner:network(devices)
  if not self.made then
    self.devices, self.made = devices, { params = nn.parameters { seed = 0 } }
    self.made.params:add("weights", { devices.weights })
  end
  return self.made
end

-- Weights are 32-bit floats between slices, as in a file.
local function give(self, to) to:set(self.made.params.weights:flat()) end

--- Says which environment is decided for; `train` does by itself.
-- @param env of berth.pacml.env
-- @treturn agent
function planner:use(env)
  if self.env ~= env then
    local made = make(self, env, self.o.betas)
    self:network { weights = made.weights }
    if made.weights ~= self.devices.weights then
      options.fail("agent:use: the agent has %d weights, a planner for this environment %d",
        self.devices.weights, made.weights)
    end
    self.env, self.planner = env, made
  end
  give(self, self.planner)
  return self
end

-- ---- decisions ----------------------------------------------------------------------------------

--- The best action for the present job, and the block of servers that it takes.
-- @param run of the environment
-- @tparam[opt] table opts as declared above; those of the agent are the defaults
-- @treturn int 0: turn it away
-- @treturn ?{int,...} servers; nil: the first block that fits
function planner:decide(run, opts)
  options.refuse(not self.planner,
    "agent:decide: the agent has no environment: call agent:use(env) first")
  local ask, given = { seed = self.o.seed }, options.check("agent:decide", opts, deciding)
  for _, key in ipairs(deciding) do
    ask[key] = self.o[key]
    if given[key] ~= nil then ask[key] = given[key] end
  end
  local action, block = self.planner:decide(run, ask)
  if not action then error(block, 0) end
  return action, block
end

-- As a decider: jobs that run at the horizon will count as blocked.
function planner:__call(run, horizon)
  return self:decide(run, { horizon = horizon })
end

function planner:__tostring()
  local p = self.made and self.made.params
  return p and ("agent pacml, planner: %.0f numbers"):format(p.size)
    or "agent pacml, planner: not trained"
end

-- ---- training -----------------------------------------------------------------------------------

local function write(t)
  local what = t.agent:header()
  what.state, what.settings = t.at, record.write(t.settings)
  return checkpoint.write(t.o.checkpoint, t.agent.made.params, nil, what)
end

local function restore(t)
  local what, message, code = checkpoint.note(t.o.checkpoint)
  if not what then return nil, message, code end
  if what.kind ~= "pacml" or not what.state or what.settings ~= record.write(t.settings) then
    options.fail("agent:train: checkpoint: %s is of a training with other settings", t.o.checkpoint)
  end
  local done
  done, message, code = t.agent.made.params:load(t.o.checkpoint)
  if not done then return nil, message, code end
  t.at = what.state
  return true
end

-- One slice of jobs, of one distribution; rates fall over all slices.
local function learn(t)
  local s, at = t.settings, t.at
  local one = t.planners[at.slices % #t.planners + 1]
  local n = math.min(s.slice, s.steps - at.steps)
  local function rate(steps)
    return s.rate * math.exp(math.log(s.last_rate / s.rate) * steps / s.steps)
  end
  give(t.agent, one)
  local blocked, message, code = one:learn(core.rng(t.agent.o.seed, at.slices),
    { jobs = n, rate = rate(at.steps),
    last_rate = rate(at.steps + n), explore = s.explore * (1 - at.steps / s.steps), trace = s.trace,
    futures = s.train_futures, depth = s.train_depth, choices = s.train_choices })
  if blocked or code == "interrupted" then
    local w = one:get() -- of an interrupted slice, too: not in the count of steps
    t.agent.made.params.weights:copy_from(nn.array(w, { #w }))
  end
  if not blocked then return nil, message, code end
  at.steps, at.slices, at.blocking = at.steps + n, at.slices + 1, blocked
  return true
end

local function report(t, interrupted)
  return { steps = t.at.steps, updates = t.at.slices, blocking = t.at.blocking,
    interrupted = interrupted }
end

local function loop(t)
  while t.at.steps < t.settings.steps do
    local done, message, code = learn(t)
    if done and t.o.checkpoint then done, message, code = write(t) end
    if not done then return nil, message, code end
    if t.o.progress then t.o.progress(report(t)) end
  end
  return report(t)
end

local function begin(self, env, opts)
  local o, all = options.read("agent:train", "agents.pacml.planner:train", opts), {}
  checkpoint.check("agent:train", o)
  self:use(env)
  local whole = complete(self.options, o)
  for _, key in ipairs(training) do all[key] = whole[key] end
  local t = { agent = self, o = o, settings = all, planners = {}, at = { steps = 0, slices = 0 } }
  for i, d in ipairs(self.o.betas) do t.planners[i] = make(self, env, { d }) end
  return t
end

--- Teaches the agent by games of the planner with itself, in slices; distributions of beta take
-- turns.
-- @param env of berth.pacml.env
-- @tparam[opt] table opts settings of training, checkpoint, resume, progress, as declared above
-- @treturn[1] table steps, updates (slices), blocking (of the last slice), interrupted
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code
function planner:train(env, opts)
  local t = begin(self, env, opts)
  if t.o.resume and checkpoint.exists(t.o.checkpoint) then
    local done, message, code = restore(t)
    if not done then return nil, message, code end
  end
  local ran, out, message, code = pcall(loop, t)
  give(self, self.planner)
  if ran and (out or code ~= "interrupted") then return out, message, code end
  if ran or interrupt.is(out) then return report(t, "interrupted") end
  return error(out, 0)
end

-- ---- files --------------------------------------------------------------------------------------

--- What a file records of the agent.
function planner:header()
  return { kind = self.kind, options = self.options, devices = self.devices }
end

--- Writes the agent.
-- @tparam string path
-- @treturn[1] boolean true
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code
function planner:save(path)
  if not self.made then options.fail("agent:save: the agent has no weights yet: train it first") end
  return checkpoint.write(path, self.made.params, nil, self:header())
end

return planner
