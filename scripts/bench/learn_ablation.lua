-- What the choices of training are worth (papers/doppler.md, section 11): one changed at a time, stage I from the critical-path
-- teacher (1,600 episodes), then stage II. Mean and deviation over seeds of the best seen and of the greedy answer.
-- lua scripts/bench/learn_ablation.lua FOLDER [CALLS [SEEDS [CELL ...]]]
package.path = "spec/?.lua;scripts/bench/?.lua;" .. package.path
local berth = require "berth"
local cells = require "learn.cells"

local folder, calls, seeds = arg[1], tonumber(arg[2] or 1000), tonumber(arg[3] or 3)
local wanted = {}
for i = 4, #arg do wanted[#wanted + 1] = arg[i] end
if #wanted == 0 then wanted = { "chain D=4", "ffnn D=8" } end

local variants = {
  { "recommended", {} }, { "gamma 0.99", { gamma = 0.99 } },
  { "greedy, epsilon 0.2 to 0", { how = "greedy", epsilon = { 0.2, 0 } } },
  { "baseline of all, running deviation", { baseline = "all", normalise = "running" } },
  { "estimates load", { estimates = "load" } }, { "encoded at each step", { encode = "step" } },
  { "without partners", { partners = false } }, { "SEL only", { place = "least-start" } },
  { "PLC only", { select = "longest-path" } }, { "joint", { joint = true } },
}

local function trial(cell, seed, given)
  local o = { seed = seed }
  for key, value in pairs(given) do o[key] = value end
  local agent = berth.agents.doppler(o)
  local report = assert(agent:train({ { graph = cell.graph, topology = cell.topology,
    judge = { graph = cell.judge, preset = cells.judge.preset } } }, { calls = calls,
    stages = { { stage = "I", episodes = 1600, teacher = "critical-path" },
      { stage = "II", episodes = calls, rate = { 3e-3, 0 } } } }))
  return report.tasks[1].best / cells.scale, report.tasks[1].greedy / cells.scale
end

local function mean(list)
  local sum, squares = 0, 0
  for _, x in ipairs(list) do sum = sum + x end
  for _, x in ipairs(list) do squares = squares + (x - sum / #list) ^ 2 end
  return ("%.2f +- %.2f"):format(sum / #list, math.sqrt(squares / math.max(1, #list - 1)))
end

print("| cell | variant | best seen | greedy |\n|---|---|---|---|")
for _, label in ipairs(wanted) do
  for _, variant in ipairs(variants) do
    local best, greedy = {}, {}
    for seed = 1, seeds do best[seed], greedy[seed] = trial(cells.all(folder, label)[1], seed, variant[2]) end
    print(("| %s | %s | %s | %s |"):format(label, variant[1], mean(best), mean(greedy)))
    io.stdout:flush()
  end
end
