-- Where does the time of a PyTorch training step go, and how much do two processes gain?
-- experts.json is a mixture of four experts with its backward pass, exported by
-- scripts/torch/berth_torch.py with times measured on one core; docs/guides/from-pytorch.md runs
-- placements in PyTorch.
local berth = require "berth"

local here = arg[0]:match "^(.*)/" or "."
local g = assert(berth.load(here .. "/experts.json"))

local kinds, list = {}, {}
for op in g:ops() do
  if not kinds[op.kind] then
    kinds[op.kind] = { name = op.kind, forward = 0, backward = 0, ops = 0 }
    list[#list + 1] = kinds[op.kind]
  end
  local k, pass = kinds[op.kind], op.backward and "backward" or "forward"
  k.ops, k[pass] = k.ops + 1, k[pass] + op.seconds
end
table.sort(list, function(a, b) return a.forward + a.backward > b.forward + b.backward end)
print("kind                ops  forward  backward")
for i = 1, 5 do
  local k = list[i]
  print(("%-18s %4d %5.1f ms %6.1f ms"):format(k.name, k.ops, 1e3 * k.forward, 1e3 * k.backward))
end

-- What messages of gloo cost between two processes, as measured (docs/results/torch.md).
local processes = berth.topology.mesh(2, { latency = "300 us", bandwidth = "2 GB/s" })
for _, placer in ipairs { "single", "m-etf", "heft", "portfolio" } do
  local p = assert(berth.place(g, processes, placer, { links = "duplex" }))
  local r = assert(berth.simulate(g, processes, p, { links = "duplex" }))
  print(("%-10s step %4.1f ms, %d messages"):format(placer, 1e3 * r.makespan, #r.transfers))
end
