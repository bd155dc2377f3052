-- The published table of blocking rates, redone beside the deciders that look ahead, in both modes; markdown. Also a load sweep.
-- lua scripts/bench/pacml_table.lua FILE [SEEDS] [SHARD]: FILE keeps what is done, JSON lines; run again to go on.
local berth = require "berth"

local shared = os.getenv("BERTH_SHARED") or "../shared"
local path, seeds, shard = arg[1], tonumber(arg[2] or "20"), arg[3]
if not path or not seeds then
  io.stderr:write("usage: pacml_table.lua FILE [SEEDS] [SHARD]\n")
  os.exit(2)
end

local NAMES = { "alexnet", "gnmt", "resnet18", "squeezenet1_0", "vgg16" }
local DECIDERS = { "para-max", "para-min", "random", "min-parallelism", "largest-feasible", "smallest-feasible", "capped:4",
  "capped:8" }
local BETAS = { "A", "B", "C", "D" }

-- Of exact mode: op times as they are. 50 steps are then a thousandth of the published times, so arrivals are, too.
local MODES = {
  { name = "compat", ramp = { compat = true }, second = 1 },
  { name = "true units", ramp = { compat = true, time_scale = 1, quantum = "10 us" }, second = 1e-3 },
  { name = "exact", ramp = {}, second = 1e-3 },
}

local function env_of(mode)
  local ramp, models = berth.ramp(mode.ramp), {}
  for i, name in ipairs(NAMES) do
    models[i] = assert(berth.pacml.profile(ramp, ("%s/data/pipedream/%s.txt"):format(shared, name)))
  end
  return assert(berth.pacml.env { models = models, names = NAMES })
end

local function study(env, mode, deciders, betas, interarrival)
  return assert(berth.pacml.study(env, { name = mode.name, deciders = deciders, betas = betas, seeds = seeds, path = path,
    shard = shard, trace = { interarrival = interarrival * mode.second } }))
end

local function cell(point)
  local rate = point.fields.blocking_rate
  if not rate then return "-" end
  return rate.half and ("%.3f ± %.3f"):format(rate.mean, rate.half) or ("%.3f"):format(rate.mean)
end

local function print_table(title, rows, columns, at)
  print(("| %s | %s |"):format(title, table.concat(columns, " | ")))
  print("|---" .. ("|---"):rep(#columns) .. "|")
  for _, row in ipairs(rows) do
    local cells = {}
    for c, column in ipairs(columns) do cells[c] = at[row][column] end
    print(("| %s | %s |"):format(row, table.concat(cells, " | ")))
  end
  print("")
end

local function table_of(mode)
  local at = {}
  for _, point in ipairs(study(env_of(mode), mode, DECIDERS, BETAS, 1000):summary()) do
    local row = point.parameters.decider
    at[row] = at[row] or {}
    at[row][point.parameters.beta] = cell(point)
  end
  print_table("blocking rate, " .. mode.name, DECIDERS, BETAS, at)
end

local function sweep(mode, beta)
  local gaps, columns, env, at = { 200, 400, 600, 800, 1000, 1500, 2000, 3000, 6000 }, {}, env_of(mode), {}
  for i, gap in ipairs(gaps) do
    columns[i] = ("%.0f"):format(gap)
    for _, point in ipairs(study(env, mode, DECIDERS, { beta }, gap):summary()) do
      local row = point.parameters.decider
      at[row] = at[row] or {}
      at[row][columns[i]] = cell(point)
    end
  end
  print_table(("beta %s, %s, by time between arrivals (%s)"):format(beta, mode.name, mode.second == 1 and "s" or "ms"), DECIDERS,
    columns, at)
end

for _, mode in ipairs(MODES) do table_of(mode) end
for _, mode in ipairs { MODES[1], MODES[3] } do sweep(mode, "C") end
