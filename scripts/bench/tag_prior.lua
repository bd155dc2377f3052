-- TAG's learned prior on clusters and models that it has not seen: the search with few evaluations and three priors, beside
-- annealing with many. Adds a JSON line per cluster and model to FILE (times in s), and prints geometric means over all lines.
-- lua scripts/bench/tag_prior.lua FILE [K=V...]
--   clusters=100  of the test generator (8 GPUs), seeds 1 ...   models=resnet50,gnmt   physics=physical or compat
--   few=50  evaluations with a prior   many=800  of annealing   agent=FILE  instead of the one that comes with berth
-- Run again, it goes on; lines that are there are not computed again.
local berth = require "berth"
local clusters = require "berth.deploy.clusters"
local models = require "berth.deploy.models"

local path = arg[1]
if not path then
  io.stderr:write("usage: tag_prior.lua FILE [K=V...]\n")
  os.exit(2)
end
local o = { clusters = "100", models = table.concat(models.list "unseen", ","), physics = "physical", few = "50", many = "800" }
for i = 2, #arg do
  local key, value = arg[i]:match "^(%w+)=(.*)$"
  if not key or (o[key] == nil and key ~= "agent") then
    io.stderr:write("tag_prior.lua: what is " .. arg[i] .. "?\n")
    os.exit(2)
  end
  o[key] = value
end

local agent = assert(o.agent and assert(berth.agents.load(o.agent)) or berth.agents.tag.trained())
local columns = { "anneal", "learned", "local", "uniform" }

-- Lines that are there: key -> { column = seconds }.
local function read()
  local out, order = {}, {}
  for line in io.lines(path) do
    local row, key = {}, line:match '"key": "([^"]*)"'
    for _, name in ipairs(columns) do row[name] = tonumber(line:match('"' .. name .. '_s": ([^,}]+)')) end
    if key and row.uniform then out[key], order[#order + 1] = row, key end
  end
  return out, order
end

assert(io.open(path, "ab")):close()
local known = read()

local function search(d, given)
  local start = os.clock()
  given.sfb = "local"
  local r, message, code = d:search(given)
  if not r and code ~= "infeasible" then error(message, 0) end
  return r and r.seconds, os.clock() - start
end

local function baseline(d)
  return { action = assert(d:baselines())[1].action }
end

local function measure(graph, about, seed)
  local topology = assert(clusters.random { kind = "test", seed = seed, links = o.physics == "compat" and "tag" or "nic" })
  local d = assert(berth.deploy.problem(graph, topology, { batch = about.options.batch, physics = o.physics }))
  local few, row, cpu = tonumber(o.few), {}, {}
  row.anneal, cpu.anneal = search(d, { method = "anneal", evaluations = tonumber(o.many), seed = 1 })
  local start = os.clock()
  local given = agent:guide(d, { baseline(d) })
  given.method, given.evaluations, given.seed = "mcts", few, 1
  row.learned = search(d, given)
  cpu.learned = os.clock() - start
  for _, prior in ipairs { "local", "uniform" } do
    row[prior], cpu[prior] = search(d, { method = "mcts", evaluations = few, prior = prior, start = { baseline(d) }, seed = 1 })
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

for seed = 1, tonumber(o.clusters) do
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
for _, name in ipairs { "learned", "local", "uniform" } do
  local sum, n, least = 0, 0, math.huge
  for _, key in ipairs(order) do
    local row = rows[key]
    if row.anneal > 0 and row[name] > 0 then
      local ratio = row.anneal / row[name]
      sum, n, least = sum + math.log(ratio), n + 1, math.min(least, ratio)
    end
  end
  if n > 0 then print(("%-8s %.4f of annealing's speed, least %.3f, %d cases"):format(name, math.exp(sum / n), least, n)) end
end
