--- GDP (Zhou et al. 2019) as DOPPLER's authors implemented it for comparison: one look at the graph
-- gives every op a distribution over the devices; each is drawn by itself.
-- @module berth.agents.gdp
local nn = require "berth.nn"
local options = require "berth.base.options"
local check = require "berth.agents.check"
local choices = require "berth.agents.choices"

local gdp = {}
local methods = {}
local meta = { __index = methods }

local function count(key, default, text)
  return { key = key, type = "whole", low = 1, high = 1e5, default = default, text = text }
end

options.declare("agents.gdp", {
  count("devices", "those of the topology", "to which it is tied"),
  count("kinds", "8", "of ops that are distinguished, others count as the last"),
  count("parents", "8", "parents whose ids are features"),
  count("width", "64", "numbers per op"),
  count("segment", "8", "ops that attend together"),
  count("heads", "4", "of attention; the width can be split over them"),
  { key = "quirks", type = "flag", default = "false",
    text = "as the published program: raw ids and times, and ops with a single neighbour get zeros "
      .. "from it" },
  { key = "seed", type = "whole", high = 2 ^ 53 - 1, default = "1", text = "of the weights" },
})

--- Options of the network.
gdp.legal = options.keys "agents.gdp"

--- Raises for options that no network can have.
function gdp.check(fn, given)
  options.check_values(fn, "agents.gdp", given)
  local width, n = given.width or 64, given.heads or 4
  options.refuse(width % n ~= 0, "%s: width: %.0f cannot be split over %.0f heads", fn, width, n)
end

--- The policy for a number of devices, to which the network is tied.
-- @tparam table opts as declared above
function gdp.policy(opts)
  local given = options.check("berth.agents.gdp", opts, gdp.legal)
  check.whole("berth.agents.gdp", "devices", given.devices, 1, 1e5)
  gdp.check("berth.agents.gdp", given)
  local p, width = nn.parameters { seed = given.seed or 1 }, given.width or 64
  local self = { name = "gdp", devices = given.devices, kinds = given.kinds or 8,
    parents = given.parents or 8, width = width, segment = given.segment or 8, quirks = given.quirks
    or false, params = p }
  self.input = nn.linear(p, "input", self.kinds + 1 + self.parents, width)
  self.pool = nn.linear(p, "pool", width, width, { activation = "sigmoid" })
  self.merge = nn.linear(p, "merge", 2 * width, width)
  self.attention = nn.multi_head(p, "attention", width, given.heads or 4)
  self.norm = nn.norm(p, "norm", width)
  self.forward = nn.mlp(p, "forward", { width, 4 * width, width }, { activation = "relu" })
  self.last = nn.norm(p, "last", width)
  self.head = nn.linear(p, "head", width, given.devices)
  self.nets = { { name = "gdp", params = p } }
  return setmetatable(self, meta)
end

-- ---- what does not change ----

local function kinds_of(g, most)
  local number, n, out = {}, 0, {}
  for op in g:ops() do
    local kind = op.kind or ""
    if not number[kind] then
      n = math.min(n + 1, most)
      number[kind] = n
    end
    out[op.id] = number[kind]
  end
  return out
end

local function neighbours(env)
  local parents, children, both = {}, {}, {}
  for v = 1, env.ops do parents[v], children[v], both[v] = {}, {}, {} end
  local src, dst = env:graph_edges()
  for i = 1, #src do
    local u, v = src[i], dst[i]
    parents[v][#parents[v] + 1], children[u][#children[u] + 1] = u, v
    both[v][#both[v] + 1], both[u][#both[u] + 1] = u, v
  end
  return parents, children, both
end

local function work_after(env, children)
  local raw, out, most = env:op_features(), {}, 0
  for v = 1, env.ops do
    out[v] = 0
    for _, w in ipairs(children[v]) do out[v] = out[v] + raw:get(w, 1) end
    most = math.max(most, out[v])
  end
  return out, most > 0 and most or 1
end

-- One-hot kind, times of what follows, ids of producers (0: none).
local function features(self, env, parents, children)
  local kinds, flat = kinds_of(env.graph, self.kinds), {}
  local after, most = work_after(env, children)
  for v = 1, env.ops do
    for k = 1, self.kinds do flat[#flat + 1] = k == kinds[v] and 1 or 0 end
    flat[#flat + 1] = self.quirks and after[v] or after[v] / most
    for i = 1, self.parents do
      flat[#flat + 1] = (parents[v][i] or 0) / (self.quirks and 1 or env.ops)
    end
  end
  return nn.array(flat, { env.ops, self.kinds + 1 + self.parents })
end

local function pooled_from(self, both)
  local ids, lengths = {}, {}
  for v = 1, #both do
    local list = self.quirks and #both[v] == 1 and {} or both[v]
    for _, u in ipairs(list) do ids[#ids + 1] = u end
    lengths[v] = #list
  end
  return nn.index(ids), nn.segments(lengths)
end

-- About so many ops attend in one go: what it takes grows with their square.
local MOST_AT_ONCE = 512

-- Who ops first .. last see: columns of ops `before` .. last, the output of the segment before
-- their own, then of ops first .. last, those of their own.
local function seen_by(before, first, last, size)
  local flat = {}
  local function add(v, u, segment)
    flat[#flat + 1] = math.floor((u - 1) / size) == math.floor((v - 1) / size) + segment and 1 or 0
  end
  for v = first, last do
    for u = before, last do add(v, u, -1) end
    for u = first, last do add(v, u, 0) end
  end
  return nn.array(flat, { last - first + 1, 2 * last - before - first + 2 })
end

-- Whole segments that attend together.
local function blocks_of(ops, size)
  local out, each = {}, size * math.max(1, math.floor(MOST_AT_ONCE / size))
  for first = 1, ops, each do
    local last, before = math.min(first + each - 1, ops), math.max(1, first - size)
    out[#out + 1] = { first = first, last = last, before = before,
      seen = seen_by(before, first, last, size) }
  end
  return out
end

function methods:view(env)
  choices.check_devices("berth.agents.gdp", self.devices, env)
  local order = choices.order(env)
  local parents, children, both = neighbours(env)
  local v = { order = order, devices = env.devices, ops = env.ops, steps = #order }
  v.features = features(self, env, parents, children)
  v.index, v.segments = pooled_from(self, both)
  v.blocks = blocks_of(env.ops, self.segment)
  return v
end

-- ---- the network ----

local function embed(self, view)
  local x = self.input(view.features)
  local pooled = self.pool(x):gather(view.index):segment_max(view.segments)
  return self.merge(nn.concat({ x, pooled }, 2))
end

local function attend(self, q, kv, mask)
  local h = self.norm(q + self.attention(q, kv, kv, mask))
  return self.last(h + self.forward(h))
end

-- Segment after segment, each with the output of the one before as memory. As constants: it is
-- recorded on a tape of its own.
local function outputs(self, view)
  local h, parts, memory = embed(self, view), {}, nil
  for from = 1, view.ops, self.segment do
    local own = h:slice(1, from, math.min(from + self.segment - 1, view.ops))
    memory = attend(self, own, memory and nn.concat({ memory, own }, 1) or own)
    parts[#parts + 1] = memory
  end
  return nn.concat(parts, 1)
end

--- Memory carries no gradient, so it is computed first; then many segments attend at once.
function methods:encode(view)
  local side_tape = nn.tape()
  local memory = side_tape:record(outputs, self, view)
  side_tape:clear()
  local h, parts = embed(self, view), {}
  for i, b in ipairs(view.blocks) do
    local own = h:slice(1, b.first, b.last)
    parts[i] = attend(self, own, nn.concat({ memory:slice(1, b.before, b.last), own }, 1), b.seen)
  end
  return { scores = self.head(nn.concat(parts, 1)) }
end

-- ---- a policy ----

--- Rows that the loss takes per episode.
function methods.rows_per_episode(_, view) return #view.order end

function methods.begin(_, _, state, episodes)
  return { episodes = episodes, scores = state.scores }
end

function methods.score_step(_, view, walk, step)
  return walk.scores:gather(choices.same(view.order[step], walk.episodes))
end

function methods.noted() end

function methods:rollout(view, state, e, opts)
  return choices.rollout(self, view, state, e, opts)
end

function methods.loss(_, view, state, log, weights, opts)
  local allowed = choices.allowed_rows(view, log)
  return choices.loss(state.scores:gather(log.op), allowed, log, weights, opts or {})
end

function methods:imitate(view, state, e, opts)
  return choices.imitate(self, view, state, e, opts or {})
end

function methods.imitation_loss(_, view, state, seen, opts)
  local allowed = choices.allowed_rows(view, seen.log)
  return choices.imitation_loss(state.scores:gather(seen.log.op), allowed, seen.log, seen.marks,
    opts or {})
end

return gdp
