--- What games teach: strategies, questions about them, and which answers were right.
-- @module berth.agents.tag.lessons
local nn = require "berth.nn"
local options = require "berth.options"

local lessons = {}

-- Different numbers from `from` to n, at most `count`, by chance; one of four draws is among the first eight, the heaviest.
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

-- One action for all op groups; where it is not legal, the op group's first.
local function everywhere(d, groups, a)
  local out = {}
  for g = 1, groups do
    local own = d:legal(g)
    out[g] = own[1]
    for _, b in ipairs(own) do
      if b == a then out[g] = a end
    end
  end
  return out
end

-- The best strategy with one action for all.
local function best_uniform(d, groups)
  local least, best = math.huge, nil
  for a = 1, #d:actions() do
    local action = everywhere(d, groups, a)
    local seconds = seconds_of(d, action)
    if not best or seconds < least then least, best = seconds, action end
  end
  return best
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

local function device_groups(d)
  local most = 0
  for _, g in ipairs(d:device_groups()) do most = math.max(most, g) end
  return most
end

-- ---- the best strategy, and single changes -----------------------------------------------------------------------------

-- Share of the step time that a change must save to be e times as likely.
local WORTH = 0.003

-- How likely each action of an op group should be if it alone may change: by what a step would then take.
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

local anneal = {}

--- The best strategy that annealing finds.
function anneal.play(game, o)
  local r, message, code = game.deploy:search { method = "anneal", evaluations = o.evaluations, seed = game.seed, sfb = "local" }
  if not r then return nil, message, code end
  return { best = r.action, seconds = r.seconds }
end

local function state_of(record, game, o, action, decided)
  local state, n = { action = action, decided = decided, asks = {} }, #record.best
  for k, g in ipairs(some_groups(game.rng, decided < n and decided + 1 or 1, n, o.groups)) do
    local weights = { [record.best[g]] = 1 }
    local valued = k <= o.changes and by_value(game.deploy, action, g)
    state.asks[k] = { group = g, weights = valued and half_and_half(weights, valued) or weights }
  end
  return state
end

--- Strategies on the way to the best, from any with one action for all and from the best of these; each with op groups in
-- question and their right answers.
function anneal.states(record, game, o)
  local out, rng, d, n = {}, game.rng, game.deploy, #record.best
  local good = best_uniform(d, n)
  for i = 1, o.states do
    local base = i % 2 == 0 and good or everywhere(d, n, rng:below(#d:actions()))
    local action, decided = base, n
    if i > 2 then action, decided = (i % 3 == 0 and begun or mixed)(rng, record.best, base) end
    out[i] = state_of(record, game, o, action, decided)
  end
  return out
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

--- Self-play: a tree search whose root moves on by the visits of its children, for a quarter of the op groups.
-- Source: tag.md, section 9.3.
function visits.play(game, o, agent)
  local d = game.deploy
  local tree, message, code = d:tree { prior = agent:prior(d), seed = game.seed, sfb = "local" }
  if not tree then return nil, message, code end
  local groups, sets, states = #d:groups(), 2 ^ math.min(device_groups(d), 6), {}
  for i = 0, math.floor(groups / 4) - 1 do
    local done
    done, message, code = tree:run(math.min((groups - i) * sets * 8, o.evaluations))
    if not done then return nil, message, code end
    local decided, action = tree:root()
    local counts = tree:visits()
    local weights = shares(counts)
    states[i + 1] = { action = action, decided = decided, asks = { { group = decided + 1, weights = weights } } }
    tree:advance(drawn(game.rng, weights, #counts))
  end
  return { states = states }
end

function visits.states(record) return record.states end

lessons.teachers = { anneal = anneal, visits = visits }

--- A state as the network takes it, with the probability that each row should have.
-- @param seen of berth.agents.tag.sight
-- @tparam table state action, decided, asks { group, weights by action }
-- @treturn table view, rows, targets, questions
function lessons.example(seen, state)
  local asks, targets = {}, {}
  for i, ask in ipairs(state.asks) do asks[i] = seen:ask(1, state.action, ask.group) end
  local deciding = #state.asks == 1 and state.asks[1].group or nil
  local view, rows = seen:pose({ seen:features(state.action, state.decided, deciding) }, asks)
  local at = 0
  for i, length in ipairs(rows.lengths) do
    for k = at + 1, at + length do targets[k] = state.asks[i].weights[rows.action[k]] or 0 end
    at = at + length
  end
  rows.action, rows.lengths = nil, nil -- many examples are kept
  return { view = view, rows = rows, targets = nn.array(targets, { #targets }), questions = #asks }
end

--- Mean cross entropy of an example's questions.
function lessons.loss(net, example)
  local p = net:decode(net:encode(example.view), example.view, example.rows)
  return (p * example.targets):sum():scale(-1 / example.questions)
end

return lessons
