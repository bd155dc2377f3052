-- Max-load and latency splits beside the figures of the dnn-partitioning programs.
local berth = require "berth"
local shared = require "support.shared"

local FOLDER = "data/msr-fiddle/"

-- Graph and topology of a file, which are read once.
local files = {}
local function read(name)
  files[name] = files[name]
    or { assert(berth.load(shared.path(FOLDER .. name .. ".json"), { cpus = true })) }
  return files[name][1], files[name][2]
end

-- The best max-load split of a file, which is sought once.
local splits = {}
local function split_of(name)
  splits[name] = splits[name] or assert(berth.split(read(name)))
  return splits[name]
end

-- Devices of a split file: accelerators come first in the topology, then CPUs.
local function devices_of(split)
  local raw = shared.json(FOLDER .. split.file .. ".json")
  local at, devices = {}, {}
  for i, node in ipairs(raw.nodes) do at[node.id] = i end
  for d, ids in ipairs(split.accelerators) do
    for _, id in ipairs(ids) do devices[at[id]] = d end
  end
  for d, ids in ipairs(split.cpus) do
    for _, id in ipairs(ids) do devices[at[id]] = raw.maxFPGAs + d end
  end
  assert(#devices == #raw.nodes)
  return devices
end

local function near(want, got, what)
  assert.is_true(math.abs(want - got) <= 1e-6 * want,
    ("%s: %.12g, not %.12g"):format(what, got, want))
end

-- Chains side by side: (length + 1)^chains ideals.
local function chains(n, length)
  local ops, tensors = {}, {}
  for k = 1, n do
    for i = 1, length do
      ops[#ops + 1] = { seconds = 1 + (3 * k + 5 * i) % 7 }
      if i > 1 then
        tensors[#tensors + 1] = { from = #ops - 1, to = { #ops }, bytes = (k + 2 * i) % 4 }
      end
    end
  end
  return berth.graph { ops = ops, tensors = tensors }, berth.topology.mesh(4, { bandwidth = 1 })
end

describe("splits of the published graphs", function()
  if not shared.present() then
    pending("no shared data: " .. shared.dir)
    return
  end

  it("are valued as published: the largest load of all, the latency of the greedy ones", function()
    for _, name in ipairs(shared.list("reference/splits", "%.json$")) do
      local split = shared.json("reference/splits/" .. name)
      local g, t = read(split.file)
      local value = assert(berth.split_measure(g, t, devices_of(split)))
      if split.maxLoad then near(split.maxLoad * 1e-3, value.max_load, name) end
      if split.latency then near(split.latency * 1e-3, value.latency, name) end
      if split.accelerator_loads then
        for d, load in ipairs(split.accelerator_loads) do
          assert.is_true(math.abs(load * 1e-3 - value.loads[d]) < 1e-9)
        end
      end
      assert.is_nil(value.over)
    end
  end)

  it("have the latency of the max-load splits as published", function()
    for _, row in ipairs(shared.csv("reference/latency.csv")) do
      local want = tonumber(row.latency_of_max_load_split)
      local name = "reference/splits/" .. row.input:gsub("/", "__") .. ".optimal.json"
      if want then
        local g, t = read(row.input)
        near(want * 1e-3, assert(berth.split_measure(g, t, devices_of(shared.json(name)))).latency,
          row.input)
      end
    end
  end)

  it("prove the optimum of every row in steps in proportion to the time listed", function()
    for _, row in ipairs(shared.csv("reference/max_load.csv")) do
      local s = split_of(row.input)
      assert.is_true(s.proven and s.contiguous and not s.over, row.input)
      if tonumber(row.optimal_max_load) then
        near(row.optimal_max_load * 1e-3, s.max_load, row.input)
      end
      assert.is_true(s.max_load >= s.bound * (1 - 1e-9))
      local cpu = tonumber(row.cpu_s)
      if cpu and cpu > 1 then assert.is_true(s.visits < 3e6 * cpu, row.input) end
    end
  end)

  it("have as many ideals as expected after contraction", function()
    local expected = {
      ["LayerGraphs/bert24_training"] = 30, ["LayerGraphs/resnet50_training"] = 242,
        ["LayerGraphs/gnmt_inference"] = 17914,
      ["OperatorGraphs/bert_l-3_inference"] = 1428, ["OperatorGraphs/bert_l-3_training"] = 2774,
      ["OperatorGraphs/bert_l-6_inference"] = 1923, ["OperatorGraphs/bert_l-6_training"] = 3776,
      ["OperatorGraphs/bert_l-12_inference"] = 2906, ["OperatorGraphs/bert_L-12_training"] = 2938,
      ["OperatorGraphs/resnet50_inference"] = 241, ["OperatorGraphs/resnet50_training"] = 258,
    }
    for name, ideals in pairs(expected) do
      assert.equal(ideals, split_of("throughput-inputs/" .. name).ideals, name)
    end
  end)

  it("keep memory, with a latency never above the greedy one", function()
    for _, row in ipairs(shared.csv("reference/latency.csv")) do
      local g, t = read(row.input)
      local s = assert(berth.split(g, t, { objective = "latency", visits = 1e5 }))
      assert.is_true(s.latency * 1e3 <= row.greedy_latency * (1 + 1e-9), row.input)
      assert.is_true(s.latency >= s.bound and not s.over)
    end
  end)

  it("have a latency well below the greedy one where the search has its way", function()
    local g, t = read("latency-inputs/LayerGraphs/resnet50_inference")
    assert.is_true(berth.split(g, t, { objective = "latency" }).latency < 1.16) -- greedy: 4.20 s
  end)

  it("put the core of a training graph on an accelerator that cannot hold it all", function()
    local g, t = read("throughput-inputs/OperatorGraphs/bert_L-12_training")
    local s = assert(berth.split(g, t, { objective = "latency" }))
    assert.is_true(s.latency < 9.6 and not s.over) -- 30.7 s with all on CPUs but what stands alone
    near(s.latency, berth.split_measure(g, t, s.placement).latency, "bert_L-12_training")
  end)
end)

describe("berth.split", function()
  it("prints as a line, and takes a priced graph", function()
    local g, t = chains(2, 4)
    local s = assert(berth.split(g, t))
    assert.matches(
      "^split: largest load .* %(device d%d%), latency .*, contiguous; proven the best of these$",
      tostring(s))
    assert.equal(s.max_load, assert(berth.split(berth.cost(g, t))).max_load)
    assert.equal("split", s.placement.placer)
    local v = berth.split_measure(g, t, s.placement)
    assert.equal(s.max_load, v.max_load)
    assert.equal(s.max_load, v.loads[v.busiest])
  end)

  it("gives what it has when stopped, with the bound", function()
    local g, t = chains(4, 9)
    local calls = 0
    local whole = assert(berth.split(g, t))
    berth.hooks { interrupt = function() calls = calls + 1 return calls > 1 end }
    local s = berth.split(g, t)
    berth.hooks {}
    assert.is_true(s and calls > 1 and not s.proven)
    assert.is_true(s.bound <= whole.max_load and whole.max_load <= s.max_load)
    local short = assert(berth.split(g, t, { visits = 20000 }))
    assert.is_false(short.proven)
    assert.is_true(short.bound <= whole.max_load and whole.max_load <= short.max_load)
    local small = assert(berth.split(g, t, { memory = "100 kB" }))
    assert.is_false(small.complete)
    assert.matches("contiguous bound", tostring(small))
  end)

  it("refuses what it does not know", function()
    local g, t = chains(1, 3)
    local function message(...) return select(2, pcall(...)) end
    assert.matches("berth.split: unknown option 'memry'", message(berth.split, g, t, { memry = 1 }))
    assert.matches("objective: 'load' is none of: max%-load, latency",
      message(berth.split, g, t, { objective = "load" }))
    assert.matches('contiguous: true requires objective = "max%-load"',
      message(berth.split, g, t, { objective = "latency", contiguous = true }))
    assert.matches("berth.split_measure: placement", message(berth.split_measure, g, t, { 1, 2 }))
    local s, text, code, why = berth.split(berth.graph { ops = { { seconds = 1, params = 5 } } },
      berth.topology.mesh(2, { memory = 3 }))
    assert.is_nil(s)
    assert.matches("op 1 and what must be with it needs 5 bytes, an accelerator has 3", text)
    assert.same({ "infeasible", 1, 1, 2 }, { code, why.op, why.device, why.missing })
    s, text, code = berth.split(berth.graph { ops = { { seconds = 1, pin = 1 } } }, t)
    assert.same({ "unsupported" }, { s or code })
    assert.matches("pinned", text)
  end)
end)
