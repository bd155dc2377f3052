-- Lower bounds on DOPPLER's graphs with perturbed costs: the published table of a study, and every schedule there is above them.
local berth = require "berth"
local shared = require "support.shared"
local splitmix = require "support.splitmix"

-- Units of 1e10. plain: longest path or share of the work; any: published bound of every schedule; best: best schedule known.
local CELLS = {
  { "chain_mm_112nodes", 4, plain = 1200.0710, any = 1200.0710, best = 1200.0710 },
  { "chain_mm_112nodes", 8, plain = 600.0355, any = 600.0355, best = 600.0705 },
  { "ffnn_192nodes", 4, plain = 56.6981, any = 56.6981, best = 56.6982 },
  { "ffnn_192nodes", 8, plain = 28.3491, any = 34.7895, best = 34.7924 },
  { "transformer_block_215nodes", 4, plain = 97.1718, any = 141.3670, best = 141.4212 },
  { "transformer_block_215nodes", 8, plain = 64.9613, any = 141.3712, best = 141.3888 },
  { "full_transformer_layer_261nodes", 4, plain = 97.2472, any = 115.7050, best = 115.7786 },
  { "full_transformer_layer_261nodes", 8, plain = 65.0385, any = 97.2710, best = 97.2844 },
  { "8gpu_transformer_block", 4, plain = 194.3096, any = 212.6966, best = 213.1442 },
  { "8gpu_transformer_block", 8, plain = 97.1548, any = 159.8349, best = 166.3884 },
  { "8gpu_full_transformer", 4, plain = 194.4688, any = 202.5476, best = 212.8249 },
  { "8gpu_full_transformer", 8, plain = 97.2344, any = 141.4508, best = 148.4620 },
}

describe("bounds of DOPPLER's graphs", function()
  if not shared.present() then return pending("needs the test data, which is not here") end

  local cache = {}
  local function graph(name)
    if not cache[name] then
      cache[name] = assert(berth.graph(splitmix.perturb(assert(berth.load(shared.path("data/doppler/" .. name .. ".txt"))))))
    end
    return cache[name]
  end

  local thorough = {}
  local function bound(name, devices)
    local key = name .. devices
    if not thorough[key] then
      local g, t = graph(name), berth.topology.mesh(devices, { bandwidth = 1 })
      thorough[key] = assert(berth.bounds(g, t, { thorough = true, gap = 0.01 }))
    end
    return thorough[key]
  end

  for _, cell in ipairs(CELLS) do
    it(("reach the published ones to 0.01 %%: %s on %d devices"):format(cell[1], cell[2]), function()
      local g, b = graph(cell[1]), bound(cell[1], cell[2])
      local work = 0
      for op in g:ops() do work = work + op.seconds end
      assert.near(cell.plain, math.max(b.critical_path, work / cell[2]) / 1e10, 1.1e-4)
      assert.is_true(b.best / 1e10 >= cell.any * (1 - 1e-4), b.best / 1e10)
      assert.is_true(b.best / 1e10 <= cell.best * (1 + 1e-6), b.best / 1e10)
      local cheap = berth.bounds(g, berth.topology.mesh(cell[2], { bandwidth = 1 }))
      assert.is_true(cheap.best <= b.best * (1 + 1e-12) and cheap.best / 1e10 >= cell.any * 0.95)
    end)
  end

  it("close what the study left open by a light chain: within 0.004 % of schedules that are known", function()
    assert.is_true(bound("chain_mm_112nodes", 8).best >= 600.0702e10)
    assert.is_true(bound("transformer_block_215nodes", 8).best >= 141.3886e10)
    assert.is_true(bound("ffnn_192nodes", 8).best >= 34.7910e10)
  end)

  it("are below every simulation, under every rule and discipline", function()
    local seen = 0
    for _, case in ipairs(shared.json("reference/doppler_fifo.json")) do
      if case.D > 2 then
        local name = case.graph:gsub("^gdp_", ""):gsub("%.txt$", "")
        local g, t, low = graph(name), berth.topology.mesh(case.D, { bandwidth = 1 }), bound(name, case.D).best * (1 - 1e-9)
        local placement = {}
        for i, d in ipairs(case.assign) do placement[i] = d + 1 end
        assert.is_true(case.makespan_perturbed >= low)
        for _, how in ipairs { { "light-first", "free" }, { "lifo", "duplex" } } do
          local r = assert(berth.simulate(g, t, placement, { dispatch = how[1], links = how[2], memory = "none", bound = false }))
          assert.is_true(r.makespan >= low)
        end
        seen = seen + 1
      end
    end
    assert.is_true(seen >= 20)
  end)
end)
