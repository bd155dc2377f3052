-- The searches on the DOPPLER graphs with perturbed costs, first in, first out: mean and least makespan over seeds (file units /
-- 1e10), the share of seeds within 1 % of the best known, calls per CPU second, and the geometric mean above the best known.
-- lua scripts/bench/search.lua FOLDER [BUDGET [SEEDS [METHOD [CELL]]]]
--   FOLDER: that of the graph files. BUDGET: calls (2000), or CPU seconds per search ("10s", turned into calls). SEEDS: from 1 to
--   that (10), or "A-B". METHOD: anneal, local, brkga, or
--   agent+METHOD: 50 of the calls by the shipped agent, the rest by a search from its answer.
--   CELL: part of "NAME D=4", selects cells.
package.path = "spec/?.lua;" .. package.path
local berth = require "berth"
local splitmix = require "support.splitmix"

local folder, budget, seeds, method, wanted = arg[1], arg[2] or "2000", arg[3] or "10", arg[4] or "anneal", arg[5] or ""
local seconds = tonumber(budget:match("^(.+)s$"))
local calls = not seconds and tonumber(budget) or nil
local first, last = seeds:match("^(%d+)%-(%d+)$")
first, last = tonumber(first or 1), tonumber(last or seeds)
if not folder or not (calls or seconds) or not last then
  io.stderr:write("usage: search.lua FOLDER [CALLS or CPU SECONDS, e.g. 10s [SEEDS [METHOD [CELL]]]]\n")
  os.exit(2)
end

-- The least known, from much longer searches than these: 4 devices, 8 devices.
local cells = {
  { "gdp_chain_mm_112nodes", 1200.0710, 600.0705 }, { "gdp_ffnn_192nodes", 56.6982, 41.6641 },
  { "gdp_transformer_block_215nodes", 166.7188, 141.3888 }, { "gdp_full_transformer_layer_261nodes", 122.6288, 97.2844 },
  { "8gpu_transformer_block", 231.3598, 166.7407 }, { "8gpu_full_transformer", 230.8571, 166.7875 },
}

local AGENT_CALLS = 50
local from_agent = method:match("^agent%+(.+)$")

local function search(graph, t, count, seed)
  local start = os.clock()
  local o = { calls = count, seed = seed, threads = 1, judge = { preset = "doppler" } }
  if from_agent then
    o.start = assert(berth.place(graph, t, "agent",
      { calls = AGENT_CALLS, seed = seed, links = "free", memory = "none" }))
    o.calls = count - AGENT_CALLS
  end
  local p = assert(berth.place(graph, t, from_agent or method, o))
  return p.estimate / 1e10, os.clock() - start
end

-- So many calls as take the CPU seconds: that can be repeated to the bit.
local function calls_for(graph, t)
  local _, used = search(graph, t, 20000, 0)
  return math.max(1000, math.floor(20000 * seconds / used / 1000) * 1000)
end

local function cell(graph, devices, best)
  local t = berth.topology.mesh(devices, { bandwidth = 1 })
  local count = calls or calls_for(graph, t)
  local sum, least, near, made, used = 0, math.huge, 0, 0, 0
  for seed = first, last do
    local value, cpu = search(graph, t, count, seed)
    sum, least, made, used = sum + value, math.min(least, value), made + 1, used + cpu
    if value < 1.01 * best then near = near + 1 end
  end
  return sum / made, least, near / made, count, used / made
end

local logs, n = 0, 0
for _, row in ipairs(cells) do
  local name = row[1]
  local graph = assert(berth.graph(splitmix.perturb(assert(berth.load(("%s/%s.txt"):format(folder, name))))))
  for i, devices in ipairs { 4, 8 } do
    local label, best = ("%s D=%d"):format(name, devices), row[1 + i]
    if label:find(wanted, 1, true) then
      local mean, least, near, count, used = cell(graph, devices, best)
      local line = "%-40s mean %9.4f (%+.3f %%)  least %9.4f (%+.3f %%)  near %3.0f %%  %d calls, %.2f CPU s"
      print(line:format(label, mean, 100 * (mean / best - 1),
        least, 100 * (least / best - 1), 100 * near, count, used))
      logs, n = logs + math.log(mean / best), n + 1
    end
  end
end
print(("%s, %s, seeds %d to %d: %.3f %% above the best known in the geometric mean of %d cells"):format(method,
  seconds and budget .. " each" or budget .. " calls", first, last, 100 * (math.exp(logs / n) - 1), n))
