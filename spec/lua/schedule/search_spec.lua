-- berth.schedule.search, bound, compare: through the independent checker.
local berth = require "berth"
local checker = require "support.pipeline_csv"
local schedule = berth.schedule

local PROBLEMS = {
  { stages = 4, microbatches = 8, memory = 4 },
  { stages = 4, microbatches = 8, memory = 2, costs = { 3, 2, 1 }, p2p = 0.25 },
  { stages = 4, microbatches = 6, memory = 4, chunks = 2, map = "zigzag", costs = { 2, 3, 4 } },
  { stages = 3, microbatches = 6, memory = 3, chunks = 2, objective = "span", p2p = 0.5 },
}

describe("berth.schedule.search", function()
  for i, opts in ipairs(PROBLEMS) do
    it("keeps memory, order and dependencies, and is not below the bound: " .. i, function()
      opts.calls = 300
      local s = assert(schedule.search(opts))
      local p = s.problem
      local found = checker.check(s:to_string "csv", { F = p.forward[1], B = p.backward[1],
        W = p.weight[1], p2p = p.p2p[1] })
      assert.near(s.step, p.objective == "span" and found.span or found.makespan, 1e-9)
      for stage, peak in ipairs(found.peaks) do
        assert.near(s.peak[stage], peak * p.activations[1], 1e-9)
        assert.truthy(s.peak[stage] <= p.memory[stage] + 1e-9)
      end
      assert.truthy(s.step >= s.bound - 1e-9)
      assert.equal(s:to_string "csv", schedule.search(opts):to_string "csv")
      opts.calls = nil
      assert.near(s.bound, schedule.bound(opts).best, 1e-9)
      assert.near(s.bound, schedule.bound(s).best, 1e-9)
    end)
  end

  it("proves ZB-H1's optimum at 1F1B's memory", function()
    local s = assert(schedule.search { stages = 8, microbatches = 16, memory = 8, calls = 200 })
    assert.is_true(s.proven)
    assert.near(48 + 7, s.step, 1e-9)
    assert.equal("search: 8 stages, 16 micro-batches, step 55 s, bound 55 s (gap 0.0 %), "
      .. "bubble 12.7 %, peak 8 of 8", tostring(s))
  end)

  it("stops at an interrupt with the best so far", function()
    local calls = 0
    berth.hooks { interrupt = function()
      calls = calls + 1
      return calls > 20
    end }
    local s = schedule.search { stages = 8, microbatches = 64, memory = 5, chunks = 2,
      map = "zigzag", costs = { 7, 8, 9 }, p2p = 1, calls = 1e9 }
    berth.hooks {}
    assert.equal("runs", s.outcome)
    assert.is_true(s.interrupted)
    assert.matches(", interrupted$", tostring(s))
    s = schedule.search { stages = 2, microbatches = 2, calls = 10 }
    assert.is_false(s.interrupted)
  end)

  it("does not run what comes after an interrupt", function()
    local calls = 0
    berth.hooks { interrupt = function()
      calls = calls + 1
      return calls > 20
    end }
    local rows = schedule.compare({ "search", "zb-v" }, { stages = 8, microbatches = 64,
      chunks = 2, map = "zigzag", memory = 5, costs = { 7, 8, 9 }, p2p = 1, calls = 1e9 })
    berth.hooks {}
    assert.is_true(rows.interrupted)
    assert.same({ "search", "zb-v", "interrupted" }, { rows[1].name, rows[2].name, rows[2].code })
  end)

  it("refuses unknown options and a memory that nothing keeps", function()
    assert.error_matches(function() schedule.search { stages = 2, microbatches = 2, call = 1 } end,
      "unknown option 'call'")
    assert.error_matches(function()
      schedule.search { stages = 2, microbatches = 2, calls = -1 }
    end, "calls")
  end)
end)

describe("berth.schedule.exact", function()
  it("is never above the search, which meets it here", function()
    for _, opts in ipairs { { stages = 3, microbatches = 5, memory = 2, costs = { 3, 2, 4 } },
      { stages = 2, microbatches = 4, memory = 2, chunks = 2, map = "zigzag", p2p = 0.5 },
      { stages = 4, microbatches = 4, memory = 3, costs = { 2, 3, 1 }, p2p = 0.25 } } do
      local s = assert(schedule.exact(opts))
      assert.is_true(s.proven)
      assert.equal("runs", s.outcome)
      local p = s.problem
      assert.near(s.step, checker.check(s:to_string "csv", { F = p.forward[1], B = p.backward[1],
        W = p.weight[1], p2p = p.p2p[1] }).makespan, 1e-9)
      opts.calls = 2000
      local found = schedule.search(opts)
      assert.truthy(s.step <= found.step + 1e-9)
      assert.near(s.step, found.step, 1e-9)
    end
  end)

  it("finds by hand: two stages, two micro-batches, memory for one on the second", function()
    -- stage 0: F F . B B W W, stage 1: . F B W F B W: B0 at 2..3, F1 at 4, B1 5..6, then 0's B1 6..7
    local s = assert(schedule.exact { stages = 2, microbatches = 2, memory = { 2, 1 } })
    assert.near(8, s.step, 1e-12)
    assert.is_true(s.proven)
  end)

  it("refuses large problems", function()
    local s, message, code = schedule.exact { stages = 16, microbatches = 64 }
    assert.is_nil(s)
    assert.equal("unsupported", code)
    assert.matches("400", message)
    assert.error_matches(function() schedule.exact { stages = 2, microbatches = 2, seed = 1 } end,
      "unknown option 'seed'")
  end)
end)

describe("berth.schedule.compare", function()
  it("lists those within memory first, then the others", function()
    local rows = schedule.compare({ "gpipe", "1f1b", "zb-h1", "search", "interleaved-1f1b",
      { "zb-v", { map = "interleaved" } } }, { stages = 4, microbatches = 6, memory = 4,
      calls = 100 })
    local names = {}
    for i, row in ipairs(rows) do names[i] = row.name end
    assert.same({ "search", "zb-h1", "1f1b", "gpipe", "interleaved-1f1b", "zb-v" }, names)
    assert.same({ true, true, true, false }, { rows[1].fits, rows[2].fits, rows[3].fits,
      rows[4].fits })
    assert.equal("unsupported", rows[5].code)
    local text = tostring(rows)
    assert.matches("generator +chunks +step +bubble +gap +peak", text)
    assert.matches("1f1b +1 +27 s +33.3 %% +28.6 %% +4 of 4", text)
    assert.matches("gpipe +1 +27 s +33.3 %% +%- +6 of 4 +over the limit", text)
    assert.matches("zb%-v .* is for the map zigzag", text)
  end)

  it("has all generators whose chunks fit without names", function()
    for _, row in ipairs(schedule.compare(nil, { stages = 4, microbatches = 8, chunks = 1 })) do
      assert.equal(1, row.problem.chunks)
    end
    assert.equal(#schedule.generators(), #schedule.compare(nil, { stages = 4, microbatches = 8 }))
  end)
end)
