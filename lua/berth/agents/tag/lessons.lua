--- What games teach: strategies, questions about them, and which answers were right.
-- @module berth.agents.tag.lessons
local nn = require "berth.nn"
local options = require "berth.base.options"
local uniform = require "berth.agents.tag.uniform"

local lessons = {}

-- Different numbers from `from` to n, at most `count`, by chance; one of four draws is among the
-- first eight, the heaviest.
local function some_groups(rng, from, n, count)
  local out, taken = {}, {}
  for _ = 1, math.min(count, n - from + 1) do
    local most = rng:below(4) == 1 and math.min(8, n - from + 1) or n - from + 1
    local g = from - 1 + rng:below(most)
    if not taken[g] then out[#out + 1], taken[g] = g, true end
  end
  return out
end

local function seconds_of(d, action)
  local v = d:evaluate { action = action, sfb = "local" }
  return v and v.over == 0 and v.seconds or math.huge
end

-- Seconds with each action for all op groups.
local function value_uniform(d, u)
  local out = {}
  for a = 1, u.actions do
    local action, missing = u:strategy(a)
    out[a] = missing == 0 and seconds_of(d, action) or math.huge
  end
  return out
end

-- As a search has it on its way: the first k of the best, others as at the start.
local function begun(rng, best, base)
  local k, out = rng:below(#best) - 1, options.merge(base)
  for g = 1, k do out[g] = best[g] end
  return out, k
end

-- As a search has it at the end: some of the best.
local function mixed(rng, best, base)
  local share, out = rng:uniform(), {}
  for g = 1, #best do out[g] = rng:uniform() < share and best[g] or base[g] end
  return out, #best
end

-- ---- the best strategy, and single changes ------------------------------------------------------

-- Share of the step time that a change must save to be e times as likely.
local WORTH = 0.003

-- How likely each action of an op group should be if it alone may change: by what a step would then
-- take.
local function by_value(d, action, group)
  local changed, seconds, best, sum, out = options.merge(action), {}, math.huge, 0, {}
  for _, a in ipairs(d:legal(group)) do
    changed[group] = a
    seconds[a] = seconds_of(d, changed)
    best = math.min(best, seconds[a])
  end
  if best == math.huge then return nil end
  for _, a in ipairs(d:legal(group)) do
    out[a] = math.exp((best - seconds[a]) / (WORTH * best))
    sum = sum + out[a]
  end
  for _, a in ipairs(d:legal(group)) do out[a] = out[a] / sum end
  return out
end

local function half_and_half(a, b)
  local out = {}
  for key, weight in pairs(a) do out[key] = weight / 2 end
  for key, weight in pairs(b) do out[key] = (out[key] or 0) + weight / 2 end
  return out
end

-- ---- one action for all -------------------------------------------------------------------------

-- Share of the step time that one action for all must save over another to be e times as likely.
local WORTH_ALL = 0.015

-- How much such an answer counts among those about single op groups.
local COUNTS = 4

local function by_uniform_value(seconds)
  local best, sum, out = math.huge, 0, {}
  for a = 1, #seconds do best = math.min(best, seconds[a]) end
  if best == math.huge then return nil end
  for a = 1, #seconds do
    out[a] = math.exp((best - seconds[a]) / (WORTH_ALL * best))
    sum = sum + out[a]
  end
  for a = 1, #seconds do out[a] = out[a] / sum end
  return out
end

-- ---- what a search finds ------------------------------------------------------------------------

local search = {}

-- Of actions whose step takes hardly longer than the best of them, that which is nearest to a
-- strategy.
local ALIKE = 1.01

local function nearest_uniform(u, seconds, action)
  local best, out, most = math.huge, nil, -1
  for a = 1, #seconds do best = math.min(best, seconds[a]) end
  for a = 1, #seconds do
    local votes = 0
    for g = 1, u.groups do votes = votes + (u:instead(g, a) == action[g] and 1 or 0) end
    if seconds[a] <= ALIKE * best and votes > most then out, most = a, votes end
  end
  return out and u:strategy(out)
end

-- Changes that save next to nothing are taken back.
local NOTHING = 2e-4

local function tidied(d, action, base)
  local out, now = options.merge(action), seconds_of(d, action)
  local most = now * (1 + 10 * NOTHING)
  for g = 1, #out do
    local own = out[g]
    if own ~= base[g] then
      out[g] = base[g]
      local seconds = seconds_of(d, out)
      if seconds <= math.min(now * (1 + NOTHING), most) then now = seconds else out[g] = own end
    end
  end
  return out
end

--- The best strategy that the default search finds, without changes that are worth nothing.
function search.play(game, o)
  local d = game.deploy
  local r, message, code = d:search { calls = o.calls, seed = game.seed, sfb = "local" }
  if not r then return nil, message, code end
  local u = uniform.new(d)
  local base = nearest_uniform(u, value_uniform(d, u), r.action)
  return { best = base and tidied(d, r.action, base) or r.action, seconds = r.seconds }
end

-- Half of the op groups in question are such that the best strategy has something else there.
local function groups_in_question(rng, best, action, decided, count)
  local from, differ = decided < #best and decided + 1 or 1, {}
  for g = from, #best do
    if best[g] ~= action[g] then differ[#differ + 1] = g end
  end
  local out, taken = some_groups(rng, from, #best, count), {}
  for _, g in ipairs(out) do taken[g] = true end
  for _ = 1, #differ > 0 and count or 0 do
    local g = differ[rng:below(#differ)]
    if not taken[g] then out[#out + 1], taken[g] = g, true end
  end
  return out
end

local function state_of(record, game, o, action, decided)
  local state = { action = action, decided = decided, queries = {} }
  for k, g in ipairs(groups_in_question(game.rng, record.best, action, decided, o.groups)) do
    local weights = { [record.best[g]] = 1 }
    local valued = k <= o.changes and by_value(game.deploy, action, g)
    state.queries[k] = { group = g, weights = valued and half_and_half(weights, valued) or weights }
  end
  return state
end

-- Actions for all, the best first.
local function ranked(seconds)
  local out = {}
  for a = 1, #seconds do
    local i = #out + 1
    while i > 1 and seconds[out[i - 1]] > seconds[a] do out[i], i = out[i - 1], i - 1 end
    out[i] = a
  end
  return out
end

-- All devices alike, as data parallelism has them; the good ones; any.
local function some_uniform(rng, u, order, i)
  if i == 1 then return u:strategy(u:widest()) end
  if i % 4 == 0 then return u:strategy(rng:below(#order)) end
  return u:strategy(order[1 + math.floor(math.min(8, #order) * rng:uniform() ^ 2)])
end

--- Strategies on the way to the best, from any with one action for all and from the best of these;
-- each with op groups in question and their right answers, and, where it has one action for all,
-- with what each other one is worth.
function search.states(record, game, o)
  local out, rng, d, n = {}, game.rng, game.deploy, #record.best
  local u = uniform.new(d)
  local seconds = value_uniform(d, u)
  local order, near, worth = ranked(seconds), nearest_uniform(u, seconds, record.best),
    by_uniform_value(seconds)
  for i = 1, o.states do
    local base = i % 3 == 2 and near or some_uniform(rng, u, order, i)
    local action, decided, all = base, n, i <= 2 or rng:below(2) == 1
    if not all then action, decided = (i % 6 == 0 and begun or mixed)(rng, record.best, base) end
    out[i] = state_of(record, game, o, action, decided)
    if all and worth then table.insert(out[i].queries, { weights = worth, counts = COUNTS }) end
  end
  return out
end

-- ---- self-play ----------------------------------------------------------------------------------

local function device_groups(d)
  local most = 0
  for _, g in ipairs(d:device_groups()) do most = math.max(most, g) end
  return most
end

local visits = {}

-- Shares of the visits that each action got; zeros are left out.
local function shares(counts)
  local sum, out = 0, {}
  for a = 1, #counts do sum = sum + counts[a] end
  for a = 1, #counts do
    if counts[a] > 0 then out[a] = counts[a] / sum end
  end
  return out
end

local function drawn(rng, weights, n)
  local x, last = rng:uniform(), nil
  for a = 1, n do
    if weights[a] then
      x, last = x - weights[a], a
      if x < 0 then return a end
    end
  end
  return last
end

--- Self-play: a tree search whose root moves on by the visits of its children, for a quarter of the
-- op groups.
-- Source: tag.md, section 9.3.
function visits.play(game, o, agent)
  local d = game.deploy
  local tree, message, code = d:tree { prior = agent:prior(d), seed = game.seed, sfb = "local" }
  if not tree then return nil, message, code end
  local groups, sets, states = #d:groups(), 2 ^ math.min(device_groups(d), 6), {}
  for i = 0, math.floor(groups / 4) - 1 do
    local done
    done, message, code = tree:run(math.min((groups - i) * sets * 8, o.calls))
    if not done then return nil, message, code end
    local decided, action = tree:root()
    local counts = tree:visits()
    local weights = shares(counts)
    states[i + 1] = { action = action, decided = decided,
      queries = { { group = decided + 1, weights = weights } } }
    tree:advance(drawn(game.rng, weights, #counts))
  end
  return { states = states }
end

function visits.states(record) return record.states end

lessons.teachers = { search = search, visits = visits }

--- A state as the network takes it, with the probability that each row should have.
-- @param seen of berth.agents.tag.sight
-- @tparam table state action, decided, queries { group (nil: one action for all), weights by
--  action, counts (1) }
-- @treturn table view, rows, targets, questions
function lessons.example(seen, state)
  local queries, targets, questions = {}, {}, 0
  for i, query in ipairs(state.queries) do queries[i] = seen:query(1, state.action, query.group) end
  local deciding = #state.queries == 1 and state.queries[1].group or nil
  local view, rows = seen:pose({ seen:features(state.action, state.decided, deciding) }, queries)
  local at = 0
  for i, length in ipairs(rows.lengths) do
    local query = state.queries[i]
    local counts = query.counts or 1
    for k = at + 1, at + length do targets[k] = counts * (query.weights[rows.action[k]] or 0) end
    at, questions = at + length, questions + counts
  end
  rows.action, rows.lengths = nil, nil -- many examples are kept
  return { view = view, rows = rows, targets = nn.array(targets, { #targets }),
    questions = questions }
end

--- Mean cross entropy of an example's questions.
function lessons.loss(net, example)
  local p = net:decode(net:encode(example.view), example.view, example.rows)
  return (p * example.targets):sum():scale(-1 / example.questions)
end

return lessons
