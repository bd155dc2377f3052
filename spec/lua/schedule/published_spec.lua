-- Generators against the schedulers of the zero-bubble authors (data/measured), and formulas.
local berth = require "berth"
local shared = require "support.shared"
local schedule = berth.schedule

local FILE = "data/measured/zero_bubble_schedulers.csv"
local SAME = { ["1F1B"] = "1f1b", ["ZB-1p heuristic"] = "zb-h1" }

describe("rows of the authors' schedulers", function()
  if not shared.read(FILE) then return pending "needs the test data, which is not here" end
  for theirs, name in pairs(SAME) do
    it(("are equal: %s, %s"):format(theirs, name), function()
      local n = 0
      for _, row in ipairs(shared.csv(FILE)) do
        if row.schedule == theirs then
          local s = assert(schedule.make(name, { stages = tonumber(row.stages),
            microbatches = tonumber(row.microbatches), objective = "span",
            costs = { tonumber(row.F), tonumber(row.B), tonumber(row.W) }, p2p = tonumber(row.comm),
            memory = tonumber(row.mem_limit_in_microbatch_activations) }))
          n = n + 1
          assert.equal("runs", s.outcome)
          assert.near(tonumber(row.longest_stage_time), s.step, 1e-6)
        end
      end
      assert.truthy(n > 20)
    end)
  end
end)

describe("published bubbles", function()
  -- F = B = W = 1, 8 stages, 32 micro-batches; the work of a stage is 96.
  local BUBBLES = { { "1f1b", 7 * 3 }, { "zb-h1", 7 * 1 }, { "interleaved-1f1b", 7 * 3 / 2 },
    { "dualpipe", 3 * (3 + 2 - 3) } }
  for _, case in ipairs(BUBBLES) do
    it("are those of the formula: " .. case[1], function()
      local s = assert(schedule.make(case[1], { stages = 8, microbatches = 32, costs = { 1, 1, 1 } }))
      assert.near(96 + case[2], s.step, 1e-9)
    end)
  end

  it("are none: zb-h2, zb-v by the longest stage", function()
    for _, name in ipairs { "zb-h2", "zb-v" } do
      assert.near(96, schedule.make(name, { stages = 8, microbatches = 32, costs = { 1, 1, 1 },
        objective = "span" }).step, 1e-9)
    end
  end)
end)
