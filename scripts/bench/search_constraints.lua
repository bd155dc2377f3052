-- Annealing under constraints: unequal devices, colocation groups, contention, tight memory, large
-- graphs. The portfolio, annealing from its answer, annealing alone, each as the simulated step time
-- over the thorough bound.
-- usage: search_constraints.lua [PART OF A NAME [SEEDS]]; SEEDS: the mean over seeds 1 to that (1).
-- Inputs below ../shared are left out if they are not there.
package.path = "scripts/bench/?.lua;spec/?.lua;" .. package.path
local berth = require "berth"
local clusters = require "how_good.clusters"
local graphs = require "how_good.graphs"
local pairs_of = require "how_good.pairs"
local operator_graph = require "support.operator_graph"
local shared = require "support.shared"

local FEW, MANY = 2000, 20000
local wanted, seeds = arg[1] or "", tonumber(arg[2] or 1)

-- A pair of docs/how-good.md, with as much memory as there, or so many times parameters / devices.
local function known(id, factor)
  local pair = pairs_of[id]
  return function()
    local g, t
    if pair.file then
      g, t = pair.read(shared.dir .. "/" .. pair.file)
      assert(g, t)
      t = pair.cluster and pair.cluster() or t
    else
      t = pair.cluster()
      g = pair.make(t)
    end
    if factor then t = clusters.limited(t, factor * graphs.parameters(g) / #t) end
    return g, t, { links = pair.links, memory = factor and "total" or pair.memory }
  end
end

local function operators(name, factor)
  return function()
    local g, t = operator_graph(name)
    return g, clusters.limited(t, factor * graphs.parameters(g) / #t), { links = "free", memory = "total" }
  end
end

local function layered(ops, memory)
  return function()
    local t = berth.topology.mesh(8, { bandwidth = "5 GB/s", latency = "10 us", memory = memory and memory * ops * 1e6 / 8 })
    return graphs.layered(ops), t, { links = "duplex", memory = memory and "inference" or "none" }
  end
end

local OPERATORS, LATENCY = "throughput-inputs/OperatorGraphs/", "latency-inputs/OperatorGraphs/"
local inputs = {
  { "ResNet-50, 4 V100, duplex", known(1) }, { "BERT-base, 4 V100, 2.5 GB, duplex", known(6) },
  { "GNMT, TAG's testbed, duplex", known(8) }, { "Transformer, TAG's six, fair", known(9) },
  { "LLaMA, 2 x 2 A100, 6 GB, channel", known(10) }, { "layered, 8 uneven, pair", known(11) },
  { "DOPPLER layer, 8 alike, free", known(17), true }, { "BERT-6 profiled, groups, duplex", known(19), true },
  { "ResNet-50 profiled, groups, x 1.10, channel", known(20), true },
  { "BERT-6 operators, x 1.02", operators(LATENCY .. "bert_l-6_inference", 1.02), true },
  { "BERT-6 operators, training, x 1.05", operators(OPERATORS .. "bert_l-6_training", 1.05), true },
  { "BERT-12 operators, x 1.10", operators(OPERATORS .. "bert_l-12_inference", 1.10), true },
  { "ResNet-50 operators, x 1.05", operators(OPERATORS .. "resnet50_inference", 1.05), true },
  { "ResNet-50 operators, training, x 1.02", operators(OPERATORS .. "resnet50_training", 1.02), true },
  { "layered, 5,000 ops, duplex", layered(5000), large = true },
  { "layered, 5,000 ops, x 1.05", layered(5000, 1.05), large = true },
  { "layered, 20,000 ops, duplex", layered(20000), large = true },
}

local function judged(cost, judge, p, message)
  if not p then return nil, message end
  local r = assert(berth.simulate(cost, p, { links = judge.links, memory = judge.memory, bound = false }))
  assert(not r.oom, "runs out of memory")
  return r.makespan, p
end

local function place(cost, judge, placer, extra)
  local planned = (judge.links == "route" or judge.links == "fair") and "duplex" or judge.links
  local o = { links = planned, memory = judge.memory, judge = judge, threads = 1 }
  for key, value in pairs(extra) do o[key] = value end
  return judged(cost, judge, berth.place(cost, placer, o))
end

local function mean(cost, judge, extra, most)
  local sum, cpu = 0, os.clock()
  for seed = 1, seeds do
    extra.seed = seed
    local value, why = place(cost, judge, "anneal", extra)
    if not value then return nil, why end
    assert(value <= most, "worse than its start")
    sum = sum + value
  end
  return sum / seeds, (os.clock() - cpu) / seeds
end

local function study(input)
  local g, t, judge = input[2]()
  local cost = assert(berth.cost(g, t))
  local bound = assert(berth.bounds(cost, { thorough = not input.large, memory = judge.memory })).best
  local from = os.clock()
  local first, p = place(cost, judge, "portfolio", { seed = 1, calls = 0 })
  local row = { input[1], #g, #t, first and ("%.3f"):format(first / bound) or "refused: " .. p }
  row[5] = ("%.2f"):format(os.clock() - from)
  local function add(calls, start)
    local value, cpu = nil, "no start"
    if not start or first then
      value, cpu = mean(cost, judge, { calls = calls, start = start and p or nil }, start and first * (1 + 1e-12) or math.huge)
    end
    row[#row + 1] = value and ("%.3f"):format(value / bound) or tostring(cpu)
    row[#row + 1] = value and ("%.2f"):format(cpu) or "-"
  end
  for _, start in ipairs { true, false } do
    add(FEW, start)
    if not input.large then add(MANY, start) else row[#row + 1], row[#row + 2] = "-", "-" end
  end
  print("| " .. table.concat(row, " | ") .. " |")
end

print("| input | ops | devices | portfolio | CPU s | + anneal 2,000 | CPU s | + anneal 20,000 | CPU s | anneal 2,000 | CPU s | "
  .. "anneal 20,000 | CPU s |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|")
for _, input in ipairs(inputs) do
  if input[1]:find(wanted, 1, true) and (not input[3] or shared.present()) then study(input) end
  io.stdout:flush()
end
