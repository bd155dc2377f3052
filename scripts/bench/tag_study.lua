-- Deployments of six models on the testbed and random clusters, by several methods at several budgets. Trials go to FILE and are
-- not run again; then tables of geometric means of speed-ups.
-- lua scripts/bench/tag_study.lua FILE [PHYSICS [CLUSTERS [MODELS [METHODS [EVALUATIONS [VARIANTS]]]]]]
--   All but FILE: comma-separated lists; "": the default. PHYSICS: physical (default), compat.
--   CLUSTERS: testbed, training:SEED, test:SEED, or training:1-8. MODELS: of berth.deploy.models; default: the six of the study.
--   METHODS: of berth.deploy.plan; default mcts,anneal. EVALUATIONS: default 800.
--   VARIANTS: even (even shares, nothing repeated), uneven (shares by speed too), whole (uneven, and ops repeated inside the
--   search); default: even in compat, whole in physical.
local berth = require "berth"

local path = arg[1]
if not path then
  io.stderr:write("usage: tag_study.lua FILE [PHYSICS [CLUSTERS [MODELS [METHODS [EVALUATIONS [VARIANTS]]]]]]\n")
  os.exit(2)
end

local function given(i, default) return arg[i] ~= "" and arg[i] or default end

local function list(text)
  local out = {}
  for word in text:gmatch("[^,]+") do
    local name, first, last = word:match("^(.-):(%d+)-(%d+)$")
    for i = tonumber(first or 1), tonumber(last or 1) do out[#out + 1] = name and ("%s:%d"):format(name, i) or word end
  end
  return out
end

local VARIANTS = {
  even = { uneven = false, sfb = "none" },
  uneven = { uneven = true, sfb = "none" },
  whole = { uneven = true, sfb = "local" },
}
local LINKS = { physical = "nic", calibrated = "nic", compat = "tag" }

local physics = list(given(2, "calibrated"))
local clusters = list(given(3, "testbed"))
local models = list(given(4, table.concat(berth.deploy.models.list "study", ",")))
local methods = list(given(5, "mcts,anneal"))
local evaluations = list(given(6, "800"))

local function cluster(name, links)
  local kind, seed = name:match("^(%a+):(%d+)$")
  if kind then return berth.deploy.clusters.random { kind = kind, seed = tonumber(seed), links = links } end
  return berth.deploy.clusters[name] { links = links }
end

local made = {}
local function model(name)
  made[name] = made[name] or berth.deploy.models.points(name)
  return made[name][1].graph, made[name][1].batch, { made[name][2], made[name][3], made[name][4] }
end

-- Step times of the answer and of the baselines; what does not fit is missing, but for data parallelism "as if it fitted".
local function figures(a)
  local out = { step = a.seconds, bound = a.bound, evaluations = a.evaluations }
  for _, row in ipairs(a.baselines) do
    local key = row.name:gsub("-", "_")
    if row.fits then out[key] = row.seconds end
    if row.name == "dp" then out.dp_anyway = row.seconds end
  end
  return out
end

local function run(t)
  local graph, batch, further = model(t.model)
  local opts = { batch = batch, points = further, physics = t.physics, method = t.method, seed = t.seed,
    calls = tonumber(t.evaluations), reasons = false }
  for key, value in pairs(VARIANTS[t.variant]) do opts[key] = value end
  local a, message = berth.deploy.plan(graph, cluster(t.cluster, LINKS[t.physics]), opts)
  if not a then return { infeasible = message } end
  return figures(a)
end

local function study(mode, variant)
  return assert(berth.experiment { name = "tag " .. mode .. " " .. variant, path = ("%s.%s.%s.jsonl"):format(path, mode, variant),
    grid = { physics = { mode }, cluster = clusters, model = models, variant = { variant }, method = methods,
      evaluations = evaluations }, seeds = { 1 }, run = run })
end

-- ---- tables -------------------------------------------------------------------------------------------------------------

local Mean = {}
Mean.__index = Mean
local function mean() return setmetatable({ n = 0, sum = 0, least = math.huge }, Mean) end
function Mean:add(x)
  if not x then return end
  self.n, self.sum, self.least = self.n + 1, self.sum + math.log(x), math.min(self.least, x)
end
function Mean:text()
  if self.n == 0 then return "-" end
  return ("%.3f (%.2f; %d)"):format(math.exp(self.sum / self.n), self.least, self.n)
end

local function ratio(a, b) return a and b and a / b end

local ROWS = {
  { "over DP-NCCL, where it fits", function(f) return ratio(f.dp, f.step) end },
  { "the same without BERT", function(f, t) return not t.model:match("^bert") and ratio(f.dp, f.step) or nil end },
  { "over DP-NCCL as if it fitted", function(f) return ratio(f.dp_anyway, f.step) end },
  { "over the best uniform strategy", function(f) return ratio(f.uniform, f.step) end },
  { "over the chain by memory, BERT-large", function(f, t)
    return t.model:match("^bert_large") and ratio(f.chain, f.step) or nil
  end },
  { "over the lower bound", function(f) return ratio(f.step, f.bound) end },
}

local function kind_of(name) return name:match("^%a+") end

local function table_of(e)
  local columns, order = {}, {}
  for _, row in ipairs(e.rows) do
    local t, f = row.parameters, row.result
    local key = ("%s, %s, %s"):format(kind_of(t.cluster), t.method, t.evaluations)
    if not columns[key] then
      columns[key] = {}
      order[#order + 1] = key
    end
    for i, what in ipairs(ROWS) do
      columns[key][i] = columns[key][i] or mean()
      if f and f.step then columns[key][i]:add(what[2](f, t)) end
    end
  end
  return columns, order
end

local function show(e, title)
  local columns, order = table_of(e)
  print(("\n%s: geometric mean (least; cases)\n\n| | %s |\n|---|%s"):format(title, table.concat(order, " | "),
    ("---|"):rep(#order)))
  for i, what in ipairs(ROWS) do
    local line = {}
    for k, key in ipairs(order) do line[k] = columns[key][i]:text() end
    print(("| %s | %s |"):format(what[1], table.concat(line, " | ")))
  end
end

for _, mode in ipairs(physics) do
  for _, variant in ipairs(list(given(7, mode == "compat" and "even" or "whole"))) do
    local e = study(mode, variant)
    show(e, mode .. ", " .. variant)
  end
end
