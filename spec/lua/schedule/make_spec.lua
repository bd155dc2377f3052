-- berth.schedule.make: generators, generators of one's own, costs, what stops a schedule.
local berth = require "berth"
local schedule = berth.schedule

-- 1F1B of one stage as a word: p - stage forwards, then B and W in turn with F.
local function one_in_one_out(p, stage)
  local word, ahead = {}, p.stages - stage
  for j = 1, p.microbatches + ahead do
    if j <= p.microbatches then word[#word + 1] = "F" end
    if j > ahead then word[#word + 1] = "BW" end
  end
  return word
end

describe("schedules by generators", function()
  it("1F1B: (p - 1)(F + B + W) of bubble", function()
    -- 3 stages, F 1, B 2, W 3: (m + p - 1) x 6
    local s = assert(schedule.make("1f1b", { stages = 3, microbatches = 5, costs = { 1, 2, 3 } }))
    assert.near((5 + 2) * 6, s.step, 1e-12)
    assert.near(2 / 7, s.bubble, 1e-12)
    assert.same({ 3, 2, 1 }, s.peak)
    assert.equal("1f1b: 3 stages, 5 micro-batches, step 42 s, bubble 28.6 %, peak 3", tostring(s))
  end)

  it("ZB-H1 and ZB-H2: (p - 1)(F + B - W) and (F + B - 2 W)", function()
    local opts = { stages = 4, microbatches = 12, costs = { 1, 1, 1 } }
    assert.near(36 + 3, schedule.make("zb-h1", opts).step, 1e-12)
    opts.objective = "span"
    assert.near(36, schedule.make("zb-h2", opts).step, 1e-12)
  end)

  it("costs of a stage are shared by its chunks, those of stages go to their chunks", function()
    local s = assert(schedule.make("zb-v", { microbatches = 4, costs = { { 2, 4, 6 }, { 4, 2, 8 } } }))
    assert.same({ 1, 2, 2, 1 }, s.problem.forward)
    assert.same({ 2, 1, 1, 2 }, s.problem.backward)
    assert.same({ 3, 4, 4, 3 }, s.problem.weight)
    assert.same({ 4 * 12, 4 * 14 }, s.problem.work)
  end)

  it("actions have ids from 1 and times", function()
    local s = assert(schedule.make("1f1b", { stages = 2, microbatches = 2 }))
    local first = s:actions(2)[1]
    assert.same({ "F", 2, 1, 1, 2 },
      { first.kind, first.chunk, first.microbatch, first.start, first.finish })
  end)
end)

describe("generators of one's own", function()
  it("are a word for each stage", function()
    local opts = { stages = 4, microbatches = 8, costs = { 3, 4, 5 }, p2p = 0.5 }
    local own, built_in = schedule.make(one_in_one_out, opts), schedule.make("1f1b", opts)
    assert.equal(built_in:to_string "csv", own:to_string "csv")
    assert.equal(built_in.step, own.step)
  end)

  it("name chunks of the stage, and slots", function()
    local s = assert(schedule.make(function() return { "F1", "F2", "BW2", "F1", "F2&BW1", "BW2",
      "BW1" } end, { stages = 1, microbatches = 2, chunks = 2, map = "zigzag" }))
    assert.equal("0F0,1F0,1B0,0F1,(1F1;0B0)OVERLAP_F_B,1B1,0B1\n", s:to_string "csv")
  end)

  it("have mistakes named by stage and token", function()
    local function make(word)
      return schedule.make(function() return word end, { stages = 1, microbatches = 1 })
    end
    assert.error_matches(function() make { "F", "G" } end, "stage0, token 2: expected F, B, W or BW")
    assert.error_matches(function() make { "F", "B2" } end, "'B2': the stage has 1 chunks")
    assert.error_matches(function() make { "F", "B" } end, "lacks W0%.0")
    assert.error_matches(function() make { "F", "W", "B" } end, "W0%.0")
    assert.error_matches(function() schedule.make(7, {}) end, "expected a name or a function")
  end)
end)

describe("what stops a schedule", function()
  -- Stage 1 wants the gradient of micro-batch 0 before it sends micro-batch 1, which stage 2 wants
  -- before it gives a gradient back.
  local function stuck(_, stage)
    return stage == 1 and { "F", "B", "W", "F", "B", "W" } or { "F", "F", "B", "W", "B", "W" }
  end

  it("is a deadlock, with the stage and the action that wait", function()
    local s = assert(schedule.make(stuck, { stages = 2, microbatches = 2 }))
    assert.equal("deadlock", s.outcome)
    assert.matches("deadlock: stage0 waits for ever before B0%.0", tostring(s))
    local r, message, code, why = s:simulate()
    assert.is_nil(r)
    assert.equal("infeasible", code)
    assert.matches("stage0 waits for ever before B0%.0", message)
    assert.same({ 1, 2, "B" }, { why.stage, why.index, why.action.kind })
    assert.near(2, s:actions(2)[1].finish, 1e-12) -- what ran before has its times
    assert.is_nil(s:actions(1)[2].start)
  end)

  it("is memory over the limit, with the stage, the action and the excess", function()
    local s = assert(schedule.make("1f1b", { stages = 3, microbatches = 3, memory = { 3, 1.5, 1 } }))
    assert.equal("memory", s.outcome)
    local r, message, code, why = schedule.simulate(s)
    assert.is_nil(r)
    assert.equal("infeasible", code)
    assert.equal("berth.schedule.simulate: memory: at F1.1 stage1 holds 2, the limit is 1.5", message)
    assert.same({ 2, 2, 0.5 }, { why.stage, why.index, why.excess })
    assert.truthy(s:simulate { memory = "none" })
  end)

  it("is a chunk that no limit holds", function()
    local s, message, code = schedule.make("1f1b", { stages = 2, microbatches = 2,
      memory = { 1, 0.5 } })
    assert.same({ nil, "schedule: memory: stage1 has 0.5, F1.0 takes 1", "infeasible" },
      { s, message, code })
  end)
end)

describe("options of schedules", function()
  local function refuses(pattern, opts, name)
    assert.error_matches(function() schedule.make(name or "1f1b", opts) end, pattern)
  end
  it("are checked", function()
    refuses("stages: is missing", { microbatches = 2 })
    refuses("unknown option 'microbatch'", { stages = 2, microbatch = 2 })
    refuses("expected { F, B, W }", { stages = 2, microbatches = 2, costs = { 1, 2 } })
    refuses("costs: 3 rows, expected 2", { stages = 2, microbatches = 2,
      costs = { { 1, 1, 1 }, { 1, 1, 1 }, { 1, 1, 1 } } })
    refuses("forward: is given already", { stages = 2, microbatches = 2, costs = { 1, 1, 1 },
      forward = 1 })
    refuses("split: requires layers", { stages = 2, microbatches = 2, split = "even" })
    refuses("did you mean '1f1b'", { stages = 2, microbatches = 2 }, "1f1")
  end)
end)
