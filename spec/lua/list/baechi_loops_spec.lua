-- The published loops of m-ETF, m-SCT and m-TOPO, step by step, on random graphs.
local berth = require "berth"
local sct = require "support.sct_reference"
local topo = require "support.topo_reference"
local whole = require "support.whole_times"

local NETWORKS = { { variant = "baechi-tf", name = "queue" },
  { variant = "baechi-pt", name = "parallel" } }

local function microseconds(times)
  local out = {}
  for i = 1, #times do out[i] = math.floor(times[i] * 1e6 + 0.5) end
  return out
end

local shapes = {
  { title = "ample memory", graph = {} },
  { title = "edges of no time", graph = { free_edges = true } },
  { title = "long transfers", graph = { transfer = 60 } },
  { title = "tensors with several readers", graph = { shared = true } },
  { title = "several tensors for a pair", graph = { bundles = true } },
  { title = "tight memory", graph = { sizes = 9, parameters = 9, workspace = 5 }, tight = true },
  { title = "tight memory, several readers",
    graph = { sizes = 9, parameters = 9, workspace = 5, shared = true }, tight = true },
  { title = "groups", graph = { groups = 4 }, only = "queue" },
  { title = "groups, tight memory",
    graph = { groups = 3, sizes = 3, parameters = 20, workspace = 5 }, tight = true,
    only = "queue", more = 0.45 },
}

local function limit_of(graph, devices, network, seed, more)
  local total, largest = whole.sizes(graph)
  -- the queue's account gets memory back, the other never does
  local share = (network == "queue" and 0.3 or 0.85) + seed % 5 * 0.12
  return math.floor((share + (more or 0)) * total / devices) + largest
end

local function problem(seed, shape, network)
  local opts, devices = { n = 5 + seed * 7 % 36 }, 2 + seed % 3
  for k, v in pairs(shape.graph) do opts[k] = v end
  local graph, memory = whole.graph(seed, opts), {}
  local limit = shape.tight and limit_of(graph, devices, network, seed, shape.more) or math.huge
  for d = 1, devices do memory[d] = limit end
  return graph, whole.case(graph, memory, network),
    berth.topology.mesh(devices, { bandwidth = 1e6, memory = limit })
end

-- What the library answers must be what the loop does, op by op. Returns "placed", "stuck" or
-- "crash".
local function compare(placer, seed, shape, network)
  local graph, case, t = problem(seed, shape, network.name)
  local opts = { variant = network.variant, quantum = 1e-6 }
  if placer == "m-sct" then
    opts.favourites, case.favourite = whole.favourites(seed, graph, 20 + seed % 4 * 27)
  end
  local want = sct.place(case)
  local p, message, code = berth.place(assert(berth.graph(graph)), t, placer, opts)
  local what = ("%s, seed %d"):format(network.variant, seed)
  if want.crash then return "crash" end
  if want.stuck then
    assert.is_nil(p, what .. ": the published program is stuck")
    assert.equal("infeasible", code, message)
    return "stuck"
  end
  assert.is_truthy(p, what .. ": " .. tostring(message))
  assert.same(want.device, p:devices(), what)
  assert.same(want.start, microseconds(p.start), what)
  assert.equal(want.makespan, microseconds({ p.estimate })[1], what)
  return "placed"
end

for _, placer in ipairs { "m-etf", "m-sct" } do
  describe(placer .. " as published, step by step:", function()
    for _, network in ipairs(NETWORKS) do
      for _, shape in ipairs(shapes) do
        if not shape.only or shape.only == network.name then
          it(("%s, %s"):format(network.variant, shape.title), function()
            local count = { placed = 0, stuck = 0, crash = 0 }
            for seed = 1, 24 do
              local outcome = compare(placer, seed, shape, network)
              count[outcome] = count[outcome] + 1
            end
            assert.is_true(count.placed >= 12, ("only %d of 24 were placed"):format(count.placed))
          end)
        end
      end
    end
  end)
end

describe("m-TOPO as published:", function()
  for _, network in ipairs(NETWORKS) do
    for _, groups in ipairs(network.name == "queue" and { false, 4 } or { false }) do
      it(network.variant .. (groups and ", groups" or ""), function()
        local placed = 0
        for seed = 1, 60 do
          local shape = { graph = { groups = groups or nil, sizes = 9, parameters = 9,
            workspace = seed % 3 == 0 and 9 or 3 } }
          local graph, case, t = problem(seed, shape, network.name)
          local want = topo(case)
          local p, message = berth.place(assert(berth.graph(graph)), t, "m-topo",
            { variant = network.variant, quantum = 1e-6 })
          assert.same(want, p and p:devices(),
            ("%s, seed %d: %s"):format(network.variant, seed, tostring(message)))
          if want then placed = placed + 1 end
        end
        assert.is_true(placed >= 20, ("only %d of 60 were placed"):format(placed))
      end)
    end
  end
end)
