-- Training jobs with deadlines arrive at 32 servers. Partition each into as many pieces as there
-- are, or as few as its deadline allows?
local berth = require "berth"

local ramp = berth.ramp()

-- A chain of layers, some s forward and twice as long back; parameters are averaged between pieces after each step.
local function model(layers, seconds, params, output)
  local ops, edges = {}, {}
  for k = 1, layers do
    ops[k] = { seconds = seconds * (0.5 + k / layers), params = params }
    edges[k - 1] = k > 1 and { k - 1, k, output } or nil
  end
  return ramp:model((assert(berth.graph({ ops = ops, edges = edges }):mirror { ratio = 2 })))
end

local env = berth.pacml.env {
  models = { model(12, 2e-3, "16 MB", "8 MB"), model(6, 5e-3, "256 MB", "2 MB"), model(24, 1e-3, "4 MB", "16 MB") },
  names = { "middling", "heavy", "deep" }, steps = 50,
}
for i, name in ipairs(env.names) do
  local run, cells = env:run { model = { i }, beta = { 1 }, arrival = { 0 } }, {}
  for _, pieces in ipairs { 1, 2, 4, 8, 16 } do
    cells[#cells + 1] = ("%.2f"):format(env.sequential[i] / run:look(pieces))
  end
  print(("%-9s %s on one server; in 1, 2, 4, 8, 16 pieces %s times as fast"):format(name,
    berth.format(env.sequential[i], "seconds"), table.concat(cells, ", ")))
end

-- 500 jobs, one every 130 ms, that may take a share beta of their time on one server: strict (B), middling (C) or lax (D).
for _, beta in ipairs { "B", "C", "D" } do
  local trace = berth.pacml.trace { models = 3, beta = beta, seed = 1, jobs = 500, interarrival = "130 ms" }
  print(("beta %s: a job may take %.2f of its time on average"):format(beta, berth.pacml.beta(beta).mean))
  for _, decider in ipairs { "para-max", "para-min", "smallest-feasible", "capped:8" } do
    local report = berth.pacml.simulate(env, trace, decider)
    print(("  %-18s %5.1f %% blocked, %2.0f late, %5.2f times as fast, %4.1f %% of servers compute"):format(decider,
      100 * report.blocking_rate, report.late, report.speedup, 100 * report.utilisation))
  end
end

-- The bound for every scheduler, also with knowledge of all arrivals.
local trace = berth.pacml.trace { models = 3, beta = "D", seed = 1, jobs = 500, interarrival = "130 ms" }
print(berth.pacml.bound(env, trace))
