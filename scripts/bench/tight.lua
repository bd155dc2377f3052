-- Placing where memory is tight: the dnn-partitioning inputs with device memory a factor times total / devices.
-- usage: eval "$(make -s env)"; lua5.4 scripts/bench/tight.lua [markdown]
-- Mapping as in spec/support/operator_graph.lua. Columns: per factor the result of the placers, the
-- best simulated step time over that with ample memory, and the CPU seconds of the slowest placer.
package.path = "spec/?.lua;" .. package.path
local berth = require "berth"
local operator_graph = require "support.operator_graph"
local shared = require "support.shared"
if not shared.present() then
  io.stderr:write("tight.lua: no " .. shared.dir .. ": its files are the inputs\n")
  os.exit(1)
end

local FACTORS = { 1.00, 1.02, 1.05, 1.10 }
local PLACERS = { "m-topo", "metis", "m-etf", "etf", "heft", "minmin", "blevel", "critical-path", "round-robin" }
local INPUTS = {}
for _, kind in ipairs { "LayerGraphs/bert24", "LayerGraphs/gnmt", "LayerGraphs/inceptionv3", "LayerGraphs/resnet50",
  "OperatorGraphs/bert_l-3", "OperatorGraphs/bert_l-6", "OperatorGraphs/bert_l-12", "OperatorGraphs/resnet50" } do
  INPUTS[#INPUTS + 1] = "latency-inputs/" .. kind .. "_inference"
  INPUTS[#INPUTS + 1] = "throughput-inputs/" .. kind .. "_inference"
  INPUTS[#INPUTS + 1] = "throughput-inputs/" .. kind:gsub("l%-12", "L-12") .. "_training"
end

local function read(name)
  local g, t = operator_graph(name)
  local total = 0
  for op in g:ops() do total = total + op.params end
  return g, #t, total
end

local function mesh(devices, memory) return berth.topology.mesh(devices, { bandwidth = 1e6, memory = memory }) end

-- How many placers answer, the best simulated step time, the slowest placer, what is said if none answers.
local function study(g, t)
  local found, best, slowest, verdict = 0, math.huge, 0, nil
  for _, placer in ipairs(PLACERS) do
    local begin = os.clock()
    local p, message = berth.place(g, t, placer, { memory = "total" })
    slowest = math.max(slowest, os.clock() - begin)
    if p then
      local r = berth.simulate(g, t, p, { memory = "total", bound = false })
      assert(not r.oom, placer .. " runs out of memory")
      found, best = found + 1, math.min(best, r.makespan)
    else
      verdict = message:find("cannot fit", 1, true) and "proved" or verdict or "unknown"
    end
  end
  return found, best, slowest, verdict
end

local function cell(g, devices, memory, ample)
  local found, best, slowest, verdict = study(g, mesh(devices, memory))
  local seconds = ("%.2f s"):format(slowest)
  if found == 0 then return verdict .. ", " .. seconds, verdict end
  assert(found == #PLACERS, "some placers answer, others do not")
  return ("%.2f, %s"):format(best / ample, seconds), "feasible"
end

local count = { feasible = 0, proved = 0, unknown = 0 }
print("| input | ops | devices | ample, ms | 1.00 | 1.02 | 1.05 | 1.10 |\n|---|---|---|---|---|---|---|---|")
for _, name in ipairs(INPUTS) do
  local g, devices, total = read(name)
  local _, ample = study(g, mesh(devices, math.huge))
  local row = { name:gsub("Graphs", ""):gsub("%-inputs", ""):gsub("/", " "), #g, devices, ("%.1f"):format(1000 * ample) }
  for _, factor in ipairs(FACTORS) do
    local text, kind = cell(g, devices, factor * total / devices, ample)
    row[#row + 1], count[kind] = text, count[kind] + 1
  end
  print("| " .. table.concat(row, " | ") .. " |")
  io.flush()
end
print(("%d feasible, %d proved infeasible, %d unknown"):format(count.feasible, count.proved, count.unknown))
