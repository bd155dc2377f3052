-- Placed by perturbed profiles, judged by the true costs: how much slower is the step? Every op time and transfer is multiplied
-- by a uniform draw from [1 - f, 1 + f], or all transfers by one factor.
-- usage: eval "$(make -s env)"; lua5.4 scripts/bench/sensitivity.lua [SEEDS, default 10] [LINKS, default duplex]
package.path = "scripts/bench/?.lua;" .. package.path
local berth = require "berth"
local studies = require "studies"

local seeds, links = tonumber(arg[1] or 10), arg[2] or "duplex"
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

local function columns(c)
  local out = { {}, {} }
  for seed = 1, seeds do
    out[1][seed], out[2][seed] = perturbed(c, 0.1, seed), perturbed(c, 0.2, seed)
  end
  for _, factor in ipairs { 0.5, 2, 5 } do
    out[#out + 1] = { assert(berth.cost(c.graph, c.topology, { transfer_factor = factor })) }
  end
  return out
end

-- Step time by the true costs; nil: it refuses, or runs out of memory.
local function judged(c, placer, profile)
  local p = berth.place(profile, placer, { links = links, seed = 1 })
  local r = p and berth.simulate(c, p, { links = links, bound = false })
  return r and not r.oom and r.makespan or nil
end

local function percent(x) return x and ("%+.1f"):format(100 * (x - 1)) or "-" end

-- Mean and worst of a column over the exact profile's; nil: one of them has no answer.
local function excess(c, placer, column, exact)
  local sum, worst = 0, 0
  for _, profile in ipairs(column) do
    local x = judged(c, placer, profile)
    if not x or not exact then return nil end
    sum, worst = sum + x / exact / #column, math.max(worst, x / exact)
  end
  return sum, worst
end

local totals = {}
local function add(placer, k, x)
  local t = totals[placer] or {}
  totals[placer] = t
  t[k] = t[k] or { log = 0, n = 0, worst = 0 }
  if x then t[k] = { log = t[k].log + math.log(x), n = t[k].n + 1, worst = math.max(t[k].worst, x) } end
end

local function row(name, c, placer, profiles)
  local exact = judged(c, placer, c)
  local cells = { name, placer, exact and berth.format(exact, "seconds") or "-" }
  for k, column in ipairs(profiles) do
    local mean, worst = excess(c, placer, column, exact)
    cells[#cells + 1] = #column > 1 and percent(mean) .. ", " .. percent(worst) or percent(mean)
    add(placer, k, mean)
  end
  print("| " .. table.concat(cells, " | ") .. " |")
end

print("| input | placer | exact | f = 0.1: mean, worst, % | f = 0.2 | transfers / 2, % | x 2 | x 5 |")
print(("|---"):rep(8) .. "|")
for _, input in ipairs(studies.inputs()) do
  local c = assert(berth.cost(input.graph, input.topology))
  local profiles = columns(c)
  for _, placer in ipairs(placers) do row(input.name, c, placer, profiles) end
end
for _, placer in ipairs(placers) do
  local cells = { "all, geometric mean", placer, "" }
  for k, t in ipairs(totals[placer]) do cells[k + 3] = percent(math.exp(t.log / math.max(t.n, 1))) end
  print("| " .. table.concat(cells, " | ") .. " |")
end
