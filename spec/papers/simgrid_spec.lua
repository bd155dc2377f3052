-- Placed graphs in a third-party simulator, without contention, on a mesh and on a bus: makespan and the times of every task.
local berth = require "berth"
local shared = require "support.shared"

local function mesh(devices, bandwidth, latency)
  local links = {}
  for a = 1, #devices do
    for b = a + 1, #devices do
      links[#links + 1] = { devices[a].name, devices[b].name, bandwidth = bandwidth, latency = latency }
    end
  end
  return { devices = devices, links = links }
end

local function bus(devices, bandwidth, latency)
  local links = { { "in", "out", bandwidth = bandwidth, latency = latency, directed = true } }
  for _, d in ipairs(devices) do
    links[#links + 1] = { d.name, "in", bandwidth = math.huge, latency = 0, directed = true }
    links[#links + 1] = { "out", d.name, bandwidth = math.huge, latency = 0, directed = true }
  end
  return { devices = devices, switches = { "in", "out" }, links = links }
end

local function read(name, wire)
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
  for k = 1, take() do edges[k] = { take() + 1, take() + 1, math.floor(take()) } end -- SimGrid moves whole bytes
  local g, t = assert(berth.graph { ops = ops, edges = edges }), assert(berth.topology(wire(devices, bandwidth, latency)))
  return g, t, placement, order
end

describe("a simulation in planned order", function()
  if not shared.present() then return pending("needs the test data, which is not here") end
  for _, row in ipairs(shared.csv("reference/simgrid/makespans.csv")) do
    it("gives SimGrid's times: " .. row.case .. ", " .. row.mode, function()
      local g, t, placement, order = read(row.case, row.mode == "bus" and bus or mesh)
      local links = row.mode == "free" and "free" or "fair"
      local r = assert(berth.simulate(g, t, placement,
        { links = links, dispatch = "planned", sequence = order, memory = "none" }))
      assert.near(tonumber(row.makespan), r.makespan, 1e-9 * row.makespan)
      for line in shared.read("reference/simgrid/" .. row.case .. "." .. row.mode .. ".times"):gmatch("[^\n]+") do
        local task, start, finish = line:match("(%S+) (%S+) (%S+)")
        assert.near(tonumber(start), r.start[task + 1], 1e-9)
        assert.near(tonumber(finish), r.finish[task + 1], 1e-9)
      end
    end)
  end
end)
