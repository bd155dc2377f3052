-- Sufficient factor broadcasting: when repeating ops is cheaper than AllReduce.
local berth = require "berth"
local raises = require("support.errors").raises

-- y = xW, 1024 x 1024: ops 1 and 2 make x and the gradient of y, op 3 that of W.
local function layer(batch, devices, cost)
  local bytes = batch * 1024 * 4
  return {
    ops = { { barred = true }, { barred = true }, { seconds = "40 us" } },
    tensors = { { from = 1, to = { 3 }, bytes = bytes }, { from = 2, to = { 3 }, bytes = bytes } },
    gradients = { { op = 3, bytes = 1024 * 1024 * 4 } },
    replicas = devices, bandwidth = "2.81 GB/s", cost = cost,
  }
end

describe("sufficient factor broadcasting", function()
  it("gives the published examples", function()
    for _, case in ipairs { { 6, 2, "compat", -1416.7 }, { 6, 2, "per-device", -1463.9 },
      { 96, 16, "compat", 64970.9 },
                            { 96, 16, "per-device", -2498.8 } } do
      local problem = layer(case[1], case[2], case[3])
      assert.near(case[4], berth.deploy.sfb_measure(problem, { 3 }).total * 1e6, 0.05)
      local a = assert(berth.deploy.sfb(problem))
      assert.same(case[4] < 0 and { 3 } or {}, a.duplicated)
      assert.same(case[4] < 0 and { 1, 2 } or {}, a.gathered)
      assert.same(case[4] < 0 and { 1 } or {}, a.removed)
    end
  end)

  it("gathers a tensor once for several readers", function()
    -- M = 2, B = 1: gathering 10 B takes 5 s, each gradient 8 s: 5 - 16
    local problem = { replicas = 2, bandwidth = 1, ops = { { barred = true }, {}, {} },
                      tensors = { { from = 1, to = { 2, 3 }, bytes = 10 } },
                      gradients = { { op = 2, bytes = 8 }, { op = 3, bytes = 8 } } }
    local a = berth.deploy.sfb(problem)
    assert.same({ 2, 3 }, a.duplicated)
    assert.same({ 0, 5, 16, -11 }, { a.work, a.gather, a.sync, a.total })
    problem.cost, problem.per_op = "compat", 0 -- each edge 20 s
    assert.same({}, berth.deploy.sfb(problem).duplicated)
  end)

  it("takes the time of an AllReduce that is given", function()
    local problem = layer(6, 2)
    problem.gradients[1].seconds = "10 us" -- work 20 us
    assert.same({}, berth.deploy.sfb(problem).duplicated)
  end)

  it("refuses readers that change while they are read", function()
    local times, problem = 0, layer(6, 2)
    problem.tensors[1] = setmetatable({ from = 1, bytes = 8 }, { __index = function(_, key)
      if key ~= "to" then return nil end
      times = times + 1
      return times == 1 and { 3 } or { 3, 3, 3, 3, 3, 3 }
    end })
    raises("tensors[1].to: changed while it was read", berth.deploy.sfb, problem)
  end)

  it("prints as a line", function()
    assert.equal(
      "sfb: 1 ops duplicated, 2 tensors gathered, 1 gradients without AllReduce: -1.46 ms (work 20 "
        .. "us, "
      .. "gathering 8.75 us, saved 1.49 ms)", tostring(berth.deploy.sfb(layer(6, 2))))
  end)

  it("refuses what makes no sense", function()
    local sfb = berth.deploy.sfb
    raises("berth.deploy.sfb: ops: is missing", sfb, {})
    raises("cost: 'x' is none of", sfb, { ops = {}, cost = "x" })
    raises("unknown", sfb, { ops = {}, what = 1 })
    raises("ops[1].seconds", sfb, { ops = { { seconds = -1 } } })
    raises("tensors[1].from", sfb, { ops = { {} }, tensors = { { from = 2, to = {}, bytes = 1 } } })
    raises("op 1 is barred", berth.deploy.sfb_measure, layer(6, 2), { 1 })
    raises("bandwidth of 0 B/s", sfb, { ops = { { bandwidth = 0 } } })
    raises("problem: expected a table, got nil", sfb)
  end)
end)
