--- The two small networks on the encoder: SEL scores candidates, PLC scores devices for an op.
-- @module berth.agents.doppler.heads
local nn = require "berth.nn"

local heads = {}
local leaky = { activation = "leaky_relu", slope = 0.1 }

local function score(p, name, o)
  local inner = nn.linear(p, name .. ".inner", 4 * o.hidden, o.inner, leaky)
  local last = nn.linear(p, name .. ".score", o.inner, 1, { init = { "orthogonal", o.first } })
  return function(parts) return last(inner(nn.concat(parts, 2))):reshape { -1 } end
end

--- SEL: what ops are, what they hear, and sums of that along their b-paths and t-paths, all beside
-- the other candidates.
-- @treturn table prepare(view, h) -> what scores need; scores(ready, view, candidates, segments) ->
--  [candidates]
function heads.select(p, name, o)
  local feature, judge = nn.linear(p, name .. ".feature", 5, o.hidden, leaky), score(p, name, o)
  local self = {}
  function self.prepare(view, h)
    return nn.concat({ h:zscore(), h:path_sum(view.b_next):zscore(),
      h:path_sum(view.t_next):zscore() }, 2)
  end
  function self.scores(ready, view, ops, segments)
    return judge { feature(view.x:gather(ops):zscore(segments)),
      ready:gather(ops):zscore(segments) }
  end
  return self
end

--- Scores, those that are not allowed far below all others.
-- @param allowed of the same size: 1 or 0; nil: all are
function heads.masked(scores, allowed)
  if not allowed then return scores end
  return scores + allowed:scale(1e9, -1e9)
end

--- The same to draw from: what is not allowed is never drawn, whatever epsilon is.
function heads.ruled_out(scores, allowed)
  return allowed and scores + allowed:log() or scores
end

--- PLC: how devices stand for the op, the op's own row, and the sum of the rows of the ops already
-- there.
-- @treturn table prepare(view, h) -> what scores need; scores(ready, view, ops [n], device features
--  [n D, 5 or 6], sums [n D, hidden], segments of D, allowed [n, D] or nil) -> [n, D]
function heads.place(p, name, o)
  local device = nn.linear(p, name .. ".device", o.partners and 6 or 5, o.hidden, leaky)
  local own = nn.linear(p, name .. ".own", 5, o.hidden, leaky)
  local judge, self = score(p, name, o), {}
  function self.prepare(view, h) return nn.concat({ own(view.x), h }, 2) end
  function self.scores(ready, view, ops, features, sums, rows, allowed)
    local op = ready:gather(ops):segment_repeat(rows)
    local seen = features:scale(view.scale):minimum(view.most):zscore(rows)
    return heads.masked(judge { device(seen), op, sums:zscore(rows) }:reshape { -1, view.devices },
      allowed)
  end
  return self
end

return heads
