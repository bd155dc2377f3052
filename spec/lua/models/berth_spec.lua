-- Models as graphs of the library: built, placed and simulated.
local berth = require "berth"
local raised = require("support.errors").raised

local models = berth.models

local V100 = { preset = "V100", bandwidth = "50 GB/s", latency = "5 us" }

-- Small versions, so that all of them run in a moment.
local SMALL = {
  transformer = { layers = 2 }, ["transformer-big"] = { layers = 1 },
  ["bert-base"] = { layers = 2 }, ["bert-large"] = { layers = 2 },
  gnmt = { seq = 5 }, ["gnmt-8"] = { seq = 3 },
}

local function options(name)
  local out = { batch = 1 }
  for key, value in pairs(SMALL[name] or {}) do out[key] = value end
  if name:find("llama", 1, true) then out.layers, out.seq = 1, 32 end
  return out
end

describe("models as graphs", function()
  for _, name in ipairs(models.list()) do
    it(name .. " is accepted, placed and simulated", function()
      local g, about = assert(models.build(name, options(name)))
      assert.equal(about.ops, #g)
      assert.equal(about.tensors, g.n_tensors)
      assert.equal(name, g.name)
      local t =
        assert(berth.topology.mesh(2, { preset = "H100", bandwidth = "50 GB/s", latency = "5 us" }))
      local r = assert(berth.simulate(g, t, assert(berth.place(g, t, "etf"))))
      assert.is_true(r.makespan >= r.bound * (1 - 1e-9))
    end)
  end

  it("prices an op by the roofline of the preset", function()
    local g = assert(models.vgg { depth = 11, batch = 2 })
    local t = berth.topology.mesh(1, V100)
    local op, d = g:op(assert(g:find "stage1.conv1")), t:device(1)
    local want = math.max(op.flop / d.flops, op.bytes / d.memory_bandwidth) + d.overhead
    assert.near(want, berth.cost(g, t):op(op.id, 1), 1e-15)
  end)

  it("peaks on one device near parameters, state and activations", function()
    local g, about = assert(models.resnet { depth = 50, batch = 32, optimizer = "momentum" })
    local t = berth.topology.mesh(1, V100)
    local r = assert(berth.simulate(g, t, assert(berth.place(g, t, "single"))))
    local held = 2 * about.parameter_bytes + about.activation_bytes
    assert.is_true(r.peak_memory[1] >= held)
    assert.is_true(r.peak_memory[1] <= 1.25 * held)
  end)

  it("needs far less memory without training", function()
    local t = berth.topology.mesh(1, V100)
    local function peak(training)
      local g = assert(models.resnet { depth = 18, batch = 32, training = training })
      return assert(berth.simulate(g, t, assert(berth.place(g, t, "single")))).peak_memory[1]
    end
    assert.is_true(peak(false) < peak(true) / 4)
  end)

  it("keeps a layer and its update on one device whatever the placer", function()
    local g = assert(models.resnet { depth = 18, batch = 4 })
    local t = berth.topology.mesh(3, V100)
    local p = assert(berth.place(g, t, "random", { seed = 3 }))
    for op in g:ops() do
      if op.update then
        assert.equal(p[assert(g:find((op.name:gsub("/update$", ""))))], p[op.id])
      end
    end
  end)

  it("takes the same time on one device, coarse or fine, but for launch overheads", function()
    local t = berth.topology.mesh(1,
      { flops = "10 TFLOP/s", memory_bandwidth = math.huge, memory = "64 GB" })
    local function step(granularity)
      local g = assert(models.bert { layers = 2, batch = 2, granularity = granularity })
      return assert(berth.simulate(g, t, assert(berth.place(g, t, "single")))).makespan
    end
    assert.near(step "op", step "layer", 1e-9)
    assert.near(step "op", step "block", 1e-9)
  end)

  it("never wraps at 64 bits", function()
    local _, llama = models.describe("llama-65b", { batch = 32768 })
    assert.near(2.7272635228573762e19, llama.flop, 1e5)
    local graph, resnet = models.describe("resnet50", { batch = 2 ^ 34 })
    assert.is_true(resnet.flop > 4e20 and resnet.activation_bytes > 1e18)
    for _, op in ipairs(graph.ops) do assert.is_true(op.flop >= 0 and op.bytes >= 0, op.name) end
    local coarse = models.describe("resnet50", { batch = 2 ^ 34, granularity = "layer" })
    for _, op in ipairs(coarse.ops) do assert.is_true(op.flop >= 0 and op.bytes >= 0, op.name) end
  end)

  it("prints whole figures without a fraction in every interpreter", function()
    local graph, about = models.describe("resnet18", { batch = 32 })
    assert.equal("11689512 341844331488 32",
      string.format("%s %s %s", tostring(about.parameters), tostring(about.flop),
      tostring(about.options.batch)))
    assert.equal("102760448", tostring(graph.tensors[3].bytes))
  end)

  it("refuses a GNMT of one layer, whose attention leads nowhere", function()
    assert.matches(
      "errors.lua:%d+: berth.models.gnmt: option layers is 1; a whole number of at least 2 is "
        .. "needed",
      raised(models.gnmt, { layers = 1 }))
    assert.truthy(models.gnmt { layers = 2, batch = 1, seq = 2 })
  end)
end)
