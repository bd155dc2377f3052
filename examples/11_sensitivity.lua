-- How much slower is a step placed by a wrong profile? Op times and transfers of the profile are off
-- by factors drawn from [1 - f, 1 + f], or all transfers by one factor.
local berth = require "berth"
local links, seeds, calls = "duplex", 2, { portfolio = 100 } -- calls of its search
local placers = { "m-topo", "m-etf", "m-sct", "heft", "portfolio" }

local function perturbed(c, f, seed)
  local rng, op, tensor = berth.rng(seed), {}, {}
  local function draw() return 1 + f * (2 * rng:uniform() - 1) end
  for i = 1, #c.graph do op[i] = draw() end
  for k = 1, c.graph.n_tensors do tensor[k] = draw() end
  return assert(berth.cost(c.graph, c.topology, {
    op = function(i, d) return c:op(i, d) * op[i] end,
    transfer = function(k, a, b) return c:transfer(k, a, b) * tensor[k] end,
  }))
end

-- The profiles of each column.
local function columns(c)
  local out = {}
  for k, f in ipairs { 0.1, 0.2 } do
    out[k] = {}
    for seed = 1, seeds do out[k][seed] = perturbed(c, f, seed) end
  end
  for _, factor in ipairs { 0.5, 2 } do
    out[#out + 1] = { assert(berth.cost(c.graph, c.topology, { transfer_factor = factor })) }
  end
  return out
end

-- Step time, by the true costs, of the placement for the profile.
local function judged(c, placer, profile)
  local p = assert(berth.place(profile, placer, { links = links, seed = 1, calls = calls[placer] }))
  return berth.simulate(c, p, { links = links, bound = false }).makespan
end

local function row(c, placer, profiles)
  local exact = judged(c, placer, c)
  local line = ("%-10s %9s"):format(placer, berth.format(exact, "seconds"))
  for _, column in ipairs(profiles) do
    local sum, worst = 0, 0
    for _, profile in ipairs(column) do
      local x = judged(c, placer, profile)
      sum, worst = sum + x, math.max(worst, x)
    end
    line = line .. ("  %+6.1f %%"):format(100 * (sum / #column / exact - 1))
    if #column > 1 then line = line .. (" %+6.1f %%"):format(100 * (worst / exact - 1)) end
  end
  return line
end

local models = { { "inception_v3", { granularity = "layer", batch = 8 } }, { "gnmt", { granularity = "layer", seq = 4 } } }
for _, model in ipairs(models) do
  local g = assert(berth.models.build(model[1], model[2]))
  local c = berth.cost(g, berth.topology.mesh(4, { preset = "V100", bandwidth = "10 GB/s", latency = "5 us" }))
  local profiles = columns(c)
  print(("%s, %d ops\nplacer         exact  f = 0.1: mean, worst  f = 0.2: mean, worst  transfers / 2  x 2"):format(model[1], #g))
  for _, placer in ipairs(placers) do print(row(c, placer, profiles)) end
end
