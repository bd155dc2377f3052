-- The enumerative optimizer on DOPPLER's graphs, beside critical path.
local berth = require "berth"
local shared = require "support.shared"
local splitmix = require "support.splitmix"

local function load(name)
  return assert(berth.load(shared.path("data/doppler/" .. name .. ".txt")))
end

local function run_lengths(sets)
  local lengths, last = {}, nil
  for _, set in ipairs(sets) do
    if set ~= last then lengths[#lengths + 1] = 0 end
    lengths[#lengths], last = lengths[#lengths] + 1, set
  end
  return lengths
end

describe("meta-ops", function()
  it("are numbered in the order of ids", function()
    local g = berth.graph { ops = { { seconds = 1 }, { seconds = 1 }, { seconds = 1.005 },
      { seconds = 1 } },
      tensors = { { from = 1, to = 4, bytes = 1 } } }
    assert.same({ 1, 1, 2, 3 }, (g:meta_ops()))
    assert.same({ 1, 1, 1, 2 }, (g:meta_ops { tolerance = 0.01 }))
    assert.equal(4, select(2, g:meta_ops { comp = { 1, 2, 3, 4 } }))
  end)

  it("refuses what it cannot use", function()
    local g = berth.graph { ops = { { seconds = 1 } } }
    assert.error_matches(function() g:meta_ops { tolerance = 1 } end,
      "meta%-ops: tolerance 1 is not in 0..1")
    assert.error_matches(function() g:meta_ops { comp = { 1, 2 } } end, "comp")
    assert.error_matches(function() g:meta_ops { comm = {} } end, "unknown option 'comm'")
  end)
end)

describe("placer enumerative on any graph", function()
  it("takes what two ops read for no partial product", function()
    local g = berth.graph { ops = { { seconds = 1 }, { seconds = 1 }, { seconds = 1 },
      { seconds = 1 } },
      tensors = { { from = 1, to = { 4, 3 }, bytes = 9 }, { from = 2, to = 3, bytes = 9 } } }
    local t = berth.topology.mesh(2, { bandwidth = 1, latency = 0 })
    local p = assert(berth.place(g, t, "enumerative", { variant = "blocks" }))
    assert.is_true(p[1] ~= p[2])
  end)

  local variants = berth.placers "enumerative"

  local function places(g, t, check)
    for _, variant in ipairs(variants) do
      local p = assert(berth.place(g, t, "enumerative", { variant = variant }))
      assert.is_nil(assert(berth.simulate(g, t, p)).oom)
      check(p:devices(), variant)
    end
  end

  -- Many alike ops that one device of many can run: a round for each, not a look at all devices.
  it("does not wait for devices that cannot run a meta-op", function()
    local ops, devices = {}, {}
    for i = 1, 4000 do ops[i] = { seconds = { 1, math.huge } } end
    for d = 1, 64 do devices[d] = { type = d == 5 and "gpu" or "cpu" } end
    local g = assert(berth.graph { types = { "gpu", "cpu" }, ops = ops })
    places(g, berth.topology { devices = devices, links = {} }, function(at)
      for i = 1, #at do assert.equal(5, at[i]) end
    end)
  end)
end)

describe("placer enumerative", function()
  if not shared.present() then return pending("needs the test data, which is not here") end

  it("finds the operators of chain and ffnn", function()
    assert.same({ 16, 4, 16, 8, 16, 8, 8 }, run_lengths((load("gdp_chain_mm_112nodes"):meta_ops())))
    assert.same({ 16, 16, 16, 16, 4, 16, 16, 16, 16, 16, 16, 16 },
      run_lengths((load("gdp_ffnn_192nodes"):meta_ops())))
  end)

  it("spreads each operator evenly", function()
    local g = load("gdp_chain_mm_112nodes")
    local sets, n = g:meta_ops()
    local at =
      assert(berth.place(g, berth.topology.mesh(4, { bandwidth = 1 }), "enumerative")):devices()
    local count, size = {}, {}
    for set = 1, n do count[set], size[set] = { 0, 0, 0, 0 }, 0 end
    for op, set in ipairs(sets) do
      count[set][at[op]] = count[set][at[op]] + 1
      size[set] = size[set] + 1
    end
    for set = 1, n do
      for d = 1, 4 do assert.equal(size[set] / 4, count[set][d]) end
    end
  end)

  -- Makespans in units of the published files, placed by the costs as given, run with the perturbed
  -- ones.
  local cells = {
    { "gdp_chain_mm_112nodes", 4, 1600.03, 1200.07 },
    { "gdp_chain_mm_112nodes", 8, 1100.11, 800.07 },
    { "gdp_ffnn_192nodes", 4, 84.18, 56.70 }, { "gdp_ffnn_192nodes", 8, 55.84, 42.10 },
  }
  for _, cell in ipairs(cells) do
    it(("gives the same answers on every machine: %s, %d devices"):format(cell[1], cell[2]),
      function()
      local g, t = load(cell[1]), berth.topology.mesh(cell[2], { bandwidth = 1 })
      local perturbed = assert(berth.graph(splitmix.perturb(g)))
      for i, variant in ipairs { "", "blocks" } do
        local p = assert(berth.place(g, t, "enumerative", { variant = variant }))
        local r =
          assert(berth.simulate(perturbed, t, p:devices(), { preset = "doppler", bound = false }))
        assert.near(cell[2 + i], r.makespan / 1e10, 0.006)
      end
    end)
  end
end)
