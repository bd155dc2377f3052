-- How much does a zero-bubble schedule save against 1F1B at the same memory? Eight stages, a
-- backward pass as long as two forwards, half of it the gradient of the weights; the V has two
-- chunks of the model a stage. Memory 8: what 1F1B holds on the first stage.
local berth = require "berth"

local pipeline = { stages = 8, microbatches = 32, costs = { 10e-3, 10e-3, 10e-3 }, p2p = 0.5e-3,
  memory = 8, calls = 1000 }
local names = { "1f1b", "zb-h1", "zb-v", "search", { "search", { chunks = 2, map = "zigzag" } } }

for _, memory in ipairs { 8, 6, 4 } do
  pipeline.memory = memory
  print(("memory %d"):format(memory))
  print(berth.schedule.compare(names, pipeline))
  print()
end

-- The same schedules where each stage sends or receives one tensor at a time.
pipeline.memory, pipeline.calls = 8, nil
for _, name in ipairs { "1f1b", "zb-h1", "zb-v" } do
  local s = assert(berth.schedule.make(name, pipeline))
  print(("%-6s %s"):format(name, assert(s:simulate { links = "channel" })))
end
