--- A prioritised replay memory: rows of numbers in arrays, priorities in a tree of sums.
-- Source: Schaul et al., "Prioritized Experience Replay", 2016: the proportional variant, one draw
-- from each of equal parts.
-- @module berth.agents.pacml.replay
local nn = require "berth.nn"

local replay = {}
replay.__index = replay

--- @tparam int capacity
-- @tparam int width numbers of a row
-- @tparam number alpha of priorities
function replay.new(capacity, width, alpha)
  local leaves = 1
  while leaves < capacity do leaves = leaves * 2 end
  local sums = {}
  for i = 1, 2 * leaves - 1 do sums[i] = 0 end
  local store = nn.parameters { seed = 0 }
  return setmetatable({ capacity = capacity, width = width, alpha = alpha, leaves = leaves,
    sums = sums, size = 0, head = 0, store = store, rows = store:add("rows", { capacity, width }),
    kept = store:add("priorities", { capacity }) }, replay)
end

-- A sum is computed from its two children: the same leaves give the same tree.
local function put(self, i, value)
  local sums, at = self.sums, self.leaves + i - 1
  sums[at] = value
  at = math.floor(at / 2)
  while at >= 1 do
    sums[at] = sums[2 * at] + sums[2 * at + 1]
    at = math.floor(at / 2)
  end
end

--- Sets priorities (above 0): their power alpha counts, as 32-bit floats.
-- @tparam {int,...} index
-- @tparam {number,...} priorities
function replay:weigh(index, priorities)
  local powers = {}
  for k = 1, #index do powers[k] = priorities[k] ^ self.alpha end
  powers = nn.array(powers, { #index }):flat()
  for k = 1, #index do
    put(self, index[k], powers[k])
    self.kept:set(powers[k], index[k])
  end
end

local function next_places(self, n)
  local index = {}
  for k = 1, n do
    self.head = self.head % self.capacity + 1
    index[k] = self.head
  end
  self.size = math.min(self.size + n, self.capacity)
  return index
end

--- Adds rows over the oldest ones.
-- @tparam {number,...} flat n rows of width numbers, n not above the capacity
-- @tparam {number,...} priorities of each
function replay:add(flat, priorities)
  local n = #priorities
  if n == 0 then return end
  local index = next_places(self, n)
  self.rows:add_rows(index, self.rows:gather(index), -1) -- to exact zeros
  self.rows:add_rows(index, nn.array(flat, { n, self.width }))
  self:weigh(index, priorities)
end

-- The leaf where the sum of those before it first exceeds `mass`; never one of priority 0.
local function find(self, mass)
  local sums, at = self.sums, 1
  while at < self.leaves do
    at = 2 * at
    if mass >= sums[at] and sums[at + 1] > 0 or sums[at] == 0 then
      mass, at = mass - sums[at], at + 1
    end
  end
  return at - self.leaves + 1
end

--- Draws rows, and weighs them against the bias: (size P(i))^-beta over the largest of the draw.
-- @tparam int n
-- @param rng
-- @tparam number beta
-- @return array [n, width]
-- @treturn {int,...} index
-- @treturn {number,...} weights
function replay:sample(n, rng, beta)
  local index, weights, total, largest = {}, {}, self.sums[1], 0
  for k = 1, n do
    local i = find(self, (k - 1 + rng:uniform()) / n * total)
    index[k] = i
    weights[k] = (self.size * self.sums[self.leaves + i - 1] / total) ^ -beta
    largest = math.max(largest, weights[k])
  end
  for k = 1, n do weights[k] = weights[k] / largest end
  return self.rows:gather(index), index, weights
end

--- Puts the tree together from an array of priorities: after the store was read from a file.
function replay:rebuild(size, head)
  self.size, self.head = size, head
  local kept, sums = self.kept:flat(), self.sums
  for i = 1, self.capacity do sums[self.leaves + i - 1] = kept[i] end
  for at = self.leaves - 1, 1, -1 do sums[at] = sums[2 * at] + sums[2 * at + 1] end
end

return replay
