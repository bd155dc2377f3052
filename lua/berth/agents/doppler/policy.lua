--- DOPPLER's two policies: SEL chooses the next op, PLC its device. The interface is
-- the trainer's (berth.agents.trainer).
-- @module berth.agents.doppler.policy
local nn = require "berth.nn"
local encoder = require "berth.agents.doppler.encoder"
local heads = require "berth.agents.doppler.heads"
local odds = require "berth.agents.doppler.odds"
local views = require "berth.agents.doppler.view"

local policy = {}
policy.__index = policy

--- Both networks are in one set of parameters: nothing joins them but the clipping of gradients,
-- for Adam takes each number by itself.
-- @tparam table o checked options of berth.agents.doppler
function policy.new(o)
  local p = nn.parameters { seed = o.seed }
  local self = setmetatable({ o = o, follows = true, params = p,
    nets = { { params = p, name = "doppler" } } }, policy)
  if o.select == "learned" then
    self.select = { encode = encoder.new(p, "select.encoder", o),
      head = heads.select(p, "select", o) }
  end
  if o.place == "learned" then
    local own = not (o.share and self.select)
    self.place = { encode = own and encoder.new(p, "place.encoder", o) or nil,
      head = heads.place(p, "place", o) }
  end
  return self
end

function policy:view(env) return views.new(env, self.o.design) end

--- Rows that the loss takes for an episode.
function policy:rows_per_episode(view)
  return (self.select and view.candidates or 0) + (self.place and view.steps * view.devices or 0)
end

--- Message passing and path sums of both, once.
function policy:encode(view)
  local out, h = {}, nil
  if self.select then
    h = self.select.encode(view.x, view.edges)
    out.select = self.select.head.prepare(view, h)
  end
  if self.place then
    if self.place.encode then h = self.place.encode(view.x, view.edges) end
    out.h, out.place = h, self.place.head.prepare(view, h)
  end
  return out
end

-- ---- one step of all episodes -------------------------------------------------------------------

local function op_scores(self, view, state, ops, segments)
  if self.select then return self.select.head.scores(state.select, view, ops, segments) end
  return view.b_level:gather(ops)
end

local function choose_ops(self, view, state, e, o)
  local ops, segments = e:candidates()
  local how = self.select and o or { how = "greedy", epsilon = 0 }
  local pos = e:choose(op_scores(self, view, state, ops, segments), segments, how)
  return e:select(ops, segments, pos)
end

-- The column of the devices' features that a rule minimises.
local rule_column = { ["least-load"] = 1, ["least-start"] = 5 }

local function device_scores(self, view, state, ops, features, sums, allowed)
  if self.place then
    return self.place.head.scores(state.place, view, ops, features, sums, views.rows(view, #ops),
      allowed)
  end
  local at = rule_column[self.o.place]
  return heads.masked(features:slice(2, at, at):scale(-view.scale):reshape { -1, view.devices },
    allowed)
end

local function choose_devices(self, view, state, e, ops, sums, o)
  local allowed = view.restricted and e:allowed(ops) or nil
  local scores = device_scores(self, view, state, ops, e:devices(ops), sums, allowed)
  return e:choose(heads.ruled_out(scores, allowed), nil, self.place and o or { how = "greedy",
    epsilon = 0 })
end

-- What lies on each device of each episode, as the sum of the encoder's rows.
local function add_sums(view, state, sums, ops, devices)
  if not sums then return end
  local bins, at = {}, devices:totable()
  for i = 1, #at do bins[i] = (i - 1) * view.devices + at[i] end
  sums:add_rows(nn.index(bins), state.h:gather(ops))
end

local function no_sums(self, view, n)
  return self.place and nn.zeros { n * view.devices, self.o.hidden } or nil
end

--- All steps of all episodes, which have been started. Not on a tape.
-- @tparam table o how ("sample", "greedy"), epsilon
-- @tparam[opt] function watch called (episodes, ops) before each step's devices are chosen, ops nil
--  before its ops are
function policy:rollout(view, state, e, o, watch)
  local sums, how = no_sums(self, view, e.count), { how = o.how, epsilon = o.epsilon }
  for step = 1, view.steps do
    if step > 1 and self.o.encode == "step" then state = self:encode(view) end
    if watch then watch(e) end
    local ops = choose_ops(self, view, state, e, how)
    if watch then watch(e, ops) end
    local devices = choose_devices(self, view, state, e, ops, sums, how)
    e:assign(ops, devices)
    add_sums(view, state, sums, ops, devices)
  end
end

-- ---- all steps at once, on the tape -------------------------------------------------------------

local function select_logs(self, view, state, log)
  local scores = op_scores(self, view, state, log.candidates, log.steps)
  return scores:segment_log_softmax(log.steps)
end

local function place_logs(self, view, state, log)
  local sums = state.h:running_sum(log.episodes, log.op, log.device, view.devices):reshape { -1,
    self.o.hidden }
  return device_scores(self, view, state, log.op, log.devices, sums, log.allowed):log_softmax()
end

-- 1 / legal devices: a number, or one for each row.
local function device_share(view, logs, mask)
  if not mask then return nn.full({ 1 }, 1 / view.devices) end
  return mask / (mask:sum(2):reshape { -1, 1 } + logs:scale(0))
end

local function select_loss(self, view, state, log, weights, o, epsilon)
  local logs = select_logs(self, view, state, log)
  local drawn = epsilon > 0 and odds.mixture(logs, odds.share(log.steps), epsilon) or logs
  local loss = -(drawn:gather(odds.rows(log.steps, log.chosen)) * weights):sum()
  if o.entropy > 0 then
    loss = loss + odds.negative_entropy(logs):scale(o.entropy / #log.episodes)
  end
  return loss
end

local function place_loss(self, view, state, log, weights, o, epsilon)
  local logs = place_logs(self, view, state, log)
  local drawn = epsilon > 0 and odds.mixture(logs, device_share(view, logs, log.allowed), epsilon)
    or logs
  local loss = -(drawn:pick(log.device) * weights):sum()
  if o.entropy > 0 then
    loss = loss + odds.negative_entropy(logs):scale(o.entropy / #log.episodes)
  end
  return loss
end

local function both(a, b)
  if a and b then return a + b end
  return a or b
end

--- - sum over rows of weight x log probability of what was done, less the entropy bonus (a mean
-- over episodes). With how = "sample" the probability is that of the mixture with the uniform
-- choice; with "greedy", as published, pi's own.
-- @tparam array weights [rows], by episode, then step
function policy:loss(view, state, log, weights, o)
  local epsilon = o.how == "sample" and o.epsilon or 0
  return both(self.select and select_loss(self, view, state, log, weights, o, epsilon),
    self.place and place_loss(self, view, state, log, weights, o, epsilon))
end

-- ---- imitation ----------------------------------------------------------------------------------

--- Rolls out, and keeps what the teacher would have done at every step.
function policy:imitate(view, state, e, o)
  local seen = { ops = {}, devices = {}, lengths = {} }
  self:rollout(view, state, e, o, function(at, ops)
    if ops then
      seen.devices[#seen.devices + 1] = at:teacher_devices(ops, o.ties)
      return
    end
    local _, segments = at:candidates()
    seen.lengths[#seen.lengths + 1] = segments:lengths()
    seen.ops[#seen.ops + 1] = at:teacher_ops(o.ties)
  end)
  seen.log = e:log()
  return seen
end

local function rows_by_episode(steps, n)
  local out = {}
  for i = 1, n do
    for s = 1, steps do out[#out + 1] = (s - 1) * n + i end
  end
  return nn.index(out)
end

--- - sum over steps and what the teacher might do there of log pi, a mean over episodes, less the
-- entropy bonus. Each step's marks weigh 1 together; published: each mark weighs 1.
function policy:imitation_loss(view, state, seen, o)
  local log, loss = seen.log, nil
  local n = #log.episodes
  if self.select then
    local logs = select_logs(self, view, state, log)
    local marks = nn.concat(seen.ops, 1):reshape { -1 }:gather(odds.by_episode(seen.lengths, n))
    loss = -(logs * odds.shares(marks, log.steps, o.published_marks))
      :sum() + odds.negative_entropy(logs):scale(o.entropy)
  end
  if self.place then
    local logs = place_logs(self, view, state, log)
    local marks = nn.concat(seen.devices, 1):gather(rows_by_episode(view.steps, n)):reshape { -1 }
    marks = odds.shares(marks, views.rows(view, n * view.steps), o.published_marks)
    loss = both(loss,
      -(logs:reshape { -1 } * marks):sum() + odds.negative_entropy(logs):scale(o.entropy))
  end
  return loss:scale(1 / n)
end

return policy
