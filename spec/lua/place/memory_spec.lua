-- Memory limits: no placer, and not the portfolio, answers what runs out of memory.
local berth = require "berth"

-- 1 and 2 feed 3 with 10 B each: 20 B live at once.
local function two_inputs()
  return berth.graph { ops = { { seconds = 1 }, { seconds = 1 }, { seconds = 1 } },
    edges = { { 1, 3, 10 }, { 2, 3, 10 } } }
end

-- n chains of two ops, 10 B each.
local function chains(n)
  local ops, edges = {}, {}
  for i = 1, 2 * n do ops[i] = { name = "o" .. i, seconds = 1 } end
  for i = 1, n do edges[i] = { i, n + i, 10 } end
  return berth.graph { ops = ops, edges = edges }
end

local function one_device(memory) return berth.topology.mesh(1, { memory = memory }) end

describe("memory limits in placing", function()
  it("are kept under every policy by every placer", function()
    local g, t = two_inputs(), one_device(15)
    for _, memory in ipairs { "inference", "training", "total" } do
      for _, name in ipairs(berth.placers()) do
        if name ~= "policy" then
          local p, message, code, why = berth.place(g, t, name, { memory = memory })
          assert.is_nil(p, name)
          assert.equal("infeasible", code)
          assert.equal(5, why.missing, message)
          assert.equal(1, why.device)
        end
      end
    end
  end)

  it("are reported as proved or not", function()
    local _, proved = berth.place(two_inputs(), one_device(15), nil, { memory = "inference" })
    assert.equal(
      'portfolio: cannot fit: op 3 does not fit: device "d0" comes closest, 5 B are missing',
      proved)
    -- first in, first out runs all four sources first; op by op 20 B would do
    local g, t = chains(4), one_device(25)
    local p, message, code, why = berth.place(g, t, nil, { memory = "inference" })
    assert.is_nil(p)
    assert.equal("infeasible", code)
    assert.same({ op = 3, device = 1, missing = 15 }, why)
    assert.equal(
      'portfolio: no placement found: that of m-etf comes closest, but op 3 "o3" runs out of '
        .. 'memory on device "d0": '
      .. '15 B are missing; with dispatch = "planned" that of m-etf keeps memory', message)
    local planned = assert(berth.place(g, t, "m-etf", { memory = "inference" }))
    assert.is_nil(berth.simulate(g, t, planned, { memory = "inference", dispatch = "planned" }).oom)
  end)

  it("rule members out of the portfolio that are faster but run out", function()
    -- one device runs out, two do not; the list placers' answers do in the order of the judge, too
    local g, t = chains(4), berth.topology.mesh(2, { memory = 25, bandwidth = 1e9 })
    local p, rows = berth.portfolio(g, t, { memory = "inference" })
    assert.is_truthy(p, rows)
    assert.is_nil(berth.simulate(g, t, p, { memory = "inference" }).oom)
    local least = math.huge
    for _, row in ipairs(rows) do
      if row.makespan and not row.oom then least = math.min(least, row.makespan) end
    end
    assert.equal(least, berth.simulate(g, t, p, { memory = "inference" }).makespan)
  end)
end)
