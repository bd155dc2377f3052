-- Times of batch sizes that were not profiled.
local berth = require "berth"
local raised = require("support.errors").raised

local batches, seconds = { 10, 20, 40 }, { 30e-6, 50e-6, 130e-6 }

describe("times of batch sizes that were not profiled", function()
  it("are on the line through the two around them", function()
    for batch, us in pairs { [10] = 30, [15] = 40, [20] = 50, [25] = 70, [40] = 130 } do
      assert.near(us, berth.deploy.batch_time(batches, seconds, batch) * 1e6, 1e-9)
    end
  end)

  it("go on beyond the ends, not below 0", function()
    assert.near(170, berth.deploy.batch_time(batches, seconds, 50) * 1e6, 1e-9)
    assert.near(20, berth.deploy.batch_time(batches, seconds, 5) * 1e6, 1e-9)
    assert.equal(0, berth.deploy.batch_time({ 10, 20 }, { 1, 5 }, 1))
  end)

  it("are cut off to whole microseconds on request", function()
    assert.near(66,
      berth.deploy.batch_time({ 10, 20 }, { 33e-6, 66.9e-6 }, 20, { whole_us = true }) * 1e6, 1e-9)
    assert.near(30, berth.deploy.batch_time(batches, seconds, 10, { whole_us = true }) * 1e6, 1e-9)
  end)

  it("need two rising sizes", function()
    for text, call in pairs { ["two profiled batch sizes, not 1"] = { { 1 }, { 1 }, 1 },
                              ["they must rise"] = { { 2, 2 }, { 1, 1 }, 1 },
                              ["takes %-1 s"] = { { 1, 2 }, { 1, -1 }, 1 },
                                ["a batch of %-1"] = { { 1, 2 }, { 1, 1 }, -1 } } do
      assert.matches(text, raised(berth.deploy.batch_time, call[1], call[2], call[3]))
    end
  end)
end)
