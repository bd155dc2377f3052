-- From a forward graph to a training step: which activations wait for the backward pass?
local berth = require "berth"

local forward = berth.graph {
  name = "two towers",
  ops = {
    { name = "read", seconds = 1e-3 }, { name = "left", seconds = 4e-3, params = "40 MB" },
    { name = "right", seconds = 3e-3, params = "30 MB" }, { name = "join", seconds = 2e-3, params = "20 MB" },
  },
  tensors = {
    { from = "read", to = { "left", "right" }, bytes = "8 MB" },
    { from = "left", to = { "join" }, bytes = "4 MB" }, { from = "right", to = { "join" }, bytes = "4 MB" },
  },
}
local full, origin = forward:mirror { ratio = 2 }
print(forward)
print(full)
for op in full:ops() do
  print(string.format("%d %-9s of %d  %s%s", op.id, op.backward and "backward" or "forward", origin[op.id],
    berth.format(op.seconds, "seconds"), op.twin and ", twin " .. op.twin or ""))
end

local t = berth.topology.mesh(2, { bandwidth = "10 GB/s", memory = "1 GB" })
local p = assert(berth.place(full, t, "etf"))
print(table.concat(p:devices(), " "))
for _, memory in ipairs { "inference", "training", "total" } do
  local r = assert(berth.simulate(full, t, p, { memory = memory }))
  print(string.format("%-9s step %s, peak %s", memory, berth.format(r.makespan, "seconds"),
    berth.format(math.max(r.peak_memory[1], r.peak_memory[2]), "bytes")))
end
