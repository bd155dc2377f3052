-- Generators against the schedulers of the zero-bubble authors (data/measured), and formulas.
local berth = require "berth"
local shared = require "support.shared"
local schedule = berth.schedule

local FILE = "data/measured/zero_bubble_schedulers.csv"
-- Our generator, its chunks, rows that it meets or betters at the least, most per cent above.
local OURS = {
  ["1F1B"] = { "1f1b", 1, 31, 0 }, ["ZB-1p heuristic"] = { "zb-h1", 1, 31, 0 },
  ["ZB-2p heuristic"] = { "zb-2p", 1, 24, 1.3 }, ["ZB-V heuristic"] = { "zb-v", 2, 27, 0.6 },
}

-- The step of a generator as a share of a row's, within the row's memory.
local function share(row, name, chunks)
  local s = assert(schedule.make(name, { stages = tonumber(row.stages),
    microbatches = tonumber(row.microbatches), objective = "span", p2p = tonumber(row.comm),
    costs = { tonumber(row.F), tonumber(row.B), tonumber(row.W) },
    freed = chunks == 2 and 0 or nil, -- as their programs count memory
    memory = tonumber(row.mem_limit_in_microbatch_activations) }))
  assert.equal("runs", s.outcome)
  return s.step / tonumber(row.longest_stage_time)
end

describe("rows of the authors' schedulers", function()
  if not shared.read(FILE) then return pending "needs the test data, which is not here" end
  for theirs, ours in pairs(OURS) do
    it(("are met by a generator: %s, %s"):format(theirs, ours[1]), function()
      local met, most = 0, 1
      for _, row in ipairs(shared.csv(FILE)) do
        if row.schedule == theirs then
          local x = share(row, ours[1], ours[2])
          met, most = met + (x < 1 + 1e-9 and 1 or 0), math.max(most, x)
        end
      end
      assert.truthy(met >= ours[3], met)
      assert.truthy(most <= 1 + ours[4] / 100 + 1e-9, most)
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
