--- One network for both: scores every pair of a candidate and a device. The interface is the
-- trainer's.
-- @module berth.agents.doppler.joint
local nn = require "berth.nn"
local encoder = require "berth.agents.doppler.encoder"
local heads = require "berth.agents.doppler.heads"
local odds = require "berth.agents.doppler.odds"
local views = require "berth.agents.doppler.view"

local joint = {}
joint.__index = joint
local leaky = { activation = "leaky_relu", slope = 0.1 }

--- @tparam table o checked options of berth.agents.doppler
function joint.new(o)
  local p, h = nn.parameters { seed = o.seed }, o.hidden
  return setmetatable({ o = o, params = p, nets = { { params = p, name = "doppler" } },
    encoder = encoder.new(p, "encoder", o),
    own = nn.linear(p, "own", 5, h, leaky), op = nn.linear(p, "op", 4 * h, h, leaky),
    device = nn.linear(p, "device", o.partners and 6 or 5, h, leaky),
    inner = nn.linear(p, "inner", 3 * h, o.inner, leaky), last = nn.linear(p, "score", o.inner, 1,
      { init = { "orthogonal", o.first } }) }, joint)
end

function joint:view(env) return views.new(env, self.o.design) end

--- Rows that the loss takes for an episode.
function joint.rows_per_episode(_, view) return view.candidates * view.devices end

--- What ops are, hear, and sum up along their paths.
function joint:encode(view)
  local h = self.encoder(view.x, view.edges)
  local paths = { self.own(view.x), h:zscore(), h:path_sum(view.b_next):zscore(),
    h:path_sum(view.t_next):zscore() }
  return { h = h, op = self.op(nn.concat(paths, 2)) }
end

-- Scores of all pairs [pairs]; segments: candidates of each row; sums [rows, devices x hidden].
local function scores(self, view, state, ops, segments, features, sums, allowed)
  local pairs_of, each = odds.times(segments, view.devices), views.rows(view, #ops)
  local seen = features:scale(view.scale):minimum(view.most):zscore(pairs_of)
  local loads = sums:segment_repeat(segments):reshape { -1, self.o.hidden }:zscore(each)
  local inner = self.inner(nn.concat({ self.device(seen),
    state.op:gather(ops):segment_repeat(each), loads }, 2))
  local out = self.last(inner)
  return heads.masked(out:reshape { -1 }, allowed), pairs_of
end

-- The k-th candidate of each episode; the last one where there are fewer.
local function kth(list, lengths, k)
  local out, at = {}, 0
  for i = 1, #lengths do
    out[i], at = list[at + math.min(k, lengths[i])], at + lengths[i]
  end
  return nn.index(out)
end

local function most_of(lengths)
  local most = 0
  for i = 1, #lengths do most = math.max(most, lengths[i]) end
  return most
end

-- ask(op of each episode) -> [episodes x devices, columns], for all candidates: [candidates,
-- devices x columns].
local function of_all(ops, segments, ask)
  local list, lengths, parts, at = ops:totable(), segments:lengths(), {}, {}
  for k = 1, most_of(lengths) do parts[k] = ask(kth(list, lengths, k)) end
  for i = 1, #lengths do
    for k = 1, lengths[i] do at[#at + 1] = (k - 1) * #lengths + i end
  end
  local all = nn.concat(parts, 1)
  return all:reshape { -1, all.size / (#parts * #lengths) }:gather(nn.index(at))
end

local function split(pos, devices)
  local at, which, device = pos:totable(), {}, {}
  for i = 1, #at do
    device[i] = (at[i] - 1) % devices + 1
    which[i] = (at[i] - device[i]) / devices + 1
  end
  return nn.index(which), nn.index(device), device
end

local function note(seen, features, lengths, allowed)
  local at = #seen.lengths + 1
  seen.features[at], seen.lengths[at], seen.allowed[at] = features, lengths, allowed
end

--- All steps of all episodes; the features of devices for all candidates are kept in `state` for
-- `loss`.
-- @tparam[opt] function watch called (episodes, candidates, segments) at each step
function joint:rollout(view, state, e, o, watch)
  local n, devices, how = e.count, view.devices, { how = o.how, epsilon = o.epsilon }
  local sums, seen = nn.zeros { n * devices, self.o.hidden },
    { features = {}, lengths = {}, allowed = {} }
  state.seen = seen
  for _ = 1, view.steps do
    if self.o.encode == "step" then state = self:encode(view) end
    local ops, segments = e:candidates()
    if watch then watch(e, ops, segments) end
    local features = of_all(ops, segments, function(op) return e:devices(op) end)
    local allowed = view.restricted and of_all(ops, segments, function(op) return e:allowed(op) end)
      or nil
    note(seen, features, segments:lengths(), allowed)
    allowed = allowed and allowed:reshape { -1 }
    local out, pairs_of = scores(self, view, state, ops, segments,
      features:reshape { -1, self.o.partners and 6 or 5 },
      sums:reshape { n, devices * self.o.hidden }, allowed)
    local which, device, list = split(e:choose(heads.ruled_out(out, allowed), pairs_of, how),
      devices)
    local op = e:select(ops, segments, which)
    e:assign(op, device)
    for i = 1, n do list[i] = (i - 1) * devices + list[i] end
    sums:add_rows(nn.index(list), state.h:gather(op))
  end
end

-- log pi of all pairs of all rows, in the log's order.
local function logs_of(self, view, state, log, seen)
  local order = odds.by_episode(seen.lengths, #log.episodes)
  local features = nn.concat(seen.features, 1):gather(order):reshape { -1,
    self.o.partners and 6 or 5 }
  local allowed = view.restricted and nn.concat(seen.allowed, 1):gather(order):reshape { -1 } or nil
  local sums = state.h:running_sum(log.episodes, log.op, log.device,
    view.devices):reshape { #log.op, -1 }
  local out, pairs_of = scores(self, view, state, log.candidates, log.steps, features, sums,
    allowed)
  return out:segment_log_softmax(pairs_of), pairs_of, allowed
end

local function chosen_pairs(log, devices)
  local chosen, device, out = log.chosen:totable(), log.device:totable(), {}
  for i = 1, #chosen do out[i] = (chosen[i] - 1) * devices + device[i] end
  return nn.index(out)
end

local function share_of(pairs_of, mask)
  if not mask then return odds.share(pairs_of) end
  return mask / mask:segment_sum(pairs_of):segment_repeat(pairs_of)
end

--- As in berth.agents.doppler.policy, of pairs; for the log of the last rollout.
function joint:loss(view, state, log, weights, o)
  local logs, pairs_of, allowed = logs_of(self, view, state, log, state.seen)
  local drawn = logs
  if o.how == "sample" and o.epsilon > 0 then
    drawn = odds.mixture(logs, share_of(pairs_of, allowed), o.epsilon)
  end
  local loss = -(drawn:gather(odds.rows(pairs_of, chosen_pairs(log, view.devices))) * weights):sum()
  if o.entropy > 0 then
    loss = loss + odds.negative_entropy(logs):scale(o.entropy / #log.episodes)
  end
  return loss
end

--- Rolls out, and keeps the pairs that the teacher would have chosen at every step.
function joint:imitate(view, state, e, o)
  local marks = {}
  self:rollout(view, state, e, o, function(_, ops, segments)
    local devices = of_all(ops, segments, function(op) return e:teacher_devices(op, o.ties) end)
    marks[#marks + 1] = devices * e:teacher_ops(o.ties):reshape { -1, 1 }
  end)
  return { log = e:log(), seen = state.seen, marks = marks }
end

--- As in berth.agents.doppler.policy, of pairs.
function joint:imitation_loss(view, state, seen, o)
  local logs, pairs_of = logs_of(self, view, state, seen.log, seen.seen)
  local n = #seen.log.episodes
  local marks = nn.concat(seen.marks, 1):gather(odds.by_episode(seen.seen.lengths, n))
    :reshape { -1 }
  local loss = -(logs * odds.shares(marks, pairs_of, o.published_marks)):sum()
  return (loss + odds.negative_entropy(logs):scale(o.entropy)):scale(1 / n)
end

return joint
