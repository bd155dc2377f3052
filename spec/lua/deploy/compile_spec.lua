-- Deployments compiled from Lua, beside a checker, with real numbers, and on threads.
local berth = require "berth"
local net = require "support.linear_net"
local runs = require "support.runs"
local errors = require "support.errors"
local merged = require "support.merged"
local strategies = require "support.strategies"

local find, uniform = strategies.find, strategies.uniform
local raised, refused, raises = errors.raised, errors.refused, errors.raises

-- x -> forward -> gradient of the weights -> update
local function layer()
  return assert(berth.graph {
    ops = { { name = "x", kind = "input", seconds = 0 },
      { name = "y", kind = "matmul", seconds = 1, params = 100, group = 1 },
      { name = "dw", seconds = 2, backward = true },
      { name = "up", seconds = 3, update = true, group = 1 } },
    tensors = { { from = "x", to = { "y", "dw" }, bytes = 60, batch = true },
      { from = "y", to = "dw", bytes = 30, batch = true },
      { from = "dw", to = "up", bytes = 100, gradient = true } },
  })
end

local function cluster(n, options)
  local t = merged({ bandwidth = 1e6, latency = 1e-6 }, options)
  return berth.topology.star(n, t)
end

local function random_strategy(d, rng, repeats)
  local s = { action = {} }
  for g = 1, #d:groups() do
    local legal = d:legal(g)
    s.action[g] = legal[rng:below(#legal)]
  end
  if repeats > 0 then
    s.duplicate = {}
    for op = 1, #d.graph do
      if rng:below(repeats) == 1 then table.insert(s.duplicate, op) end
    end
  end
  return s
end

-- Four devices in two groups, the last two faster.
local function four()
  local function group(preset) return { preset = preset, count = 2, bandwidth = "8 GB/s" } end
  return assert(berth.topology.groups { groups = { group "GTX1080Ti", group "V100" },
    between = "1 GB/s" })
end

local function pick(rng, list) return list[rng:below(#list)] end

local function random_options(rng, batch)
  return { batch = batch, op_groups = rng:below(6), uneven = true, duplicates = rng:below(2) == 1,
    positional = rng:below(3) == 1,
    gather = rng:below(2) == 1, bucket = pick(rng, { "none", "group", "bytes" }),
    split_gradients = rng:below(2) == 1,
    input_at_first = rng:below(4) == 1, free_auxiliary = rng:below(2) == 1,
      physics = pick(rng, { "physical", "compat" }) }
end

describe("berth.deploy.problem", function()
  it("reports op groups, sets, actions and what is legal", function()
    local d = assert(berth.deploy.problem(layer(), cluster(2), { batch = 6 }))
    assert.equal(
      "deploy: 2 op groups of 4 ops, batch 6, on 2 devices (3 sets, 5 actions), physical physics",
      tostring(d))
    assert.same({ { 1, 2 }, { 1 }, { 2 } }, d:sets())
    assert.same({ { 1, 1 }, 1 }, { d:device_groups() })
    assert.same({ ops = { 2, 3, 4 }, seconds = 6, reduces = true }, d:groups()[1])
    assert.is_false(d:groups()[2].reduces)
    assert.same({ 2, 1, 1, 1 }, d:group_of())
    assert.same({ set = 1, option = "ps", shares = "even", samples = { 3, 3 } }, d:actions()[1])
    assert.same({ set = 1, option = "split", shares = "even" }, d:actions()[3])
    assert.same({ 1, 2, 3, 4, 5 }, d:legal(1))
    -- one op cannot be distributed, and has no gradient for a server
    assert.same({ 2, 4, 5 }, d:legal(2))
    assert.same({ 1, 2, 4, 5 },
      berth.deploy.problem(d.graph, d.topology, { batch = 6, redundant = true }):legal(2))
    assert.equal(d:evaluate({ action = { 1, 2 } }).seconds,
      d:evaluate({ action = { 1, 1 } }).seconds)
    assert.same({ 1, 1, 1, 2, 2, 2 }, d:owners(1))
    assert.equal(0.5, d:op(2, 1, 3))
    assert.equal(3, d:op(4, 1, 3))
    assert.equal(6, d.batch)
    assert.equal("physical", d.physics)
    assert.equal("auto", d.cost.model.collective_algorithm)
    assert.is_nil(d.cost.model.collective_bandwidth)
    local measured = assert(berth.deploy.problem(d.graph, d.topology,
      { batch = 6, physics = "calibrated" }))
    assert.equal(1.9, measured.cost.model.collective_bandwidth)
    assert.equal(4, #d.graph)
    assert.same({ "input", "compute", "compute", "update" }, d.analysis.role)
  end)

  it("makes every union of device groups a set, and of many the likely ones", function()
    local t = four()
    local d = assert(berth.deploy.problem(layer(), t, { batch = 6 }))
    assert.same({ { 1, 2 }, { 3, 4 }, { 1, 2, 3, 4 }, { 1 }, { 2 }, { 3 }, { 4 } }, d:sets())
    d = assert(berth.deploy.problem(layer(), cluster(8),
      { batch = 6, device_groups = { 1, 2, 3, 4, 5, 6, 7, 7 } }))
    assert.same({ { 1 }, { 2 }, { 3 }, { 4 }, { 5 }, { 6 }, { 7, 8 }, { 1, 2, 3, 4, 5, 6, 7, 8 },
      { 7 }, { 8 } }, d:sets())
    d = assert(berth.deploy.problem(layer(), t, { batch = 6, sets = { { 4, 1 }, { 2 } } }))
    assert.same({ { 4, 1 }, { 2 } }, d:sets())
  end)

  it("goes by profiles at other batch sizes", function()
    local function timed(seconds)
      return assert(berth.graph { ops = { { kind = "input", seconds = seconds },
        { name = "y", seconds = seconds } },
        tensors = { { from = 1, to = 2, bytes = 8, batch = true } } })
    end
    local g, t = timed(10), cluster(2)
    local cost = assert(berth.cost(timed(4), t))
    local points = { { batch = 2, cost = cost }, { batch = 4, graph = timed(5) } }
    local d = assert(berth.deploy.problem(g, t, { batch = 8, points = points }))
    assert.near(3.5, d:op(2, 1, 1), 1e-12)
    assert.near(4.5, d:op(2, 1, 3), 1e-12)
    assert.near(7.5, d:op(2, 1, 6), 1e-12)
    assert.equal(0, d:op(2, 1, 0))
    raises("profile 2 has a batch of 4, as another one has", berth.deploy.problem, g, t,
      { batch = 8, points = { { batch = 4, cost = cost }, { batch = 4, cost = cost } } })
  end)

  it("has shares also where times are none, or far apart", function()
    local t =
      berth.topology { devices = { { name = "one", type = "a" }, { name = "two", type = "b" } },
      links = { { "one", "two", bandwidth = 1 } } }
    for _, times in ipairs { { 0, 1 }, { 1e-310, 1 }, { 1e300, 1e-300 }, { 0, 0 } } do
      local g = assert(berth.graph { types = { "a", "b" },
        ops = { { kind = "input", seconds = times }, { seconds = times } },
        tensors = { { from = 1, to = 2, bytes = 8, batch = true } } })
      local d = assert(berth.deploy.problem(g, t, { batch = 7, sets = { { 1, 2 }, { 2 } } }))
      local shares = d:samples(1, "speed")
      assert.equal(7, shares[1] + shares[2])
      assert.is_true(shares[1] >= 0 and shares[2] >= 0)
      assert.is_true(times[1] ~= 1e300 or shares[2] == 7)
    end
  end)

  it("handles ops that cannot run everywhere", function()
    local g = assert(berth.graph { types = { "a", "b" },
      ops = { { kind = "input", seconds = 0 }, { seconds = { 1, math.huge } },
      { seconds = 1, pin = 2 }, { seconds = 1 } },
        tensors = { { from = 1, to = { 2, 3, 4 }, bytes = 8, batch = true } } })
    local t =
      berth.topology { devices = { { name = "one", type = "a" }, { name = "two", type = "b" } },
      links = { { "one", "two", bandwidth = 1 } } }
    local d = assert(berth.deploy.problem(g, t, { batch = 6 }))
    local sets, actions, of = d:sets(), d:actions(), d:group_of()
    local function where(op)
      local list = {}
      for k, a in ipairs(d:legal(of[op])) do
        list[k] = table.concat(sets[actions[a].set], "+") .. actions[a].option
      end
      return table.concat(list, " ")
    end
    assert.equal("1ps", where(2))
    assert.equal("2ps", where(3))
    raises('op group 1: action 3 (PS): op 2 cannot run on device "two"', d.compile, d,
      uniform(d, find(d, 2, "ps")))
  end)

  it("refuses what it does not understand", function()
    local g, t = layer(), cluster(2)
    raises("batch: is missing", berth.deploy.problem, g, t)
    raises("unknown option 'batches'", berth.deploy.problem, g, t, { batches = 6 })
    raises("physics", berth.deploy.problem, g, t, { batch = 6, physics = "quantum" })
    raises("sets[1][1]: there is no device 3", berth.deploy.problem, g, t,
      { batch = 6, sets = { { 3 } } })
    raises("device set 2 has no devices", berth.deploy.problem, g, t,
      { batch = 6, sets = { { 1 }, {} } })
    raises("sets[2]: expected an array", berth.deploy.problem, g, t,
      { batch = 6, sets = { { 1 }, 2 } })
    local function problem(given) return raised(berth.deploy.problem, g, t, given) end
    assert.matches("device_groups: has 1 entries, expected 2",
      problem { batch = 6, device_groups = { 1 } })
    assert.matches("sim: dispatch: is what `order` says",
      problem { batch = 6, sim = { dispatch = "lifo" } })
    assert.matches("order task", problem { batch = 6, physics = "compat", order = "rank" })
    refused("unsupported", "order ready has no collectives",
      berth.deploy.problem(g, t, { batch = 6, sim = { order = "ready", links = "free" } }))
    local own = assert(berth.cost(g, t, { transfer = function() return 1 end }))
    refused("unsupported", "prices transfers by a function",
      berth.deploy.problem(own, { batch = 6 }))
    local d = assert(berth.deploy.problem(g, t, { batch = 6 }))
    raises("action: has 1 entries, expected 2", d.compile, d, { action = { 1 } })
    raises("action: is missing", d.compile, d, {})
    raises("sfb: 'all' is none of: none, local, cut", d.compile, d,
      { action = { 1, 1 }, sfb = "all" })
    d:close()
    assert.equal("deploy: closed", tostring(d))
    raises("is closed", d.groups, d)
  end)
end)

describe("compiled graphs", function()
  it("can be simulated, saved and read", function()
    local d = assert(berth.deploy.problem(layer(), cluster(2), { batch = 6 }))
    local c = assert(d:compile(uniform(d, find(d, 2, "allreduce"))))
    assert.equal(8, #c.graph)
    assert.equal("y@1", c.graph:op(4).name)
    assert.equal("matmul", c.graph:op(4).kind)
    assert.same({ 1, 1, 2, 2, 3, 3, 4, 4 }, c.origin)
    assert.same({ 1, 2, 1, 2, 1, 2, 1, 2 }, c.devices)
    assert.same({ 3, 3, 3, 3, 3, 3, 6, 6 }, c.samples)
    assert.same({ 1, 1, 2, 2, 3, 3 }, c.source)
    local r = assert(berth.simulate(c.cost, c.placement, c.simulation))
    -- a ring of 100 B at 1 MB/s, and twice two microseconds of latency
    assert.near(1.5 + 3 + 100 / 1e6 + 4e-6, r.makespan, 1e-12)
    local again = assert(berth.parse(c.graph:to_string()))
    local judged = assert(berth.simulate(again, d.topology, c.placement,
      { cost = d.cost.model, links = "route" }))
    assert.near(r.makespan, judged.makespan, 1e-12)
    assert.matches('"device"', c.placement:to_string())
  end)

  it("give half the samples half the time of a kernel, and its launch", function()
    local g = layer()
    local ops = { dtype = "bf16", ops = {}, tensors = {} }
    for op in g:ops() do ops.ops[op.id] = op end
    for tensor in g:tensors() do ops.tensors[tensor.id] = tensor end
    ops.ops[2].seconds, ops.ops[2].flop = nil, 2 * 6144 * 1024 * 1024
    ops.ops[2].shape = { m = 6144, n = 1024, k = 1024 }
    local t = cluster(2, { preset = "H100" })
    local d = assert(berth.deploy.problem(assert(berth.graph(ops)), t, { batch = 6 }))
    local c = assert(d:compile(uniform(d, find(d, 2, "allreduce"))))
    local k = berth.kernels("H100", "bf16")
    local whole, launch = k:gemm(6144, 1024, 1024), 2 * k:elementwise(1) - k:elementwise(2)
    assert.near(launch + (whole - launch) / 2, c.cost:op(3, 1), 1e-15)
  end)

  it("names what is added", function()
    local d = assert(berth.deploy.problem(layer(), cluster(2), { batch = 6 }))
    local c = assert(d:compile(uniform(d, find(d, 2, "ps"))))
    assert.equal("sum dw@0", c.graph:op(9).name)
    assert.equal("sum", c.graph:op(9).kind)
    assert.equal("sum", c.part[9])
    c = assert(d:compile(uniform(d, find(d, 1, "ps"))))
    assert.equal("y", c.graph:op(2).name)
  end)

  it("give the serial result with real numbers", function()
    local met = {}
    for seed = 1, runs(50, 150) do
      local rng = berth.rng(seed)
      local batch = rng:below(12)
      local x = net.new(rng, batch, rng:below(4))
      local g = net.graph(x, berth)
      local given = random_options(rng, batch)
      local d = assert(berth.deploy.problem(g, four(), given))
      local serial = net.serial(x, g)
      for _ = 1, 3 do
        local s = random_strategy(d, rng, rng:below(2) == 1 and 3 or 0)
        local c = assert(d:compile(s))
        for _, part in ipairs(c.part) do met[part] = true end
        for k = 1, c.graph.n_collectives do met[c.graph:collective(k).kind] = true end
        local updated = net.step(x, g, d, s, c)
        assert.is_true(#updated >= x.n)
        for _, u in ipairs(updated) do
          for i, row in ipairs(serial[u.op]) do
            for j, want in ipairs(row) do assert.near(want, u.value[i][j], 1e-9) end
          end
        end
      end
    end
    for _, what in ipairs { "replica", "split", "concat", "sum", "bucket", "allreduce",
      "allgather" } do
      assert.is_true(met[what], what)
    end
  end)
end)
