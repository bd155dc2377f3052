-- Topologies from Lua: parts, generators, devices, and what is refused.
local berth = require "berth"
local errors = require "support.errors"
local raised, refused, raises = errors.raised, errors.refused, errors.raises

local function pair()
  return assert(berth.topology {
    name = "pair",
    devices = {
      { name = "gpu0", type = "V100", preset = "V100", speed = 2, memory = "16 GB",
        overhead = "1 us", machine = 3 },
      { name = "gpu1", flops = "15.7 TFLOP/s", memory_bandwidth = "900 GB/s" },
    },
    switches = { "sw" },
    links = {
      { "gpu0", "sw", bandwidth = "25 GB/s", latency = "1 us" },
      { "sw", "gpu1", bandwidth = "20 GB/s" },
      { "gpu0", "gpu1", bandwidth = "1 GB/s", directed = true },
    },
    routes = { { "gpu0", 2, via = { 1, 3 } } },
  })
end

describe("a topology from parts", function()
  it("has devices, switches and links", function()
    local t = pair()
    assert.equal(2, #t)
    assert.equal("pair", t.name)
    assert.equal(5, t.n_links)
    assert.equal(3, t.n_nodes)
    local d = t:device(1)
    assert.equal("gpu0", d.name)
    assert.equal("V100", d.type)
    assert.equal(2, d.speed)
    assert.equal(16e9, d.memory)
    assert.near(1e-6, d.overhead, 1e-15)
    assert.equal(3, d.machine)
    assert.is_true(d.flops > 1e13)
    assert.equal(math.huge, t:device(2).memory)
    assert.near(15.7e12, t:device(2).flops, 1)
    assert.same({ id = 3, from = "sw", to = "gpu1", bandwidth = 20e9, latency = 0 }, t:link(3))
    assert.same({ id = 3, name = "sw" }, t:node(3))
    assert.equal('topology "pair": 2 devices, 1 switch, 5 links of 1 GB/s to 25 GB/s, memory 16 GB '
      .. "to unlimited", tostring(t))
  end)

  it("keeps a route that was given, else takes the one with fewest links", function()
    local t = pair()
    assert.same({ 1, 3 }, t:route(1, 2))
    assert.same({ 4, 2 }, t:route(2, 1))
    assert.same({}, t:route(1, 1))
    local bandwidth, latency = t:path(1, 2)
    assert.equal(20e9, bandwidth)
    assert.near(1e-6, latency, 1e-15)
  end)

  it("says that there is no route", function()
    local t = assert(berth.topology { devices = { {}, {} }, links = { { 1, 2, directed = true } } })
    refused("unreachable", "d1", t:route(2, 1))
    assert.same({ nil, nil, "unreachable" }, { nil, nil, (select(3, t:path(2, 1))) })
  end)

  it("names the place of a mistake", function()
    local function build(spec) return raised(berth.topology, spec) end
    assert.matches("devices: is missing", build {})
    assert.matches("devices%[1%]: unknown field 'mem'", build { devices = { { mem = 1 } } })
    assert.matches("devices%[1%]%.preset: .*A100", build { devices = { { preset = "B52" } } })
    assert.matches("devices%[2%]: the name \"x\" is taken",
      build { devices = { { name = "x" }, { name = "x" } } })
    assert.matches("links%[1%]%.to: there is no device or switch named \"y\"",
      build { devices = { { name = "x" } }, links = { { "x", "y" } } })
    assert.matches("links%[1%]%.bandwidth: must be above 0",
      build { devices = { {}, {} }, links = { { 1, 2, bandwidth = 0 } } })
    assert.matches("links%[1%]%.latency: .*hour",
      build { devices = { {}, {} }, links = { { 1, 2, latency = "1 hour" } } })
    assert.matches("routes%[1%]%.via%[1%]: there is no link 3", build {
      devices = { {}, {} }, links = { { 1, 2 } }, routes = { { 1, 2, via = { 3 } } } })
    assert.matches("routes%[1%]%.to: is a switch", build {
      devices = { {} }, switches = { "s" }, links = { { 1, "s" } },
        routes = { { 1, "s", via = { 1 } } } })
    assert.matches("devices%[1%]%.speed", build { devices = { { speed = 0 } } })
  end)
end)

describe("generators", function()
  it("make the usual topologies", function()
    assert.equal(12, berth.topology.mesh(4).n_links)
    assert.equal(8, berth.topology.ring(4).n_links)
    assert.equal(5, berth.topology.star(4).n_nodes)
    assert.equal(8,
      #berth.topology.pcie_tree(8, { fan_out = 4, up_bandwidth = "8 GB/s", up_latency = "1 us" }))
    assert.equal(8, #berth.topology.dgx1 { bandwidth = "25 GB/s", pcie_bandwidth = "12 GB/s" })
    assert.equal(16, #berth.topology.fat_tree(4))
    assert.equal(16, #berth.topology.torus({ 4, 4 }))
    assert.equal(6,
      #berth.topology.two_level(2, 3, { between_bandwidth = "1 GB/s", between_latency = "10 us" }))
  end)

  it("give every device the options", function()
    local t = berth.topology.mesh(2, {
      bandwidth = "50 GB/s", latency = "5 us", memory = "16 GB", preset = "V100", type = "mine",
    })
    assert.equal(16e9, t:device(2).memory)
    assert.equal("mine", t:device(2).type)
    assert.equal("d1", t:device(2).name)
    assert.equal(50e9, t:link(1).bandwidth)
    assert.equal(16e9, berth.topology.mesh(2):link(1).bandwidth)
    assert.equal(2, berth.topology.two_level(2, 2):device(3).machine)
  end)

  it("refuse what is not an option", function()
    raises("berth.topology.mesh: unknown option 'bandwith' (legal: bandwidth, latency",
      berth.topology.mesh, 2, { bandwith = 1 })
    raises("berth.topology.mesh: n: expected how many, a number as in berth.topology.mesh(4), got nil", berth.topology.mesh)
    raises("n: 0 is out of range", berth.topology.ring, 0)
    raises("k", berth.topology.fat_tree, 3)
    raises("unknown option 'up_bandwidth'", berth.topology.star, 3, { up_bandwidth = 1 })
  end)

  it("list the presets", function()
    local names = {}
    for _, name in ipairs(berth.device_presets()) do names[name] = true end
    assert.is_true(names.V100 and names.A100)
  end)
end)

describe("devices()", function()
  it("gives each device once", function()
    local names = {}
    for d in berth.topology.mesh(3):devices() do names[#names + 1] = d.name end
    assert.same({ "d0", "d1", "d2" }, names)
  end)
end)
