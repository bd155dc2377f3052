-- Placements, placers and policies in Lua.
local berth = require "berth"
local errors = require "support.errors"
local raised, raises = errors.raised, errors.raises

-- Two chains of two ops with cheap transfers.
local function chains()
  local g = assert(berth.graph {
    ops = {
      { name = "a1", seconds = 2 }, { name = "a2", seconds = 3 }, { name = "b1", seconds = 4 },
      { name = "b2", seconds = 1 },
    },
    edges = { { 1, 2, 4 }, { 3, 4, 4 } },
  })
  return g, berth.topology.mesh(2, { bandwidth = 4 })
end

describe("a placement", function()
  it("is read like an array", function()
    local g, t = chains()
    local p = assert(berth.place(g, t, "m-etf"))
    assert.equal(4, #p)
    assert.equal("m-etf", p.placer)
    assert.equal(5, p.estimate)
    assert.equal(p[1], p[2])
    assert.is_true(p[1] ~= p[3])
    assert.is_nil(p[5])
    assert.is_nil(p[0])
    assert.is_nil(p[1.5])
    assert.same({ p[1], p[2], p[3], p[4] }, p:devices())
    assert.equal("placement: 4 ops on 2 devices, estimate 5 s (m-etf)", tostring(p))
    assert.equal(0, p.start[1])
    assert.equal(2, p.finish[1])
    assert.equal(p.start, p.start) -- built once
    local seen = {}
    for _, op in ipairs(p:sequence()) do seen[#seen + 1] = op end
    assert.equal(4, #seen)
  end)

  it("is made from an array", function()
    local p = berth.placement({ 2, 1, 2 }, { sequence = { 3, 1, 2 } })
    assert.equal(3, #p)
    assert.equal(2, p[3])
    assert.same({ 3, 1, 2 }, p:sequence())
    assert.is_nil(p.placer)
    assert.is_nil(p.estimate)
    assert.is_nil(p.start)
    assert.equal("placement: 3 ops on 2 devices", tostring(p))
    raises("devices[2]: there is no device 0", berth.placement, { 1, 0 })
    raises("devices[1]: 1.5 is no device id", berth.placement, { 1.5 })
    raises("sequence: has 1 entries, expected 2", berth.placement, { 1, 1 }, { sequence = { 1 } })
    raises("op 1 ", berth.placement, { 1, 1 }, { sequence = { 1, 1 } })
  end)
end)

describe("place", function()
  it("lists placers and variants", function()
    local seen = {}
    for _, name in ipairs(berth.placers()) do seen[name] = true end
    assert.is_true(seen["m-etf"] and seen.portfolio and seen.single)
    assert.is_nil(seen.policy)
    assert.is_table(berth.placers("m-etf"))
    raises("placer 'x' is unknown", berth.placers, "x")
  end)

  it("refuses what is unknown or means nothing, by name", function()
    local g, t = chains()
    raises("placer 'foo' is unknown (legal: ", berth.place, g, t, "foo")
    raises("placer 'policy' is unknown", berth.place, g, t, "policy")
    raises("unknown option 'sed'", berth.place, g, t, "etf", { sed = 1 })
    raises("variant: etf has no variants (got 'x')", berth.place, g, t, "etf", { variant = "x" })
    raises("variant: m-topo has no variant 'x' (legal: baechi-tf, baechi-pt)", berth.place, g, t,
      "m-topo", { variant = "x" })
    raises("option 'tries' means nothing to etf, only to: critical-path", berth.place, g, t, "etf",
      { tries = 2 })
    raises("device: there is no device 3", berth.place, g, t, "single", { device = 3 })
    raises("seed: expected a whole number", berth.place, g, t, "random", { seed = 0.5 })
    raises("unknown option 'variant'", berth.place, g, t, nil, { variant = "x" })
    raises("placer: expected a name, a policy, a pipeline or an object with place, got number",
      berth.place, g, t, 3)
    raises("support/errors", berth.place, g, t, "foo")
  end)

  it("reports what stops a placement", function()
    local g =
      assert(berth.graph { ops = { { seconds = 1 }, { name = "big", seconds = 1, params = 100 } } })
    local t = berth.topology.mesh(2, { memory = 60 })
    for _, placer in ipairs { "etf", "portfolio", "single" } do
      local p, text, code, why = berth.place(g, t, placer)
      assert.is_nil(p)
      assert.is_string(text)
      assert.equal("infeasible", code)
      assert.is_true(why.missing > 0)
    end
    local _, text, _, why = berth.place(g, t, "etf")
    assert.matches("big", text)
    assert.equal(2, why.op)
    assert.equal(40, why.missing)
  end)
end)

describe("a policy in Lua", function()
  it("chooses the device", function()
    local g, t = chains()
    local calls = {}
    local p = assert(berth.place(g, t, {
      name = "all on two",
      device = function(op, est, plan)
        calls[#calls + 1] = op
        assert(#est == 2 and plan.now == 0)
        return 2
      end,
    }))
    assert.same({ 2, 2, 2, 2 }, p:devices())
    assert.equal("all on two", p.placer)
    assert.equal(10, p.estimate)
    assert.equal(4, #calls)
  end)

  it("may be a plain function", function()
    local g, t = chains()
    assert.same({ 1, 1, 1, 1 }, assert(berth.place(g, t, function() return 1 end)):devices())
  end)

  it("equals the built-in rule when it answers nil", function()
    local g, t = chains()
    local p = assert(berth.place(g, t, { device = function() return nil end }))
    local q = assert(berth.place(g, t, {}))
    assert.same(q:devices(), p:devices())
    assert.equal(q.estimate, p.estimate)
  end)

  it("gets the earliest start and finish, and the plan", function()
    local g, t = chains()
    local log = {}
    assert(berth.place(g, t, {
      prepare = function(plan, cost) -- a1, a2, b1, b2 in this order
        assert(plan.cost == cost and cost:op(1, 1) == 2)
        return { 4, 3, 2, 1 }
      end,
      device = function(op, est, plan, eft)
        log[op] = { est[1], est[2], eft[1], eft[2], plan:free_at(1), plan:device_of(1),
          plan:finish(1), plan:start(op) }
        assert(plan:last(2) == nil and plan:last(1) == (op > 1 and op - 1 or nil))
        return 1
      end,
    }))
    assert.same({ 0, 0, 2, 2, 0 }, log[1])
    assert.same({ 2, 3, 5, 6, 2, 1, 2 }, log[2]) -- 4 bytes at 4 B/s to the other device
    assert.same({ 5, 0, 9, 4, 5, 1, 2 }, log[3])
    assert.same({ 9, 10, 10, 11, 9, 1, 2 }, log[4])
  end)

  it("gets eft only if it takes it, or says so", function()
    local g, t = chains()
    local counts = {}
    local function count(name, policy)
      local device = policy.device
      policy.device = device or function(...)
        counts[name] = select("#", ...)
        return 1
      end
      assert(berth.place(g, t, policy))
    end
    count("vararg", {})
    count("eft", { eft = true })
    count("none", { eft = false })
    assert.same({ vararg = 4, eft = 4, none = 3 }, counts)
    local got
    assert(berth.place(g, t, { device = function(_, _, _, eft) got = #eft end }))
    assert.equal(2, got)
  end)

  it("sees memory", function()
    local g =
      assert(berth.graph { ops = { { seconds = 1, params = 30 }, { seconds = 1, params = 30 } } })
    local held = {}
    local p = assert(berth.place(g, berth.topology.mesh(2, { memory = 50 }), {
      device = function(op, est, plan)
        held[op] = plan:memory(1)
        for d = 1, 2 do
          if est[d] < math.huge then return d end
        end
      end,
    }))
    assert.same({ 0, 30 }, held)
    assert.same({ 1, 2 }, p:devices())
  end)

  it("sets priorities when ops become candidates", function()
    local g, t = chains()
    local order = {}
    assert(berth.place(g, t, {
      select = function(op) return op end, -- the highest id first
      device = function(op) order[#order + 1] = op end,
    }))
    assert.same({ 3, 4, 1, 2 }, order)
  end)

  it("scores pairs", function()
    local g, t = chains()
    local p = assert(berth.place(g, t, {
      choose = "pair",
      score = function(op, est) return { op % 2 == 0 and 1 or est[1],
        op % 2 == 0 and 0 or math.huge } end,
    }))
    assert.same({ 1, 2, 1, 2 }, p:devices())
  end)

  it("may wait when ops are ready as they finish", function()
    local g, t = chains()
    local called = {}
    local p = assert(berth.place(g, t, {
      ready = "finished",
      device = function(op, _, plan)
        called[op] = (called[op] or 0) + 1
        if op == 3 and plan.now < 2 then return nil, 2 end
        return 1
      end,
    }))
    assert.is_true(p.start[3] >= 2)
    assert.is_true(called[3] >= 2)
    raises("only a policy with ready = \"finished\" may wait", berth.place, g, t,
      { device = function() return nil, 1 end })
  end)

  it("raises its own errors unchanged", function()
    local g, t = chains()
    local thrown = setmetatable({}, { __tostring = function() return "mine" end })
    for _, name in ipairs { "prepare", "select", "device", "score" } do
      assert.equal(thrown, raised(berth.place, g, t, { [name] = function() error(thrown) end }))
    end
    assert.is_truthy(berth.place(g, t, "etf")) -- and leaves all in order
  end)

  it("gets messages about its answers", function()
    local g, t = chains()
    local function place(policy) return raised(berth.place, g, t, policy) end
    assert.matches('policy "p": device gave 3 for op 1, expected a device id %(1..2%) or nil',
      place { name = "p", device = function() return 3 end })
    assert.matches("device gave a string for op 1, expected",
      place { device = function() return "1" end })
    assert.matches("device gave 1.5 for op 1, expected",
      place { device = function() return 1.5 end })
    assert.matches("device gave NaN for op 1, expected",
      place { device = function() return 0 / 0 end })
    assert.matches("device gave 1e%+300 for op 1, expected",
      place { device = function() return 1e300 end })
    assert.matches("prepare gave 1 entries, expected an array",
      place { prepare = function() return { 1 } end })
    assert.matches("prepare gave a string as priority of op 2",
      place { prepare = function() return { 1, "x", 1, 1 } end })
    assert.matches("select gave a boolean as priority of op 1",
      place { select = function() return true end })
    assert.matches("score gave no number for device 2 of op 1",
      place { score = function() return { 1 } end })
    assert.matches("score gave no number for device 1 of op 1",
      place { score = function() return 1 end })
    assert.matches("unknown option 'devices' %(legal: name, ready",
      place { devices = function() end })
    assert.matches("either device or score",
      place { device = function() end, score = function() end })
    assert.matches("policy: ready: 'now' is none of: assigned, finished", place { ready = "now" })
    assert.matches("policy: device: expected a function, got string", place { device = "x" })
    raises("option 'device' means nothing to a policy", berth.place, g, t, {}, { device = 1 })
    local pinned = assert(berth.graph { ops = { { seconds = 1, pin = 2 } } })
    raises("device gave 1 for op 1, which cannot run there", berth.place, pinned, t,
      { device = function() return 1 end })
  end)

  it("may call the library, and close what it works on", function()
    local g, t = chains()
    local c = assert(berth.cost(g, t))
    local p = assert(berth.place(c, {
      device = function(op)
        local inner = assert(berth.place(g, t, { device = function() return 2 end }))
        if op == 4 then
          c:close()
          g:close()
        end
        collectgarbage()
        return inner[op]
      end,
    }))
    assert.same({ 2, 2, 2, 2 }, p:devices())
    assert.equal("cost: closed", tostring(c))
    assert.is_string(p:to_string())
  end)

  it("cannot keep the plan", function()
    local g, t = chains()
    local kept
    assert(berth.place(g, t, { device = function(_, _, plan) kept = plan end }))
    assert.equal("plan: closed", tostring(kept))
    raises("only there while its policy runs", function() return kept.now end)
    raises("only there while its policy runs", kept.device_of, kept, 1)
  end)

  it("cannot yield, and runs in coroutines", function()
    local g, t = chains()
    local co = coroutine.wrap(function() return berth.place(g, t,
      { device = function() return 2 end })[1] end)
    assert.equal(2, co())
    local bad = coroutine.create(function() return berth.place(g, t,
      { device = function() coroutine.yield() end }) end)
    assert.is_false((coroutine.resume(bad)))
  end)

  it("may be an object with state of its own", function()
    local g, t = chains()
    local policy = setmetatable({ state = 1, name = "object" },
      { __index = { device = function() return 1 end } })
    assert.equal("object", assert(berth.place(g, t, policy)).placer)
  end)
end)

describe("the portfolio", function()
  it("is the default", function()
    local g, t = chains()
    assert.equal(5, berth.simulate(g, t, assert(berth.place(g, t))).makespan)
  end)
end)

describe("a pipeline", function()
  local function fuse_pairs(g) -- ops 1 2 and 3 4 become one each
    local fused = assert(berth.graph { ops = {
      { seconds = g:op(1).seconds + g:op(2).seconds },
      { seconds = g:op(3).seconds + g:op(4).seconds } } })
    return fused, { 1, 1, 2, 2 }
  end

  it("transforms, places and maps back", function()
    local g, t = chains()
    local line = berth.pipeline { fuse_pairs, { "m-etf", { memory = "none" } } }
    local p = assert(berth.place(g, t, line))
    assert.equal(4, #p)
    assert.equal(p[1], p[2])
    assert.equal(p[3], p[4])
    assert.is_true(p[1] ~= p[3])
    assert.equal("pipeline: function -> m-etf", tostring(line))
    assert.equal("function -> m-etf", p.placer)
  end)

  it("takes a function as way back, and refines the answer", function()
    local g, t = chains()
    local seen
    local p = assert(berth.place(g, t, berth.pipeline {
      function(graph)
        return fuse_pairs(graph),
          function(devices) return { devices[1], devices[1], devices[2], devices[2] } end
      end,
      { name = "mine", device = function(op) return op end },
      function(graph, topology, placement)
        seen = { #graph, #topology, placement:devices() }
        return { 2, 2, 2, 1 }
      end,
    }))
    assert.same({ 4, 2, { 1, 1, 2, 2 } }, seen)
    assert.same({ 2, 2, 2, 1 }, p:devices())
  end)

  it("without transforms keeps the placer's own answer", function()
    local g, t = chains()
    local p = assert(berth.place(g, t, berth.pipeline { "single" }, { memory = "none" }))
    assert.equal("single", p.placer)
    assert.equal(10, p.estimate)
  end)

  it("passes refusals on and names mistakes", function()
    local g, t = chains()
    local p, text, code = berth.place(g, t,
      berth.pipeline { function() return nil, "too big", "unsupported" end, "etf" })
    assert.same({ nil, "too big", "unsupported" }, { p, text, code })
    raises("there is no placer among them", berth.pipeline, { fuse_pairs })
    raises("stages[2]: is a second placer", berth.pipeline, { "etf", "heft" })
    raises("stages[1]: expected a function, a name or a policy, got number", berth.pipeline,
      { 1, "etf" })
    raises("stages[1]: gave number, expected a graph", berth.place, g, t,
      berth.pipeline { function() return 1 end, "etf" })
    raises("gave no way back", berth.place, g, t,
      berth.pipeline { function(x) return x end, "etf" })
    raises("no op of the new graph for op 2", berth.place, g, t,
      berth.pipeline { function(x) return x, { 1 } end, "etf" })
    raises("functions of the original ops", berth.place, g, t, berth.pipeline { fuse_pairs, "etf" },
      { cost = { op = function() return 1 end } })
    assert.is_truthy(berth.place(g, t, berth.pipeline { fuse_pairs, "etf" },
      { cost = { op_factor = 2 } }))
  end)
end)

describe("compare", function()
  it("ranks placers and prints them aligned", function()
    local g, t = chains()
    local cmp = assert(berth.compare(g, t, {
      "single", { "m-etf", { memory = "none" } },
      { name = "mine", device = function() return 2 end },
      berth.pipeline { "single" },
    }, { links = "duplex" }))
    assert.equal(4, #cmp)
    assert.equal("single", cmp[1].name)
    assert.equal(10, cmp[1].makespan)
    assert.equal("m-etf memory=none", cmp.best[1].name)
    assert.equal(5, cmp.best[1].makespan)
    assert.near(0, cmp.best[1].gap, 1e-12)
    assert.is_number(cmp[1].seconds)
    assert.equal(table.concat({
      "placer             step time      gap  estimate  peak",
      "m-etf memory=none        5 s    0.0 %       5 s   4 B",
      "single                  10 s  100.0 %      10 s   8 B",
      "mine                    10 s  100.0 %      10 s   8 B",
      "single                  10 s  100.0 %      10 s   8 B",
      "bound 5 s (critical path)",
    }, "\n"), tostring(cmp))
    assert.matches("placing", cmp:to_string { seconds = true })
  end)

  it("puts failures last, with their reason", function()
    local g =
      assert(berth.graph { ops = { { seconds = 1, params = 40 }, { seconds = 1, params = 40 } } })
    local cmp =
      assert(berth.compare(g, berth.topology.mesh(2, { memory = 50 }), { "single", "etf" }))
    assert.equal("etf", cmp.best[1].name)
    assert.equal("infeasible", cmp.best[2].code)
    assert.matches("single .*%-  .*%-", tostring(cmp))
  end)

  it("runs all placers without names", function()
    local g, t = chains()
    assert.equal(#berth.placers(), #assert(berth.compare(g, t)))
  end)

  it("hands each placer the options that it reads", function()
    local g, t = chains()
    local cmp =
      assert(berth.compare(g, t, nil, { place = { averages = "saga", tries = 2, seed = 3 } }))
    for _, row in ipairs(cmp) do assert.is_nil(row.error) end
    raises("unknown option 'sed'", berth.compare, g, t, { "etf" }, { place = { sed = 1 } })
    raises("unknown option 'link'", berth.compare, g, t, { "etf" }, { link = "free" })
  end)
end)
