-- The published loops of m-ETF and m-SCT step by step, and the linear program of favourite children against a plain tableau.
local berth = require "berth"
local lp = require "support.lp_reference"
local random_graph = require "support.random_graph"
local sct = require "support.sct_reference"
local topo = require "support.topo_reference"
local whole = require "support.whole_times"

local NETWORKS = { { variant = "baechi-tf", name = "queue" }, { variant = "baechi-pt", name = "parallel" } }

local function microseconds(times)
  local out = {}
  for i = 1, #times do out[i] = math.floor(times[i] * 1e6 + 0.5) end
  return out
end

-- ---- published loops ------------------------------------------------------------------------------------------------------

local shapes = {
  { title = "ample memory", graph = {} },
  { title = "edges of no time", graph = { free_edges = true } },
  { title = "long transfers", graph = { transfer = 60 } },
  { title = "tensors with several readers", graph = { shared = true } },
  { title = "several tensors for a pair", graph = { bundles = true } },
  { title = "tight memory", graph = { sizes = 9, parameters = 9, workspace = 5 }, tight = true },
  { title = "tight memory, several readers", graph = { sizes = 9, parameters = 9, workspace = 5, shared = true }, tight = true },
  { title = "groups", graph = { groups = 4 }, only = "queue" },
  { title = "groups, tight memory", graph = { groups = 3, sizes = 3, parameters = 20, workspace = 5 }, tight = true,
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
  return graph, whole.case(graph, memory, network), berth.topology.mesh(devices, { bandwidth = 1e6, memory = limit })
end

-- What the library answers must be what the loop does, op by op. Returns "placed", "stuck" or "crash".
local function compare(placer, seed, shape, network)
  local graph, case, t = problem(seed, shape, network.name)
  local opts = { variant = network.variant, quantum = 1e-6 }
  if placer == "m-sct" then opts.favourites, case.favourite = whole.favourites(seed, graph, 20 + seed % 4 * 27) end
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
          local shape = { graph = { groups = groups or nil, sizes = 9, parameters = 9, workspace = seed % 3 == 0 and 9 or 3 } }
          local graph, case, t = problem(seed, shape, network.name)
          local want = topo(case)
          local p, message = berth.place(assert(berth.graph(graph)), t, "m-topo", { variant = network.variant, quantum = 1e-6 })
          assert.same(want, p and p:devices(), ("%s, seed %d: %s"):format(network.variant, seed, tostring(message)))
          if want then placed = placed + 1 end
        end
        assert.is_true(placed >= 20, ("only %d of 60 were placed"):format(placed))
      end)
    end
  end
end)

-- Published cases whose m-SCT vectors are known (ids from 0, as in the cases): these favourites lead to them.
local golden = {
  { name = "C", p = { 9, 9, 8, 5, 6, 4 }, devices = 2, favourites = { false, 3, false, false, 6, false },
    edges = "0>2:2 1>2:3 1>3:1 4>5:3", vector = "0 1 1 0 0 0", queue = 24, parallel = 24, value = 18.2 },
  { name = "D", p = { 6, 7, 9, 8, 10, 6, 6, 10, 6 }, devices = 3, favourites = { 4, 5, 7, 8, 9, false, false, false, false },
    edges = "0>2:1 0>3:5 0>4:2 1>2:1 1>3:1 1>4:1 2>5:5 2>6:3 3>5:4 3>6:1 3>7:5 4>8:1",
    vector = "0 1 0 2 1 1 0 2 1", queue = 40, parallel = 30, value = 77 / 3 },
  { name = "A", p = { 1, 3, 3, 1, 3, 1 }, edges = "0>1:1 0>4:1 1>2:1 2>3:1 4>5:1 5>3:1", devices = 2, value = 8 },
  { name = "B", p = { 5, 4, 7, 4 }, edges = "0>2:1 1>2:3 1>3:1", devices = 2, value = 12.5 },
}

local function golden_graph(case)
  local description = { ops = {}, tensors = {} }
  for i, p in ipairs(case.p) do description.ops[i] = { seconds = p } end
  for u, v, c in case.edges:gmatch("(%d+)>(%d+):(%d+)") do
    table.insert(description.tensors, { from = u + 1, to = { v + 1 }, bytes = tonumber(c), resident = 0 })
  end
  return description
end

describe("m-SCT on the published cases", function()
  for _, case in ipairs(golden) do
    for _, network in ipairs(case.vector and NETWORKS or {}) do
      it(("gives the vector of case %s, %s"):format(case.name, network.variant), function()
        local t = berth.topology.mesh(case.devices, { bandwidth = 1 })
        local p = assert(berth.place(assert(berth.graph(golden_graph(case))), t, "m-sct",
          { variant = network.variant, quantum = 1, favourites = case.favourites }))
        local vector = {}
        for i = 1, #p do vector[i] = p[i] - 1 end
        assert.equal(case.vector, table.concat(vector, " "))
        assert.equal(case[network.name], p.estimate)
      end)
    end
  end
end)

-- ---- the linear program ---------------------------------------------------------------------------------------------------

local function relative(a, b) return math.abs(a - b) / math.max(math.abs(b), 1e-300) end

-- y and flow by edge of the instance. Every pair must be told once, with its c.
local function told_by(instance, found)
  local y, flow, at = {}, {}, {}
  for k, e in ipairs(instance.edges) do at[e.from .. ">" .. e.to] = k end
  for _, column in ipairs { "from", "to", "c", "y", "flow" } do assert.equal(#instance.edges, #found[column], column) end
  for i = 1, #found.from do
    local k = assert(at[found.from[i] .. ">" .. found.to[i]], "no such pair")
    assert.is_nil(y[k])
    assert.is_true(math.abs(found.c[i] - instance.edges[k].c) <= 1e-12 * instance.edges[k].c, "c")
    y[k], flow[k] = found.y[i], found.flow[i]
  end
  return y, flow
end

local function check_certificates(instance, found, what)
  local y, flow = told_by(instance, found)
  assert.equal("", table.concat(lp.matching_faults(instance, y), "\n"), what)
  assert.is_true(relative(lp.longest_path(instance, y), found.upper) < 1e-9, what .. ": the longest path is not `upper`")
  local proved, begun = lp.proved_by(instance, flow)
  assert.is_true(begun <= 1 + 1e-9, what .. ": more than one unit of flow")
  local plain = lp.longest_path(instance)
  assert.is_true(math.max(proved, plain) >= found.lower * (1 - 1e-9), what .. ": the flow does not prove `lower`")
end

-- Every child has the op among its parents, and one parent only.
local function check_children(instance, child, what)
  local taken, edge = {}, {}
  for _, e in ipairs(instance.edges) do edge[e.from .. ">" .. e.to] = true end
  for i = 1, #instance.p do
    local c = child[i]
    if c then
      assert.is_true(edge[i .. ">" .. c], what .. ": no consumer")
      assert.is_nil(taken[c], what .. ": two parents have the same favourite")
      taken[c] = i
    end
  end
  return taken
end

local function lp_case(seed)
  local description = random_graph.describe(seed, { n = 2 + seed % 7, fan_in = 4, zero = seed % 3 * 15 })
  local latency = seed % 3 * 0.5
  local t = berth.topology.mesh(3, { bandwidth = 100, latency = latency })
  return assert(berth.graph(description)), t, lp.instance(description, 100, latency), description
end

describe("the linear program of favourite children", function()
  for _, method in ipairs { "auto", "entropic", "interior" } do
    it("encloses the exact value, with certificates, by method " .. method, function()
      for seed = 1, 60 do
        local g, t, instance = lp_case(seed)
        local exact = lp.value(instance)
        for _, gap in ipairs { 0.05, 0.01, 1e-9 } do
          local found = assert(berth.favourites(g, t, { method = method, gap = gap }))
          local what = ("seed %d, gap %g"):format(seed, gap)
          assert.is_true(found.lower <= exact * (1 + 1e-9), what .. ": lower is above the value")
          assert.is_true(found.upper >= exact * (1 - 1e-9), what .. ": upper is below the value")
          check_certificates(instance, found, what)
          if found.reached then assert.is_true(found.upper - found.lower <= gap * found.lower * (1 + 1e-6) + 1e-15, what) end
          if method ~= "entropic" then assert.is_true(found.reached, what .. ": the gap was not reached") end
        end
      end
    end)
  end

  it("is never above the best matching, and equal to the published values", function()
    for _, case in ipairs(golden) do
      local description = golden_graph(case)
      local t = berth.topology.mesh(2, { bandwidth = 1 })
      local found = assert(berth.favourites(assert(berth.graph(description)), t, { gap = 1e-9 }))
      local instance = lp.instance(description, 1)
      assert.is_true(relative(found.upper, case.value) < 1e-6 and relative(found.lower, case.value) < 1e-6, case.name)
      assert.is_true(found.lower <= lp.best_matching(instance) * (1 + 1e-9))
    end
  end)

  it("rounds to a matching that is maximal, or to what tau lets in", function()
    for seed = 1, 40 do
      local g, t, instance = lp_case(seed)
      for _, tau in ipairs { 0, 0.1, 0.5, 1 } do
        local found = assert(berth.favourites(g, t, { tau = tau > 0 and tau or nil }))
        local what = ("seed %d, tau %g"):format(seed, tau)
        local parent = check_children(instance, found.child, what)
        local y = told_by(instance, found)
        for k, e in ipairs(instance.edges) do
          local chosen, blocked = found.child[e.from] == e.to, found.child[e.from] or parent[e.to]
          if tau == 0 then
            assert.is_truthy(blocked, what .. ": an edge could be added")
          else
            assert.is_true(not chosen or 1 - y[k] <= tau + 1e-12, what .. ": x is above tau")
            assert.is_truthy(blocked or 1 - y[k] > tau - 1e-12, what .. ": an edge with x <= tau is left out")
          end
        end
      end
    end
  end)
end)
