--- The servers of a cluster as a learned value sees them: when each is free, and how many legal blocks of each size will be.
-- @module berth.agents.pacml.profile
local profile = {}
profile.__index = profile

local function square_root(a)
  local m = math.floor(math.sqrt(a) + 0.5)
  return m * m == a and m
end

-- Shapes of blocks of k servers in the order of pac-ml.md, section 4; the diagonal as { k, k, 1, diagonal = true }.
local function shapes_of(k, c, r, s)
  local out = {}
  for i = 1, k do
    if k % i == 0 then
      local a, b = k / i, i
      local m = square_root(a)
      if m and m <= c and m <= r and b <= s then out[#out + 1] = { m, m, b } end
      if a <= c and a <= r and b <= s then
        out[#out + 1] = { a, 1, b }
        if b <= r then out[#out + 1] = { a, b, 1 } end
      end
    end
  end
  if k <= c and k <= r then out[#out + 1] = { k, k, 1, diagonal = true } end
  if k <= c then out[#out + 1] = { k, 1, 1 } end
  return out
end

local function members(shape, at, size)
  local out = {}
  local function put(i, j, l) out[#out + 1] = ((at[1] + i) * size[2] + at[2] + j) * size[3] + at[3] + l + 1 end
  if shape.diagonal then
    for n = 0, shape[1] - 1 do put(n, n, 0) end
    return out
  end
  for i = 0, shape[1] - 1 do
    for j = 0, shape[2] - 1 do
      for l = 0, shape[3] - 1 do put(i, j, l) end
    end
  end
  return out
end

local function origins(shape, size, f)
  for i = 0, size[1] - shape[1] do
    for j = 0, size[2] - shape[2] do
      for l = 0, size[3] - shape[3] do f { i, j, l } end
    end
  end
end

--- The distinct blocks of k servers of a cluster: lists of servers (from 1; group, rack, slot in this order).
-- @tparam int k
-- @tparam {int,int,int} size groups, racks, slots
function profile.blocks(k, size)
  local out, seen = {}, {}
  for _, shape in ipairs(shapes_of(k, size[1], size[2], size[3])) do
    origins(shape, size, function(at)
      local list = members(shape, at, size)
      local key = table.concat(list, ",")
      if not seen[key] then out[#out + 1], seen[key] = list, true end
    end)
  end
  return out
end

local function add_size(self, k, size)
  local blocks = profile.blocks(k, size)
  if #blocks == 0 then return end
  local at = #self.sizes + 1
  self.sizes[at] = { blocks = #blocks, k = k }
  for _, list in ipairs(blocks) do
    local b = #self.blocks + 1
    self.blocks[b], self.kind[b] = list, at
    for _, s in ipairs(list) do self.of[s][#self.of[s] + 1] = b end
  end
end

-- To which look-ahead a time in intervals, rounded up, belongs.
local function places(ahead)
  local out, h = {}, 1
  for t = 0, ahead[#ahead] do
    while ahead[h] < t do h = h + 1 end
    out[t] = h
  end
  return out
end

--- @tparam table o size { groups, racks, slots }, interval s, ahead { whole numbers of intervals, rising }, sizes of blocks,
-- horizon (true: it is told how far away the end is)
function profile.new(o)
  local self = setmetatable({ blocks = {}, kind = {}, of = {}, sizes = {}, ahead = o.ahead, interval = o.interval,
    servers = o.size[1] * o.size[2] * o.size[3], place = places(o.ahead), last = o.ahead[#o.ahead] }, profile)
  for s = 1, self.servers do self.of[s] = {} end
  for _, k in ipairs(o.sizes) do add_size(self, k, o.size) end
  self.horizon = o.horizon
  self.width = 2 * #self.sizes * #self.ahead + self.servers + (o.horizon and 3 or 1)
  return self
end

--- When servers and blocks will be free.
-- @tparam {number,...} free_at s, of each server
-- @tparam number now s
-- @treturn table busy (s from now of each server), ready (of each block)
function profile:state(free_at, now)
  local busy, ready = {}, {}
  for s = 1, self.servers do busy[s] = math.max(free_at[s] - now, 0) end
  for b, list in ipairs(self.blocks) do
    local t = 0
    for i = 1, #list do
      local x = busy[list[i]]
      if x > t then t = x end
    end
    ready[b] = t
  end
  return { busy = busy, ready = ready }
end

--- The state with some free servers taken.
function profile:after(state, servers, seconds)
  local busy, ready = {}, {}
  for s = 1, self.servers do busy[s] = state.busy[s] end
  for b = 1, #state.ready do ready[b] = state.ready[b] end
  for _, s in ipairs(servers) do
    busy[s] = seconds
    for _, b in ipairs(self.of[s]) do
      if ready[b] < seconds then ready[b] = seconds end
    end
  end
  return { busy = busy, ready = ready }
end

local function counts(self, ready)
  local out, interval, last, place = {}, self.interval, self.last, self.place
  for k = 1, #self.sizes do
    out[k] = {}
    for h = 1, #self.ahead do out[k][h] = 0 end
  end
  for b = 1, #ready do
    local t = math.ceil(ready[b] / interval - 1e-9)
    if t <= last then
      local c, h = out[self.kind[b]], place[t]
      c[h] = c[h] + 1
    end
  end
  return out
end

-- The share of the blocks of a size that are free at each look-ahead, and whether there is one.
local function put_shares(self, state, out, at)
  for k, c in ipairs(counts(self, state.ready)) do
    local free, all = 0, self.sizes[k].blocks
    for h = 1, #self.ahead do
      free = free + c[h]
      out[at + 1], out[at + 2] = free / all, free > 0 and 1 or 0
      at = at + 2
    end
  end
  return at
end

--- Writes the numbers of a state behind `at`.
-- @tparam ?number left s until the horizon
-- @treturn int where they end
function profile:put(state, out, at, left)
  local sum, half = 0, 4 * self.interval
  at = put_shares(self, state, out, at)
  for s = 1, self.servers do
    local x = state.busy[s]
    out[at + s], sum = x / (x + half), sum + x
  end
  at = at + self.servers
  out[at + 1] = sum / (self.servers * 8 * self.interval)
  if not self.horizon then return at + 1 end
  left = (left or math.huge) / self.interval
  out[at + 2], out[at + 3] = math.min(left / 40, 1), math.min(left / 8, 1)
  return at + 3
end

return profile
