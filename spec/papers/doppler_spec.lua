-- DOPPLER's published simulator (FIFO, contention-free): its authors' answers, and a naive simulator for other placements.
local berth = require "berth"
local shared = require "support.shared"
local splitmix = require "support.splitmix"
local reference = require "support.fifo_reference"
local random_graph = require "support.random_graph"

local graphs = { "gdp_chain_mm_112nodes", "gdp_ffnn_192nodes", "gdp_transformer_block_215nodes",
  "gdp_full_transformer_layer_261nodes", "8gpu_transformer_block", "8gpu_full_transformer" }

local function wire(devices) return berth.topology.mesh(devices, { bandwidth = 1 }) end

describe("preset doppler", function()
  if not shared.present() then return pending("needs the test data, which is not here") end

  local cache = {}
  local function load(name)
    if not cache[name] then
      local g = assert(berth.load(shared.path("data/doppler/" .. name)))
      cache[name] = { given = g, description = splitmix.perturb(g) }
      cache[name].perturbed = assert(berth.graph(cache[name].description))
    end
    return cache[name]
  end

  for _, case in ipairs(shared.present() and shared.json("reference/doppler_fifo.json") or {}) do
    it(("gives the authors' makespan: %s, %d devices, %s"):format(case.graph, case.D, case.label), function()
      local g, placement = load(case.graph), {}
      for i, d in ipairs(case.assign) do placement[i] = d + 1 end
      local t = wire(case.D)
      local r = assert(berth.simulate(g.perturbed, t, placement, { preset = "doppler", bound = false }))
      assert.equal(case.makespan_perturbed, r.makespan)
      local given = assert(berth.simulate(g.given, t, placement, { preset = "doppler", bound = false })).makespan
      assert.is_true(math.abs(given / case.makespan - 1) <= 0.08, given .. " against " .. case.makespan)
    end)
  end

  for _, name in ipairs(graphs) do
    for _, devices in ipairs { 2, 4, 8 } do
      it(("agrees with a naive simulator on random placements: %s, %d devices"):format(name, devices), function()
        local g, t = load(name .. ".txt"), wire(devices)
        local run = berth.simulator(g.perturbed, t, { preset = "doppler" })
        for seed = 1, 5 do
          local placement = random_graph.placement(seed, #g.perturbed, devices)
          assert.equal(reference(g.description, placement), (run(placement)))
        end
      end)
    end
  end

  it("runs everything on one device without idling", function()
    local g = load("gdp_ffnn_192nodes.txt").given
    local sum, all = 0, {}
    for op in g:ops() do
      sum = sum + op.seconds
      all[op.id] = 1
    end
    assert.equal(sum, assert(berth.simulate(g, wire(4), all, { preset = "doppler" })).makespan)
  end)
end)
