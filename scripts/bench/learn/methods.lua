-- What the study compares. Each: (cell, seed) -> { best, greedy (or nil), calls }, in file units. The best is by the simulator
-- with perturbed costs; planning and learning use the given costs.
local berth = require "berth"
local cells = require "learn.cells"
local flat = require "learn.flat"

local methods = { names = {} }

local function add(name, f)
  table.insert(methods.names, name)
  methods[name] = f
end

local function judged(cell, placement)
  return assert(berth.simulate_batch(cell.judge, cell.topology, { placement }, cells.judge))[1]
end

-- ---- without learning -------------------------------------------------------------------------------------------------

local function least(list)
  local out = math.huge
  for i = 1, #list do out = math.min(out, list[i]) end
  return out
end

-- One of the marks of each segment.
local function any(e, marks, segments) return e:choose(marks:log(1e-30), segments, { how = "random-ties" }) end

-- As published: 50 runs, ties at random, the best by the simulator.
add("critical-path", function(cell, seed)
  local e = assert(berth.assignment(cell.graph, cell.topology)):episodes(50)
  e:start(seed, 0)
  while not e.done do
    local ops, segments = e:candidates()
    local op = e:select(ops, segments, any(e, e:teacher_ops(), segments))
    e:assign(op, any(e, e:teacher_devices(op)))
  end
  local judge = assert(berth.assignment(cell.judge, cell.topology)).cost
  return { best = least(assert(e:simulate(judge, cells.judge))), calls = 50 }
end)

add("enumerative", function(cell)
  return { best = judged(cell, assert(berth.place(cell.graph, cell.topology, "enumerative"))), calls = 1 }
end)

add("flat-annealing", function(cell, seed)
  return { best = flat.anneal(cell.judge, cell.topology, { calls = cell.calls, seed = seed }), calls = cell.calls }
end)

local function search(cell, seed, calls, start)
  local p = assert(berth.place(cell.judge, cell.topology, "anneal",
    { calls = calls, seed = seed, threads = 1, judge = cells.judge, start = start }))
  return p.estimate
end

add("search", function(cell, seed) return { best = search(cell, seed, cell.calls), calls = cell.calls } end)

-- ---- agents ------------------------------------------------------------------------------------------------------------

local function task(cell, contract)
  return { graph = cell.graph, topology = cell.topology, name = cell.label, contract = contract,
    judge = { graph = cell.judge, preset = cells.judge.preset } }
end

-- Stage I, then episodes of stage II for the remaining calls, one reserved for the final
-- evaluation.
local function trained(cell, agent, o)
  local calls = math.floor(cell.calls * (o.share or 1))
  local stages = { { stage = "I", episodes = o.imitate or 1600, teacher = o.teacher }, { stage = "II", episodes = calls } }
  local report = assert(agent:train({ task(cell, o.contract) }, { calls = calls, stages = stages }))
  local made = report.tasks[1]
  return { best = made.best, greedy = made.greedy, calls = report.calls, placement = made.placement }
end

add("doppler", function(cell, seed) return trained(cell, berth.agents.doppler { seed = seed }, {}) end)
add("doppler-path", function(cell, seed)
  return trained(cell, berth.agents.doppler { seed = seed, partners = false }, { teacher = "critical-path" })
end)
add("doppler-units", function(cell, seed)
  return trained(cell, berth.agents.doppler { seed = seed, contract = true }, { contract = true })
end)
-- Half of the calls for the agent, half for the contracted search from its best.
add("doppler-search", function(cell, seed)
  local row = trained(cell, berth.agents.doppler { seed = seed, contract = true }, { contract = true, share = 0.5 })
  local rest = cell.calls - row.calls
  return { best = math.min(row.best, search(cell, seed, rest, row.placement)), greedy = row.greedy, calls = row.calls + rest }
end)
add("placeto", function(cell, seed)
  local agent = berth.agents.placeto { seed = seed, devices = cell.devices }
  return trained(cell, agent, { teacher = "critical-path", imitate = 160 })
end)
add("gdp", function(cell, seed)
  return trained(cell, berth.agents.gdp { seed = seed, devices = cell.devices }, { teacher = "critical-path" })
end)
-- The published networks, trained as the compact ones of "doppler" and "doppler-path".
local function published(seed) return berth.agents.doppler { seed = seed, design = "published" } end
add("published", function(cell, seed) return trained(cell, published(seed), {}) end)
add("published-path", function(cell, seed) return trained(cell, published(seed), { teacher = "critical-path" }) end)

return methods
