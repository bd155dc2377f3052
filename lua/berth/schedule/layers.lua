--- Layers of a model, and how they are split into the chunks of a pipeline.
--
-- A split is an array: how many layers each chunk has, in the order of the model. With the map
-- `bidirectional` the chunks behind the first `stages` are a second copy of the model.
local layout = require "berth.schedule.layout"
local options = require "berth.base.options"

local layers = {}

local TIMES = { "forward", "backward", "weight" }

options.declare("schedule.layer", {
  { key = "kind", type = "choice", default = "t", text = "letter in a Megatron layout",
    choices = { { name = "E", text = "The embedding." },
      { name = "t", text = "A transformer layer." },
      { name = "m", text = "A layer of multi-token prediction." },
      { name = "L", text = "The loss, with the logits." } } },
  { key = "count", type = "whole", default = "1", text = "so many layers alike" },
  { key = "forward", type = "number", default = "0", text = "s of F" },
  { key = "backward", type = "number", default = "0", text = "s of B (gradient of inputs)" },
  { key = "weight", type = "number", default = "0", text = "s of W (gradient of weights)" },
  { key = "activations", type = "number",
    default = "an equal share of t and m, 0 of E and L; `stages` in all",
    text = "what F takes of the memory" },
  { key = "p2p", type = "number", default = "the problem's",
    text = "s to the next stage, where a chunk ends behind it" },
})

-- ---- lists of layers ----------------------------------------------------------------------------

--- The layers one by one: { kind, forward, backward, weight, activations, p2p }.
function layers.list(fn, given)
  local out = {}
  for i, layer in ipairs(given) do
    options.read(("%s: layers[%d]"):format(fn, i), "schedule.layer", layer)
    for _ = 1, layer.count or 1 do
      local one = { kind = layer.kind or "t", activations = layer.activations, p2p = layer.p2p }
      for _, key in ipairs(TIMES) do one[key] = layer[key] or 0 end
      out[#out + 1] = one
    end
  end
  options.refuse(#out == 0, "%s: layers: there are none", fn)
  return out
end

-- [layer] what an F of it holds, and a factor of these. Without numbers a layer holds 1, embedding
-- and loss nothing, and the factor makes the model hold `stages`: 1 is then what a stage of an even
-- split has.
local function held_by(list, stages)
  local out, sum, own = {}, 0, false
  for i, layer in ipairs(list) do
    out[i] = layer.activations or ((layer.kind == "E" or layer.kind == "L") and 0 or 1)
    sum, own = sum + out[i], own or layer.activations ~= nil
  end
  return out, (own or sum == 0) and 1 or stages / sum
end

-- ---- splits -------------------------------------------------------------------------------------

local function work_of(layer) return layer.forward + layer.backward + layer.weight end

-- [i] work of the first i - 1 layers.
local function sums(list)
  local out = { 0 }
  for i, layer in ipairs(list) do out[i + 1] = out[i] + work_of(layer) end
  return out
end

-- Splits at the least total cost(load) of chunks, `join` adding or taking the larger; chunks have a
-- layer at least where there are enough. O(n^2 k).
local function cut(sum, k, join, cost)
  local n, best, from = #sum - 1, { [0] = { [0] = 0 } }, {}
  local least = n >= k and 1 or 0
  for c = 1, k do
    best[c], from[c] = {}, {}
    for i = 0, n do
      for j = 0, i - least do
        local before = best[c - 1][j]
        local value = before and join(before, cost(sum[i + 1] - sum[j + 1]))
        if value and (not best[c][i] or value < best[c][i]) then
          best[c][i], from[c][i] = value, j
        end
      end
    end
  end
  local out, i = {}, n
  for c = k, 1, -1 do out[c], i = i - from[c][i], from[c][i] end
  return out, best[k][n]
end

--- The split whose largest chunk is least, and among these the one with the least sum of squares.
function layers.balanced(list, chunks)
  local sum = sums(list)
  local _, most = cut(sum, chunks, math.max, function(load) return load end)
  most = most * (1 + 1e-9)
  return (cut(sum, chunks, function(a, b) return a + b end, function(load)
    return load <= most and load * load or math.huge
  end))
end

--- The same number of transformer layers in each chunk, embedding and loss beside the first and the
-- last: what Megatron does without a layout. The first chunks have one more where it does not
-- divide.
function layers.even(list, chunks)
  local first, last = 0, 0
  while list[first + 1] and list[first + 1].kind == "E" do first = first + 1 end
  while last < #list - first and list[#list - last].kind == "L" do last = last + 1 end
  local out, n = {}, #list - first - last
  for c = 1, chunks do
    out[c] = math.floor(n / chunks) + (c <= n % chunks and 1 or 0)
  end
  out[1] = out[1] + first
  out[chunks] = out[chunks] + last
  return out
end

local function squares(sum, split, stage)
  local load, at, out = {}, 1, 0
  for c, n in ipairs(split) do
    load[stage[c]] = (load[stage[c]] or 0) + sum[at + n] - sum[at]
    at = at + n
  end
  for _, x in ipairs(load) do out = out + x * x end
  return out
end

-- A split with the work of stages levelled: from the given one, the move of one layer between two
-- chunks that lowers the sum of squares most, until none does.
local function levelled(list, split, stage)
  local sum, now = sums(list), options.copy(split)
  local value = squares(sum, now, stage)
  repeat
    local best, from, to = value, nil, nil
    for a = 1, #now do
      for b = 1, #now do
        if a ~= b and now[a] > 0 then
          now[a], now[b] = now[a] - 1, now[b] + 1
          local x = squares(sum, now, stage)
          if x < best * (1 - 1e-12) then best, from, to = x, a, b end
          now[a], now[b] = now[a] + 1, now[b] - 1
        end
      end
    end
    if from then now[from], now[to], value = now[from] - 1, now[to] + 1, best end
  until not from
  return now
end

--- The splits that a search of a problem begins with.
function layers.first(p)
  local out = { layers.even(p.layers, #p.split), p.split }
  out[3] = levelled(p.layers, p.split, p.stage)
  return out
end

-- The counts of a layout, whose letters have to be those of the layers.
local function from_layout(fn, text, list)
  local chunks, why = layout.parse(text)
  if not chunks then options.fail("%s: split: %s", fn, why) end
  local out, i = {}, 0
  for c, letters in ipairs(chunks) do
    for letter in letters:gmatch "." do
      i = i + 1
      options.refuse(not list[i], "%s: split: the layout has more than the %d layers", fn, #list)
      options.refuse(list[i].kind ~= letter,
        "%s: split: layer %d of the layout is %s, of the model %s", fn, i, letter, list[i].kind)
    end
    out[c] = #letters
  end
  return out
end

-- The given split as counts that fit the layers and the number of parts.
local function counts(fn, split, list, parts)
  if split == nil then return layers.balanced(list, parts) end
  if split == "even" then return layers.even(list, parts) end
  if type(split) == "string" then split = from_layout(fn, split, list) end
  options.expect(split, "table", "%s: split", fn)
  options.refuse(#split ~= parts, "%s: split: %d chunks, expected %d", fn, #split, parts)
  local sum = 0
  for c, n in ipairs(split) do
    options.refuse(type(n) ~= "number" or n < 0 or n ~= math.floor(n),
      "%s: split[%d]: expected a whole number from 0, got %s", fn, c, tostring(n))
    sum = sum + n
  end
  options.refuse(sum ~= #list, "%s: split: %d layers in all, the model has %d", fn, sum, #list)
  return split
end

--- The layout of a split, a Megatron string.
function layers.layout(list, split)
  local out, i = {}, 0
  for c, n in ipairs(split) do
    local letters = {}
    for k = 1, n do letters[k] = list[i + k].kind end
    out[c], i = table.concat(letters), i + n
  end
  return layout.text(out)
end

-- p2p behind each chunk: that of its last layer, or of the last before an empty one.
local function boundaries(list, split)
  local out, i, some = {}, 0, false
  for c = 1, #split - 1 do
    i = i + split[c]
    local layer = list[math.max(i, 1)]
    out[c], some = layer.p2p or 0, some or layer.p2p ~= nil
  end
  return some and out or nil
end

--- The layers of a problem as the core bounds their splits: forward, backward, weight, activations
-- by layer, and the least p2p that a split can have.
function layers.lists(p)
  local list, out = p.layers, { activations = {} }
  local held, factor = held_by(list, p.stages)
  for _, key in ipairs(TIMES) do out[key] = {} end
  local own = false
  for i, layer in ipairs(list) do
    for _, key in ipairs(TIMES) do out[key][i] = layer[key] end
    out.activations[i] = held[i] * factor
    own = own or layer.p2p ~= nil
  end
  local places = own and list or p.p2p
  for i, place in ipairs(places) do
    local p2p = own and (place.p2p or 0) or place
    out.p2p = i == 1 and p2p or math.min(out.p2p, p2p)
  end
  return out
end

-- [chunk] sum of value(i) over its layers i.
local function by_chunk(split, value)
  local out, i = {}, 0
  for c, n in ipairs(split) do
    out[c] = 0
    for k = i + 1, i + n do out[c] = out[c] + value(k) end
    i = i + n
  end
  return out
end

-- What a chunk without activations holds, as a share of the model: the core wants more than 0.
local LEAST = 1e-9

-- The second copy of a model, at whose boundaries the p2p is that of the first.
local function doubled(list)
  for c = 1, #list do list[#list + 1] = list[c] end
  return list
end

--- Sets forward, backward, weight, activations and p2p of a problem's chunks from o.layers and
-- o.split; and these two in full, and the layout.
function layers.price(fn, o)
  options.expect(o.layers, "table", "%s: layers", fn)
  options.refuse(o.activations, "%s: activations: are of the layers", fn)
  local list = layers.list(fn, o.layers)
  local twice = o.map == "bidirectional"
  local parts = twice and o.stages or o.stages * o.chunks
  local split = counts(fn, o.split, list, parts)
  local held, factor = held_by(list, o.stages)
  for _, key in ipairs(TIMES) do
    o[key] = by_chunk(split, function(i) return list[i][key] end)
  end
  o.activations = by_chunk(split, function(i) return held[i] end)
  for c, x in ipairs(o.activations) do
    o.activations[c] = x > 0 and x * factor or LEAST * o.stages
  end
  local p2p = boundaries(list, split)
  options.refuse(p2p and o.p2p, "%s: p2p: is given already, by layers", fn)
  if twice then
    for _, key in ipairs { "forward", "backward", "weight", "activations" } do doubled(o[key]) end
    if p2p then p2p = doubled(options.join(p2p, { 0 })) end
    if p2p then p2p[#p2p] = nil end
  end
  o.p2p = o.p2p or p2p
  o.layers, o.split, o.layout = list, split, layers.layout(list, split)
end

return layers
