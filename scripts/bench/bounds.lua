-- Lower bounds: how good, how fast, and what is left of the gap.
-- usage: eval "$(make -s env)"; lua5.4 scripts/bench/bounds.lua [CALLS]   CALLS: of each search, default 2000; 0: no searches
-- 1. DOPPLER's graphs with perturbed costs (units of 1e10): cheap and thorough bound, CPU seconds, the study's bound, then what
--    searches find first in, first out and under any rule, and the split of the gap.
-- 2. Latency inputs of the dnn-partitioning set, memory as in the file and scaled to what their parameters need.
-- 3. Models of the zoo on 4 V100, and on two machines of two with a thin link.
package.path = "spec/?.lua;" .. package.path
local berth = require "berth"
local operator_graph = require "support.operator_graph"
local shared = require "support.shared"
local splitmix = require "support.splitmix"

local calls = tonumber(arg[1] or 2000)

local function timed(f)
  local from = os.clock()
  local answer = f()
  return answer, os.clock() - from
end

local function both(g, t, opts)
  local cheap, quick = timed(function() return berth.bounds(g, t, opts) end)
  local more = { thorough = true }
  for key, value in pairs(opts or {}) do more[key] = value end
  local tight, long = timed(function() return berth.bounds(g, t, more) end)
  return cheap, quick, tight, long
end

local function percent(x) return ("%.2f %%"):format(100 * math.max(0, x)) end

-- ---- DOPPLER's graphs -------------------------------------------------------------------------------

local CELLS = {
  { "gdp_chain_mm_112nodes", 4, 1200.0710, 1200.0710 }, { "gdp_chain_mm_112nodes", 8, 600.0355, 600.0705 },
  { "ffnn_192nodes", 4, 56.6981, 56.6982 }, { "ffnn_192nodes", 8, 34.7895, 34.7924 },
  { "transformer_block_215nodes", 4, 141.3670, 141.4212 }, { "transformer_block_215nodes", 8, 141.3712, 141.3888 },
  { "full_transformer_layer_261nodes", 4, 115.7050, 115.7786 }, { "full_transformer_layer_261nodes", 8, 97.2710, 97.2844 },
  { "8gpu_transformer_block", 4, 212.6966, 213.1442 }, { "8gpu_transformer_block", 8, 159.8349, 166.3884 },
  { "8gpu_full_transformer", 4, 202.5476, 212.8249 }, { "8gpu_full_transformer", 8, 141.4508, 148.4620 },
}

local function unit(x) return ("%.4f"):format(x / 1e10) end

local function doppler_row(cell)
  local name, devices, any, best = cell[1], cell[2], cell[3], cell[4]
  local g = assert(berth.graph(splitmix.perturb(assert(berth.load(shared.path("data/doppler/" .. name .. ".txt"))))))
  local t = berth.topology.mesh(devices, { bandwidth = 1 })
  local cheap, quick, tight, long = both(g, t)
  local row = { name, devices, unit(cheap.best), ("%.3f"):format(quick), unit(tight.best), ("%.2f"):format(long),
    ("%.4f"):format(any), ("%.4f"):format(best), percent(best * 1e10 / tight.best - 1) }
  if calls > 0 then
    local k = assert(berth.gaps(g, t, nil, { calls = calls }))
    for _, x in ipairs { k.found.fifo, k.found.makespan } do row[#row + 1] = unit(x) end
    for _, x in ipairs { k.placement, k.queue_rule, k.open } do row[#row + 1] = percent(x / k.bound) end
  end
  print("| " .. table.concat(row, " | ") .. " |")
end

local function doppler()
  print("| graph | devices | cheap | CPU s | thorough | CPU s | study's bound | study's schedule | gap of that |"
    .. (calls > 0 and " found, FIFO | found, any rule | placement | queue rule | open |" or ""))
  print("|---|---|---|---|---|---|---|---|---|" .. (calls > 0 and "---|---|---|---|---|" or ""))
  for _, cell in ipairs(CELLS) do doppler_row(cell) end
end

-- ---- memory -------------------------------------------------------------------------------------------

local LATENCY = { "LayerGraphs/bert24", "LayerGraphs/gnmt", "LayerGraphs/inceptionv3", "LayerGraphs/resnet50",
  "OperatorGraphs/bert_l-3", "OperatorGraphs/bert_l-6", "OperatorGraphs/bert_l-12", "OperatorGraphs/resnet50" }

local function ms(x) return ("%.2f"):format(1000 * x) end

-- The best of the portfolio and of a search from there.
local function best_known(g, t)
  local p = berth.place(g, t)
  if not p then return nil end
  local best = berth.simulate(g, t, p, { bound = false }).makespan
  if calls == 0 then return best end
  local q = berth.place(g, t, "anneal", { start = p, calls = calls })
  return q and math.min(best, q.estimate) or best
end

local function memory_row(name, g, t, label)
  local cheap, quick, tight, long = both(g, t) -- before anything keeps what it has found
  local none = assert(berth.bounds(g, t, { thorough = true, memory = "none" }))
  local best = best_known(g, t)
  local row = { name, label, best and ms(best) or "-", ms(none.best), best and percent(best / none.best - 1) or "-" }
  if tight then
    for _, x in ipairs { ms(cheap.best), ("%.3f"):format(quick), ms(tight.best), tight.name, ("%.2f"):format(long),
      best and percent(best / tight.best - 1) or "-" } do row[#row + 1] = x end
  else
    row[#row + 1] = "proved infeasible"
  end
  print("| " .. table.concat(row, " | ") .. " |")
end

local function memory()
  print("\n| input | memory | best found, ms | without memory, ms | gap | cheap, ms | CPU s | thorough, ms | by | CPU s | gap |")
  print("|---|---|---|---|---|---|---|---|---|---|---|")
  for _, name in ipairs(LATENCY) do
    local g, t = operator_graph("latency-inputs/" .. name .. "_inference")
    local label = name:gsub("Graphs", ""):gsub("/", " ")
    local total = 0
    for op in g:ops() do total = total + op.params end
    memory_row(label, g, t, "file")
    for _, factor in ipairs { 1.02, 1.05, 1.10 } do
      memory_row(label, g, berth.topology.mesh(#t, { bandwidth = 1e6, memory = factor * total / #t }), ("x %.2f"):format(factor))
    end
  end
end

-- ---- models ---------------------------------------------------------------------------------------------

local MODELS = {
  { "inception_v3", granularity = "layer" }, { "bert", granularity = "layer" }, { "gnmt", granularity = "layer" },
  { "transformer" },
}

local function topologies()
  local near = { preset = "V100", bandwidth = "10 GB/s", latency = "5 us" }
  local far = { preset = "V100", bandwidth = "100 GB/s", latency = "2 us", between_bandwidth = "1 GB/s",
    between_latency = "50 us" }
  return { { "mesh of 4", berth.topology.mesh(4, near) }, { "2 machines of 2", berth.topology.two_level(2, 2, far) } }
end

local function models()
  print("\n| model | topology | portfolio, ms | cheap, ms | CPU s | thorough, ms | by | CPU s | gap |")
  print("|---|---|---|---|---|---|---|---|---|")
  for _, m in ipairs(MODELS) do
    local g = assert(berth.models[m[1]] { granularity = m.granularity })
    for _, at in ipairs(topologies()) do
      local cheap, quick, tight, long = both(g, at[2])
      local p = assert(berth.place(g, at[2]))
      local best = berth.simulate(g, at[2], p, { bound = false }).makespan
      print(("| %s | %s | %s | %s | %.3f | %s | %s | %.2f | %s |"):format(m[1], at[1], ms(best), ms(cheap.best), quick,
        ms(tight.best), tight.name, long, percent(best / tight.best - 1)))
    end
  end
end

if shared.present() then
  doppler()
  memory()
else
  io.stderr:write("bounds.lua: no " .. shared.dir .. ": only models\n")
end
models()
