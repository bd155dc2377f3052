-- HEFT, CPOP, PEFT, ETF, MinMin and bottom-level list scheduling against published and third-party makespans.
local berth = require "berth"
local shared = require "support.shared"

local placers = { HEFT = "heft", CPOP = "cpop", PEFT = "peft", ETF = "etf", MinMin = "minmin" }

describe("heterogeneous list scheduling", function()
  if not shared.present() then return pending("needs the test data, which is not here") end

  for _, row in ipairs(shared.csv("data/saga_reference/textbook_makespans.csv")) do
    it(row.algorithm .. " on " .. row.instance, function()
      local g, t = assert(berth.load(shared.path("data/saga_reference/" .. row.instance .. ".json")))
      local p = assert(berth.place(g, t, placers[row.algorithm]))
      assert.near(tonumber(row.makespan), p.estimate, 1e-6 * math.max(1, p.estimate))
    end)
  end

  it("HEFT and CPOP with SAGA's averages, every row; PEFT where no ranks are equal", function()
    local tied = { forkjoin100 = true, ["layered_n100_p8_c5_het"] = true }
    local seen = { heft = 0, cpop = 0, peft = 0 }
    for _, row in ipairs(shared.csv("data/saga_reference/saga_makespans.csv")) do
      local placer = row.scheduler:lower()
      if seen[placer] and not (placer == "peft" and tied[row.instance]) then
        local g, t = assert(berth.load(shared.path("data/saga_reference/" .. row.instance .. ".json")))
        local p = assert(berth.place(g, t, placer, { averages = "saga" }))
        assert.near(tonumber(row.makespan_min), p.estimate, 1e-6 * p.estimate, row.instance .. " " .. placer)
        seen[placer] = seen[placer] + 1
      end
    end
    assert.same({ heft = 10, cpop = 10, peft = 8 }, seen)
  end)
end)

describe("bottom-level list scheduling", function()
  if not shared.present() then return pending("needs the test data, which is not here") end

  local function makespan(g, procs)
    return assert(berth.place(g, berth.topology.mesh(procs, { bandwidth = 1 }), "blevel")).estimate
  end

  it("gives the recorded makespan in all 720 rows: 552 best known, mean excess 0.318 %", function()
    local hits, excess, rows, loaded = 0, 0, 0, {}
    for _, row in ipairs(shared.csv("data/stg/optimum.csv")) do
      loaded[row.file] = loaded[row.file] or assert(berth.load(shared.path("data/stg/" .. row.file)))
      local got, best = makespan(loaded[row.file], tonumber(row.procs)), tonumber(row.best_known)
      assert.equal(tonumber(row.list_by_bottom_level), got, row.file .. " on " .. row.procs)
      rows, hits, excess = rows + 1, hits + (got == best and 1 or 0), excess + (got / best - 1)
    end
    assert.equal(720, rows)
    assert.equal(552, hits)
    assert.equal("0.318", ("%.3f"):format(100 * excess / rows))
  end)
end)
