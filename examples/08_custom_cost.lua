-- What if transfers had to be compressed, or one device were slower?
local berth = require "berth"

local g = berth.models.transformer { batch = 16, granularity = "layer" }
local t = berth.topology.star(3, { preset = "V100", bandwidth = "16 GB/s", latency = "5 us" })
local plain = assert(berth.cost(g, t))

-- Tensors above 1 MB cross at a quarter of their size, after 50 us for the codec.
local function compressed(tensor, from, to)
  local seconds = plain:transfer(tensor, from, to)
  if g:tensor(tensor).bytes <= 1e6 then return seconds end
  return math.min(seconds, 50e-6 + seconds / 4)
end

-- Device 1 runs at two thirds of its speed.
local function throttled(op, device)
  local seconds = plain:op(op, device)
  return device == 1 and 1.5 * seconds or seconds
end

local cases = {
  { "as it is", plain },
  { "compressed transfers", assert(berth.cost(g, t, { transfer = compressed })) },
  { "device 1 throttled", assert(berth.cost(g, t, { op = throttled })) },
  { "ops twice as fast", assert(berth.cost(g, t, { op_factor = 0.5 })) },
}
for _, case in ipairs(cases) do
  local p = assert(berth.place(case[2], "etf", { links = "duplex" }))
  local used, n = {}, 0
  for _, d in ipairs(p:devices()) do
    if not used[d] then n = n + 1 end
    used[d] = true
  end
  local r = assert(berth.simulate(case[2], p, { links = "duplex" }))
  print(string.format("%-21s %s on %d of %d devices", case[1], berth.format(r.makespan, "seconds"), n, #t))
end
