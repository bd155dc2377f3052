--- Training of the published agent: decisions and updates until there were enough; checkpoints.
-- @module berth.agents.pacml.train
local checkpoint = require "berth.agents.checkpoint"
local interrupt = require "berth.base.interrupt"
local options = require "berth.base.options"
local record = require "berth.agents.record"
local settings = require "berth.agents.pacml.settings"
require "berth.pacml.trace" -- declares its options

local train = {}
local fn = "agent:train"

options.declare("agents.pacml.train", options.join({
  { key = "traces", type = "function or table", default = "by seed",
    text = "jobs to learn from: function of the episode, "
    .. "or a table of options of berth.pacml.trace, of which betas is an array that episodes take "
    .. "in turn" },
  { key = "every", type = "number", low = 1, default = "20000",
    text = "decisions between checkpoints and reports" },
}, options.rows "agents.checkpoint"))

options.declare("agents.pacml.traces", options.join({
  { key = "betas", type = "array", default = "none",
    text = "distributions of beta, which episodes take in turn" },
}, options.rows("pacml.trace", "beta seed jobs interarrival copies shuffle")))

local makers = { dqn = require "berth.agents.pacml.dqn", ppo = require "berth.agents.pacml.ppo" }

-- ---- what it is trained on ----------------------------------------------------------------------

-- Seeds far from those that evaluations use.
local function drawn(env, given)
  local o = options.check(fn .. ": traces", given, "agents.pacml.traces")
  local pacml = require "berth.pacml"
  local first = (o.seed or 0) * 1e6 + 1e6
  return function(episode)
    local ask = options.merge(o, { models = #env.models, seed = first + episode })
    if o.betas then ask.beta, ask.betas = o.betas[(episode - 1) % #o.betas + 1], nil end
    return pacml.trace(ask)
  end
end

local function traces_of(env, given)
  if type(given) == "function" then return given end
  options.refuse(given ~= nil and type(given) ~= "table",
    "%s: traces: expected a function or options of berth.pacml.trace, got %s", fn, type(given))
  return drawn(env, given or {})
end

-- ---- checkpoints --------------------------------------------------------------------------------

local function side_path(t, steps) return ("%s.%.0f.state"):format(t.o.checkpoint, steps) end

local function write_side(t, steps)
  local p, adam = t.learner:side()
  if not p then return true end
  return p:save(side_path(t, steps), { adam = adam })
end

-- The file beside it first, under a name of its own: whenever it ends, the agent's file names one
-- that is whole.
local function write(t)
  local steps, before = t.learner.actors.steps, t.kept
  if before == steps then return true end
  local done, message, code = write_side(t, steps)
  if not done then return nil, message, code end
  local what, p, adam = t.agent:header(), t.learner:main()
  what.settings, what.state = record.write(t.settings), t.learner:state()
  done, message, code = checkpoint.write(t.o.checkpoint, p, adam, what)
  if not done then return nil, message, code end
  t.kept = steps
  if before and t.learner:side() then os.remove(side_path(t, before)) end
  return true
end

local function check_note(t, what)
  if what.kind ~= t.agent.kind or not what.state then
    options.fail("%s: checkpoint: %s holds agent %s, not a training of %s", fn, t.o.checkpoint,
      what.kind, t.agent.kind)
  end
  if what.settings ~= record.write(t.settings) then
    options.fail("%s: checkpoint: %s is of a training with other settings", fn, t.o.checkpoint)
  end
end

local function restore(t)
  local path = t.o.checkpoint
  local what, message, code = checkpoint.note(path)
  if not what then return nil, message, code end
  check_note(t, what)
  local p, adam = t.learner:main()
  local done
  done, message, code = p:load(path, { adam = adam })
  if not done then return nil, message, code end
  t.kept = what.state.actors.steps
  p, adam = t.learner:side()
  if p then
    done, message, code = p:load(side_path(t, t.kept), { adam = adam })
    if not done then return nil, message, code end
  end
  t.learner:restore(what.state)
  return true
end

-- ---- the loop -----------------------------------------------------------------------------------

local function report(t, interrupted)
  local a = t.learner.actors
  return { steps = a.steps, episodes = a.episodes, updates = t.learner.updates,
    blocking = a:blocking(), loss = t.learner.loss, interrupted = interrupted }
end

local function pause(t)
  if t.o.checkpoint then
    local done, message, code = write(t)
    if not done then return nil, message, code end
  end
  if t.o.progress then t.o.progress(report(t)) end
  return true
end

local function loop(t)
  local a, every = t.learner.actors, t.o.every or 20000
  while a.steps < t.settings.steps do
    local before = math.floor(a.steps / every)
    t.learner:advance()
    if math.floor(a.steps / every) > before or a.steps >= t.settings.steps then
      local done, message, code = pause(t)
      if not done then return nil, message, code end
    end
  end
  return report(t)
end

local function check_options(agent, given)
  local legal = options.join(options.keys "agents.pacml.train", settings.names(agent.algorithm))
  local o = options.check_values(fn, "agents.pacml.train", options.check(fn, given, legal))
  checkpoint.check(fn, o)
  options.refuse(o.dueling ~= nil, "%s: dueling: is for the network: give it to berth.agents.pacml",
    fn)
  return o
end

--- See docs/learning.md, PAC-ML.
function train.run(agent, env, given)
  local o = check_options(agent, given)
  agent:use(env)
  local all = settings.complete(fn, agent, settings.of(agent.algorithm, o))
  local what = { net = agent.made, make = function() return agent:fresh() end, pool = agent.pool,
    env = env, seed = agent.seed, traces = traces_of(env, o.traces) }
  local learner = makers[agent.algorithm].new(what, options.merge(all, { mask = agent.sizes.mask }))
  local t = { agent = agent, o = o, settings = all, learner = learner }
  if o.resume and checkpoint.exists(o.checkpoint) then
    local done, message, code = restore(t)
    if not done then return nil, message, code end
  else
    t.learner:start()
  end
  local ran, out, message, code = pcall(loop, t)
  agent.embedded = nil
  if ran then return out, message, code end
  if interrupt.is(out) then return report(t, "interrupted") end
  return error(out, 0)
end

return train
