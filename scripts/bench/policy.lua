-- What one call of a Lua policy costs beyond the same policy in C: least earliest finish, in id order of the ready ops.
-- usage: policy.lua NAME-OF-INTERPRETER
local berth = require "berth"
local n, devices = 100000, 4
local rng = berth.rng(1)
local ops, edges = {}, {}
for i = 1, n do
  ops[i] = { seconds = 1e-4 * (1 + rng:uniform()) }
  if i > 20 then edges[#edges + 1] = { i - rng:below(20), i, 1e4 } end
end
local g = assert(berth.graph { ops = ops, edges = edges })
local t = berth.topology.mesh(devices, { bandwidth = "10 GB/s", latency = "5 us" })
local cost = berth.cost(g, t)

local function least(_, est)
  local best, at = est[1], 1
  for d = 2, devices do
    if est[d] < best then best, at = est[d], d end
  end
  return at
end
local in_lua = { name = "least start", device = least }
local in_c = { name = "least start" } -- the engine's own rule; op times are alike on all devices

local function measure(policy)
  local fastest = math.huge
  for _ = 1, 7 do
    local from = os.clock()
    assert(berth.place(cost, policy))
    fastest = math.min(fastest, os.clock() - from)
  end
  return fastest
end
measure(in_lua)
local lua, c = measure(in_lua), measure(in_c)
local same = assert(berth.place(cost, in_lua)).estimate == assert(berth.place(cost, in_c)).estimate
print(("Lua policy, extra per call, %s\t%.4g\tns\t%d calls, %d devices; same plan as in C: %s\t%.4f"):format(
  arg[1], 1e9 * (lua - c) / n, n, devices, tostring(same), lua + c))
