-- The value of a strategy, local costs, and repeated ops.
local berth = require "berth"
local raises = require("support.errors").raises
local merged = require "support.merged"
local strategies = require "support.strategies"

local find, uniform = strategies.find, strategies.uniform

--- A chain of layers with weights: from op 5 (l - 1) + 2 variable, forward, gradient of weights, of
-- the input, update of layer l.
local function training(layers)
  local ops, tensors = { { name = "input", kind = "input", seconds = 0 } }, {}
  local function op(name, seconds, flags)
    local o = merged({ name = name, seconds = seconds }, flags)
    ops[#ops + 1] = o
  end
  for l, x in ipairs(layers) do
    op("v" .. l, 0, { kind = "Variable", params = x.weights })
    op("f" .. l, x.seconds)
    op("w" .. l, x.seconds, { backward = true })
    op("b" .. l, x.seconds, { backward = true })
    op("u" .. l, x.seconds / 100, { update = true })
  end
  local function tensor(from, to, bytes, flags)
    if #to > 0 then
      local t = merged({ from = from, to = to, bytes = bytes }, flags)
      tensors[#tensors + 1] = t
    end
  end
  local n = #layers
  for l, x in ipairs(layers) do
    tensor("v" .. l, { "f" .. l, "b" .. l, "u" .. l }, x.weights)
    local before = layers[l - 1]
    tensor(before and "f" .. l - 1 or "input", { "f" .. l, "w" .. l }, (before or x).bytes,
      { batch = true })
    tensor("w" .. l, { "u" .. l }, x.weights, { gradient = true })
    tensor(l == n and "f" .. n or "b" .. l + 1, { "w" .. l, "b" .. l }, x.bytes, { batch = true })
  end
  return assert(berth.graph { ops = ops, tensors = tensors })
end

local function problem(layers, o)
  local t = berth.topology.star(o.devices or 2,
    { bandwidth = o.bandwidth or "1 GB/s", latency = 0, memory = o.memory })
  return assert(berth.deploy.problem(training(layers), t,
    { batch = o.batch or 8, op_groups = o.op_groups or 4 }))
end

local layers = { { seconds = 2e-3, bytes = 1e6, weights = 4e6 },
  { seconds = 1e-3, bytes = 2e6, weights = 1e7 } }

describe("the value of a strategy", function()
  it("is the sum of all ops on one device", function()
    local d = problem(layers, {})
    local s = uniform(d, find(d, 1, "ps"))
    local v = assert(d:evaluate(s))
    assert.near(3 * 3e-3 + 3e-5, v.seconds, 1e-12)
    assert.equal(0, v.over)
    assert.is_nil(v.worst)
    assert.equal(2, #v.peaks)
    assert.equal(math.max(v.peaks[1], v.peaks[2]), v.peak)
    assert.is_true(v.peak >= 1.4e7)
  end)

  it("reports which device lacks memory", function()
    local d = problem(layers, { memory = "10 MB" })
    local v = assert(d:evaluate(uniform(d, find(d, 2, "allreduce"))))
    assert.equal(2, v.over)
    assert.equal(v.peaks[v.worst] - 1e7, v.shortfall)
  end)

  it("is not below the bound where communication ops take no turn", function()
    local ops, edges = { { kind = "Placeholder", seconds = 0 } }, {}
    for v = 2, 4 do
      ops[v], edges[v - 1] = { kind = "Relu", seconds = 1, communication = true }, { 1, v, 4 }
    end
    local g = assert(berth.graph { ops = ops, edges = edges })
    local d =
      assert(berth.deploy.problem(g, berth.topology.mesh(2), { batch = 8, sets = { { 1 } } }))
    local v = d:evaluate(uniform(d, 1))
    assert.equal(1, v.seconds)
    assert.is_true(v.seconds >= d:bound())
  end)

  it("comes with what each op and device did", function()
    local d = problem(layers, {})
    local s = uniform(d, find(d, 2, "allreduce"))
    local f, v = assert(d:feedback(s)), d:evaluate(s)
    assert.equal(v.seconds, f.seconds)
    assert.equal(11, #f.makespan)
    assert.equal(#d:groups(), #f.group_makespan)
    -- the first forward op: 2 ms, half of the batch on each device
    assert.near(1e-3, f.makespan[3], 1e-12)
    for k = 1, 2 do assert.is_true(f.busy[k] > 0 and f.busy[k] <= 1) end
    for _, idle in ipairs(f.idle_after) do assert.is_true(idle >= 0) end
    assert.same(v.peaks, f.peaks)
    local link = 0
    for _, share in ipairs(f.link_busy) do link = math.max(link, share) end
    assert.is_true(link > 0 and link <= 1)
  end)
end)

describe("local costs", function()
  it("are time, synchronisation and what crosses", function()
    local d = problem({ { seconds = 8, bytes = 100, weights = 4e6 } },
      { bandwidth = "1 MB/s", op_groups = 1 })
    local one, both = find(d, 1, "ps"), find(d, 2, "allreduce")
    local costs = assert(d:local_costs(uniform(d, one), 1))
    assert.equal(#d:actions(), #costs)
    assert.near(24.08, costs[one], 1e-9)
    assert.near(12.08 + 4, costs[both], 1e-9) -- 2 (2 - 1) / 2 of 4 MB, at 1 MB/s
    assert.near(12.08 + 8, costs[find(d, 2, "ps")], 1e-9)
  end)
end)

describe("repeated ops", function()
  local thin = { { seconds = 40e-6, bytes = 6 * 1024 * 4, weights = 4 * 2 ^ 20 } }

  it("are gradients whose factors are cheaper than their AllReduce", function()
    local d = problem(thin, { batch = 6, bandwidth = "2.81 GB/s", op_groups = 1 })
    local s = uniform(d, find(d, 2, "allreduce"))
    for _, rule in ipairs { "local", "cut" } do assert.same({ 4 }, d:repeated(s, rule)) end
    assert.same({}, d:repeated(s, "none"))
    local without, with = d:evaluate(s), d:evaluate { action = s.action, sfb = "local" }
    assert.is_true(with.seconds < without.seconds)
    assert.equal(1, with.repeated)
    assert.equal(with.seconds, d:evaluate({ action = s.action, duplicate = { 4 } }).seconds)
    assert.same(d:compile({ action = s.action, duplicate = { 4 } }).part,
      d:compile({ action = s.action, sfb = "local" }).part)
    assert.is_true(#d:compile(s).part ~= #d:compile({ action = s.action, sfb = "local" }).part)
    local before = d:evaluations()
    local kept, v, evaluations = d:guard { action = s.action, duplicate = { 4 } }
    assert.equal(3, evaluations) -- with it, without any, without this layer
    assert.equal(before + 3, d:evaluations())
    assert.same({ 4 }, kept.duplicate)
    assert.equal(with.seconds, v.seconds)
  end)
end)

describe("strategies to begin with", function()
  it("have the known names", function()
    local d = problem(layers, { devices = 3 })
    local seen = {}
    for _, b in ipairs(assert(d:baselines())) do
      seen[b.name] = b
      assert.equal(b.seconds, d:evaluate(b).seconds)
    end
    for _, name in ipairs { "dp", "dp-ps", "model-parallel", "single", "heterog", "chain",
      "uniform-1" } do
      assert.truthy(seen[name], name)
    end
    assert.is_true(seen.heterog.seconds <= math.min(seen.dp.seconds, seen.single.seconds))
  end)
end)

describe("a placement", function()
  it("is a strategy where its op groups are on one device each", function()
    local d = problem({ { seconds = 8, bytes = 100, weights = 4 }, { seconds = 4, bytes = 100,
      weights = 4 } }, { op_groups = 2 })
    local group, devices = d:group_of(), {}
    for op, g in ipairs(group) do devices[op] = g end
    local s = assert(d:from_placement(devices))
    for g, a in ipairs(s.action) do assert.same({ g }, d:sets()[d:actions()[a].set]) end
    local c = assert(d:compile(s))
    for op, origin in ipairs(c.origin) do
      -- the input is where it is read
      if c.part[op] == "replica" and origin > 1 then assert.equal(devices[origin], c.devices[op]) end
    end
    assert.same(s, d:from_placement(berth.placement(devices)))
    raises("placement", d.from_placement, d, { 1 })
  end)

  it("is no strategy where no set is its device alone", function()
    local g = assert(berth.graph { ops = { { kind = "input", seconds = 1 } } })
    local d = assert(berth.deploy.problem(g, berth.topology.mesh(2), { batch = 1,
      sets = { { 1 } } }))
    local none, message, code = d:from_placement { 2 }
    assert.same({ "nil", "infeasible" }, { tostring(none), code })
    assert.equal('op group 1 has no action that puts it on device "d1" alone', message)
  end)
end)

describe("a proof that nothing fits", function()
  it("names the op and what is missing, or there is none", function()
    local g = assert(berth.graph { ops = { { kind = "input", seconds = 0 },
      { name = "w", seconds = 1, params = 10 } }, edges = { { 1, 2, 1 } } })
    local function proof(memory)
      return assert(berth.deploy.problem(g, berth.topology.mesh(2, { memory = memory }),
        { batch = 1, sim = { param_multiple = 2 } })):prove_infeasible()
    end
    assert.is_nil(proof(20))
    local message, why = proof(15)
    assert.equal('nothing fits: parameters of op 2 "w" need 20 B, no device that can run it has '
      .. "more than 15 B: 5 B are missing", message)
    assert.same({ op = 2, device = 1, missing = 5 }, why)
  end)
end)

describe("the chain", function()
  it("fits where only the same share of every memory is enough", function()
    local g = berth.deploy.models.random { seed = 9, layers = 15 }
    local function chain(memory)
      local t = berth.topology.mesh(4, { preset = "V100", memory = memory })
      local d = assert(berth.deploy.problem(g, t, { batch = 16, op_groups = 12 }))
      local by = {}
      for _, b in ipairs(d:baselines()) do by[b.name] = b end
      return by.chain, by.single
    end
    local _, single = chain "1 PB"
    -- filled device by device, or by time, one of them is 92 MB short
    local found = chain(1.15 * single.peak / 4)
    assert.equal(0, found.over)
    assert.equal(0, found.shortfall)
  end)
end)

describe("features", function()
  it("are arrays with the published columns", function()
    local d = problem(layers, { devices = 3, op_groups = 2 })
    local s = uniform(d, find(d, 3, "allreduce"))
    local f = assert(d:features(s, { decided = 1, deciding = 2 }))
    assert.same({ f.groups, 13 }, f.op.shape)
    assert.same({ f.device_groups, 5 }, f.device.shape)
    assert.same({ f.edges, 1 }, f.edge.shape)
    assert.same({ f.groups * f.device_groups, 5 }, f.place.shape)
    local row = f.op:totable()
    assert.equal(1, row[1][8])            -- AllReduce
    assert.equal(1, row[1][12])           -- decided
    assert.equal(1, row[2][13])           -- being decided
    assert.equal(f.seconds, d:evaluate(s).seconds)
    assert.is_nil(d:features(s, { feedback = false, scale = "log" }).seconds)
  end)

  it("refuse what makes no sense", function()
    local d = problem(layers, {})
    local s = uniform(d, 1)
    raises("unknown", d.features, d, s, { what = 1 })
    raises("scale", d.features, d, s, { scale = "x" })
    raises("group", d.local_costs, d, s, 99)
    raises("calls", d.guard, d, s, { calls = 1 })
  end)
end)
