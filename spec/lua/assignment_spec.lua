local berth = require "berth"

describe("assignment", function()
  -- a (2 s) --8 B--> b (1 s), a --4 B--> c (3 s); 4 B/s: 2 s and 1 s on the way
  local function fork()
    return berth.graph{
      ops = { { name = "a", seconds = 2 }, { name = "b", seconds = 1 }, { name = "c", seconds = 3 } },
      tensors = { { from = 1, to = { 2 }, bytes = 8 }, { from = 1, to = { 3 }, bytes = 4 } },
    }
  end
  local function two() return berth.topology.mesh(2, { bandwidth = "4 B/s" }) end
  local function env(options) return assert(berth.assignment(fork(), two(), options)) end

  it("tells what a device has to offer, estimated exactly or by load", function()
    for _, mode in ipairs{ "exact", "load" } do
      local e = env{ estimates = mode }:episodes(1)
      e:start(1, 0)
      assert.same({ 1 }, (e:candidates()):totable())
      e:assign({ 1 }, { 1 })
      assert.same({ 2, 3 }, (e:candidates()):totable())
      assert.same({ { 2, 2, 0, 2, 2 }, { 0, 0, 0, 0, 3 } }, e:devices({ 3 }):totable())
      e:assign({ 3 }, { 2 })
      -- c runs from 3 to 6 on the second device; by load from 0 to 3
      assert.same({ { 2, 2, 0, 2, 2 }, { 3, 0, 0, 0, mode == "exact" and 6 or 4 } }, e:devices({ 2 }):totable())
    end
  end)

  it("draws the same choices whether episodes run together or alone", function()
    local all = env():episodes(3)
    all:start(7, 0)
    local together = all:choose(berth.nn.zeros{ 3, 2 }, nil, { how = "sample" }):totable()
    for i = 1, 3 do
      local one = env():episodes(1)
      one:start(7, i - 1)
      assert.equal(together[i], one:choose(berth.nn.zeros{ 1, 2 }, nil, { how = "sample" })[1])
    end
  end)

  it("refuses an op that is no candidate", function()
    local e = env():episodes(1)
    e:start(1, 0)
    assert.error(function() e:assign({ 2 }, { 1 }) end)
  end)
end)
