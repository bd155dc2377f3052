-- Thorough bounds and guarantees in Lua and on the command line.
local berth = require "berth"
local raises = require("support.errors").raises
local shell = require "support.shell"

local ran, run = shell.ran, shell.run

-- Six ops of 1 s into one, every transfer 3 s: four of them on its device end when the other two
-- tensors arrive.
local function join(transfer)
  local ops, edges = {}, {}
  for i = 1, 7 do ops[i] = { seconds = 1 } end
  for i = 1, 6 do edges[i] = { i, 7, transfer or 3 } end
  return assert(berth.graph { ops = ops, edges = edges }), berth.topology.mesh(4, { bandwidth = 1 })
end

local function by_name(b)
  local out = {}
  for _, k in ipairs(b.guarantees) do out[k.name] = k end
  return out
end

describe("thorough bounds", function()
  it("count the transfers that no placement spares", function()
    local g, t = join()
    local cheap, b = berth.bounds(g, t), berth.bounds(g, t, { thorough = true })
    assert.equal(2, cheap.critical_path)
    assert.is_nil(cheap.transfers)
    assert.is_nil(cheap.lp)
    assert.equal(5, b.transfers)
    assert.equal(5, b.best)
    assert.equal("transfers", b.name)
    assert.is_true(b.lp >= 2 * (1 - 1e-9) and b.lp <= 5)
    assert.is_true(b.work >= cheap.work)
  end)

  it("depend on the links: three inputs on one channel, or each on its own", function()
    local ops, edges = {}, {}
    for i = 1, 4 do ops[i] = { seconds = 1, pin = i } end
    for i = 2, 4 do edges[#edges + 1] = { i, 1, 3 } end
    local g, t = assert(berth.graph { ops = ops, edges = edges }),
      berth.topology.mesh(4, { bandwidth = 1 })
    for links, best in pairs { free = 5, duplex = 11, channel = 11, pair = 5, route = 5,
      fair = 5 } do
      local b = berth.bounds(g, t, { thorough = true, links = links })
      assert.near(best, b.best, 1e-3)
      assert.equal(best, berth.simulate(g, t, { 1, 2, 3, 4 }, { links = links }).makespan)
      assert.near(best, berth.simulate(g, t, { 1, 2, 3, 4 }, { links = links }).bound, 1e-3)
    end
    assert.near(11, berth.gaps(g, t, { 1, 2, 3, 4 }, { links = "duplex", calls = 0 }).bound, 1e-3)
    assert.near(11, berth.compare(g, t, { "heft" }, { links = "duplex" })[1].bound, 1e-3)
    assert.near(11,
      berth.compare(g, t, { "heft" }, { links = "duplex", thorough = true })[1].bound, 1e-3)
    local _, rows = berth.portfolio(g, t, { links = "duplex" })
    assert.near(11, rows.bound, 1e-3)
    raises("berth.bounds: links: 'open' is none of", berth.bounds, g, t, { links = "open" })
  end)

  it("print as a line, with how far a makespan is from the best", function()
    local g, t = join()
    local r = berth.simulate(g, t, { 1, 1, 1, 1, 2, 3, 1 })
    assert.equal(5, r.makespan)
    local b = berth.bounds(g, t, { thorough = true, makespan = r })
    assert.equal(1, b.achieved)
    assert.matches(
      "^bound 5 s %(transfers; level thorough%): critical path 2 s, transfers 5 s, "
        .. "linear program .*, work .*, memory ",
      tostring(b))
    assert.matches("; makespan at most 1 times the optimum$", tostring(b))
    assert.equal(2, berth.bounds(berth.cost(g, t), { thorough = true, makespan = "10 s" }).achieved)
    assert.is_nil(berth.bounds(g, t).achieved)
  end)

  it("make the gaps of comparisons smaller", function()
    local g, t = join()
    local plain = berth.compare(g, t, { "single", "m-etf" })
    local tight = berth.compare(g, t, { "single", "m-etf" }, { thorough = true })
    for i, row in ipairs(tight) do
      assert.is_true(row.gap <= plain[i].gap + 1e-12)
      assert.equal(5, row.bound)
      assert.equal("serial clusters", row.bound_name) -- found already by the cheap ones
    end
    raises("thorough: expected true or false", berth.compare, g, t, { "single" }, { thorough = 1 })
  end)

  it("know what memory forces apart, and measure by it what keeps memory", function()
    local ops = {}
    for i = 1, 6 do ops[i] = { seconds = 1, params = 1000 } end
    local g = assert(berth.graph { ops = ops,
      edges = { { 1, 2, 9 }, { 2, 3, 5 }, { 3, 4, 7 }, { 4, 5, 3 }, { 5, 6, 8 } } })
    local t = berth.topology.mesh(2, { bandwidth = 1, memory = 3050 })
    local b = berth.bounds(g, t)
    assert.near(6 + 7, b.best, 1e-3) -- three and three
    assert.equal("serial clusters", b.name)
    assert.equal(6, berth.bounds(g, t, { memory = "none" }).best)
    assert.near(13, berth.simulate(g, t, { 1, 1, 1, 2, 2, 2 }).bound, 1e-3)
    local rows = berth.compare(g, t, { "single", "m-topo" }, { thorough = true })
    assert.is_nil(rows[1].makespan)
    assert.near(0, rows[2].gap, 1e-4)
    local _, members =
      assert(berth.portfolio(g, t, { members = { "round-robin", "m-topo" }, thorough = true }))
    assert.near(13, members.bound, 1e-3)
  end)

  it("cut two machines apart", function()
    local g = join(100)
    local t = berth.topology.two_level(2, 2, { bandwidth = 1e9, between_bandwidth = 1 })
    local b = berth.bounds(g, t)
    assert.near(4, b.link_cut, 1e-3) -- six of 1 s on the two devices of one machine, then one
    assert.equal("link cut", b.name)
    assert.matches(", link cut 4 s", tostring(b))
    assert.is_nil(berth.bounds(join()).link_cut)
    for _, links in ipairs { "free", "route", "fair" } do
      local p = assert(berth.place(g, t))
      assert.is_true(berth.simulate(g, t, p, { links = links }).makespan >= b.best)
    end
  end)

  it("climb as high as an effort affords, with the same bytes for the same effort", function()
    local g = assert(berth.models.resnet { depth = 18, granularity = "layer", batch = 4 })
    local t = berth.topology.mesh(4, { preset = "V100" })
    local last = 0
    local steps = { { 0.01, "paths" }, { 5, "cheap" }, { 60, "windows" }, { 150, "thorough" } }
    for _, step in ipairs(steps) do
      local opts = { effort = step[1], links = "duplex" }
      local b = berth.bounds(g, t, opts)
      assert.equal(step[2], b.level)
      assert.is_true(b.best >= last * (1 - 1e-4))
      assert.equal(tostring(b), tostring(berth.bounds(g, t, opts)))
      last = b.best
    end
    assert.equal("cheap", berth.bounds(g, t).level)
    assert.equal("thorough", berth.bounds(g, t, { thorough = true }).level)
  end)

  it("refuse wrong options with their names", function()
    local g, t = join()
    raises("berth.bounds: gap: expected a finite number from 1e-09", berth.bounds, g, t,
      { gap = 0 })
    raises("berth.bounds: gap: requires thorough", berth.bounds, g, t, { gap = 0.1 })
    assert.matches("below it: no schedule's$", tostring(berth.bounds(g, t, { makespan = 1e-3 })))
    raises("berth.bounds: thorough: expected true or false", berth.bounds, g, t, { thorough = 1 })
    raises("berth.bounds: effort: excludes thorough", berth.bounds, g, t,
      { thorough = true, effort = 1 })
    raises("berth.bounds: effort: expected a finite number from 0", berth.bounds, g, t,
      { effort = -1 })
    raises("berth.bounds: makespan: ", berth.bounds, g, t, { makespan = {} })
    raises("berth.bounds: makespan: is infinite", berth.bounds, g, t, { makespan = math.huge })
    raises("berth.bounds: place: links: 'x' is none of", berth.bounds, g, t,
      { place = { links = "x" } })
    raises("berth.bounds: place: tau: 1.1 is out of range 0 to 1", berth.bounds, g, t,
      { place = { tau = 1.1 } })
    raises("berth.bounds: place: unknown option 'gaps'", berth.bounds, g, t,
      { place = { gaps = 1 } })
    raises("berth.bounds: place: expected a table", berth.bounds, g, t, { place = 3 })
  end)
end)

describe("guarantees", function()
  it("have the values of the theorems at rho 1", function()
    local g, t = join(1)
    local b = berth.bounds(g, t, { place = { gap = 1e-9 } })
    local k = by_name(b)
    assert.equal(1, b.rho)
    assert.equal(0, b.closed)
    assert.equal(0.5, b.path_rho) -- one transfer between two ops
    assert.near(2.5 - 1 / 4, k.etf.ratio, 1e-12)
    assert.near(7 / 3 - 4 / (3 * 4), k.sct.ratio, 1e-8)
    assert.is_true(k.etf.valid and k.sct.valid)
    assert.is_nil(k.etf.why)
    assert.is_nil(k.etf.limit)
    assert.near(7 / 4 + 2 * 3 / 4 + 1, k["etf seconds"].limit, 1e-12)
    assert.near(k["etf seconds"].limit / b.best, k["etf seconds"].ratio, 1e-12)
    assert.is_false(k["sct unlimited"].valid)
    for _, name in ipairs { "m-etf", "etf" } do
      assert.is_true(berth.place(g, t, name).estimate <= k["etf seconds"].limit)
    end
  end)

  it("say why they do not hold", function()
    local g, t = join()
    local k = by_name(berth.bounds(g, t, { place = { links = "channel" } }))
    assert.matches("links channel", k.etf.why)
    k = by_name(berth.bounds(g, t))
    assert.equal("rho is 3, above 1", k.sct.why)
    assert.is_true(k.etf.valid)
    local text = tostring(berth.bounds(g, t).guarantees)
    assert.matches("etf +m%-etf, etf, m%-sct +3.25 times the optimum\n", text)
    assert.matches("\nsct is not proved: rho is 3, above 1\n", text)
    assert.is_nil(k.sct.ratio) -- out of the formula's range
    k = by_name(berth.bounds(g, t, { place = { links = "pair" } }))
    assert.equal(
      "links pair: transfers wait for one another; rho is 3, above 1; there are fewer devices than "
        .. "ops",
      k["sct unlimited"].why)
  end)
end)

describe("berth bounds --thorough", function()
  local MODEL = "model:resnet18,granularity=layer"

  it("prints all bounds and the guarantees", function()
    local text = ran(run("bounds", MODEL, "mesh:4,preset=V100", "--thorough", "--makespan", "1 s",
      "--guarantees"))
    assert.matches("\ntransfers +%S+ %S+\n", text)
    assert.matches("\nlinear program +%S+ %S+\n", text)
    assert.matches("\n1 s is at most %S+ times the optimum\n", text)
    assert.matches("\netf seconds +m%-etf, etf, m%-sct ", text)
    assert.matches("\netf is not proved: ", text)
    for line in text:gmatch "[^\n]+" do assert.is_true(#line <= 100, line) end
    text = ran(run("bounds", MODEL, "mesh:4,preset=V100", "--thorough"))
    assert.matches("\n\nno guarantee of a placer holds here %(%-%-guarantees: why%)$", text)
    text = ran(run("bounds", MODEL, "mesh:4,preset=V100"))
    assert.matches("\n%-%-thorough seeks a larger bound", text)
  end)

  it("reports the same as JSON", function()
    local text = ran(run("bounds", MODEL, "mesh:4,preset=V100", "--thorough", "--links", "duplex",
      "--json"))
    assert.matches('"lp_s":0%.', text)
    assert.matches('"achieved":null', text)
    assert.matches('"level":"thorough"', text)
    assert.matches('"name":"etf",.-"valid":false', text)
  end)
end)
