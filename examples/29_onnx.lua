-- How fast does an ONNX model run on one and on four GPUs, at three lengths of its sequence?
-- block.onnx is a block of a transformer: 1024 wide, 16 heads; its weights, 50 MB, are in a file that
-- is not needed, since berth knows them by their size.
local berth = require "berth"

local here = arg[0]:match "^(.*)/" or "."
local machine = berth.topology.mesh(4, { preset = "V100", bandwidth = "25 GB/s" })

for _, seq in ipairs { 128, 512, 2048 } do
  local facts = {}
  local g = assert(berth.load(here .. "/block.onnx", { bind = { batch = 8, seq = seq },
    facts = facts }))
  local p = assert(berth.place(g, machine, "heft"))
  local one = assert(berth.place(g, machine, "single"))
  print(("seq %4d: %d ops of %d nodes, %6.1f GFLOP, of these %6.1f of products"):format(seq,
    g.n_ops, facts.nodes, facts.flop / 1e9, facts.matrix_flop / 1e9))
  print("  one device:   " .. tostring(berth.simulate(g, machine, one)))
  print("  four devices: " .. tostring(berth.simulate(g, machine, p)))
end
