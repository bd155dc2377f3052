-- Agents used where they were not trained. A study gives { { name, tasks, calls, cells, tune }, ... }: an agent is trained on the
-- tasks and used on the cells. "zero:NAME:X": its likeliest placement, one simulator call; "tuned:NAME:X": after 500 more
-- episodes there. X is the kind of decision: flat (op by op) or units (contracted).
local berth = require "berth"
local cells = require "learn.cells"
local store = require "learn.store"

local transfer = { studies = {} }

local TUNED = 500
local KINDS = { "flat", "units" }

local function judged(cell, placement)
  return assert(berth.simulate_batch(cell.judge, cell.topology, { placement }, cells.judge))[1] / cells.scale
end

local function task(cell, kind)
  return { graph = cell.graph, topology = cell.topology, name = cell.label, contract = kind == "units",
    judge = { graph = cell.judge, preset = cells.judge.preset } }
end

local function new_agent(kind, seed) return berth.agents.doppler { seed = seed, contract = kind == "units" } end

-- Stage I 1,600 episodes, then stage II until the calls are used up; several tasks take turns.
local function trained(kind, seed, tasks, calls)
  local agent = new_agent(kind, seed)
  assert(agent:train(tasks, { calls = calls, stages = { { stage = "I", episodes = 1600 * math.min(#tasks, 4) },
    { stage = "II", episodes = calls } } }))
  return agent
end

local function greedy(cell, agent) return judged(cell, assert(berth.place(cell.graph, cell.topology, agent))) end

-- Another 500 episodes in the cell, one more call for the final evaluation.
local function tuned(cell, kind, agent)
  local report = assert(agent:train({ task(cell, kind) }, { calls = TUNED + 1,
    stages = { { stage = "II", episodes = TUNED, rate = { 1e-3, 0 } } } }))
  local made = report.tasks[1]
  return made.best / cells.scale, made.greedy / cells.scale, report.calls
end

-- A copy to be trained further.
local function copy(agent)
  if not agent.made then return agent end
  local path = os.tmpname()
  assert(agent:save(path))
  local out = assert(berth.agents.load(path))
  os.remove(path)
  return out
end

-- prepare: before the clock starts.
local function add(results, cell, method, seed, f, prepare)
  if results:has(cell.label, method, seed) then return end
  if prepare then prepare() end
  local start = os.clock()
  local row = f()
  row.cell, row.method, row.seed, row.cpu = cell.label, method, seed, os.clock() - start
  results:add(row)
end

local function use(results, source, kind, seed, agent)
  for _, cell in ipairs(source.cells) do
    add(results, cell, ("zero:%s:%s"):format(source.name, kind), seed, function()
      local value = greedy(cell, agent())
      return { best = value, greedy = value, calls = 1 }
    end, agent)
    if source.tune then
      add(results, cell, ("tuned:%s:%s"):format(source.name, kind), seed, function()
        local best, last, calls = tuned(cell, kind, copy(agent()))
        return { best = best, greedy = last, calls = calls }
      end, agent)
    end
  end
end

--- Runs what is missing in o.path.
-- @tparam function study
-- @tparam table o folder, path, wanted (part of a cell's name), seed
function transfer.run(study, o)
  local results = store.open(o.path)
  for _, kind in ipairs(KINDS) do
    for _, source in ipairs(study(o.folder, o.wanted, kind)) do
      local agent
      local function get()
        agent = agent or (source.tasks and trained(kind, o.seed, source.tasks, source.calls) or new_agent(kind, o.seed))
        return agent
      end
      local f = source.use or use
      f(results, source, kind, o.seed, get)
      collectgarbage()
    end
  end
end

-- ---- studies -------------------------------------------------------------------------------------------------------------

local function select(list, keep)
  local out = {}
  for _, cell in ipairs(list) do
    if keep(cell) then out[#out + 1] = cell end
  end
  return out
end

local function one_of(names)
  return function(cell) return (" " .. names .. " "):find(" " .. cell.name .. " ", 1, true) end
end

local function tasks_of(list, kind)
  local out = {}
  for i, cell in ipairs(list) do out[i] = task(cell, kind) end
  return out
end

-- Trained on chain and ffnn with 4 and 8 devices, 4,000 calls each; also 500 episodes without
-- training before ("none").
function transfer.studies.pair(folder, wanted, kind)
  local sources = select(cells.all(folder), one_of("chain ffnn"))
  local targets = select(cells.all(folder, wanted), one_of("block layer"))
  return {
    { name = "pair", tasks = tasks_of(sources, kind), calls = 4000 * #sources, cells = targets, tune = true },
    { name = "none", cells = targets, tune = true, use = function(results, source, how, seed)
      use(results, source, how, seed, function() return new_agent(how, seed) end)
    end },
  }
end

-- Each graph: trained on 4 devices, used on 8.
function transfer.studies.devices(folder, wanted, kind)
  local out = {}
  for _, cell in ipairs(cells.all(folder, wanted)) do
    if cell.devices == 4 then
      local other = select(cells.all(folder, cell.name .. " D=8"), one_of(cell.name))
      out[#out + 1] = { name = "4", tasks = { task(cell, kind) }, calls = cell.calls, cells = other }
    end
  end
  return out
end

local GRAPHS = 24

-- Trained on random sharded einsum graphs, on 4 and 8 devices in turn, 8,000 calls in all; none of the six among them.
function transfer.studies.random(folder, wanted, kind)
  local tasks = {}
  for i = 1, GRAPHS do
    local devices = i % 2 == 0 and 4 or 8
    local graph = assert(berth.models.einsum { program = "random", seed = i, devices = devices })
    tasks[i] = { graph = graph, topology = berth.topology.mesh(devices, { bandwidth = 1 }), name = "random " .. i,
      contract = kind == "units", judge = { preset = cells.judge.preset } }
  end
  return { { name = "random", tasks = tasks, calls = 8000, cells = cells.all(folder, wanted) } }
end

-- The start of the searches on units: one call.
function transfer.studies.start(folder, wanted)
  return { { cells = cells.all(folder, wanted), use = function(results, source, _, seed)
    for _, cell in ipairs(source.cells) do
      add(results, cell, "unit-start", seed, function()
        local p = assert(berth.place(cell.graph, cell.topology, "anneal", { calls = 1, seed = seed, threads = 1,
          judge = cells.judge }))
        return { best = judged(cell, p), calls = 1 }
      end)
    end
  end } }
end

return transfer
