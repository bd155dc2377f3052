-- Blocking rates on the published workload: baselines, rules that look ahead, the planner that learned, alone and with rollouts,
-- and the bound of one who knows all arrivals. Trials go to FILE (berth.experiment) and are not run again; then the table.
-- lua scripts/bench/pacml_study.lua FOLDER FILE [MODE [DECIDERS [BETAS [SEEDS [GAP]]]]]
--   FOLDER: that of the profiles. MODE: compat (default) or exact (true units: gaps in seconds as if they were milliseconds).
--   DECIDERS, BETAS: comma-separated, all unless given; "planner:16x8": 16 futures of 8 arrivals. SEEDS: 10. GAP: 1000.
local berth = require "berth"

local folder, path, mode = arg[1], arg[2], arg[3] or "compat"
if not path or (mode ~= "compat" and mode ~= "exact") then
  io.stderr:write("usage: pacml_study.lua FOLDER FILE [compat|exact [DECIDERS [BETAS [SEEDS [GAP]]]]]\n")
  os.exit(2)
end
local wanted = arg[4] or "para-max,para-min,random,largest-feasible,capped:4,capped:8,planner,planner:16x8,bound"
local betas, seeds, gap = arg[5] or "A,B,C,D", tonumber(arg[6] or 10), tonumber(arg[7] or 1000)
local unit = mode == "exact" and 1e-3 or 1

local JOBS, LEARNED = 1001, 8000000
local NAMES = { "alexnet", "vgg16", "resnet18", "squeezenet1_0", "gnmt" }

local function list(text)
  local out = {}
  for word in text:gmatch("[^,]+") do out[#out + 1] = word end
  return out
end

local function new_env()
  local ramp, models = berth.ramp { compat = mode == "compat" }, {}
  for i, name in ipairs(NAMES) do models[i] = assert(berth.pacml.profile(ramp, ("%s/%s.txt"):format(folder, name))) end
  return berth.pacml.env { models = models, names = NAMES }
end

local env = new_env()

-- ---- the planner: learned once for each beta, kept beside FILE -------------------------------------------------------

local function read_weights(file)
  local f, out = io.open(file, "r"), {}
  if not f then return nil end
  for line in f:lines() do out[#out + 1] = tonumber(line) end
  f:close()
  return out
end

local function write_weights(file, weights)
  local f = assert(io.open(file, "w"))
  for _, w in ipairs(weights) do f:write(("%.17g\n"):format(w)) end
  assert(f:close())
end

local function planner_for(beta)
  local d = berth.pacml.beta(beta)
  local planner = assert(env:planner { hidden = 32, blocks = 3, discount = 0.985, gap = gap * unit, beta = d.values,
    mass = d.mass })
  local file = ("%s.%s.%s.%g.weights"):format(path, mode, beta, gap)
  local weights = read_weights(file)
  if weights then return planner:set(weights) end
  local start = os.clock()
  assert(planner:learn(berth.rng(1), { jobs = LEARNED, rate = 0.05, last_rate = 0.0005 }))
  print(("learned %s: %.0f CPU s"):format(beta, os.clock() - start))
  write_weights(file, planner:get())
  return planner
end

local planners = {}

-- ---- trials ------------------------------------------------------------------------------------------------------------

local function decider(name, beta, seed)
  local futures, depth = name:match("^planner:(%d+)x(%d+)$")
  if name == "random" then return berth.pacml.decider("random", { seed = seed }) end
  if name ~= "planner" and not futures then return berth.pacml.decider(name) end
  planners[beta] = planners[beta] or planner_for(beta)
  local o = { futures = tonumber(futures or 0), depth = tonumber(depth or 1), seed = seed,
    horizon = mode == "compat" and gap * unit * (JOBS - 1) or nil }
  return function(run) return planners[beta]:decide(run, o) end
end

local function trace_of(beta, seed)
  return berth.pacml.trace { models = #NAMES, beta = beta, seed = 1000 + seed, jobs = JOBS, interarrival = gap * unit,
    copies = 201 }
end

local function trial(t)
  local horizon = gap * unit * (JOBS - 1)
  if t.decider == "bound" then
    local b = assert(berth.pacml.bound(env, trace_of(t.beta, t.seed), { horizon = horizon }))
    return { blocking = b.blocking_rate }
  end
  local run, decide = env:run(trace_of(t.beta, t.seed)), decider(t.decider, t.beta, t.seed)
  while not run.done do run:decide(decide(run)) end
  local r = run:report { horizon = horizon }
  return { blocking = r.blocking_rate, jct = r.jct / unit, pieces = r.pieces, utilisation = r.utilisation }
end

local points = {}
for _, name in ipairs(list(wanted)) do
  for _, beta in ipairs(list(betas)) do points[#points + 1] = { beta = beta, decider = name, gap = gap, mode = mode } end
end
local e = assert(berth.experiment { name = "pacml", path = path, grid = points, seeds = seeds, run = trial })
print(e)

local by = {}
for _, row in ipairs(e:summary()) do by[row.parameters.decider .. row.parameters.beta] = row end
print("| decider | " .. table.concat(list(betas), " | ") .. " |\n|---|" .. ("---|"):rep(#list(betas)))
for _, name in ipairs(list(wanted)) do
  local cells = {}
  for i, beta in ipairs(list(betas)) do
    local row = by[name .. beta]
    local x = row and row.fields.blocking
    cells[i] = x and ("%.4f +- %.4f"):format(x.mean, x.half or 0) or "-"
  end
  print(("| %s | %s |"):format(name, table.concat(cells, " | ")))
end
