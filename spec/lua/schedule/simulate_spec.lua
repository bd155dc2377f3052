-- A schedule in the step simulator: the same times as the evaluation; shared links, unlike devices,
-- memory over time.
local berth = require "berth"
local schedule = berth.schedule

local COSTS = { costs = { 1.5, 1.25, 0.75 }, p2p = 0.125, extra = 0.5, overlap = 0.9 }

local function options(more)
  local out = {}
  for key, value in pairs(COSTS) do out[key] = value end
  for key, value in pairs(more) do out[key] = value end
  return out
end

-- Start of each slot by the evaluation, stage by stage.
local function starts(s)
  local out = {}
  for stage = 1, s.problem.stages do
    local list, i = s:actions(stage), 1
    while i <= #list do
      out[#out + 1] = list[i].start
      i = i + (list[i].overlapped and 2 or 1)
    end
  end
  return out
end

describe("the event loop", function()
  for _, g in ipairs(schedule.generators()) do
    it("gives the times and peaks of the evaluation: " .. g.name, function()
      local s = assert(schedule.make(g.name, options { stages = 4, microbatches = 8 }))
      local r = assert(s:simulate())
      assert.equal(s.makespan, r.makespan)
      for k, start in ipairs(starts(s)) do assert.equal(start, r.start[k]) end
      for stage, peak in ipairs(s.peak) do assert.near(peak, r.peak_memory[stage], 1e-9) end
    end)
  end

  it("shares the links between stages where asked", function()
    -- Two chunks a stage: both send from stage 0 to 1. p2p is as long as an F, and one channel
    -- carries one tensor at a time.
    local s = assert(schedule.make("interleaved-1f1b", { stages = 2, microbatches = 4,
      costs = { 2, 2, 2 }, p2p = 1 }))
    assert.near(s.makespan, s:simulate().makespan, 1e-12)
    local channel = s:simulate { links = "channel" }
    assert.truthy(channel.makespan > s.makespan)
    assert.truthy(channel.makespan >= s:simulate({ links = "duplex" }).makespan)
  end)

  it("runs on unlike devices and links of a topology", function()
    -- Stage 2 at half the speed: F 2, BW 4. p2p 1 s at 1 MB/s is 1 MB, on a 2 MB/s link 0.5 s.
    local t = berth.topology { devices = { { name = "a" }, { name = "b", speed = 0.5 } },
      links = { { "a", "b", bandwidth = "2 MB/s" } } }
    local s = assert(schedule.make("1f1b", { stages = 2, microbatches = 1, p2p = 1 }))
    assert.near(1 + 1 + 1 + 2 + 1 + 2, s.makespan, 1e-12)
    local r = assert(s:simulate { topology = t, bandwidth = "1 MB/s" })
    assert.near(1 + 0.5 + 2 + 4 + 0.5 + 2, r.makespan, 1e-9)
    assert.error_matches(function() s:simulate { topology = t } end, "topology requires bandwidth")
    assert.error_matches(function() s:simulate { dispatch = "fifo" } end, "unknown option 'dispatch'")
  end)

  it("has memory over time", function()
    -- F takes 1 at 0 and 1; both gradients free it at 4 and 6.
    local s = assert(schedule.make("gpipe", { stages = 1, microbatches = 2 }))
    local times, held = s:simulate():memory_timeline(1)
    local at = {}
    for i, time in ipairs(times) do at[time] = held[i] end
    assert.near(1, at[0], 1e-9)
    assert.near(2, at[1], 1e-9)
    assert.near(1, at[4], 1e-9)
  end)
end)
