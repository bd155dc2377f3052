--- Layers of a model, and how they are split into the chunks of a pipeline.
--
-- A split is an array: how many layers each chunk has, in the order of the model. With the map
-- `bidirectional` the chunks behind the first `stages` are a second copy of the model.
local layout = require "berth.schedule.layout"
local options = require "berth.base.options"

local layers = {}

local KEYS = { "kind", "count", "forward", "backward", "weight", "activations", "p2p" }
local KINDS = { E = true, t = true, m = true, L = true }
local TIMES = { "forward", "backward", "weight" }

-- ---- lists of layers ----------------------------------------------------------------------------

local function check(fn, layer, where)
  options.expect(layer, "table", "%s: %s", fn, where)
  options.check(("%s: %s"):format(fn, where), layer, KEYS)
  options.refuse(layer.kind ~= nil and not KINDS[layer.kind],
    "%s: %s.kind: '%s' is none of: E, t, m, L", fn, where, tostring(layer.kind))
  for _, key in ipairs(KEYS) do
    local x = layer[key]
    options.refuse(key ~= "kind" and x ~= nil
      and (type(x) ~= "number" or x ~= x or x < 0 or x == math.huge),
      "%s: %s.%s: expected a finite number from 0, got %s", fn, where, key, tostring(x))
  end
end

-- What an F of the layer holds; 1 without a number, and nothing beside embedding and loss.
local function own_activations(layer)
  if layer.activations then return layer.activations end
  return (layer.kind == "E" or layer.kind == "L") and 0 or 1
end

--- The layers one by one, with every field. Activations without numbers are 1 for a layer, scaled
-- so that the model has `stages` of them: 1 is then what an even split has on a stage.
function layers.list(fn, given, stages)
  local out, sum, own = {}, 0, false
  for i, layer in ipairs(given) do
    check(fn, layer, ("layers[%d]"):format(i))
    own = own or layer.activations ~= nil
    for _ = 1, layer.count or 1 do
      local one = { kind = layer.kind or "t", activations = own_activations(layer),
        p2p = layer.p2p }
      for _, key in ipairs(TIMES) do one[key] = layer[key] or 0 end
      out[#out + 1], sum = one, sum + one.activations
    end
  end
  options.refuse(#out == 0, "%s: layers: there are none", fn)
  if own or sum == 0 then return out end
  for _, one in ipairs(out) do one.activations = one.activations * stages / sum end
  return out
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
  out[1], out[chunks] = out[1] + first, out[chunks] + last
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
      options.refuse(list[i].kind ~= letter, "%s: split: layer %d of the layout is %s, of the model "
        .. "%s", fn, i, letter, list[i].kind)
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

-- The least that a chunk holds, beside the model's: the core wants more than nothing.
local LEAST = 1e-9

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

--- Sets forward, backward, weight and activations of a problem's chunks from o.layers and o.split,
-- and these two in full.
function layers.price(fn, o)
  options.expect(o.layers, "table", "%s: layers", fn)
  options.refuse(o.activations, "%s: activations: are of the layers", fn)
  local list = layers.list(fn, o.layers, o.stages)
  local twice = o.map == "bidirectional"
  local parts = twice and o.stages or o.stages * o.chunks
  local split, held = counts(fn, o.split, list, parts), 0
  for _, layer in ipairs(list) do held = held + layer.activations end
  for _, key in ipairs { "forward", "backward", "weight", "activations" } do
    local sum, i = {}, 0
    for c, n in ipairs(split) do
      sum[c] = 0
      for k = i + 1, i + n do sum[c] = sum[c] + list[k][key] end
      if key == "activations" and sum[c] == 0 then sum[c] = LEAST * math.max(held, 1) end
      i = i + n
      if twice then sum[parts + c] = sum[c] end
    end
    o[key] = sum
  end
  local p2p = boundaries(list, split)
  options.refuse(p2p and o.p2p, "%s: p2p: is given already, by layers", fn)
  if p2p and twice then
    for c = 1, parts do p2p[parts + c] = p2p[parts - c] or 0 end
    p2p[2 * parts] = nil
  end
  o.p2p = o.p2p or p2p
  o.layers, o.split, o.layout = list, split, layers.layout(list, split)
end

return layers
