--- The planner of berth.pacml as an agent: a value that learns in C, block choice, rollouts. docs/learning.md, PAC-ML.
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
local defaults = { hidden = 64, blocks = 3, discount = 0.985, interval = 1000, betas = { "A" }, futures = 64, depth = 16,
  seed = 0, explore = 0.02, trace = 0.5, train_futures = 8, train_depth = 16, train_choices = 4 }
-- A job costs some 5 us by the value alone, some 1 ms by rollouts, which tell more.
local by_value = { rate = 0.05, last_rate = 0.0005, steps = 8000000, slice = 200000 }
local by_rollouts = { rate = 0.05, last_rate = 0.002, steps = 300000, slice = 10000 }
local training = { "rate", "last_rate", "explore", "trace", "steps", "slice", "train_futures", "train_depth", "train_choices" }
local deciding = { "futures", "depth", "reject", "horizon" }
local positive = { "rate", "last_rate", "steps", "slice" }

-- Defaults of steps and rates go by whether futures are played out in training.
local function complete(...)
  local given = options.merge(defaults, ...)
  return options.merge(given.train_futures == 0 and by_value or by_rollouts, given)
end

local function check(where, o)
  for _, key in ipairs(positive) do
    local x = o[key]
    if type(x) ~= "number" or not (x > 0 and x < 1e15) then
      local got = type(x) == "number" and ("%.14g"):format(x) or core.kind(x)
      options.fail("%s: %s: expected a number above 0, got %s", where, key, got)
    end
  end
  if o.slice % 1 ~= 0 or o.steps % 1 ~= 0 then options.fail("%s: steps and slice: expected whole numbers", where) end
  if type(o.betas) ~= "table" or #o.betas == 0 then
    options.fail("%s: betas: expected a table of what berth.pacml.beta takes", where)
  end
  return o
end

--- @tparam table opts hidden, blocks, discount, interval, betas, futures, depth, reject, horizon, seed, settings of training
function planner.new(opts)
  local legal = { "algorithm", "hidden", "blocks", "discount", "interval", "betas", "seed" }
  for _, list in ipairs { training, deciding } do
    for _, key in ipairs(list) do legal[#legal + 1] = key end
  end
  local given = options.check(fn, opts, legal)
  return setmetatable({ kind = "pacml", name = "pacml", options = given, algorithm = "planner",
    o = check(fn, complete(given)) }, planner)
end

-- ---- planners --------------------------------------------------------------------------------

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
  local made, message = env:planner { hidden = o.hidden, blocks = o.blocks, discount = o.discount, gap = o.interval, beta = beta,
    mass = mass }
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
      options.fail("agent:use: the agent has %d weights, a planner for this environment %d", self.devices.weights, made.weights)
    end
    self.env, self.planner = env, made
  end
  give(self, self.planner)
  return self
end

-- ---- decisions -------------------------------------------------------------------------------

--- The best action for the present job, and the block of servers that it takes.
-- @param run of the environment
-- @tparam[opt] table opts futures (32), depth (24), reject, horizon (s)
-- @treturn int 0: turn it away
-- @treturn ?{int,...} servers; nil: the first block that fits
function planner:decide(run, opts)
  if not self.planner then options.fail("agent:decide: which cluster is it? agent:use(env) says it") end
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
  return p and ("agent pacml, planner: %.0f numbers"):format(p.size) or "agent pacml, planner: not trained"
end

-- ---- training --------------------------------------------------------------------------------

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
  local function rate(steps) return s.rate * math.exp(math.log(s.last_rate / s.rate) * steps / s.steps) end
  give(t.agent, one)
  local blocked, message, code = one:learn(core.rng(t.agent.o.seed, at.slices), { jobs = n, rate = rate(at.steps),
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
  return { steps = t.at.steps, updates = t.at.slices, blocking = t.at.blocking, interrupted = interrupted }
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
  local legal = { "checkpoint", "resume", "progress" }
  for _, key in ipairs(training) do legal[#legal + 1] = key end
  local o, all = options.check("agent:train", opts, legal), {}
  if o.resume and not o.checkpoint then options.fail("agent:train: resume: needs checkpoint, the file to go on from") end
  self:use(env)
  local whole = check("agent:train", complete(self.options, o))
  for _, key in ipairs(training) do all[key] = whole[key] end
  local t = { agent = self, o = o, settings = all, planners = {}, at = { steps = 0, slices = 0 } }
  for i, d in ipairs(self.o.betas) do t.planners[i] = make(self, env, { d }) end
  return t
end

--- Teaches the agent by games of the planner with itself, in slices; distributions of beta take turns.
-- @param env of berth.pacml.env
-- @tparam[opt] table opts steps (jobs), slice, rate, last_rate, explore, trace, train_futures, train_depth, train_choices,
--  checkpoint, resume, progress
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

-- ---- files -----------------------------------------------------------------------------------

--- What a file says of the agent.
function planner:header() return { kind = self.kind, options = self.options, devices = self.devices } end

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
