-- Recorded workflows on four unlike nodes: the reference makespans of the textbook list schedulers.
local berth = require "berth"
local shared = require "support.shared"

local placers = { HEFT = "heft", CPOP = "cpop", PEFT = "peft", ETF = "etf" }

-- Speeds 1, 1, 1.5, 2; 1e8 B/s inside the pairs 1-2 and 3-4, 2.5e7 B/s between them.
local function network()
  local links = {}
  for a = 1, 4 do
    for b = a + 1, 4 do
      local near = (a <= 2) == (b <= 2)
      links[#links + 1] = { a, b, bandwidth = near and 1e8 or 2.5e7 }
    end
  end
  return berth.topology { devices = { { speed = 1 }, { speed = 1 }, { speed = 1.5 },
    { speed = 2 } }, links = links }
end

describe("recorded workflows", function()
  if not shared.present() then return pending("needs the test data, which is not here") end

  it("give the reference makespans", function()
    local t, loaded, seen = network(), {}, 0
    for _, row in ipairs(shared.csv("data/wfcommons/reference_makespans.csv")) do
      local placer = placers[row.algorithm]
      if placer then
        loaded[row.name] = loaded[row.name]
          or assert(berth.load(shared.path("data/wfcommons/" .. row.name .. ".json")))
        local p = assert(berth.place(loaded[row.name], t, placer))
        local wanted = tonumber(row.makespan_s)
        assert.near(wanted, p.estimate, 1e-6 * wanted, row.name .. " " .. row.algorithm)
        seen = seen + 1
      end
    end
    assert.equal(52, seen)
  end)
end)
