-- Llama-3-70B has a heavy last stage: the logits and the loss are as long as a layer. Which split of
-- its 80 layers, with which schedule, is the shortest on 8 and 16 stages, at the memory of 1F1B with
-- an even split? Times in us, relative FLOP on one device. The answer is a Megatron layout.
local berth = require "berth"

local layers = {
  { kind = "E", forward = 20e-6, weight = 40e-6 },
  { count = 80, forward = 1845e-6, backward = 2046e-6, weight = 1711e-6 },
  { kind = "L", forward = 2206e-6, backward = 2206e-6, weight = 2101e-6 },
}

for _, size in ipairs { { 8, 16 }, { 16, 32 } } do
  local function with(more)
    local opts = { stages = size[1], microbatches = size[2], layers = layers, p2p = 130e-6,
      memory = size[1] }
    for key, value in pairs(more) do opts[key] = value end
    return opts
  end
  local even = assert(berth.schedule.make("1f1b", with { split = "even" }))
  print(("%d stages, %d micro-batches, even split and 1F1B: %.0f ms"):format(size[1], size[2],
    even.step * 1e3))
  local function show(what, s)
    print(("  %-23s %.1f %% shorter, at most %.1f are possible, peak %.4g of %d"):format(what,
      100 * (1 - s.step / even.step), 100 * (1 - s.bound / even.step), s.most, size[1]))
  end
  show("another split, joined", assert(berth.schedule.search(with { joined = true, calls = 500 })))
  show("even split, search", assert(berth.schedule.search(with { split = "even", calls = 500 })))
  local both = assert(berth.schedule.search(with { calls = 1000 }))
  show("both", both)
  show("both, two chunks in V", assert(berth.schedule.search(with { calls = 1000, chunks = 2,
    map = "zigzag" })))
  print("  layout of both: " .. both.problem.layout)
end
