-- What is given for all placers, what each takes of it, and what tables say when nothing fits.
local berth = require "berth"
local errors = require "support.errors"
local raised, raises = errors.raised, errors.raises

local function problem(memory)
  return berth.models.resnet18 { batch = 4, granularity = "layer" },
    berth.topology.mesh(3,
      { preset = "V100", bandwidth = "10 GB/s", latency = "5 us", memory = memory })
end

local published = { "m-sct", { variant = "baechi-tf" } }

describe("links for all placers", function()
  it("are left out for published variants, which are judged with them", function()
    local g, t = problem()
    local own = assert(berth.place(g, t, published))
    local judged = berth.simulate(g, t, own, { links = "duplex" }).makespan
    local rows = berth.compare(g, t,
      { "m-sct", published, berth.pipeline { published }, { "m-etf", { variant = "baechi-pt" } } },
      { links = "duplex" })
    for _, row in ipairs(rows) do assert.is_nil(row.error) end
    assert.equal("m-sct baechi-tf", rows[2].name)
    assert.equal(judged, rows[2].makespan)
    assert.equal(judged, rows[3].makespan)
    local _, all = assert(berth.portfolio(g, t,
      { links = "duplex", members = { published, berth.pipeline { published } } }))
    assert.same({ judged, judged }, { all[1].makespan, all[2].makespan })
    assert.same(own:devices(),
      assert(berth.place(g, t, { all[1].placer, all[1].options })):devices())
    local line = berth.pipeline { { "coplace", { max_ops = 4 } }, published, "repair" }
    local p = assert(berth.place(g, t, line, { links = "duplex" }))
    assert.equal(berth.simulate(g, t, p, { links = "duplex" }).makespan, p.estimate)
  end)

  it("are refused where the user gives them to the variant itself", function()
    local g, t = problem()
    local both = { "m-sct", { variant = "baechi-tf", links = "duplex" } }
    local why = "sets its own links discipline"
    assert.matches(why, raised(berth.place, g, t, published, { links = "duplex" }))
    assert.matches(why, raised(berth.place, g, t, both))
    assert.matches(why, raised(berth.compare, g, t, { both }))
    assert.matches(why, raised(berth.place, g, t, berth.pipeline { both }))
    local _, _, _, _, rows = berth.portfolio(g, t, { members = { both } })
    assert.matches(why, rows[1].error)
  end)
end)

describe("options that a placer does not read", function()
  it("are refused as a member's, too", function()
    local g, t = problem()
    local unread = { "heft", { tau = 0.1 } }
    raises("option 'tau' means nothing to heft", berth.place, g, t, unread)
    raises("members[2]: option 'tau' means nothing to heft", berth.portfolio, g, t,
      { members = { "etf", unread } })
    raises("option 'tau' means nothing to heft", berth.compare, g, t, { unread })
    raises("option 'tau' means nothing to heft", berth.place, g, t, berth.pipeline { unread })
  end)
end)

describe("what is proved to fit nowhere", function()
  local function count(text, part) return select(2, text:gsub(part, "")) end

  it("is reported once", function()
    local g, t = problem("1 MB")
    local text = tostring(berth.compare(g, t))
    assert.equal(1, count(text, "cannot fit"))
    assert.equal(#berth.placers(), count(text, "  infeasible\n"))
    assert.matches("\ninfeasible: cannot fit: op [^\n]+ are missing$", text)
    local _, reason, code, _, rows = berth.portfolio(g, t)
    assert.equal("infeasible", code)
    assert.matches("^portfolio: cannot fit: ", reason)
    assert.equal(1, count(tostring(rows), "cannot fit"))
    assert.truthy(tostring(rows):find("\n" .. reason, 1, true))
    _, reason, _, _, rows = berth.portfolio(g, t,
      { members = { "single", "heft", { "m-topo", { variant = "baechi-tf" } } } })
    assert.equal(reason, rows.refusal)
    assert.equal(1, count(tostring(rows), "cannot fit"))
  end)

  it("is reported by single, too", function()
    local g, t = problem("1 MB")
    local _, reason = berth.place(g, t, "single")
    assert.matches("^single: cannot fit: ", reason)
  end)

  it("else the line does not name the placer again", function()
    local g, t = problem("120 MB")
    local text =
      tostring(berth.compare(g, t, { "single", "heft" }, { place = { memory = "total" } }))
    assert.matches("single[ -]+no placement found", text)
  end)
end)

describe("refusals", function()
  it("of the portfolio name it, and who came closest", function()
    local g = berth.graph { ops = { { seconds = 1, params = 5 }, { seconds = 1, params = 5 },
      { seconds = 1, params = 5 } } }
    local t = berth.topology.mesh(3, { bandwidth = 1, memory = 12 })
    local _, reason, code = berth.portfolio(g, t, { members = { { "single", { device = 2 } } } })
    assert.equal("infeasible", code)
    assert.equal(
      'portfolio: no placement found (closest: single device=2, the graph does not fit: device '
        .. '"d1" comes closest, '
      .. "3 B are missing)", reason)
    _, reason = berth.portfolio(g, t,
      { seconds = "1 ns", members = { { "single", { device = 2 } }, "heft", "etf" } })
    assert.matches(
      "^portfolio: no time left for 2 of 3 members, and not proved that nothing fits: no placement "
        .. "found %(closest: single device=2, ", reason)
  end)

  it("of members in Lua keep their ids", function()
    local g, t = problem()
    local own = berth.pipeline { function() return nil,
      "mine: no placement found: op 7 is too large", "infeasible" end, "etf" }
    local _, reason = berth.portfolio(g, t, { members = { own } })
    assert.equal("portfolio: no placement found (closest: function -> etf, op 7 is too large)",
      reason)
  end)

  it("by the share of a published rule say that", function()
    local g = berth.graph { ops = { { seconds = 1, params = 8, workspace = 100 },
      { seconds = 1, params = 8 } } }
    local t = berth.topology.mesh(2, { bandwidth = 1, memory = 1e9 })
    local _, reason, code = berth.place(g, t, { "m-topo", { variant = "baechi-pt" } },
      { memory = "total" })
    assert.equal("infeasible", code)
    assert.equal(
      'm-topo: no placement found: op 1 does not fit into the share of a device by the rule of '
        .. '"baechi-pt", 16 B: '
      .. 'on device "d0", where it comes closest, it is exceeded by 92 B', reason)
  end)
end)

describe("functions in a pipeline", function()
  local function same(graph)
    local map = {}
    for i = 1, #graph do map[i] = i end
    return graph, map
  end
  local function keep(_, _, p) return p end

  it("may have names", function()
    local g, t = problem()
    local line = berth.pipeline { { name = "split", transform = same }, "heft",
      { name = "polish", refine = keep }, keep }
    assert.equal("pipeline: split -> heft -> polish -> function", tostring(line))
    assert.is_truthy(berth.place(g, t, line))
    local rows = berth.compare(g, t, { line })
    assert.equal("split -> heft -> polish -> function", rows[1].name)
  end)

  it("stand where they belong, and have nothing else", function()
    local function refused(stages) return raised(berth.pipeline, stages) end
    assert.matches("'split' is a transform: it must come before",
      refused { "heft", { name = "split", transform = same } })
    assert.matches("'f' is a refinement: it must come after",
      refused { { name = "f", refine = keep }, "heft" })
    assert.matches("stages%[1%]: unknown option 'ratio' %(legal: name, transform%)",
      refused { { transform = same, ratio = 1 }, "heft" })
    assert.matches("stages%[1%]: name: expected a string",
      refused { { transform = same, name = 3 }, "heft" })
  end)
end)

describe("thorough", function()
  it("makes the gaps of the rows smaller", function()
    local ops, edges = {}, {}
    for i = 1, 7 do ops[i] = { seconds = 1 } end
    for i = 1, 6 do edges[i] = { i, 7, 3 } end
    local g, t = berth.graph { ops = ops, edges = edges }, berth.topology.mesh(4, { bandwidth = 1 })
    local _, plain = berth.portfolio(g, t, { members = { "single", "m-etf" } })
    local _, tight = berth.portfolio(g, t, { members = { "single", "m-etf" }, thorough = true })
    assert.equal("serial clusters", tight.bound_name) -- so are the cheap ones
    assert.is_true(tight.bound >= plain.bound)
    for i, row in ipairs(tight) do
      assert.is_true(row.gap <= plain[i].gap)
      assert.near(row.makespan / tight.bound - 1, row.gap, 1e-12)
    end
    raises("thorough: expected true or false", berth.portfolio, g, t, { thorough = 1 })
    -- gives no rows
    raises("unknown option 'thorough'", berth.place, g, t, nil, { thorough = true })
  end)
end)

describe("help", function()
  local function help(x) return tostring(berth.help(x)) end

  it("reads the tables that functions give", function()
    local g, t = problem()
    assert.equal(help "bounds", help(berth.bounds(g, t)))
    assert.equal(help "guarantees", help(berth.bounds(g, t).guarantees))
    assert.equal(help "favourites", help(berth.favourites(g, t)))
    assert.equal(help "compare", help(berth.compare(g, t, { "single" })))
    assert.equal(help "pipeline", help(berth.pipeline { "heft" }))
    assert.equal(help "portfolio",
      help((select(2, berth.portfolio(g, t, { members = { "single" } })))))
  end)

  it("finds names that are written otherwise, methods, and words in texts", function()
    assert.equal(help "m-sct", help "msct")
    assert.equal(help "m-sct", help "M_SCT")
    assert.truthy(help("fuse"):find("Contracts directly connected ops", 1, true))
    assert.truthy(help("fuse"):find("coarsen", 1, true))
    assert.matches("favourites .*placer m%-sct", help "favourite child")
    assert.matches("help%(%) lists what there is", help "xyzzy")
  end)
end)

describe("berth.models", function()
  it("has the names of its list as functions, too", function()
    assert.equal(#berth.models.build("resnet50", { batch = 1 }),
      #berth.models.resnet50 { batch = 1 })
    assert.equal("bert-base",
      berth.models["bert-base"]({ batch = 1, seq = 8, granularity = "layer" }).name)
    raises("berth.models has no 'resnet51' (legal: 35 names; ",
      function() return berth.models.resnet51 end)
  end)
end)
