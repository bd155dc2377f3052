-- Effects of the training choices (papers/doppler.md, section 11): one changed at a time. Base:
-- compact design, 800 episodes of stage I from the critical-path teacher, then 1,000 simulator
-- calls of stage II. A line per trial is appended to FILE; trials in it are not run again. Then
-- prints the tables of FILE.
-- lua scripts/bench/learn_ablation.lua FOLDER FILE [SEEDS [CELL ...]]
--   SEEDS: from 1 to that (5), or "A-B"; 0: tables only. CELL: chain D=4, ffnn D=4, block D=4 and layer D=8 unless given.
package.path = "spec/?.lua;scripts/bench/?.lua;" .. package.path
local berth = require "berth"
local cells = require "learn.cells"
local store = require "learn.store"

local CALLS, IMITATED = 1000, 800

local folder, path = arg[1], arg[2]
local first, last = (arg[3] or "5"):match("^(%d+)%-(%d+)$")
first, last = tonumber(first or 1), tonumber(last or arg[3] or 5)
if not path or not last then
  io.stderr:write("usage: learn_ablation.lua FOLDER FILE [SEEDS [CELL ...]]\n")
  os.exit(2)
end
local wanted = { "chain D=4", "ffnn D=4", "block D=4", "layer D=8" }
if arg[4] then wanted = {} end
for i = 4, #arg do wanted[#wanted + 1] = arg[i] end

-- Name, options of the agent and of its training, of stage I, of stage II.
local variants = {
  { "recommended" },
  { "gamma 0.99", {}, {}, { gamma = 0.99 } },
  { "greedy, epsilon 0.2 to 0", {}, {}, { how = "greedy", epsilon = { 0.2, 0 } } },
  { "sampled, epsilon 0.2 to 0", {}, {}, { epsilon = { 0.2, 0 } } },
  { "baseline: all so far", {}, {}, { baseline = "all", normalise = "running" } },
  { "baseline: exponential", {}, {}, { baseline = "exponential", normalise = "running" } },
  { "baseline: best", {}, {}, { baseline = "best", normalise = "running" } },
  { "batch 1, all so far", {}, {}, { batch = 1, baseline = "all", normalise = "running" } },
  { "estimates load", { estimates = "load" } },
  { "encoded at each step", { encode = "step" } },
  { "without partners", { partners = false } },
  { "SEL only", { place = "least-start" } },
  { "PLC only", { select = "longest-path" } },
  { "joint", { joint = true } },
  { "no stage I", {}, { episodes = 0 } },
  { "stage II without learning", {}, {}, { rate = 0 } },
  { "teacher units", {}, { teacher = "units" } },
  { "teacher units, stage II without learning", {}, { teacher = "units" }, { rate = 0 } },
}

local function merged(base, more)
  for key, value in pairs(more or {}) do base[key] = value end
  return base
end

local function trial(cell, seed, variant)
  local agent = berth.agents.doppler(merged({ seed = seed }, variant[2]))
  local stages = { merged({ stage = "I", episodes = IMITATED, teacher = "critical-path" }, variant[3]),
    merged({ stage = "II", episodes = CALLS, rate = { 3e-3, 0 } }, variant[4]) }
  if stages[1].episodes == 0 then table.remove(stages, 1) end
  local report = assert(agent:train({ { graph = cell.graph, topology = cell.topology,
    judge = { graph = cell.judge, preset = cells.judge.preset } } }, { calls = CALLS, stages = stages }))
  local made = report.tasks[1]
  return { best = made.best / cells.scale, greedy = made.greedy / cells.scale, calls = report.calls }
end

local results = store.open(path)

local function run(cell, variant)
  for seed = first, last do
    if not results:has(cell.label, variant[1], seed) then
      collectgarbage()
      local start = os.clock()
      local row = trial(cell, seed, variant)
      row.cell, row.method, row.seed, row.cpu = cell.label, variant[1], seed, os.clock() - start
      results:add(row)
    end
  end
end

local function by_seed(label, name, field)
  local out = {}
  for _, row in ipairs(results.rows) do
    if row.cell == label and row.method == name then out[row.seed] = row[field] end
  end
  return out
end

-- Logarithms of the ratios of a variant to the recommended one, seed by seed, cell by cell.
local function against_base(name, field)
  local out = {}
  for _, label in ipairs(wanted) do
    local base, other = by_seed(label, variants[1][1], field), by_seed(label, name, field)
    for seed, value in pairs(other) do
      if base[seed] then out[#out + 1] = math.log(value / base[seed]) end
    end
  end
  table.sort(out) -- sums in one order
  return out
end

-- Geometric mean with two standard errors, per cent.
local function ratio(list)
  local sum, squares = 0, 0
  for _, x in ipairs(list) do sum = sum + x end
  local mean = sum / #list
  for _, x in ipairs(list) do squares = squares + (x - mean) ^ 2 end
  local error_of_mean = #list > 1 and math.sqrt(squares / (#list - 1) / #list) or 0
  return ("%+.1f +- %.1f %%"):format(100 * (math.exp(mean) - 1), 200 * error_of_mean)
end

local function row(variant)
  local texts, cpu = {}, 0
  for _, label in ipairs(wanted) do
    local best, deviation = results:mean(label, variant[1], "best")
    texts[#texts + 1] = best and ("%.2f +- %.2f"):format(best, deviation) or "-"
    cpu = cpu + (results:mean(label, variant[1], "cpu") or 0)
  end
  local best, greedy = against_base(variant[1], "best"), against_base(variant[1], "greedy")
  return ("| %s | %s | %s | %s | %.0f |"):format(variant[1], table.concat(texts, " | "), #best > 0 and ratio(best) or "-",
    #greedy > 0 and ratio(greedy) or "-", cpu)
end

for _, label in ipairs(wanted) do
  for _, variant in ipairs(variants) do run(cells.all(folder, label)[1], variant) end
end
print(("| variant | %s | best against recommended | greedy against recommended | CPU s |"):format(table.concat(wanted, " | ")))
print("|---|" .. ("---|"):rep(#wanted + 3))
for _, variant in ipairs(variants) do print(row(variant)) end
