--- Problems of workers and parameter servers for specs.
local berth = require "berth"
local merged = require "support.merged"

local problems = {}

-- Problems that are small, loaded and different: racks, machines of two sizes, costs of moving,
-- shared links.
function problems.odd(seed, more)
  local rng = berth.rng(seed, 77)
  local p = berth.pdors.generate("default",
    { seed = seed, jobs = 4 + rng:below(8), machines = 1 + rng:below(7),
    slots = 4 + rng:below(20), load = 0.01 + 0.05 * rng:uniform(), batch = { 1, 12 },
    target = { 1, 8 }, room = 6 + rng:below(12),
    moving = more and rng:below(3) == 1 and 0.3 or nil,
      comm = more and rng:below(3) == 1 and "shared" or nil })
  local c = p.cluster
  if more and rng:below(2) == 1 then
    c.rack = {}
    for m = 1, c.machines do c.rack[m] = rng:below(2) end
    for _, job in ipairs(p.jobs) do job.rack = job.across * 3 end
  end
  if rng:below(2) == 1 then
    local all = c.capacity
    c.capacity = {}
    for m = 1, c.machines do
      c.capacity[m] = {}
      for r, x in ipairs(all) do c.capacity[m][r] = rng:below(3) == 1 and math.floor(x / 2) or x end
    end
  end
  return p
end

-- 100 samples, 0.01 slots each, 2 g gamma / (b F) = 0.01 slots inside and 0.03 across: a worker
-- does 50 or 25 in a slot.
function problems.one_job(more)
  return merged({ arrival = 0, epochs = 10, samples = 10, batch = 100, tau = 0.01, bytes = 1,
    ratio = 2, inside = 4, across = 4 / 3,
    worker = { 1 }, server = { 1 }, importance = 10, urgency = 0, target = 1 }, more)
end
function problems.machines(n, slots, room)
  return { machines = n, slots = slots, resources = { "cpu" }, capacity = { room } }
end

return problems
