--- Logarithms of the probabilities of what was chosen, and entropies.
-- @module berth.agents.doppler.odds
local nn = require "berth.nn"

local odds = {}

--- log((1 - epsilon) pi + epsilon / legal): what sampling from the mixture has drawn from.
-- @param logs log pi
-- @param share 1 / how many are legal, of each entry
function odds.mixture(logs, share, epsilon)
  if epsilon == 0 then return logs end
  return (logs:exp():scale(1 - epsilon) + share:scale(epsilon)):log(1e-30)
end

--- 1 / length, for each row of the segments.
function odds.share(segments)
  local lengths, out = segments:lengths(), {}
  for i = 1, #lengths do out[i] = 1 / lengths[i] end
  return nn.array(out, { #out }):segment_repeat(segments)
end

--- Rows of what was chosen within each segment.
function odds.rows(segments, chosen)
  local lengths, pos, out, at = segments:lengths(), chosen:totable(), {}, 0
  for i = 1, #lengths do
    out[i], at = at + pos[i], at + lengths[i]
  end
  return nn.index(out)
end

--- Segments `factor` times as long.
function odds.times(segments, factor)
  local lengths = segments:lengths()
  for i = 1, #lengths do lengths[i] = lengths[i] * factor end
  return nn.segments(lengths)
end

--- Sum of p log p.
function odds.negative_entropy(logs) return (logs:exp() * logs):sum() end

--- Indices of the entries of (step, episode) in the order of (episode, step).
function odds.by_episode(lengths, n)
  local first, at, out = {}, 0, {}
  for s = 1, #lengths do
    first[s] = {}
    for i = 1, n do
      first[s][i], at = at, at + lengths[s][i]
    end
  end
  for i = 1, n do
    for s = 1, #lengths do
      for k = 1, lengths[s][i] do out[#out + 1] = first[s][i] + k end
    end
  end
  return nn.index(out)
end

--- The marks, each step's adding up to 1 unless `published`.
function odds.shares(marks, segments, published)
  if published then return marks end
  return marks / marks:segment_sum(segments):segment_repeat(segments)
end

return odds
