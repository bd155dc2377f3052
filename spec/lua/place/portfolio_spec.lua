-- The portfolio from Lua: members of all kinds, budgets, the judge, and what it reports.
local berth = require "berth"
local random_graph = require "support.random_graph"
local errors = require "support.errors"
local raised, raises = errors.raised, errors.raises

local function problem(seed)
  return assert(berth.graph(random_graph.describe(seed, { n = 30, fan_in = 3, memory = true }))),
    berth.topology.mesh(3, { bandwidth = 300, latency = 0.1 })
end

-- Two chains of two ops; one device takes 10 s, two take 5 s.
local function chains()
  local g = assert(berth.graph {
    ops = { { seconds = 2 }, { seconds = 3 }, { seconds = 4 }, { seconds = 1 } },
    edges = { { 1, 2, 4 }, { 3, 4, 4 } },
  })
  return g, berth.topology.mesh(2, { bandwidth = 4 })
end

describe("the members of a portfolio", function()
  it("may be names, names with options, policies, functions and pipelines", function()
    local g, t = chains()
    local p, rows = berth.portfolio(g, t, { members = {
      "single", { "m-sct", { tau = 0.5 } },
      { name = "mine", device = function(op) return op <= 2 and 1 or 2 end },
      function() return 2 end, berth.pipeline { "heft", function(_, _, q) return q:devices() end },
    } })
    local names, spans = {}, {}
    for i, row in ipairs(rows) do names[i], spans[i] = row.name, row.makespan end
    assert.same({ "single", "m-sct tau=0.5", "mine", "policy", "heft -> function" }, names)
    assert.same({ 10, 5, 5, 10, 5 }, spans)
    assert.equal(rows[2], rows.winner)
    assert.same(rows[2].placement:devices(), p:devices())
    assert.same({ 1, 1, 2, 2 }, rows[3].placement:devices())
    assert.equal("m-sct", rows[2].placer)
    assert.is_nil(rows[3].placer)
  end)

  it("are reported with all of their options, however they came by them", function()
    local g, t = problem(1)
    local _, built_in =
      assert(berth.portfolio(g, t, { links = "channel", memory = "total", seed = 5 }))
    local favourites = berth.favourites(g, t).child
    local _, own = assert(berth.portfolio(g, t, { links = "duplex", members = {
      "heft", { "m-sct", { tau = 0.25, links = "free" } },
      { "m-sct", { favourites = favourites } } } }))
    for _, rows in ipairs { built_in, own } do
      for _, row in ipairs(rows) do
        local again = assert(berth.place(g, t, { row.placer, row.options }))
        assert.same(row.placement:to_string(), again:to_string(), row.name)
      end
    end
    assert.same({ "heft", "m-sct tau=0.25 links=free", "m-sct favourites=given" },
      { own[1].name, own[2].name, own[3].name })
  end)

  it("are followed by a search from the best, with a bound of a tenth of its time", function()
    local g, t = problem(4)
    local _, members = assert(berth.portfolio(g, t, { links = "duplex", calls = 0 }))
    local p, rows = assert(berth.portfolio(g, t, { links = "duplex", calls = 400 }))
    local last = rows[#rows]
    assert.same({ #members + 1, "anneal", "anneal", 400 },
      { #rows, last.name, last.placer, last.options.calls })
    assert.equal(members.winner.placement:to_string(), last.options.start:to_string())
    assert.is_true(rows.winner.makespan < members.winner.makespan)
    assert.equal(last.placement:to_string(), p:to_string())
    local b = berth.bounds(g, t, { links = "duplex", effort = 30 })
    assert.same({ b.best, b.level }, { rows.bound, rows.bound_level })
    assert.matches(("%%(%s, %s%%)$"):format(b.name, b.level), tostring(rows))
    assert.is_nil(members.bound_level)
    local own = select(2, berth.portfolio(g, t, { members = { "single" }, calls = 20 }))
    assert.same({ "single", "anneal" }, { own[1].name, own[2].name })
  end)

  it("read through a pipeline", function()
    local g, t = problem(3)
    local line = berth.pipeline { "heft", function(_, _, p) return p end }
    local _, rows = assert(berth.portfolio(g, t, { averages = "saga", members = { "heft", line } }))
    assert.same(rows[1].placement:devices(), rows[2].placement:devices())
    assert.equal(rows[1].placement.estimate, rows[2].placement.estimate)
  end)

  it("get the options that they read", function()
    local g, t = chains()
    local seen
    local _, rows = berth.portfolio(g, t,
      { averages = "saga", tries = 3, memory = "none", members = {
      "etf", "heft", "critical-path", { prepare = function(plan) seen = plan.cost end },
    } })
    for _, row in ipairs(rows) do assert.is_nil(row.error) end
    assert.is_truthy(seen)
  end)

  it("refuse by themselves; an error comes out unchanged", function()
    local g, t = chains()
    local no = berth.pipeline { function() return nil, "op 7 is too large", "unsupported" end,
      "etf" }
    local p, rows = berth.portfolio(g, t, { members = { no, "etf" } })
    assert.equal("etf", p.placer)
    assert.same({ "op 7 is too large", "unsupported" }, { rows[1].error, rows[1].code })
    local nothing, text, code, why, all = berth.portfolio(g, t, { members = { no } })
    assert.same({ nil, "portfolio: function -> etf: op 7 is too large", "unsupported", nil },
      { nothing, text, code, why })
    assert.equal(1, #all)
    local thrown = { "mine" }
    assert.equal(thrown,
      raised(berth.portfolio, g, t, { members = { "etf", function() error(thrown) end, "heft" } }))
    raises("device gave 9 for op 1", berth.portfolio, g, t,
      { members = { function() return 9 end } })
    assert.is_truthy(berth.place(g, t)) -- and leaves all in order
  end)

  it("may close what they work on, and place with a portfolio", function()
    local g, t = chains()
    local c = assert(berth.cost(g, t))
    local p, rows = berth.portfolio(c, { members = { function(op)
      if op == 1 then
        assert(berth.place(g, t))
        c:close()
        g:close()
        t:close()
        collectgarbage()
      end
      return 1
    end, "etf" } })
    assert.equal("etf", p.placer)
    assert.equal(10, rows[1].makespan)
    assert.equal(5, rows.bound) -- what was closed within is kept until the portfolio is through
  end)

  it("are checked before anything runs", function()
    local g, t = chains()
    local function refused(options) return raised(berth.portfolio, g, t, options) end
    assert.matches("members: expected an array, got string", refused { members = "etf" })
    assert.matches("members%[2%]: expected a name, a policy or a pipeline, got number",
      refused { members = { "etf", 3 } })
    assert.matches('members%[1%].placer: "foo" is unknown', refused { members = { "foo" } })
    assert.matches("members%[1%]: unknown field 'sed'",
      refused { members = { { "etf", { sed = 1 } } } })
    assert.matches('members%[1%].placer: "policy" is unknown', refused { members = { "policy" } })
    assert.matches("members%[1%]: unknown key 'tau': expected { name, options }",
      refused { members = { { "m-sct", tau = 0.5 } } })
    assert.matches("members%[1%]: options of 'heft': expected a table, got number",
      refused { members = { { "heft", 3 } } })
    assert.matches("members: unknown key 'x'", refused { members = { "single", x = "heft" } })
    assert.matches("members%[1%]: is a portfolio itself", refused { members = { "portfolio" } })
    assert.matches("members: 0 are not from 1 to", refused { members = {} })
    assert.matches("threads: ", refused { threads = -1 })
    assert.matches("seconds: ", refused { seconds = "fast" })
    assert.matches("unknown option 'variant'", refused { variant = "x" })
    assert.matches("judge: expected a table, got string", refused { judge = "fifo" })
    assert.matches("judge: unknown option 'seeds'", refused { judge = { seeds = 1 } })
    assert.matches("judge: dispatch: 'now' is none of", refused { judge = { dispatch = "now" } })
    local _, text, code = berth.portfolio(g, t, { judge = { order = "ready", dispatch = "lifo" } })
    assert.matches("^portfolio: judge: ", text)
    assert.equal("invalid", code)
  end)
end)

describe("a portfolio", function()
  it("keeps to its seconds", function()
    local g, t = chains()
    local p, rows = assert(berth.portfolio(g, t, { seconds = "1 ns" }))
    assert.equal("single", p.placer == "round-robin" and "single" or p.placer)
    for i, row in ipairs(rows) do assert.equal(i > 2 and "interrupted" or nil, row.code) end
    assert.equal("no time left", rows[3].error)
    assert.is_nil(rows.interrupted) -- by no hook
    assert.is_number(rows[1].seconds)
    assert.is_nil(rows[3].seconds)
    local _, all = berth.portfolio(g, t, { seconds = 3600, calls = 50 })
    for _, row in ipairs(all) do assert.is_nil(row.code) end
    assert.is_truthy(berth.place(g, t, nil, { seconds = "1 ns", threads = 1 }))
  end)

  it("is judged by the options", function()
    local g, t = problem(2)
    local p, rows = berth.portfolio(g, t, { links = "duplex", judge = { dispatch = "planned" } })
    for _, row in ipairs(rows) do
      local r =
        assert(berth.simulate(g, t, row.placement, { links = "duplex", dispatch = "planned" }))
      assert.equal(r.makespan, row.makespan, row.name)
      assert.equal(r.gap, row.gap)
    end
    assert.equal(rows.winner.makespan,
      berth.simulate(g, t, p, { links = "duplex", dispatch = "planned" }).makespan)
    p, rows = berth.portfolio(g, t, { judge = { links = "channel", noise = 0.1 } })
    assert.is_truthy(p)
    assert.is_nil(rows.bound)
    assert.equal(rows[1].makespan,
      berth.simulate(g, t, rows[1].placement, { links = "channel", noise = 0.1 }).makespan)
  end)

  it("takes rules from a preset, in comparisons from the rows but for noise", function()
    local g, t = problem(4)
    local p, rows = assert(berth.portfolio(g, t,
      { links = "pair", quantum = 1, judge = { preset = "baechi-tf" } }))
    assert.equal(rows.winner.makespan,
      assert(berth.simulate(g, t, p, { preset = "baechi-tf" })).makespan)
    local names = { "portfolio", "single", "m-etf", "etf", "heft", "minmin", "metis" }
    local pull = { links = "channel", send = "pull", bound = false }
    for _, simulate in ipairs { { dispatch = "lifo" }, { preset = "baechi-tf" }, pull } do
      local cmp = assert(berth.compare(g, t, names, { simulate = simulate }))
      for _, row in ipairs(cmp) do assert.is_true(cmp[1].makespan <= row.makespan, row.name) end
    end
    local quiet =
      assert(berth.compare(g, t, { "portfolio" }, { simulate = { noise = 0.4, seed = 3 } }))
    assert.same(assert(berth.place(g, t)):devices(), quiet[1].placement:devices())
  end)

  it("prints what every member reached, and who won by how much", function()
    local g, t = chains()
    local _, rows = berth.portfolio(g, t, { members = { "single", "etf", berth.pipeline {
      function() return nil, "no way", "unsupported" end, "heft" } } })
    assert.equal(table.concat({
      "member            step time      gap",
      "etf                     5 s    0.0 %",
      "single                 10 s  100.0 %",
      "function -> heft          -        -  no way",
      "best: etf, step time 5 s, gap 0.0 %; bound 5 s (critical path)",
    }, "\n"), tostring(rows))
    assert.matches("placing", rows:to_string { seconds = true })
    raises("unknown option 'second'", rows.to_string, rows, { second = true })
    assert.equal("etf", rows.best[1].name)
    assert.equal(0, rows.winner.gap)
    assert.equal(5, rows.bound)
  end)

  it("proves its answer on a small graph, as a member that berth.place repeats", function()
    -- four chains of two ops and a sum: work 9 s on 2 devices, and the sum waits for both
    local ops, edges = {}, {}
    for i = 1, 8 do
      ops[i] = { seconds = 1 }
      edges[i] = i % 2 == 1 and { i, i + 1, 1 } or { i, 9, 1 }
    end
    ops[9] = { seconds = 1 }
    local g = assert(berth.graph { ops = ops, edges = edges })
    local t = berth.topology.mesh(2, { bandwidth = 1 })
    local p, rows = assert(berth.portfolio(g, t, { links = "duplex" }))
    local row = rows[#rows - 1]
    assert.same({ "exact", "exact", "anneal" }, { row.name, row.placer, rows[#rows].name })
    local again = assert(berth.place(g, t, "exact", row.options))
    assert.equal(row.placement:to_string(), again:to_string())
    local _, proof = assert(berth.exact(g, t))
    assert.same({ true, proof.bound, "exact" }, { proof.proved, rows.bound, rows.bound_name })
    assert.equal(proof.bound, p.bound)
    local cmp = assert(berth.compare(g, t, { "single", "portfolio" }, { links = "duplex" }))
    assert.same({ rows.bound, "exact" }, { cmp.bound, cmp[1].bound_name })
    assert.equal(rows.bound, berth.gaps(g, t, nil, { links = "duplex", calls = 0 }).bound)
    for _, opts in ipairs { { calls = 0 }, { members = { "single" }, calls = 10 } } do
      assert.is_nil(berth.place(g, t, nil, opts).bound)
    end
  end)

  it("reports what came closest when nothing keeps memory", function()
    local ops = { { seconds = 1 }, { seconds = 1 }, { seconds = 1 } }
    local g = assert(berth.graph { ops = ops, edges = { { 1, 3, 10 }, { 2, 3, 10 } } })
    local t = berth.topology.mesh(1, { memory = 15 })
    local p, text, code, why, rows = berth.portfolio(g, t)
    assert.is_nil(p)
    assert.equal("infeasible", code)
    assert.matches("^portfolio: cannot fit: op 3 ", text)
    assert.same({ op = 3, device = 1, missing = 5 }, why)
    assert.equal(text, rows[1].error)
    assert.equal(1, select(2, tostring(rows):gsub("cannot fit", "")))
    p, text, code, why, rows = berth.portfolio(g, t,
      { members = { { "m-topo", { variant = "baechi-tf" } } } })
    assert.same({ nil, "infeasible", 1 }, { p, code, #rows })
    assert.same({ op = 2, device = 1 }, rows[1].oom)
    assert.equal(5, rows[1].missing)
    assert.matches("out of memory: 5 B are missing", tostring(rows))
    assert.equal(5, why.missing)
    assert.matches("cannot fit", text)
  end)
end)
