-- TAG's lines for AllReduce times, and how a cost uses them.
local berth = require "berth"
local shared = require "support.shared"
local raises = require("support.errors").raises

-- us, as a cost prices an AllReduce between two devices.
local function priced(bandwidth, bytes)
  local g = assert(berth.graph { ops = { { seconds = 1 }, { seconds = 1 } },
                                 collectives =
                                   { { kind = "allreduce", bytes = bytes, members = { 1, 2 } } } })
  local t = berth.topology.mesh(2, { bandwidth = bandwidth })
  local cost = assert(berth.cost(g, t,
    { collective_algorithm = "lines", collective_lines = berth.deploy.tag_lines(bandwidth) }))
  return (cost:collective(1, { 1, 2 })) * 1e6
end

describe("TAG's AllReduce lines", function()
  it("give the published times", function()
    for bandwidth, us in pairs { [2810] = { 496, 1349, 18409 }, [5000] = { 278, 758, 10345 },
      [8000] = { 174, 473, 6466 },
                                 [20000] = { 69, 189, 2586 } } do
      for i, mib in ipairs { 1, 4, 64 } do
        assert.near(us[i], priced(bandwidth * 1e6, mib * 2 ^ 20), 1e-6)
      end
    end
  end)

  it("give all times of the reference data", function()
    if not shared.present() then return pending("needs ../shared/data/tag, which is not here") end
    for bandwidth, times in pairs(shared.json("data/tag/golden_allreduce.json").allreduce_us) do
      for bytes, us in pairs(times) do
        assert.near(us, priced(tonumber(bandwidth) * 1e6, tonumber(bytes)), 1e-6)
      end
    end
  end)

  it("need a bandwidth", function()
    raises("a bandwidth of 0 B/s has no lines", berth.deploy.tag_lines, 0)
  end)
end)
