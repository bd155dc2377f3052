-- Blocking rates on the published workload: rules, rules that look ahead, trained agents, and the
-- bound with knowledge of all arrivals. Trials go to FILE and are not run again; then a table for
-- each time between arrivals.
-- lua scripts/bench/pacml_study.lua FOLDER FILE [MODE [DECIDERS [BETAS [SEEDS [GAPS [CLUSTER]]]]]]
--   FOLDER: that of the profiles. MODE: compat (default); exact (true units: gaps in seconds as if they were milliseconds);
--   true-units (as compat, but milliseconds are milliseconds). DECIDERS, BETAS, GAPS: comma-separated. SEEDS: 10, or FROM-TO.
--   CLUSTER: groups x racks x slots, 4x4x2.
--   Deciders: the names of berth.pacml.deciders; bound; planner (the network alone) or planner:64x16 (64 futures of 16 arrivals),
--   one for each beta and gap; one or one:64x16, the same for all betas; agent:FILE, FILE with %s for the beta.
-- Planners are trained at first use, and saved beside FILE.
local berth = require "berth"

local MODES = {
  compat = { ramp = { compat = true }, second = 1 },
  exact = { ramp = {}, second = 1e-3 },
  ["true-units"] = { ramp = { compat = true, time_scale = 1, quantum = "10 us" }, second = 1e-3 },
}
local folder, path, mode = arg[1], arg[2], arg[3] or "compat"
if not path or not MODES[mode] then
  io.stderr:write("usage: pacml_study.lua FOLDER FILE [compat|exact|true-units [DECIDERS [BETAS [SEEDS [GAPS [CLUSTER]]]]]]\n")
  os.exit(2)
end

local JOBS, COPIES = 1001, 201
local NAMES = { "alexnet", "vgg16", "resnet18", "squeezenet1_0", "gnmt" }

local function list(text)
  local out = {}
  for word in text:gmatch("[^,]+") do out[#out + 1] = word end
  return out
end

local wanted = list(arg[4] or "para-max,para-min,random,largest-feasible,capped:4,capped:8,planner,planner:16x16,bound")
local betas, gaps = list(arg[5] or "A,B,C,D"), list(arg[7] or "1000")
local seeds = {}
local from, to = (arg[6] or "10"):match("^(%d+)%-(%d+)$")
for seed = from or 1001, to or 1000 + (arg[6] or 10) do seeds[#seeds + 1] = seed end
local cluster = arg[8] or "4x4x2"
do
  local o = MODES[mode].ramp
  o.groups, o.racks, o.slots = cluster:match("^(%d+)x(%d+)x(%d+)$")
  for _, key in ipairs { "groups", "racks", "slots" } do o[key] = assert(tonumber(o[key]), cluster) end
end

local env
do
  local ramp, models = berth.ramp(MODES[mode].ramp), {}
  for i, name in ipairs(NAMES) do models[i] = assert(berth.pacml.profile(ramp, ("%s/%s.txt"):format(folder, name))) end
  env = assert(berth.pacml.env { models = models, names = NAMES })
end

local function seconds(gap) return tonumber(gap) * MODES[mode].second end
local function horizon(gap) return seconds(gap) * (JOBS - 1) end

-- ---- agents -----------------------------------------------------------------------------------------------------------

local agents = {}

local function trained(file, learned, gap)
  local agent = berth.agents.pacml { betas = learned, interval = seconds(gap), seed = 1 }
  local start = os.clock()
  local done = assert(agent:train(env, { steps = 150000 * math.max(2, #learned), checkpoint = file, resume = true }))
  if done.interrupted then os.exit(130) end
  print(("%s: %.0f jobs, %.0f CPU s now"):format(file, done.steps, os.clock() - start))
  return agent
end

local function agent_of(file, learned, gap)
  agents[file] = agents[file] or (learned and trained(file, learned, gap)) or assert(berth.agents.load(file)):use(env)
  return agents[file]
end

-- In compat, jobs that run at the end count as blocked: planners get the time of the end.
local function plays(agent, futures, depth)
  return function(run, stop)
    return agent:decide(run, { futures = futures, depth = depth, rules = futures > 0,
      horizon = mode ~= "exact" and stop or nil })
  end
end

local function decider(name, beta, gap)
  local kind, futures, depth = name:match("^(%l+):?(%d*)x?(%d*)$")
  if kind ~= "planner" and kind ~= "one" then
    local file = name:match("^agent:(.+)$")
    return file and { name, agent_of((file:gsub("%%s", beta))) } or name
  end
  local learned = kind == "one" and { "A", "B", "C", "D" } or { beta }
  local saved = ("%s.%s.%s.%s.%s.agent"):format(path, mode, cluster, table.concat(learned), gap)
  local agent = agent_of(saved, learned, gap)
  return { name, plays(agent, tonumber(futures) or 0, tonumber(depth) or 1) }
end

-- ---- trials -----------------------------------------------------------------------------------------------------------

local function bounds(gap)
  local function run(t)
    local trace = berth.pacml.trace { models = #NAMES, beta = t.beta, seed = t.seed, jobs = JOBS, interarrival = seconds(gap),
      copies = COPIES }
    return { blocking_rate = assert(berth.pacml.bound(env, trace, { horizon = horizon(gap) })).blocking_rate }
  end
  local title = ("bound %s %s %s"):format(mode, cluster, gap)
  return assert(berth.experiment { name = title, path = path, grid = { beta = betas }, seeds = seeds,
    run = run })
end

local function played(gap, beta)
  local asked = {}
  for _, name in ipairs(wanted) do
    if name ~= "bound" then asked[#asked + 1] = decider(name, beta, gap) end
  end
  return #asked > 0 and assert(berth.pacml.study(env, { name = mode .. " " .. cluster,
    deciders = asked, betas = { beta }, seeds = seeds, path = path,
    horizon = horizon(gap), trace = { jobs = JOBS, interarrival = seconds(gap), copies = COPIES } }))
end

local function add(cells, e, name)
  for _, row in ipairs(e and e:summary() or {}) do
    local rate, at = row.fields.blocking_rate, (name or row.parameters.decider) .. " " .. row.parameters.beta
    cells[at] = rate and ("%.4f +- %.4f"):format(rate.mean, rate.half or 0)
  end
end

for _, gap in ipairs(gaps) do
  local cells = {}
  for _, beta in ipairs(betas) do add(cells, played(gap, beta)) end
  for _, name in ipairs(wanted) do
    if name == "bound" then add(cells, bounds(gap), name) end
  end
  print(("\n| %s, %s, %s s | %s |\n|---|%s"):format(mode, cluster, gap, table.concat(betas, " | "), ("---|"):rep(#betas)))
  for _, name in ipairs(wanted) do
    local line = {}
    for i, beta in ipairs(betas) do line[i] = cells[name .. " " .. beta] or "-" end
    print(("| %s | %s |"):format(name, table.concat(line, " | ")))
  end
end
