-- Deployments of a graph of 2,000 ops on 16 GPUs: CPU seconds of a plan with 800 evaluations, and of one evaluation.
-- lua scripts/bench/deploy.lua
local berth = require "berth"

local graph, about = berth.deploy.models.build "speed"
local input = ("%d ops, 16 GPUs"):format(#graph)

local function row(what, value, unit, spent) print(("%s\t%.6g\t%s\t%s\t%.4f"):format(what, value, unit, input, spent)) end

local function clock(f, ...)
  collectgarbage()
  local start = os.clock()
  local out = f(...)
  return os.clock() - start, out
end

local function planned(physics, links)
  local topology = berth.deploy.clusters.testbed { links = links }
  local spent = clock(function()
    return assert(berth.deploy.plan(graph, topology, { batch = about.options.batch, physics = physics, reasons = false,
      seed = 1 }))
  end)
  row("deploy, plan of 800 evaluations, " .. physics, spent, "CPU s", spent)
end

local REPEATS = 20
local function evaluated(physics, links)
  local topology = berth.deploy.clusters.testbed { links = links }
  local d = assert(berth.deploy.problem(graph, topology, { batch = about.options.batch, physics = physics }))
  local dp = d:baselines()[1]
  local spent = clock(function()
    for _ = 1, REPEATS do d:evaluate { action = dp.action } end
  end)
  row("deploy, evaluation of data parallelism, " .. physics, spent / REPEATS * 1e3, "ms", spent)
end

for _, case in ipairs { { "physical", "nic" }, { "compat", "tag" } } do
  evaluated(case[1], case[2])
  planned(case[1], case[2])
end
