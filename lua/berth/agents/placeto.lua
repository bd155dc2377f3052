--- PLACETO (Addanki et al. 2019) as DOPPLER's authors implemented it for comparison: ops in
-- topological order, message passing at every step over the graph with the placement so far. From
-- one step to the next an op or two change, so only they and what receives from them are
-- computed again: see berth.agents.versions. Departs from it: op times are given as shares of the
-- largest, and the three sets of ops around the current one are averaged.
-- @module berth.agents.placeto
local nn = require "berth.nn"
local options = require "berth.base.options"
local check = require "berth.agents.check"
local choices = require "berth.agents.choices"
local sight = require "berth.agents.placeto_view"

local placeto = {}
local methods = {}
local meta = { __index = methods }
local ways, sets = sight.ways, sight.sets

options.declare("agents.placeto", {
  { key = "devices", type = "whole", low = 1, high = 1e5, default = "those of the topology",
    text = "to which it is tied" },
  { key = "rounds", type = "whole", low = 1, high = 1000, default = "3",
    text = "of message passing" },
  { key = "hidden", type = "whole", low = 1, high = 1e5, default = "32",
    text = "units of the last layer" },
  { key = "seed", type = "whole", high = 2 ^ 53 - 1, default = "1", text = "of the weights" },
})

--- Options of the network.
placeto.legal = options.keys "agents.placeto"

local function two_layers(p, name, n)
  return nn.mlp(p, name, { n, n, n }, { activation = "relu" })
end

--- Raises for options that no network can have.
function placeto.check(fn, given) options.check_values(fn, "agents.placeto", given) end

--- The policy for a number of devices, to which the network is tied.
-- @tparam table opts devices, rounds (3) of message passing, hidden (32), seed (1)
function placeto.policy(opts)
  local given = options.check("berth.agents.placeto", opts, placeto.legal)
  local devices = given.devices
  check.whole("berth.agents.placeto", "devices", devices, 1, 1e5)
  placeto.check("berth.agents.placeto", given)
  local p, width = nn.parameters { seed = given.seed or 1 }, devices + 4
  local self = { name = "placeto", devices = devices, width = width, rounds = given.rounds or 3,
    params = p }
  self.input = nn.linear(p, "input", width, width, { activation = "relu" })
  for _, way in ipairs(ways) do
    self[way] = { send = two_layers(p, way .. ".send", width), take = two_layers(p, way .. ".take",
      width) }
  end
  for _, set in ipairs(sets) do self[set] = two_layers(p, set, 2 * width) end
  self.head = nn.mlp(p, "head", { 8 * width, given.hidden or 32, devices }, { activation = "relu" })
  self.nets = { { name = "placeto", params = p } }
  return setmetatable(self, meta)
end

function methods:view(env)
  choices.check_devices("berth.agents.placeto", self.devices, env)
  return sight.of(env, self.width, self.rounds)
end

-- What is known of the ops, and of each set of ops around them: rows of both ways after the last
-- round.
local function head(self, op, around)
  local parts = { nn.concat(op, 2) }
  for _, name in ipairs(sets) do parts[#parts + 1] = self[name](nn.concat(around(name), 2)) end
  return self.head(nn.concat(parts, 2))
end

-- ---- step by step ----

-- Some hundred episodes go through in several walks: what a walk needs is kept, and grows with the
-- episodes in it.
local MOST = 64

-- Before the first step all episodes are alike.
local function copies(rows, episodes)
  local ids, ops = {}, rows.shape[1]
  for i = 0, ops * episodes - 1 do ids[i + 1] = i % ops + 1 end
  return rows:gather(nn.index(ids))
end

-- Tables of all ops of all episodes as they stand: x, their features; of each way, messages sent
-- after each round, and what is known after the last.
local function start(self, view, before, episodes)
  local x = self.input(view.static)
  local walk = { episodes = episodes, before = before, plans = sight.steps(view, self.rounds,
    episodes), x = copies(x, episodes) }
  for _, way in ipairs(ways) do
    local h, net, standing, at = x, self[way], view.standing[way], {}
    for r = 1, self.rounds do
      local sent = net.send(h)
      at[r - 1] = copies(sent, episodes)
      h = net.take(sent:gather_sum(standing.from, standing.received)) + x
    end
    at.last, walk[way] = copies(h, episodes), at
  end
  return walk
end

function methods:begin(view, _, episodes)
  local walks, before = { devices = {} }, 0
  while before < episodes do
    walks[#walks + 1] = start(self, view, before, math.min(MOST, episodes - before))
    before = before + MOST
  end
  return walks
end

-- The last of the ops that change is the current one; the others have been placed in the step
-- before.
local function marks_of_step(self, view, walk, plan, placed)
  local ids, n = {}, #plan.own
  for e = 1, walk.episodes do
    for i = 1, n do ids[#ids + 1] = i == n and self.devices + 1 or placed[walk.before + e] end
  end
  return view.marks:gather(nn.index(ids))
end

local function renew(self, walk, way, plan, x)
  local h, net, at, rows = x, self[way], walk[way], plan.rows
  for r = 1, self.rounds do
    local now = plan[way][r]
    at[r - 1]:set_rows(rows, net.send(h))
    h, rows = net.take(at[r - 1]:gather_sum(now.from, now.received)) + walk.x:gather(now.rows),
      now.rows
  end
  at.last:set_rows(rows, h)
end

local function score(self, view, walk, step, placed)
  local plan = walk.plans[step]
  local x = self.input(plan.features + marks_of_step(self, view, walk, plan, placed))
  walk.x:set_rows(plan.rows, x)
  for _, way in ipairs(ways) do renew(self, walk, way, plan, x) end
  local down, up = walk.down.last, walk.up.last
  return head(self, { down:gather(plan.op), up:gather(plan.op) }, function(name)
    local set, of = plan[name], plan[name .. "_of"]
    return { down:gather_mean(set, of), up:gather_mean(set, of) }
  end)
end

--- Scores of the devices for the op of a step, of all steps in their order.
function methods:score_step(view, walks, step)
  local out = {}
  for i, walk in ipairs(walks) do out[i] = score(self, view, walk, step, walks.devices) end
  return #out == 1 and out[1] or nn.concat(out, 1)
end

function methods.noted(_, _, walks, _, devices) walks.devices = devices end

function methods:rollout(view, state, e, opts)
  return choices.rollout(self, view, state, e, opts)
end

-- ---- all steps of all episodes at once ----

local function pass(self, plan, way, x)
  local h, net = x, self[way]
  for r = 1, self.rounds do
    local now = plan[way][r]
    h = net.take(net.send(h):gather_sum(now.from, now.received)) + x:gather(now.own)
  end
  return h
end

-- In the order of the log.
local function scores_of_log(self, view, log, episodes)
  local plan = sight.log(view, self.rounds, episodes)
  local chosen = nn.concat({ view.marks:slice(1, self.devices + 1, self.devices + 1),
    view.marks:gather(log.device) }, 1)
  local x = self.input(plan.features + chosen:gather(plan.shown))
  local down, up, reads = pass(self, plan, "down", x), pass(self, plan, "up", x), plan.reads
  return head(self, { down:gather(reads.down.op), up:gather(reads.up.op) }, function(name)
    local of = reads.down[name .. "_of"]
    return { down:gather_mean(reads.down[name], of), up:gather_mean(reads.up[name], of) }
  end)
end

--- Rows that the loss holds for an episode: all versions there are.
function methods:rows_per_episode(view)
  local sum = #view.own.vertex
  for _, way in ipairs(ways) do
    for r = 1, self.rounds do sum = sum + #view[way][r].vertex end
  end
  return sum
end

function methods.encode() return {} end

function methods:loss(view, _, log, weights, opts)
  local episodes = #log.device / #view.order
  local found = scores_of_log(self, view, log, episodes)
  return choices.loss(found, choices.allowed_rows(view, log), log, weights, opts or {})
end

function methods:imitate(view, state, e, opts)
  return choices.imitate(self, view, state, e, opts or {})
end

function methods:imitation_loss(view, _, seen, opts)
  local episodes = #seen.log.device / #view.order
  local found = scores_of_log(self, view, seen.log, episodes)
  return choices.imitation_loss(found, choices.allowed_rows(view, seen.log), seen.log, seen.marks,
    opts or {})
end

return placeto
