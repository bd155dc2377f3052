--- Words: the actions of a stage as tokens, without micro-batches, which come in order.
--
-- "F" is the forward of the stage's chunk, "F2" that of its second chunk in the order of the model;
-- B, W and BW (both gradients as one) likewise; "F1&B2" is one slot. A user's generator returns a
-- word for each stage.
local options = require "berth.base.options"

local words = {}

-- What a kind counts as, so that the k-th of it is of micro-batch k.
local COUNTED = { F = "F", B = "B", W = "W", BW = "B" }

-- Micro-batches of the chunk that come before its first.
local function first_of(problem, chunk)
  return problem.map == "bidirectional" and chunk > problem.stages and problem.microbatches / 2 or 0
end

local function token_of(fn, problem, stage, i, text, counts)
  local kind, k = tostring(text):match "^([FBW]+)(%d*)$"
  options.refuse(not COUNTED[kind], "%s: stage%d, token %d: expected F, B, W or BW, a chunk of "
    .. "the stage behind it if it has several, or two with & between; got %s", fn, stage - 1, i,
    type(text) == "string" and ("'%s'"):format(text) or type(text))
  k = k == "" and 1 or tonumber(k)
  local chunk = problem.chunk[stage][k]
  options.refuse(not chunk, "%s: stage%d, token %d: '%s': the stage has %d chunks", fn, stage - 1,
    i, text, problem.chunks)
  local key = COUNTED[kind] .. k
  counts[key] = (counts[key] or 0) + 1
  return { kind = kind, chunk = chunk, microbatch = first_of(problem, chunk) + counts[key] }
end

--- The actions of a stage's word.
-- @treturn table array of { kind, chunk, microbatch, overlapped }
function words.actions(fn, problem, stage, word)
  options.expect(word, "table", "%s: stage%d: word", fn, stage - 1)
  local out, counts = {}, {}
  for i, token in ipairs(word) do
    local first, second = tostring(token):match "^([^&]+)&([^&]+)$"
    out[#out + 1] = token_of(fn, problem, stage, i, first or token, counts)
    if second then
      out[#out].overlapped = true
      out[#out + 1] = token_of(fn, problem, stage, i, second, counts)
    end
  end
  return out
end

--- The actions of all stages by a user's generator, function(problem, stage) -> word.
function words.made_by(fn, generator, problem)
  local out = {}
  for stage = 1, problem.stages do
    out[stage] = words.actions(fn, problem, stage, generator(problem, stage))
  end
  return out
end

return words
