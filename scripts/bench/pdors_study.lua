-- PD-ORS and other policies on generated problems: the experiments of docs/pdors.md. Trials go to
-- FILE (berth.experiment) and are not run again; then tables with 95 % intervals.
-- lua scripts/bench/pdors_study.lua FILE [WHAT [SEEDS [SHARD]]]
--   WHAT: comma-separated, all unless given:
--     families   all policies on three families: a crowded cluster, an uncrowded one, shared links
--     policies   PD-ORS, OASiS, Dorm, DRF, FIFO, Optimus on the default workload
--     google     the same with the mix of classes 30 : 69 : 1
--     realistic  the same on measured models
--     machines, jobs, slots   utility and median training time against each
--     gdelta     factor before rounding, in both favours, faithful and repaired
--     modes      faithful, repaired; formula, tight; both favours
--     locality   PD-ORS with b_int, and with b_int set to b_ext, and OASiS, against b_int / b_ext; and with less and less to send
--     quanta     granularity of the work
--     floor      least utility in L
--     bounds     L and U: of all jobs, these times factors, of the jobs seen so far
--     offline    small problems against their optimum
--     tau        deciding with a wrong tau
--   SEEDS: 20, which are 1 to 20; or FROM-TO. SHARD: I/N.
-- PD-ORS is pd-ors-published where the experiment is about what the paper has (prices, roundings).
local berth = require "berth"

local function seeds_of(text)
  local from, to = text:match "^(%d+)%-(%d+)$"
  if not from then return tonumber(text) end
  local out = {}
  for seed = tonumber(from), tonumber(to) do out[#out + 1] = seed end
  return out
end

local path, what, seeds, shard = arg[1], arg[2], seeds_of(arg[3] or "20"), arg[4]
if not path or not seeds then
  io.stderr:write("usage: pdors_study.lua FILE [WHAT [SEEDS [SHARD]]]\n")
  os.exit(2)
end

-- Prices as published, and those by all that a job takes.
local PER_JOB = { per_job = true, floor = 1 }
local PER_JOB_PUBLISHED = { "pd-ors-published, per job", "pd-ors-published", PER_JOB }
local COMPARED = { "pd-ors", "pd-ors-published", "oasis", "dorm", "drf", "fifo", PER_JOB_PUBLISHED }
local ALL = { "pd-ors", "pd-ors-published", "oasis", "dorm", "drf", "fifo", "fifo-backfill", "optimus", PER_JOB_PUBLISHED,
  { "oasis, per job", "oasis", PER_JOB } }

-- ---- tables ------------------------------------------------------------------------------------------------

local function cell(field, format)
  if not field then return "-" end
  return field.half and (format .. " +- " .. format):format(field.mean, field.half) or format:format(field.mean)
end

local FIELDS = { { "utility", "%.1f" }, { "ratio", "%.3f" }, { "done", "%.1f" }, { "training_median_slots", "%.1f" },
  { "inside", "%.2f" } }

-- A line for each point.
local function print_points(e, parameters, fields)
  local head = {}
  for _, name in ipairs(parameters) do head[#head + 1] = name end
  for _, field in ipairs(fields) do head[#head + 1] = field[1] end
  print("| " .. table.concat(head, " | ") .. " |\n" .. "|---" .. ("|---"):rep(#head - 1) .. "|")
  for _, point in ipairs(e:summary()) do
    local cells = {}
    for _, name in ipairs(parameters) do cells[#cells + 1] = tostring(point.parameters[name]) end
    for _, field in ipairs(fields) do cells[#cells + 1] = cell(point.fields[field[1]], field[2]) end
    print("| " .. table.concat(cells, " | ") .. " |")
  end
end

-- Differences to the first policy, on the same problems.
local function print_differences(e)
  local by = {}
  for _, row in ipairs(e.rows) do
    if row.result then
      by[row.parameters.policy] = by[row.parameters.policy] or {}
      by[row.parameters.policy][row.seed] = row.result.utility
    end
  end
  local first = e.points[1].policy
  for _, point in ipairs(e.points) do
    local n, sum, square = 0, 0, 0
    for seed, x in pairs(by[point.policy] or {}) do
      if by[first] and by[first][seed] then
        local d = by[first][seed] - x
        n, sum, square = n + 1, sum + d, square + d * d
      end
    end
    if point.policy ~= first and n > 1 then
      local deviation = math.sqrt(math.max(0, square - sum * sum / n) / (n - 1))
      print(("%s less %s: %.1f, deviation %.1f, in %d problems"):format(first, point.policy, sum / n, deviation, n))
    end
  end
end

local function study(given)
  given.path, given.seeds, given.shard = path, seeds, shard
  local e = assert(berth.pdors.study(given))
  print(("\n## %s\n"):format(given.name))
  for _, row in ipairs(e.rows) do
    if row.error then io.stderr:write(("%s, seed %d: %s\n"):format(row.parameters.policy, row.seed, row.error)) end
  end
  return e
end

-- ---- experiments ----------------------------------------------------------------------------------------------

local run = {}

local function compared(name, more)
  local given = { name = name, policies = ALL }
  for key, x in pairs(more or {}) do given[key] = x end
  local e = study(given)
  print_points(e, { "policy" }, FIELDS)
  print("")
  print_differences(e)
end

-- Of realistic jobs: ten for each machine; three for two machines; five for each machine, on links that their places share.
local FAMILIES = { { "crowded", { jobs = 200 } }, { "uncrowded", { jobs = 30 } }, { "shared links", { comm = "shared" } } }

function run.families()
  for _, family in ipairs(FAMILIES) do compared("family " .. family[1], { generate = "realistic", given = family[2] }) end
end

function run.policies() compared "policies" end
function run.google() compared("google", { given = { classes = "google" } }) end
function run.realistic() compared("realistic", { generate = "realistic" }) end

local function against(key, values, given)
  local e = study { name = key, policies = COMPARED, grid = { [key] = values }, given = given }
  print_points(e, { key, "policy" }, FIELDS)
end

function run.machines() against("machines", { 20, 40, 60, 80, 100, 150, 200 }) end
function run.jobs() against("jobs", { 20, 50, 100, 150, 200 }) end
function run.slots() against("slots", { 20, 50, 80, 100, 150 }) end

local COUNTS = { { "utility", "%.1f" }, { "ratio", "%.3f" }, { "done", "%.1f" }, { "inside", "%.2f" },
  { "count_roundings", "%.0f" }, { "count_never_feasible", "%.0f" }, { "count_repairs", "%.0f" } }

function run.gdelta()
  local list = {}
  for _, favour in ipairs { "packing", "covering" } do
    list[#list + 1] = { "favour " .. favour, "pd-ors-published", { favour = favour } }
  end
  for _, mode in ipairs { "faithful", "repaired" } do
    for _, factor in ipairs { 0.35, 0.6, 0.8, 0.9, 1, 1.1, 1.25, 1.5, 2 } do
      local o = { mode = mode, gdelta = "given", factor = factor }
      list[#list + 1] = { ("%s, G = %.2f"):format(mode, factor), "pd-ors-published", o }
    end
  end
  print_points(study { name = "gdelta", policies = list }, { "policy" }, COUNTS)
end

function run.modes()
  local list = {}
  for _, mode in ipairs { "faithful", "repaired" } do
    for _, favour in ipairs { "packing", "covering" } do
      for _, form in ipairs { "formula", "tight" } do
        local o = { mode = mode, favour = favour, gdelta = form }
        list[#list + 1] = { ("%s, %s, %s"):format(mode, favour, form), "pd-ors-published", o }
      end
    end
  end
  print_points(study { name = "modes", policies = list }, { "policy" }, COUNTS)
end

function run.quanta()
  local list = {}
  for _, n in ipairs { 8, 16, 32, 64, 128, 256 } do
    list[#list + 1] = { ("%d quanta"):format(n), "pd-ors-published", { quanta = n, most_quanta = 4 * n } }
  end
  print_points(study { name = "quanta", policies = list }, { "policy" }, FIELDS)
end

function run.bounds()
  local list = { { "oracle", "pd-ors-published" } }
  for _, x in ipairs { 1e-3, 1e-2, 0.1, 10, 100, 1e3, 1e4, 1e5 } do
    list[#list + 1] = { ("L times %g"):format(x), "pd-ors-published", { low_scale = x } }
  end
  for _, x in ipairs { 0.01, 0.1, 0.5, 2, 10, 100 } do
    list[#list + 1] = { ("U times %g"):format(x), "pd-ors-published", { high_scale = x } }
  end
  for _, x in ipairs { 1, 2, 10, 100 } do
    list[#list + 1] = { ("online, safety %g"):format(x), "pd-ors-published", { bounds = "online", safety = x } }
  end
  print_points(study { name = "bounds", policies = list }, { "policy" }, FIELDS)
end

function run.floor()
  local list = {}
  for _, x in ipairs { 1e-12, 1e-9, 1e-6, 1e-4, 1e-3, 1e-2, 1e-1 } do
    list[#list + 1] = { ("floor %g"):format(x), "pd-ors-published", { floor = x } }
    list[#list + 1] = { ("oasis, floor %g"):format(x), "oasis", { floor = x } }
  end
  for _, x in ipairs { 1e-6, 1e-3, 1e-1, 1 } do
    list[#list + 1] = { ("per job, floor %g"):format(x), "pd-ors-published", { per_job = true, floor = x } }
  end
  print_points(study { name = "floor", policies = list }, { "policy" }, FIELDS)
end

-- ---- experiments that change the problem under the policy ----------------------------------------------------------

local function experiment(name, grid, trial)
  local e = assert(berth.experiment { name = "pdors " .. name, path = path, shard = shard, grid = grid, seeds = seeds,
    run = trial })
  print(("\n## %s\n"):format(name))
  return e
end

local function told(r) return { utility = r.utility, ratio = r.ratio, done = r.summary.done, inside = r.summary.inside,
  training_median_slots = r.summary.training_median_slots } end

-- The jobs with the bandwidth inside machines that they have across them.
local function without_locality(p)
  for _, job in ipairs(p.jobs) do job.inside = job.across end
  return p
end

-- `scale`: factor of what is sent. Jobs: the default ones, few of which fit on a machine; or small ones, which do.
local SIZES = { default = {}, small = { batch = { 1, 20 }, epochs = { 10, 50 }, machines = 20 } }

local function locality_trial(t)
  local function draw()
    local given = { seed = t.seed, gain = t.gain, bytes = { 30e6 * t.scale, 575e6 * t.scale } }
    for key, x in pairs(SIZES[t.jobs]) do given[key] = x end
    return berth.pdors.generate("default", given)
  end
  local o = { seed = t.seed, certify = false }
  local with = assert(berth.pdors.simulate(draw(), "pd-ors-published", o))
  local without = assert(berth.pdors.simulate(without_locality(draw()), "pd-ors-published", o))
  local oasis = assert(berth.pdors.simulate(draw(), "oasis", o))
  return { pdors = with.utility, without = without.utility, oasis = oasis.utility, locality = with.utility - without.utility,
    over_oasis = with.utility - oasis.utility, inside = with.summary.inside }
end

function run.locality()
  local points = {}
  for _, jobs in ipairs { "small", "default" } do
    for _, gain in ipairs { 1, 2, 5, 10, 20, 50, 100 } do points[#points + 1] = { jobs = jobs, gain = gain, scale = 1 } end
    for _, scale in ipairs { 0.1, 0.01, 1e-3, 1e-4, 1e-6, 0 } do
      points[#points + 1] = { jobs = jobs, gain = 10, scale = scale }
    end
  end
  print_points(experiment("locality", points, locality_trial), { "jobs", "gain", "scale" }, { { "pdors", "%.1f" },
    { "without", "%.1f" }, { "locality", "%.2f" }, { "oasis", "%.1f" }, { "over_oasis", "%.2f" }, { "inside", "%.2f" } })
end

-- Small enough for the optimum: what online decisions lose, and how far the bound is from it.
local function offline_trial(t)
  local p = berth.pdors.problem(berth.pdors.generate("realistic", { seed = t.seed, jobs = t.jobs, machines = 2, slots = 4,
    batch = { 2, 4 }, worker_slots = { 1, 5 }, target = { 1, 3 }, arrivals = "uniform" }))
  local best, out = assert(p:offline { nodes = 20000 }), {}
  for _, x in ipairs { { "pdors", "pd-ors-published" }, { "per_job", "pd-ors-published", PER_JOB },
    { "exact", "pd-ors-published", { mode = "exact" } }, { "revised", "pd-ors" },
    { "oasis", "oasis" }, { "drf", "drf" } } do
    local o = { seed = t.seed, certify = false }
    for key, value in pairs(x[3] or {}) do o[key] = value end
    local r = assert(berth.pdors.simulate(p, x[2], o))
    out[x[1]] = best.bound > 0 and r.utility / best.bound or 1
  end
  out.optimum, out.proved, out.bound = best.utility, best.proved and 1 or 0, best.bound > 0 and p:bound() / best.bound or 1
  return out
end

function run.offline()
  local fields = { { "optimum", "%.1f" }, { "proved", "%.2f" } }
  for _, name in ipairs { "bound", "revised", "pdors", "exact", "per_job", "oasis", "drf" } do
    fields[#fields + 1] = { name, "%.3f" }
  end
  print_points(experiment("offline", { { jobs = 3 }, { jobs = 4 }, { jobs = 6 } }, offline_trial), { "jobs" }, fields)
end

-- PD-ORS decides on the believed problem, and continues to plan unfinished jobs. spread 0: all tau
-- are wrong by the factor; 1: each by a factor between 1 / factor and factor.
local function tau_trial(t)
  local rng = berth.rng(t.seed, 99)
  local true_one = berth.pdors.problem(berth.pdors.generate("default", { seed = t.seed }))
  local believed = berth.pdors.generate("default", { seed = t.seed })
  for _, job in ipairs(believed.jobs) do
    local x = t.spread == 1 and 2 * rng:uniform() - 1 or 1
    job.tau = job.tau * (x >= 0 and 1 + x * (t.factor - 1) or 1 / (1 - x * (t.factor - 1)))
  end
  local o = { seed = t.seed, believes = berth.pdors.problem(believed) }
  return told(assert(berth.pdors.simulate(true_one, t.policy, o)))
end

function run.tau()
  local points = {}
  for _, policy in ipairs { "pd-ors", "pd-ors-published" } do
    for _, x in ipairs { 0.5, 0.7, 0.8, 0.9, 0.95, 1, 1.05, 1.1, 1.2, 1.5, 2 } do
      points[#points + 1] = { policy = policy, factor = x, spread = 0 }
    end
    for _, x in ipairs { 1.05, 1.1, 1.2, 1.5, 2 } do
      points[#points + 1] = { policy = policy, factor = x, spread = 1 }
    end
  end
  print_points(experiment("tau", points, tau_trial), { "policy", "spread", "factor" }, FIELDS)
end

local ORDER = { "families", "policies", "google", "realistic", "machines", "jobs", "slots", "gdelta", "modes", "locality",
  "quanta", "floor",
  "bounds", "tau", "offline" }
local function words(text)
  local out = {}
  for word in text:gmatch "[^,]+" do out[#out + 1] = word end
  return out
end
for _, name in ipairs(what and what ~= "all" and words(what) or ORDER) do
  if not run[name] then error(("no experiment %q; there are %s"):format(name, table.concat(ORDER, ", ")), 0) end
  run[name]()
end
