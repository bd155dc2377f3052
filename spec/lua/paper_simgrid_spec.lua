-- Placed graphs in a third-party simulator without contention: makespan and the times of every task.
local berth = require "berth"
local shared = require "support.shared"

local function read(name)
  local text = shared.read("reference/simgrid/" .. name .. ".pdag")
  local numbers = {}
  for word in text:gmatch("%S+") do numbers[#numbers + 1] = tonumber(word) or word end
  local at = 4 -- past "pdag 1 hosts"
  local function take()
    at = at + 1
    return numbers[at - 1]
  end
  local devices, ops, edges, placement, order = {}, {}, {}, {}, {}
  for h = 1, take() do devices[h] = { name = "h" .. h, speed = take() } end
  take()
  local bandwidth, latency = take(), take()
  take()
  for i = 1, take() do
    placement[i], order[i] = take() + 1, i
    ops[i] = { seconds = take() }
  end
  take()
  for k = 1, take() do edges[k] = { take() + 1, take() + 1, take() } end
  local links = {}
  for a = 1, #devices do
    for b = a + 1, #devices do links[#links + 1] = { devices[a].name, devices[b].name, bandwidth = bandwidth, latency = latency } end
  end
  return assert(berth.graph { ops = ops, edges = edges }), assert(berth.topology { devices = devices, links = links }), placement, order
end

-- SimGrid ends together what ends within 1e-9 s, so each step of a chain may be early by that much: how many steps lead to each task.
local function steps(g, placement)
  local count, last = {}, {}
  for task = 1, #g do
    local before = last[placement[task]] or 0
    for _, parent in ipairs(g:predecessors(task)) do before = math.max(before, count[parent]) end
    count[task] = before + 1
    last[placement[task]] = count[task]
  end
  return count
end

describe("a contention-free simulation in planned order", function()
  if not shared.present() then return pending("needs the test data, which is not here") end
  for _, row in ipairs(shared.csv("reference/simgrid/makespans.csv")) do
    if row.mode == "free" then
      it("gives SimGrid's times: " .. row.case, function()
        local g, t, placement, order = read(row.case)
        local r = assert(berth.simulate(g, t, placement, { dispatch = "planned", sequence = order, memory = "none" }))
        local allowed = steps(g, placement)
        local deepest = 0
        for line in shared.read("reference/simgrid/" .. row.case .. ".free.times"):gmatch("[^\n]+") do
          local task, start, finish = line:match("(%S+) (%S+) (%S+)")
          local tolerance = 1e-9 * allowed[task + 1]
          assert.near(tonumber(start), r.start[task + 1], tolerance)
          assert.near(tonumber(finish), r.finish[task + 1], tolerance)
          deepest = math.max(deepest, allowed[task + 1])
        end
        assert.near(tonumber(row.makespan), r.makespan, 1e-9 * deepest)
      end)
    end
  end
end)
