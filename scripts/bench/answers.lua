-- Measures searches, bounds, exact schedules and splits in CPU seconds. Lines as in bench.c.
-- usage: answers.lua search|bounds|exact|split
package.path = "spec/?.lua;" .. package.path
local berth = require "berth"
local shared = require "support.shared"
local splitmix = require "support.splitmix"

local function report(name, value, unit, input, cpu)
  print(("%s\t%.6g\t%s\t%s\t%.4f"):format(name, value, unit, input, cpu))
  io.flush()
end

local function timed(f, ...)
  local from = os.clock()
  local a, b = f(...)
  assert(a, b)
  return os.clock() - from, a, b
end

local DOPPLER = { "gdp_chain_mm_112nodes", "gdp_ffnn_192nodes", "gdp_transformer_block_215nodes",
  "gdp_full_transformer_layer_261nodes", "8gpu_transformer_block", "8gpu_full_transformer" }

local function perturbed(name)
  local g = assert(berth.load(shared.path("data/doppler/" .. name .. ".txt")))
  return assert(berth.graph(splitmix.perturb(g)))
end

local function each_cell(f)
  for _, name in ipairs(DOPPLER) do
    local g = perturbed(name)
    for _, devices in ipairs { 4, 8 } do f(name, g, berth.topology.mesh(devices, { bandwidth = 1 }), devices) end
  end
end

local parts = {}

local CALLS = 8000

function parts.search()
  local cpu, calls = 0, 0
  each_cell(function(name, g, t, devices)
    local took, p = timed(berth.place, g, t, "anneal", { calls = CALLS, seed = 1, threads = 1, judge = { preset = "doppler" } })
    cpu, calls = cpu + took, calls + CALLS
    report(("search, %s, %d devices"):format(name, devices), CALLS / took, "calls/s",
      ("perturbed costs, preset doppler, %d calls, seed 1: %.8g x 1e10"):format(CALLS, p.estimate / 1e10), took)
  end)
  report("search, calls a CPU second, doppler graphs", calls / cpu, "calls/s", "all calls / all CPU seconds of the 12 cells", cpu)
end

-- Price, graph and topology exist before.
local function bound_cell(sum, name, g, t, devices, thorough)
  local cost = assert(berth.cost(g, t))
  local took, b = timed(berth.bounds, cost, { thorough = thorough, memory = "none" })
  sum.cpu, sum.most = sum.cpu + took, math.max(sum.most, took)
  report(("%s bound, %s, %d devices"):format(thorough and "thorough" or "cheap", name, devices), took, "CPU s",
    ("perturbed costs: %.8g x 1e10, %s"):format(b.best / 1e10, b.name), took)
end

function parts.bounds()
  for _, thorough in ipairs { false, true } do
    local sum = { cpu = 0, most = 0 }
    each_cell(function(name, g, t, devices) bound_cell(sum, name, g, t, devices, thorough) end)
    report(("%s bounds, slowest of the doppler cells"):format(thorough and "thorough" or "cheap"), sum.most, "CPU s",
      "12 cells, perturbed costs", sum.cpu)
  end
end

function parts.exact()
  local graphs, cpu, most, which, proved, rows = {}, 0, 0, "", 0, shared.csv("data/stg/optimum.csv")
  for _, row in ipairs(rows) do
    local procs = tonumber(row.procs)
    graphs[row.file] = graphs[row.file] or assert(berth.load(shared.path("data/stg/" .. row.file)))
    local took, _, proof = timed(berth.exact, graphs[row.file], berth.topology.mesh(procs, { bandwidth = 1 }))
    cpu, proved = cpu + took, proved + (proof.proved and 1 or 0)
    if took > most then most, which = took, ("%s on %d"):format(row.file, procs) end
  end
  report("exact, slowest STG row", most, "CPU s", ("%s; defaults; %d of %d rows proved"):format(which, proved, #rows), cpu)
  report("exact, mean of the STG rows", cpu / #rows, "CPU s", "the same", cpu)
end

local SPLITS = { "LayerGraphs/inceptionv3_inference", "LayerGraphs/inceptionv3_training" }

function parts.split()
  for _, name in ipairs(SPLITS) do
    local g, t = assert(berth.load(shared.path("data/msr-fiddle/throughput-inputs/" .. name .. ".json"), { cpus = true }))
    collectgarbage()
    berth.memory(true)
    local before = berth.memory()
    local took, s = timed(berth.split, g, t)
    local _, peak = berth.memory()
    local label, input = "max-load split, " .. name, ("%.10g ms, %s; %d ideals"):format(1e3 * s.max_load,
      s.proven and "proved" or "not proved", s.ideals)
    report(label, took, "CPU s", input, took)
    report(label .. ", peak of the library", (peak - before) / 2 ^ 20, "MiB", input, took)
  end
end

if not parts[arg[1]] then
  io.stderr:write("usage: answers.lua search|bounds|exact|split\n")
  os.exit(2)
end
if not shared.present() then
  io.stderr:write("answers.lua: no " .. shared.dir .. ": its files are the inputs\n")
  os.exit(1)
end
parts[arg[1]]()
