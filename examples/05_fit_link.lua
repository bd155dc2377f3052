-- What are the latency and bandwidth of a link, from measured transfers, and what follows for a placement?
local berth = require "berth"

-- Bytes, and seconds as measured: 4.2 us and 11.8 GB/s with some noise (fixed seed).
local rng = berth.rng(7)
local bytes, seconds = {}, {}
for k = 10, 28, 2 do
  bytes[#bytes + 1] = 2 ^ k
  seconds[#seconds + 1] = (4.2e-6 + 2 ^ k / 11.8e9) * (1 + 0.03 * rng:normal())
end

local absolute = berth.fit_link(bytes, seconds)
local relative = berth.fit_link(bytes, seconds, { relative = true })
local function show(name, fit)
  print(string.format("%-9s latency %s, bandwidth %s, r2 %.4f", name, berth.format(fit.latency, "seconds"),
    berth.format(fit.bandwidth, "bytes/s"), fit.r2))
end
show("absolute:", absolute)   -- the large transfers drown the latency
show("relative:", relative)   -- every size counts

local g = berth.models.vgg { depth = 16, batch = 16 }
local t = berth.topology.mesh(2, { preset = "GTX1080Ti", bandwidth = relative.bandwidth, latency = relative.latency })
local p = assert(berth.place(g, t, "heft", { links = "duplex" }))
print(assert(berth.simulate(g, t, p, { links = "duplex" })))
