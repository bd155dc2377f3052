--- A toy of berth.pacml for agents: a job of a pieces takes the first a free servers.
local toy = {}

local berth = require "berth"

local function graph(ops, seconds)
  local list, edges = {}, {}
  for i = 1, ops do
    list[i] = { seconds = seconds / ops * (i == 1 and 1.5 or 1), params = 10 * i }
    if i > 1 then edges[#edges + 1] = { i - 1, i, 100 * i } end
  end
  if ops > 2 then edges[#edges + 1] = { 1, ops, 50 } end
  return assert(berth.graph { ops = list, edges = edges })
end

local Run = {}

local function advance(run)
  local t, at = run.trace, run.job
  run.done = at > #t.model
  if run.done then return run end
  run.model, run.beta, run.now = t.model[at], t.beta[at], t.arrival[at]
  run.deadline = run.beta * run.env.sequential[run.model]
  local free, running, seen = 0, 0, {}
  for s = 1, run.servers do
    if run.ends[s] <= run.now then free = free + 1 end
    if run.ends[s] > run.now and not seen[run.owner[s]] then
      running, seen[run.owner[s]] = running + 1, true
    end
  end
  run.free, run.running = free, running
  return run
end

local function new_run(env, trace)
  local run = { env = env, trace = trace, job = 1, servers = env.servers, ends = {}, owner = {} }
  for s = 1, env.servers do run.ends[s], run.owner[s] = 0, 0 end
  return advance(setmetatable(run, { __index = Run }))
end

local function legal(run, a) return a == 0 or a == 1 or a % 2 == 0 and a <= run.env.most end

function Run:look(a)
  assert(legal(self, a) and not self.done)
  if a == 0 then return nil, "rejected" end
  local servers = {}
  for s = 1, self.servers do
    if self.ends[s] <= self.now and #servers < a then servers[#servers + 1] = s end
  end
  if #servers < a then return nil, "op_placement" end
  local jct = self.env.jct(self.model, a)
  return jct, servers, jct <= self.deadline * (1 + 1e-9) and "accepted" or "jct"
end

function Run:decide(a)
  local jct, servers, cause = self:look(a)
  cause = cause or servers
  if cause == "accepted" then
    for _, s in ipairs(servers) do self.ends[s], self.owner[s] = self.now + jct, self.job end
  end
  self.job = self.job + 1
  advance(self)
  return cause == "accepted", cause
end

function Run:mask(which)
  local out = {}
  for a = 0, self.env.most do
    local ok = a == 0 or legal(self, a) and a <= self.free
    if which == "exact" and ok and a > 0 then
      local _, _, cause = self:look(a)
      ok = cause == "accepted"
    end
    out[a + 1] = ok and 1 or 0
  end
  return out
end

function Run:free_at()
  local out = {}
  for s = 1, self.servers do out[s] = self.ends[s] end
  return out
end

--- @tparam table o servers, sequential { s of each model }, ops { number of each }, most, jct =
-- function(model, pieces) -> s
function toy.env(o)
  local env = { servers = o.servers, sequential = o.sequential, most = o.most, jct = o.jct,
    models = {}, run = new_run }
  env.ramp = { options = { groups = o.servers, racks = 1, slots = 1 } }
  function env.ramp:plan(_, pieces, given) -- luacheck: ignore self
    local servers = {}
    for s = 1, o.servers do
      if given.busy[s] == 0 and #servers < pieces then servers[#servers + 1] = s end
    end
    return { placed = #servers == pieces, servers = servers }
  end
  for i, s in ipairs(o.sequential) do
    local g = graph(o.ops and o.ops[i] or 3, s)
    env.models[i] = { graph = g, memory = 100 * i, bytes = 10 * i, sequential = s,
      ramp = env.ramp }
  end
  return env
end

--- Traces of n jobs, one every second; p: how often the second model comes.
function toy.traces(n, p, beta, seed)
  return function(episode)
    local rng, t = berth.rng(seed or 1, episode), { model = {}, beta = {}, arrival = {} }
    for i = 1, n do
      local m = rng:uniform() < p and 2 or 1
      t.model[i], t.beta[i], t.arrival[i] = m, beta[m], i - 1
    end
    return t
  end
end

--- Two servers. A job takes a server for 2 s, or both for 1.5 s: then the next one finds none. A
-- job of the second model takes both for 3 s. Best is one server for the first, and to turn the
-- second away.
function toy.two_servers()
  return toy.env { servers = 2, sequential = { 2, 6 }, ops = { 3, 5 }, most = 2,
    jct = function(m, a) return m == 1 and (a == 1 and 2 or 1.5) or (a == 1 and 6 or 3) end }
end

return toy
