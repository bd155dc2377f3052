--- PLACETO (Addanki et al. 2019) as DOPPLER's authors implemented it for comparison: ops in topological order, message passing
-- at every step over the graph with the placement so far.
-- Departs from it: op times are told as shares of the largest, and the three sets of ops around the current one are averaged.
-- @module berth.agents.placeto
local nn = require "berth.nn"
local options = require "berth.options"
local choices = require "berth.agents.choices"

local placeto = {}
local methods = {}
local meta = { __index = methods }

local legal = { "devices", "rounds", "hidden", "seed" }

local function two_layers(p, name, n) return nn.mlp(p, name, { n, n, n }, { activation = "relu" }) end

--- The policy for a number of devices, to which the network is tied.
-- @tparam table opts devices, rounds (3) of message passing, hidden (32), seed (1)
function placeto.policy(opts)
  local given = options.check("berth.agents.placeto", opts, legal)
  local devices = given.devices
  if type(devices) ~= "number" then options.fail("berth.agents.placeto: devices: expected a number") end
  local p, width = nn.parameters { seed = given.seed or 1 }, devices + 4
  local self = { name = "placeto", devices = devices, width = width, rounds = given.rounds or 3, params = p }
  self.input = nn.linear(p, "input", width, width, { activation = "relu" })
  for _, way in ipairs { "down", "up" } do
    self[way] = { send = two_layers(p, way .. ".send", width), take = two_layers(p, way .. ".take", width) }
  end
  for _, set in ipairs { "parents", "children", "parallel" } do self[set] = two_layers(p, set, 2 * width) end
  self.head = nn.mlp(p, "head", { 8 * width, given.hidden or 32, devices }, { activation = "relu" })
  self.nets = { { name = "placeto", params = p } }
  return setmetatable(self, meta)
end

-- ---- what does not change ----

-- lists[v]: the other ends of the edges at v, as one flat list with lengths.
local function flatten(lists)
  local ids, lengths = {}, {}
  for v = 1, #lists do
    for _, u in ipairs(lists[v]) do ids[#ids + 1] = u end
    lengths[v] = #lists[v]
  end
  return { ids = ids, lengths = lengths }
end

local function neighbours(env)
  local parents, children = {}, {}
  for v = 1, env.ops do parents[v], children[v] = {}, {} end
  local src, dst = env:graph_edges()
  for i = 1, #src do
    parents[dst[i]][#parents[dst[i]] + 1] = src[i]
    children[src[i]][#children[src[i]] + 1] = dst[i]
  end
  return parents, children
end

-- Neither before nor after op on any path.
local function beside(g, op, n)
  local related, out = { [op] = true }, {}
  for _, v in ipairs(g:ancestors(op)) do related[v] = true end
  for _, v in ipairs(g:descendants(op)) do related[v] = true end
  for v = 1, n do
    if not related[v] then out[#out + 1] = v end
  end
  return out
end

local function shares(values)
  local most = 0
  for _, x in ipairs(values) do most = math.max(most, x) end
  for i, x in ipairs(values) do values[i] = most > 0 and x / most or 0 end
  return values
end

local function static_features(env, children, width)
  local raw, times, after, flat = env:op_features(), {}, {}, {}
  for v = 1, env.ops do times[v] = raw:get(v, 1) end
  for v = 1, env.ops do
    after[v] = 0
    for _, w in ipairs(children[v]) do after[v] = after[v] + times[w] end
  end
  shares(times)
  shares(after)
  for v = 1, env.ops do
    flat[#flat + 1], flat[#flat + 2] = times[v], after[v]
    for _ = 3, width do flat[#flat + 1] = 0 end
  end
  return nn.array(flat, { env.ops, width })
end

-- Row d: an op that is on device d; row devices + 1: the op that is being placed. Columns from the third.
local function marks(devices)
  local flat = {}
  for row = 1, devices + 1 do
    flat[#flat + 1], flat[#flat + 2] = 0, 0
    for d = 1, devices do flat[#flat + 1] = d == row and 1 or 0 end
    flat[#flat + 1] = row > devices and 1 or 0
    flat[#flat + 1] = row <= devices and 1 or 0
  end
  return nn.array(flat, { devices + 1, devices + 4 })
end

local function members(env)
  local by_unit, of = {}, env:units()
  for op = 1, env.ops do
    local unit = of[op]
    by_unit[unit] = by_unit[unit] or {}
    by_unit[unit][#by_unit[unit] + 1] = op
  end
  return of, by_unit
end

function methods:view(env)
  choices.check_devices("berth.agents.placeto", self.devices, env)
  local order, allowed = choices.order(env)
  local parents, children = neighbours(env)
  local v = { order = order, allowed = allowed, devices = env.devices, ops = env.ops, steps = #order, copies = {}, around = {} }
  v.of, v.members = members(env)
  v.static, v.marks = static_features(env, children, self.width), marks(env.devices)
  v.down, v.up = flatten(parents), flatten(children)
  for s, op in ipairs(order) do
    v.around[s] = { parents = parents[op], children = children[op], parallel = beside(env.graph, op, env.ops) }
  end
  return v
end

-- ---- many copies of the graph beside one another ----

local function repeated(flat, ops, copies)
  local ids, lengths = {}, {}
  for c = 0, copies - 1 do
    for _, v in ipairs(flat.ids) do ids[#ids + 1] = c * ops + v end
    for _, n in ipairs(flat.lengths) do lengths[#lengths + 1] = n end
  end
  return nn.index(ids), nn.segments(lengths)
end

local function copy_of(view, copies)
  local c = view.copies[copies]
  if c then return c end
  c = { down = {}, up = {} }
  c.down.index, c.down.segments = repeated(view.down, view.ops, copies)
  c.up.index, c.up.segments = repeated(view.up, view.ops, copies)
  local ids = {}
  for i = 0, copies * view.ops - 1 do ids[i + 1] = i % view.ops + 1 end
  c.features = view.static:gather(nn.index(ids))
  view.copies[copies] = c
  return c
end

local function pass(self, way, x, where)
  local h = x
  for _ = 1, self.rounds do
    h = way.take(way.send(h):gather(where.index):segment_sum(where.segments)) + x
  end
  return h
end

local function set_around(view, name, steps)
  local ids, lengths = {}, {}
  for c, s in ipairs(steps) do
    local set = view.around[s][name]
    for _, v in ipairs(set) do ids[#ids + 1] = (c - 1) * view.ops + v end
    lengths[c] = #set
  end
  return nn.index(ids), nn.segments(lengths)
end

-- steps[c]: at which step copy c is; placed[(c - 1) ops + v]: device of op v there, devices + 1 the current one, 0: none.
local function scores(self, view, steps, placed)
  local c = copy_of(view, #steps)
  local x = self.input(c.features + view.marks:gather(nn.index(placed)))
  local h = nn.concat({ pass(self, self.down, x, c.down), pass(self, self.up, x, c.up) }, 2)
  local current = {}
  for i, s in ipairs(steps) do current[i] = (i - 1) * view.ops + view.order[s] end
  local parts = { h:gather(nn.index(current)) }
  for _, name in ipairs { "parents", "children", "parallel" } do
    local index, segments = set_around(view, name, steps)
    parts[#parts + 1] = self[name](h:gather(index):segment_mean(segments))
  end
  return self.head(nn.concat(parts, 2))
end

-- ---- a policy ----

--- Rows that the loss takes per episode: so a batch of much more than a few 100,000 in all is better learned from in parts.
function methods.rows_per_episode(_, view) return #view.order * view.ops end

function methods.encode() return {} end

function methods.begin(_, view, _, episodes)
  return { episodes = episodes, placed = choices.same(0, episodes * view.ops) }
end

function methods:score_step(view, walk, step)
  local op = view.order[step]
  for i = 0, walk.episodes - 1 do walk.placed[i * view.ops + op] = self.devices + 1 end
  return scores(self, view, choices.same(step, walk.episodes), walk.placed)
end

function methods.noted(_, view, walk, step, devices)
  for i, d in ipairs(devices) do
    for _, op in ipairs(view.members[view.of[view.order[step]]]) do walk.placed[(i - 1) * view.ops + op] = d end
  end
end

function methods:rollout(view, state, e, opts) return choices.rollout(self, view, state, e, opts) end

-- Copy after copy of one episode: the placement before each step, the current op marked.
local function replay(self, view, devices, from, steps, placed)
  local now = choices.same(0, view.ops)
  for s, op in ipairs(view.order) do
    now[op] = self.devices + 1
    for v = 1, view.ops do placed[#placed + 1] = now[v] end
    steps[#steps + 1] = s
    for _, member in ipairs(view.members[view.of[op]]) do now[member] = devices[from + s] end
  end
end

-- Of all steps of all episodes, in the order of the log.
local function scores_of_log(self, view, log, episodes)
  local devices, steps, placed = log.device:totable(), {}, {}
  for i = 0, episodes - 1 do replay(self, view, devices, i * #view.order, steps, placed) end
  return scores(self, view, steps, placed)
end

function methods:loss(view, _, log, weights, opts)
  local episodes = #log.device / #view.order
  local found = scores_of_log(self, view, log, episodes)
  return choices.loss(found, choices.allowed_rows(view, episodes), log, weights, opts or {})
end

function methods:imitate(view, state, e, opts) return choices.imitate(self, view, state, e, opts or {}) end

function methods:imitation_loss(view, _, seen, opts)
  local episodes = #seen.log.device / #view.order
  local found = scores_of_log(self, view, seen.log, episodes)
  return choices.imitation_loss(found, choices.allowed_rows(view, episodes), seen.log, seen.marks, opts or {})
end

return placeto
