-- TAG's learned prior on unseen clusters and models: the search with few evaluations and three
-- priors, each with the same guide (berth.agents.tag.guide) and with the defaults of d:search,
-- local costs also with their own settings, against annealing and that search with many. Adds a
-- JSON line per cluster and model to FILE (times in s), and prints geometric means over all lines.
-- lua scripts/bench/tag_prior.lua FILE [K=V...]
--   clusters=100  of the test generator (8 GPUs)   first=1  seed of the first   models=resnet50,gnmt
--   physics=calibrated, physical or compat   few=50  evaluations with a prior   many=800  of annealing
--   agent=FILE  instead of the one that comes with berth
-- Run again, it resumes; existing lines are not computed again.
local berth = require "berth"
local clusters = require "berth.topology.tag_clusters"
local costs = require "berth.agents.tag.costs"
local guide = require "berth.agents.tag.guide"
local models = require "berth.deploy.models"
local options = require "berth.base.options"

local path = arg[1]
if not path then
  io.stderr:write("usage: tag_prior.lua FILE [K=V...]\n")
  os.exit(2)
end
local o = { clusters = "100", first = "1",
  models = table.concat(models.list "unseen", ","), physics = "calibrated", few = "50", many = "800" }
for i = 2, #arg do
  local key, value = arg[i]:match "^(%w+)=(.*)$"
  if not key or (o[key] == nil and key ~= "agent") then
    io.stderr:write("tag_prior.lua: what is " .. arg[i] .. "?\n")
    os.exit(2)
  end
  o[key] = value
end

local agent = assert(o.agent and assert(berth.agents.load(o.agent)) or berth.agents.tag.trained())
local columns = { "anneal", "learned", "local", "uniform", "local_default", "local_best", "uniform_default",
  "mcts" }

-- Existing lines: key -> { column = seconds }.
local function read()
  local out, order = {}, {}
  for line in io.lines(path) do
    local row, key = {}, line:match '"key": "([^"]*)"'
    for _, name in ipairs(columns) do row[name] = tonumber(line:match('"' .. name .. '_s": ([^,}]+)')) end
    if key and row.mcts then out[key], order[#order + 1] = row, key end
  end
  return out, order
end

assert(io.open(path, "ab")):close()
local known = read()

-- Without a prior: first comes what has the least number.
local function of_nothing(d)
  local alike, all = {}, {}
  for a = 1, #d:actions() do alike[a] = 1 end
  for g = 1, #d:groups() do all[g] = alike end
  return { everywhere = function() return alike end, groups = function() return all end }
end

-- What local costs do best with, as found on clusters 5001 to 5010 (compat: to 5005) and models of the study.
local function best_of_costs(d, starts)
  if o.physics == "compat" then return { prior = "local", start = starts, uniform_part = 0.3 } end
  local list = guide.strategies(d, costs.view(d), starts, { uniform = 34, halves = 10, changes = 0 })
  return { prior = "local", start = list, uniform_part = 0, informed_part = 0 }
end

-- Options of a search guided as the agent guides it, by another prior.
local function same_guide(d, starts, prior, view)
  return options.merge(agent:guide(d, starts, tonumber(o.few)), { prior = prior, start = guide.strategies(d, view, starts) })
end

local function measure(graph, about, seed)
  local topology = assert(clusters.random { kind = "test", seed = seed, links = o.physics == "compat" and "tag" or "nic" })
  local d = assert(berth.deploy.problem(graph, topology, { batch = about.options.batch, physics = o.physics }))
  local starts, row, cpu = { { action = assert(d:baselines())[1].action } }, {}, {}
  local makes = {
    anneal = function() return { method = "anneal", calls = tonumber(o.many) } end,
    learned = function() return agent:guide(d, starts, tonumber(o.few)) end,
    ["local"] = function() return same_guide(d, starts, "local", costs.view(d)) end,
    uniform = function() return same_guide(d, starts, "uniform", of_nothing(d)) end,
    local_default = function() return { prior = "local", start = starts } end,
    local_best = function() return best_of_costs(d, starts) end,
    uniform_default = function() return { prior = "uniform", start = starts } end,
    mcts = function() return { calls = tonumber(o.many), start = starts } end,
  }
  for _, name in ipairs(columns) do
    local start = os.clock()
    local given = options.merge({ method = "mcts", calls = tonumber(o.few), sfb = "local", seed = 1 }, makes[name]())
    local r, message, code = d:search(given)
    if not r and code ~= "infeasible" then error(message, 0) end
    row[name], cpu[name] = r and r.seconds, os.clock() - start
  end
  return row, cpu
end

local function write(key, row, cpu)
  local parts = { ('{"key": "%s"'):format(key) }
  for _, name in ipairs(columns) do
    parts[#parts + 1] = ('"%s_s": %.9g, "%s_cpu_s": %.3f'):format(name, row[name] or -1, name, cpu[name])
  end
  local f = assert(io.open(path, "ab"))
  f:write(table.concat(parts, ", "), "}\n")
  assert(f:close())
end

for seed = tonumber(o.first), tonumber(o.first) + tonumber(o.clusters) - 1 do
  for name in o.models:gmatch "[^,]+" do
    local key = ("%s %s %d %s %s"):format(o.physics, name, seed, o.few, o.many)
    if not known[key] then
      local graph, about = models.build(name)
      write(key, measure(assert(graph, about), about, seed))
      collectgarbage()
    end
  end
end

-- ---- means over all lines: how many times faster a step is than annealing's, as geometric mean ------------------------------

local rows, order = read()

local function show(model)
  for _, name in ipairs(columns) do
    local sum, n, least = 0, 0, math.huge
    for _, key in ipairs(order) do
      local row = rows[key]
      if row.anneal > 0 and row[name] > 0 and (not model or key:find(" " .. model .. " ", 1, true)) then
        local ratio = row.anneal / row[name]
        sum, n, least = sum + math.log(ratio), n + 1, math.min(least, ratio)
      end
    end
    if n > 0 then
      print(("%-9s %-15s %.4f of annealing's speed, least %.3f, %d cases"):format(model or "all", name, math.exp(sum / n), least,
        n))
    end
  end
end

-- What does not fit counts as endless.
local function seconds(x) return x > 0 and x or math.huge end

-- Of the learned prior and another one: how often each is faster, by more than a thousandth.
local function compare(other)
  local better, worse, n = 0, 0, 0
  for _, key in ipairs(order) do
    local a, b = seconds(rows[key].learned), seconds(rows[key][other])
    better, worse, n = better + (a < b * 0.999 and 1 or 0), worse + (b < a * 0.999 and 1 or 0), n + 1
  end
  print(("learned is faster than %s in %d of %d cases, slower in %d"):format(other, better, n, worse))
end

for name in o.models:gmatch "[^,]+" do show(name) end
show()
for _, other in ipairs { "local", "local_default", "local_best", "uniform", "uniform_default" } do compare(other) end
