-- Does stage III, learning from a real executor, improve on what stages I and II learned from the simulator? The simulator has
-- the costs as given and links all alike. The executor runs paced on a machine that is "same", or that "differs": device 1
-- slower, bandwidths that differ by pair, which training does not use until stage III. The agent
-- then gets the costs as given, or "calibrated" ones. "drawn" is the best of as many measured
-- placements by the agent as stage II left it (rate 0): the effect of selection by measured time
-- without learning; "search": annealing on a simulator with the costs of the machine. All
-- placements found are then measured again, one after the other in rounds; +- is half of a 95 %
-- confidence interval: in each row over the rounds, in the summary over the seeds.
-- usage: eval "$(make -s env)"; lua5.4 scripts/bench/learn_stage3.lua [GRAPH, default both] [DEVICES, default both]
--   [MACHINE, default both] [SEEDS, default 3] [RUNS, default 500] [ROUNDS, default 60] [SECONDS of a run, default 0.01]
--   [EPISODES of stage II, default 2000]
local berth = require "berth"

local function choice(i) return arg[i] and arg[i] ~= "both" and arg[i] or nil end
local only = { graph = choice(1), devices = tonumber(choice(2)), machine = choice(3) }
local seeds, runs, rounds = tonumber(arg[4] or 3), tonumber(arg[5] or 500), tonumber(arg[6] or 60)
local seconds, episodes = tonumber(arg[7] or 0.01), tonumber(arg[8] or 2000)
local data = (os.getenv("BERTH_SHARED") or "../shared") .. "/data/doppler/"
local graphs = { { "chain", "gdp_chain_mm_112nodes.txt" }, { "ffnn", "gdp_ffnn_192nodes.txt" } }

-- ---- machines -----------------------------------------------------------------------------------

local SLOW, SHARES = 0.7, { 0.25, 0.5, 1 }

local function differing(n)
  local devices, links = {}, {}
  for d = 1, n do devices[d] = { name = "d" .. d, speed = d == 1 and SLOW or 1 } end
  for a = 1, n do
    for b = 1, n do
      local share = SHARES[(a + 2 * b) % #SHARES + 1]
      if a ~= b then links[#links + 1] = { a, b, bandwidth = share, directed = true } end
    end
  end
  return berth.topology { devices = devices, links = links }
end

local machines = { same = function(n) return berth.topology.mesh(n, { bandwidth = 1 }) end, differs = differing }

-- ---- statistics ---------------------------------------------------------------------------------

local function mean(list)
  local sum = 0
  for i = 1, #list do sum = sum + list[i] end
  return sum / #list
end

local function median(list)
  local x = {}
  for i = 1, #list do x[i] = list[i] end
  table.sort(x)
  return (x[math.ceil(#x / 2)] + x[math.ceil((#x + 1) / 2)]) / 2
end

local function deviation(list)
  local m, sum = mean(list), 0
  for i = 1, #list do sum = sum + (list[i] - m) ^ 2 end
  return math.sqrt(sum / (#list - 1))
end

-- The 97.5 % quantile of Student's t; beyond 8 degrees of freedom by its expansion, Abramowitz and Stegun 26.7.5.
local STUDENT = { 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306 }
local function student(df)
  if STUDENT[df] then return STUDENT[df] end
  local z = 1.95996
  return z + (z ^ 3 + z) / (4 * df) + (5 * z ^ 5 + 16 * z ^ 3 + 3 * z) / (96 * df ^ 2)
end

-- Mean and half of the 95 % confidence interval.
local function interval(list) return mean(list), student(#list - 1) * deviation(list) / math.sqrt(#list) end

-- ---- a cell -------------------------------------------------------------------------------------

local function machine_of(g, n, name)
  local work = 0
  for op in g:ops() do work = work + op.seconds end
  local t = machines[name](n)
  local ex = assert(berth.executor(g, t, { mode = "paced", scale = seconds * n / work, memory = "4 MiB" }))
  return { ex = ex, topology = t, graph = g }
end

-- The best placement seen in a stage, and that of the greedy episode at its end.
local function stage3(file, machine, view, rate)
  local agent, objective, greedy = assert(berth.agents.load(file)), machine.ex:objective(), nil
  local function ask(list)
    if #list == 1 then greedy = list[1] end
    return objective(list)
  end
  local stages = { { stage = "III", episodes = runs, rate = rate } }
  local done = assert(agent:train({ view }, { stages = stages, objective = ask }))
  return done.tasks[1].placement, greedy
end

local function learned(machine, nominal, seed)
  local agent, file = berth.agents.doppler { seed = seed }, os.tmpname()
  local view = { graph = machine.graph, topology = nominal }
  local done = assert(agent:train({ { graph = view.graph, topology = nominal, judge = machine.ex.simulation } },
    { stages = { { stage = "I", episodes = 1600 }, { stage = "II", episodes = episodes } } }))
  assert(agent:save(file))
  local out = { { "II best", done.tasks[1].placement } }
  local function add(how, view3)
    for _, x in ipairs { { "drawn", "II", 0 }, { "III best", "III" } } do
      local best, greedy = stage3(file, machine, view3, x[3])
      out[#out + 1], out[#out + 2] = { x[1] .. how, best }, { x[2] .. " greedy" .. how, greedy }
    end
  end
  add("", view)
  local graph, topology = assert(machine.ex:calibrate())
  add(", calibrated", { graph = graph, topology = topology })
  os.remove(file)
  return out
end

-- Times of each placement, s; every round begins with another one.
local function measured(ex, list)
  local times = {}
  for i = 1, #list do times[i] = {} end
  for round = 1, rounds do
    for k = 1, #list do
      local i = (round + k) % #list + 1
      local r = assert(ex:run(list[i][2]))
      assert(not r.wrong, "wrong result")
      times[i][round] = r.makespan
      r:close()
    end
  end
  return times
end

local function differences(a, b)
  local out = {}
  for i = 1, #a do out[i] = b[i] - a[i] end
  return out
end

local function print_seed(cell, seed, names, times, simulated)
  for i, name in ipairs(names) do
    local d, half = interval(differences(times[1], times[i]))
    local text = i == 1 and "" or ("%+.3f +- %.3f"):format(d * 1e3, half * 1e3)
    print(("| %s | %d | %s | %.3f | %.3f | %.3f | %.3f | %s |"):format(cell, seed, name, simulated[i] * 1e3,
      median(times[i]) * 1e3, mean(times[i]) * 1e3, deviation(times[i]) * 1e3, text))
  end
end

-- Relative change against stage II's best, %, by name and seed.
local function one_seed(cell, machine, nominal, seed, changes)
  local list = learned(machine, nominal, seed)
  list[#list + 1] = { "search", assert(berth.place(machine.graph, machine.topology, "anneal",
    { calls = 4000, seed = seed, threads = 1, judge = machine.ex.simulation })) }
  local times, names, simulated = measured(machine.ex, list), {}, {}
  for i, x in ipairs(list) do
    names[i] = x[1]
    simulated[i] = berth.simulate(machine.graph, machine.topology, x[2], machine.ex.simulation).makespan * machine.ex.scale
    changes[i] = changes[i] or { mean = {}, median = {} }
    table.insert(changes[i].mean, 100 * (mean(times[i]) / mean(times[1]) - 1))
    table.insert(changes[i].median, 100 * (median(times[i]) / median(times[1]) - 1))
  end
  print_seed(cell, seed, names, times, simulated)
  io.stdout:flush()
  return names
end

local function one_cell(name, g, n, kind, summary)
  local nominal, machine, changes, names = machines.same(n), machine_of(g, n, kind), {}, nil
  local cell = ("%s D=%d, %s"):format(name, n, kind)
  for seed = 1, seeds do names = one_seed(cell, machine, nominal, seed, changes) end
  machine.ex:close()
  for i = 2, #names do
    local d, half = interval(changes[i].mean) -- of one seed: nan
    local e, half_median = interval(changes[i].median)
    summary[#summary + 1] = ("| %s | %s | %+.1f +- %.1f | %+.1f +- %.1f |"):format(cell, names[i], d, half, e, half_median)
  end
end

local function all(summary)
  for _, x in ipairs(graphs) do
    local g = assert(berth.load(data .. x[2]))
    for _, n in ipairs { 2, 4 } do
      for _, kind in ipairs { "same", "differs" } do
        local wanted = (only.graph or x[1]) == x[1] and (only.devices or n) == n and (only.machine or kind) == kind
        if wanted then one_cell(x[1], g, n, kind, summary) end
      end
    end
  end
end

local summary = {}
print(("stage I 1600 episodes, II %d, III %d measured runs; %d rounds; seeds 1 to %d"):format(episodes, runs, rounds, seeds))
print("\n| graph, devices, machine | seed | placement | simulated there, ms | median | mean | deviation | mean against II best |")
print("|---|---|---|---|---|---|---|---|")
all(summary)
print("\n| graph, devices, machine | placement | mean against II best, % | median against it, % |\n|---|---|---|---|")
print(table.concat(summary, "\n"))
