-- TAG by hand: which tensors have the batch and which ops must agree (section 3), profiles and AllReduce (2), the simulator (7),
-- sufficient factor broadcasting (10). Compiled graphs: tag_compile_spec; search and plans: tag_search_spec.
local berth = require "berth"
local tag_analysis = require "support.tag_analysis"

local us = 1e-6

--- Ops by kind, edges by { from, to, ... }: each maker has one tensor, which all these read.
local function network(kinds, reads)
  local ops, tensors = {}, {}
  for i, kind in ipairs(kinds) do ops[i] = { kind = kind } end
  for i, read in ipairs(reads) do
    local to = {}
    for k = 2, #read do to[k - 1] = read[k] end
    tensors[i] = { from = read[1], to = to, bytes = 4 }
  end
  return assert(berth.graph { ops = ops, tensors = tensors })
end

local function bases(a) return table.concat(a.base, " ") end

describe("TAG's rules for the batch", function()
  -- "bare" has lost the batch: a kind that nobody knows, which descends from the input. 1 input, 2 bare, 3 the kind, 4 a reader.
  local function flag_of(kind, order)
    local reads = { { 1, 2 } }
    for _, from in ipairs(order) do reads[#reads + 1] = { from, 3 } end
    reads[#reads + 1] = { 3, 4 }
    local a = berth.deploy.analyse(network({ "Placeholder", "Frobnicate", kind, "Sink" }, reads), { rules = {
      { kind = "Placeholder", role = "input", batch = "always", outputs = "all" } } })
    return a.batch[#reads]
  end
  local batched, bare = 1, 2

  for _, kind in ipairs { "Conv2D", "MaxPool", "Conv2DBackpropInput", "BiasAdd" } do
    it(kind .. " always has it", function()
      assert.is_true(flag_of(kind, { batched }))
      assert.is_true(flag_of(kind, { bare }))
    end)
  end

  for _, kind in ipairs { "Cast", "ZerosLike", "GreaterEqual", "NotEqual", "Neg", "Log1p", "Exp", "Rsqrt", "Slice",
    "StridedSlice", "Squeeze", "Identity", "Sigmoid", "Relu", "LeakyRelu", "Tanh", "TanhGrad", "MatMul" } do
    it(kind .. " has it as its first input", function()
      assert.is_true(flag_of(kind, { batched, bare }))
      assert.is_false(flag_of(kind, { bare, batched }))
    end)
  end

  for _, kind in ipairs { "Add", "Sub", "Mul", "RealDiv", "FloorDiv", "FloorMod" } do
    it(kind .. " has it if either input does", function()
      assert.is_true(flag_of(kind, { batched, bare }))
      assert.is_true(flag_of(kind, { bare, batched }))
      assert.is_false(flag_of(kind, { bare }))
    end)
  end

  it("a product with its first operand transposed, and a kind that nobody knows, do not", function()
    assert.is_false(flag_of("MatMul:transpose_a", { batched, batched }))
    assert.is_false(flag_of("Frobnicate", { batched }))
  end)

  it("inputs have it", function()
    for _, kind in ipairs { "Placeholder", "IteratorGetNext" } do
      local a = berth.deploy.analyse(network({ kind, "Sink" }, { { 1, 2 } }))
      assert.same({ true }, a.batch)
      assert.same({ "input", "compute" }, a.role)
    end
  end)

  it("only the first output has it", function()
    local a = berth.deploy.analyse(network({ "Placeholder", "Relu", "Sink", "Sink" }, { { 1, 2 }, { 2, 3 }, { 2, 4 } }))
    assert.same({ true, true, false }, a.batch)
  end)

  it("what an optimiser step reads is summed, what a sparse one reads is concatenated", function()
    local cases = { { "ApplyGradientDescent", false, "update" }, { "ApplyAdam", false, "update" },
      { "ScatterSub", true, "scatter" } }
    for _, case in ipairs(cases) do
      -- 1 input -> 3 Relu (has the batch), 4 bare (has not); 5 reads the variable 2 and both
      local g = network({ "Placeholder", "VariableV2", "Relu", "Frobnicate", case[1] },
        { { 1, 3, 4 }, { 2, 5 }, { 3, 5 }, { 4, 5 } })
      local a = berth.deploy.analyse(g)
      assert.same({ true, false, case[2], case[2] }, a.batch)
      assert.same({ false, false, true, true }, a.gradient)
      assert.same({ "input", "variable", "compute", "compute", case[3] }, a.role)
      assert.same({ true, false, true, true, true }, a.from_input)
    end
  end)
end)

describe("TAG's base groups", function()
  it("join the ops of a layer through its variable and gradient, and stay apart where the batch crosses", function()
    -- 1 input, 2 variable, 3 y = xW, 4 Relu, 5 W's gradient, 6 update: 6 seeds {2, 6}; 3 reads the variable; 5 reads batches
    -- only, its own; 6 reads the gradient, which has no batch: {5} joins. 1 and 4 are left.
    local g = network({ "Placeholder", "VariableV2", "MatMul", "Relu", "MatMul:transpose_a", "ApplyGradientDescent" },
      { { 1, 3, 5 }, { 2, 3, 6 }, { 3, 4 }, { 4, 5 }, { 5, 6 } })
    assert.equal("1 2 2 3 2 2", bases(berth.deploy.analyse(g)))
  end)

  it("take Adam's moments in, and leave constants out", function()
    -- 1 input, 2-4 variable and moments, 5 constant, 6 Mul(input, constant), 7 bare, 8 Adam. The constant is in no group, so 6
    -- does not join it; 7 reads a batch: its own, until 8 reads it.
    local g = network({ "Placeholder", "VariableV2", "VariableV2", "VariableV2", "Const", "Mul", "Frobnicate", "ApplyAdam" },
      { { 1, 6 }, { 2, 8 }, { 3, 8 }, { 4, 8 }, { 5, 6 }, { 6, 7 }, { 7, 8 } })
    -- a kind without a rule joins the makers of all that it reads: 7 takes 6 in, though that has the batch
    assert.equal("1 2 2 2 3 2 2 2", bases(berth.deploy.analyse(g)))
    local known = berth.deploy.analyse(g, { rules = { { kind = "Frobnicate", batch = "never" } } })
    assert.equal("1 2 2 2 3 4 2 2", bases(known))
  end)

  it("seed with sparse updates and assignments, but concatenated rows do not join", function()
    -- ScatterSub 5 reads variable 2, indices 3 and updates 4: both cut, so 3 and 4 stay alone. Assign 6 follows its variable.
    local g = network({ "Placeholder", "VariableV2", "Cast", "Neg", "ScatterSub", "Assign" },
      { { 1, 3, 4 }, { 2, 5, 6 }, { 3, 5 }, { 4, 5 } })
    assert.equal("1 2 3 4 2 2", bases(berth.deploy.analyse(g)))
  end)

  it("join through a value that descends from the input without the batch", function()
    -- 2 sums over the batch, 3 and 4 read the sum: all three agree; 5 reads batches only
    local g = network({ "Placeholder", "MatMul:transpose_a", "Relu", "Neg", "Exp" }, { { 1, 2, 5 }, { 2, 3, 4 } })
    assert.equal("1 2 2 2 3", bases(berth.deploy.analyse(g)))
  end)

  it("count colocation groups", function()
    local g = assert(berth.graph { ops = { { kind = "Placeholder", group = 1 }, { kind = "Relu" }, { kind = "Relu", group = 1 } },
      edges = { { 1, 2, 4 }, { 2, 3, 4 } } })
    assert.equal("1 2 1", bases(berth.deploy.analyse(g)))
  end)

  it("are those of the rules written down naively, on random networks", function()
    for seed = 1, 150 do
      local net = tag_analysis.network(seed, 3 + seed % 15)
      local g = assert(berth.graph(tag_analysis.describe(net)))
      local a = berth.deploy.analyse(g, { rules = { { kind = "Frob", batch = "never" } } })
      local flag, from_input, base = tag_analysis.reference(net)
      for t in g:tensors() do
        assert.equal(flag[t.from], a.batch[t.id], ("seed %d, tensor %d of op %d"):format(seed, t.id, t.from))
        for _, to in ipairs(t.to) do -- the meaning of base groups
          assert.is_true(base[t.from] == base[to] or a.batch[t.id] or not from_input[t.from] or not from_input[to])
        end
      end
      assert.same(from_input, a.from_input)
      assert.equal(table.concat(base, " "), bases(a), "seed " .. seed)
    end
  end)
end)

describe("TAG's profiles and AllReduce", function()
  it("interpolate between batch sizes, and go on in a straight line at the ends", function()
    local batches, seconds = { 10, 20, 40 }, { 1, 3, 4 }
    -- 15: 2 between 1 and 3; 30: 3.5; 50: 4 + 10 * (1 / 20); 5: 1 - 5 * (2 / 10); 4: below 0
    for batch, expected in pairs { [10] = 1, [15] = 2, [20] = 3, [30] = 3.5, [50] = 4.5, [5] = 0, [4] = 0 } do
      assert.near(expected, berth.deploy.batch_time(batches, seconds, batch), 1e-12)
    end
    -- 100 + 3 * 75 / 10 = 122.5 us
    assert.near(122 * us, berth.deploy.batch_time({ 10, 20 }, { 100 * us, 175 * us }, 13, { whole_us = true }), 1e-15)
  end)

  it("take the published times for an AllReduce", function()
    local golden = {
      [2810] = { 368, 370, 496, 1349, 4761, 18409, 73000 }, [5000] = { 206, 208, 278, 758, 2675, 10345, 41026 },
      [8000] = { 129, 130, 174, 473, 1672, 6466, 25641 }, [20000] = { 51, 52, 69, 189, 668, 2586, 10256 },
    }
    local sizes = { 2 ^ 10, 2 ^ 16, 2 ^ 20, 2 ^ 22, 2 ^ 24, 2 ^ 26, 2 ^ 28 }
    for bandwidth, times in pairs(golden) do
      local t = berth.topology.mesh(3, { bandwidth = bandwidth * 1e6 })
      for i, bytes in ipairs(sizes) do
        local g = assert(berth.graph { ops = { { seconds = 0 }, { seconds = 0 }, { seconds = 0 } },
          collectives = { { kind = "allreduce", bytes = bytes, members = { 1, 2, 3 } } } })
        local c = assert(berth.cost(g, t, { collective_algorithm = "lines", lines_bandwidth = "2.81 GB/s",
          collective_lines = berth.deploy.tag_lines("2.81 GB/s") }))
        assert.near(times[i] * us, (c:collective(1, { 1, 2, 3 })), 1e-12)
        assert.near(times[i] * us, (c:collective(1, { 1, 2, 2 })), 1e-12) -- blind to the number of devices
      end
    end
  end)

  it("as a ring take 2 (n-1) / n S / (1.9 B) + 2 (n-1) latencies", function()
    -- n = 3, S = 1.425 MB, B = 1 GB/s: 4/3 * 1.425e6 / 1.9e9 = 1 ms, and 4 * 12 us
    local g = assert(berth.graph { ops = { { seconds = 0 }, { seconds = 0 }, { seconds = 0 } },
      collectives = { { kind = "allreduce", bytes = 1.425e6, members = { 1, 2, 3 } } } })
    local t = berth.topology.mesh(3, { bandwidth = 1e9, latency = 12 * us })
    local c = assert(berth.cost(g, t, { collective_bandwidth = 1.9 }))
    assert.near(1048 * us, (c:collective(1, { 1, 2, 3 })), 1e-12)
  end)
end)

describe("TAG's simulator", function()
  local function run(t, description, devices, cost)
    local c = assert(berth.cost(assert(berth.graph(description)), t, cost or { whole_us = true }))
    return assert(berth.simulate(c, devices, { preset = "tag" }))
  end
  local pair = berth.topology.mesh(2, { bandwidth = 8000e6, latency = 12 * us })

  it("sends 4 MB over 8 GB/s in 512 us", function()
    -- 100 + (4,000,000 / 8000 + 12) + 50
    local r = run(pair, { ops = { { seconds = 100 * us }, { seconds = 50 * us } }, edges = { { 1, 2, 4e6 } } }, { 1, 2 })
    assert.near(662 * us, r.makespan, 1e-12)
  end)

  it("sends two tensors over one link one after the other", function()
    -- until 100 + 512 = 612 and 612 + 512 = 1124; then 50
    local r = run(pair, { ops = { { seconds = 100 * us }, { seconds = 50 * us }, { seconds = 50 * us } },
      edges = { { 1, 2, 4e6 }, { 1, 3, 4e6 } } }, { 1, 2, 2 })
    assert.near(612 * us, r.transfers[1].finish, 1e-12)
    assert.near(1124 * us, r.transfers[2].finish, 1e-12)
    assert.near(1174 * us, r.makespan, 1e-12)
  end)

  it("begins an AllReduce with its last member and ends it for all", function()
    local t = berth.topology.mesh(2, { bandwidth = 2810e6, latency = 12 * us })
    local r = run(t, { ops = { { seconds = 100 * us }, { seconds = 130 * us } },
      collectives = { { kind = "allreduce", bytes = 2 ^ 20, members = { 1, 2 } } } }, { 1, 2 },
      { whole_us = true, collective_algorithm = "lines", collective_lines = berth.deploy.tag_lines("2.81 GB/s") })
    assert.near(626 * us, r.makespan, 1e-12) -- 130 + 496
  end)

  it("has one queue for all collectives, which meet no transfers", function()
    -- members ready at 10 on devices 1, 2 and at 20 on 3, 4: 10..506, then 506..1002; the transfer 10..(10 + 2810 + 12) on the
    -- same link
    local t = berth.topology.mesh(4, { bandwidth = 2810e6, latency = 12 * us })
    local ops = { { seconds = 10 * us }, { seconds = 10 * us }, { seconds = 20 * us }, { seconds = 20 * us }, { seconds = 0 } }
    local collectives = { { kind = "allreduce", bytes = 2 ^ 20, members = { 1, 2 } },
      { kind = "allreduce", bytes = 2 ^ 20, members = { 3, 4 } } }
    local r = run(t, { ops = ops, edges = { { 1, 5, 2810 * 2810 } }, collectives = collectives }, { 1, 2, 3, 4, 2 },
      { whole_us = true, collective_algorithm = "lines", collective_lines = berth.deploy.tag_lines("2.81 GB/s") })
    assert.near(506 * us, r.collectives[1].finish, 1e-12)
    assert.near(1002 * us, r.collectives[2].finish, 1e-12)
    assert.near(2832 * us, r.transfers[1].finish, 1e-12)
  end)
end)

describe("TAG's sufficient factor broadcasting", function()
  -- y = xW, 1024 x 1024: the factors have batch * 4 KiB each, the gradient 4 MiB; T = 40 us, B = 2810 bytes/us
  local function layer(batch, devices, cost)
    return assert(berth.deploy.sfb {
      ops = { { barred = true }, { barred = true }, { seconds = 40 * us } },
      tensors = { { from = 1, to = { 3 }, bytes = batch * 4096 }, { from = 2, to = { 3 }, bytes = batch * 4096 } },
      gradients = { { op = 3, bytes = 2 ^ 22 } }, replicas = devices, bandwidth = 2810e6, cost = cost,
    })
  end
  local function total(batch, devices, cost)
    return berth.deploy.sfb_measure({
      ops = { { barred = true }, { barred = true }, { seconds = 40 * us } },
      tensors = { { from = 1, to = { 3 }, bytes = batch * 4096 }, { from = 2, to = { 3 }, bytes = batch * 4096 } },
      gradients = { { op = 3, bytes = 2 ^ 22 } }, replicas = devices, bandwidth = 2810e6, cost = cost,
    }, { 3 }).total / us
  end

  it("repeats the gradient of batch 6 on 2 devices by either cost", function()
    -- per device: 40 / 2 + 2 * 24576 / 2810 / 2 - 2 / 2 * 4194304 / 2810 = 20 + 8.75 - 1492.63
    -- published: 40 + 2 * 2 * 24576 / 2810 - 1492.63 + 1
    assert.near(-1463.9, total(6, 2, "per-device"), 0.05)
    assert.near(-1416.7, total(6, 2, "compat"), 0.06)
    assert.same({ 3 }, layer(6, 2, "per-device").duplicated)
    assert.same({ 3 }, layer(6, 2, "compat").duplicated)
  end)

  it("repeats that of batch 96 on 16 devices by the cost of a device, not by the published one", function()
    -- 15/16 * 40 + 2 * 15/16 * 393216 / 2810 - 2 * 15/16 * 4194304 / 2810; 15 * 40 + 2 * 240 * 393216 / 2810 - 2798.69 + 1
    assert.near(-2498.8, total(96, 16, "per-device"), 0.05)
    assert.near(64970.9, total(96, 16, "compat"), 0.2)
    assert.same({ 3 }, layer(96, 16, "per-device").duplicated)
    assert.same({}, layer(96, 16, "compat").duplicated)
  end)
end)
