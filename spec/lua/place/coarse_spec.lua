-- Ops placed as one, weighed transfers, and ties by b-level, from Lua and from the shell.
local berth = require "berth"
local random_graph = require "support.random_graph"
local raised = require("support.errors").raised
local shell = require "support.shell"

local takers = { "metis", "m-topo", "m-etf", "m-sct", "etf", "heft", "cpop", "peft", "minmin",
  "blevel", "critical-path" }

local function problem()
  local g = assert(berth.models.inception_v3 { granularity = "layer", batch = 8 })
  return g, berth.topology.mesh(3, { preset = "V100", bandwidth = "10 GB/s", latency = "5 us" })
end

local function place(g, t, placer, opts)
  local p = assert(berth.place(g, t, placer, opts))
  local r = assert(berth.simulate(g, t, p, { links = opts.links }))
  assert.is_nil(r.oom)
  return p, r
end

describe("sets of ops", function()
  it("run on devices of a type for which the graph has no times, by their FLOP", function()
    local g = assert(berth.graph { types = { "cpu" },
      ops = { { seconds = { 1 }, flop = 4 }, { seconds = { 1 }, flop = 4 } },
      edges = { { 1, 2, 1 } } })
    local t = assert(berth.topology { devices = { { type = "cpu" }, { type = "npu", flops = 8 } },
      links = { { 1, 2, bandwidth = 1, latency = 0 } } })
    assert.same({ 2, 2 }, assert(berth.place(g, t, "heft", { coarsen = "chains" })):devices())
  end)

  it("are placed by the transform of that name, with the same devices", function()
    -- times, not rates: those of a set add up
    local g = assert(berth.graph(random_graph.describe(3, { n = 200 })))
    local t = berth.topology.mesh(3, { bandwidth = 100 })
    local lines = {
      chains = { "chains" }, coplace = { { "coplace", { max_ops = 8 } }, "fuse" },
      fuse = { { "fuse", { scope = "all", max_ops = 8 } } },
    }
    for rule, stages in pairs(lines) do
      for _, placer in ipairs(takers) do
        local p, r = place(g, t, placer,
          { coarsen = rule, coarsen_ops = rule ~= "chains" and 8 or nil, links = "duplex" })
        local line = { stages[1], stages[2] }
        line[#line + 1] = placer
        local q = assert(berth.place(g, t, berth.pipeline(line), { links = "duplex" }))
        assert.equal(table.concat(q:devices(), " "), table.concat(p:devices(), " "),
          rule .. " " .. placer)
        assert.equal(r.makespan, p.estimate)
        assert.equal(placer, p.placer)
      end
    end
  end)

  it("hold up to 16 ops, chains any number", function()
    local ops, edges = {}, {}
    for i = 1, 40 do
      ops[i] = { seconds = 1 }
      if i > 1 then edges[#edges + 1] = { i - 1, i, 0 } end
    end
    local g, t = assert(berth.graph { ops = ops, edges = edges }),
      berth.topology.mesh(2, { bandwidth = 1 })
    local function changes(opts)
      local d, n = assert(berth.place(g, t, "metis", opts)):devices(), 0
      for i = 2, #d do n = n + (d[i] == d[i - 1] and 0 or 1) end
      return n
    end
    assert.equal(0, changes { coarsen = "chains" })
    assert.equal(1, changes { coarsen = "coplace" })
    assert.equal(1, changes { coarsen = "chains", coarsen_ops = 20 })
  end)

  it("count for nothing as none, and with weight 1", function()
    local g, t = problem()
    for _, placer in ipairs(takers) do
      local p = assert(berth.place(g, t, placer, { coarsen = "none", transfer_weight = 1 }))
      assert.equal(assert(berth.place(g, t, placer)):to_string(), p:to_string())
    end
  end)

  it("are weighed as transfers are by a price with that factor", function()
    local g, t = problem()
    for _, placer in ipairs(takers) do
      local p = place(g, t, placer, { transfer_weight = 3, links = "channel" })
      local q =
        assert(berth.place(g, t, placer, { cost = { transfer_factor = 3 }, links = "channel" }))
      assert.equal(table.concat(q:devices(), " "), table.concat(p:devices(), " "), placer)
    end
  end)

  it("refuse what means nothing", function()
    local g, t = problem()
    local function raises(want, placer, opts)
      assert.matches(want, raised(berth.place, g, t, placer, opts), 1, true)
    end
    raises("option 'coarsen' means nothing to single, only to: metis, m-topo", "single",
      { coarsen = "fuse" })
    raises("option 'transfer_weight' means nothing to a policy",
      { device = function() return 1 end }, { transfer_weight = 2 })
    raises("coarsen: 'some' is none of: none, chains, coplace, fuse", "heft", { coarsen = "some" })
    raises("coarsen_ops: ", "heft", { coarsen = "fuse", coarsen_ops = -1 })
    raises("option coarsen_ops: 4 means nothing without coarsen", "heft", { coarsen_ops = 4 })
    raises("transfer_weight: expected a finite number above 0", "heft", { transfer_weight = 0 })
    raises('option coarsen: variant "baechi-pt" of m-sct is as published', "m-sct",
      { coarsen = "fuse", variant = "baechi-pt" })
  end)

  it("is an option in the shell", function()
    local function run(...)
      return shell.run("place", "model:inception_v3,granularity=layer,batch=8",
        "mesh:3,preset=V100,bandwidth=10GB/s,latency=5us", ...)
    end
    local g, t = problem()
    local p = assert(berth.place(g, t, "heft",
      { coarsen = "coplace", coarsen_ops = 8, transfer_weight = 2 }))
    local text = shell.ran(run("--placer", "heft", "--coarsen", "coplace", "--coarsen-ops", "8",
      "--transfer-weight", "2", "--json"))
    assert.near(p.estimate, tonumber(text:match('"estimate_s":([%d%.e+-]+)')), 1e-9)
    assert.equal(0, (run("--placer", "m-etf", "--ties", "b-level")))
    assert.not_equal(0, (run("--placer", "single", "--coarsen", "fuse")))
  end)
end)
