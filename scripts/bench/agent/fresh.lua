-- The shipped agent beside the portfolio without it, on 20 pairs of a model of the zoo and a
-- topology, neither of which it has seen. usage: fresh.lua SEED [CALLS]
local berth = require "berth"
local draw = require "agent.draw"
local PAIRS = 20

local seed, calls = tonumber(arg[1]), tonumber(arg[2] or 50)
if not seed then
  io.stderr:write("usage: scripts/bench/agent_fresh SEED [CALLS]\n")
  os.exit(2)
end

local function all_rows(g, t, o)
  local _, rows = berth.portfolio(g, t, o)
  return type(rows) == "table" and rows or nil
end

local function timed(f, ...)
  local begin = os.clock()
  local value, message = f(...)
  return value, os.clock() - begin, message
end

local function best_of(rows, with_agent)
  local best
  for _, row in ipairs(rows or {}) do
    if row.makespan and not row.oom and (with_agent or row.placer ~= "agent")
      and not (best and best <= row.makespan) then best = row.makespan end
  end
  return best
end

print(("%-34s %4s %3s %-8s %10s %10s %7s %7s"):format("model", "ops", "dev", "links", "portfolio", "agent",
  "ratio", "with it"))
local sum, sum_with, n, k, worse = 0, 0, 0, 0, 0
local seconds, seconds_all = 0, 0
while n < PAIRS do
  k = k + 1
  local g, t, links, text = draw.fresh(seed, k)
  local cost = { form = "roofline" } -- as in training
  local rows, took = timed(all_rows, g, t, { links = links, threads = 1, calls = 0, cost = cost })
  local without, with = best_of(rows, false), best_of(rows, true)
  if without then -- else memory does not suffice: drawn again
    local p, own, message = timed(berth.place, g, t, "agent", { links = links,
      calls = calls, cost = cost })
    local value
    if p then
      local r = assert(berth.simulate(g, t, p, { links = links, cost = cost }))
      assert(not r.oom, "the agent's answer runs out of memory")
      value = r.makespan
    end
    n, seconds, seconds_all = n + 1, seconds + own, seconds_all + took
    sum = sum + math.log((value or 2 * without) / without)
    sum_with = sum_with + math.log(with / without)
    if with > without then worse = worse + 1 end
    print(("%-34s %4d %3d %-8s %7.2f ms %7s ms %7.3f %7.3f"):format(text, #g, #t, links, without * 1e3,
      value and ("%.2f"):format(value * 1e3) or message, (value or 2 * without) / without, with / without))
  end
end
print(("geometric mean of %d: agent / portfolio %.4f, portfolio with it / without %.4f, worse with it: %d"):format(
  n, math.exp(sum / n), math.exp(sum_with / n), worse))
print(("CPU: portfolio with the agent %.2f s, agent alone %.2f s"):format(seconds_all, seconds))
