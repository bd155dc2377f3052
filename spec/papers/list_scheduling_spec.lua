-- HEFT, CPOP and PEFT with averages as SAGA takes them, against its makespans.
local berth = require "berth"
local shared = require "support.shared"

describe("heterogeneous list scheduling", function()
  if not shared.present() then return pending("needs the test data, which is not here") end

  it("HEFT and CPOP with SAGA's averages, every row; PEFT where no ranks are equal", function()
    local tied = { forkjoin100 = true, layered_n100_p8_c5_het = true }
    local seen = { heft = 0, cpop = 0, peft = 0 }
    for _, row in ipairs(shared.csv("data/saga_reference/saga_makespans.csv")) do
      local placer = row.scheduler:lower()
      if seen[placer] and not (placer == "peft" and tied[row.instance]) then
        local path = shared.path("data/saga_reference/" .. row.instance .. ".json")
        local g, t = assert(berth.load(path))
        local p = assert(berth.place(g, t, placer, { averages = "saga" }))
        local want = tonumber(row.makespan_min)
        assert.near(want, p.estimate, 1e-6 * want, row.instance .. " " .. placer)
        seen[placer] = seen[placer] + 1
      end
    end
    assert.same({ heft = 10, cpop = 10, peft = 8 }, seen)
  end)
end)
