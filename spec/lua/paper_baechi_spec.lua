-- Baechi: the golden cases of small graphs, and the simulated step times of the public operator graphs.
local berth = require "berth"
local shared = require "support.shared"
local operator_graph = require "support.operator_graph"

-- Edges "u>v:c" with ids from 0, as the cases are written. Memory is what ops hold for good.
local function toy(seconds, edges, memory)
  local ops, list = {}, {}
  for i, s in ipairs(seconds) do ops[i] = { seconds = s, params = memory and memory[i] or 0 } end
  for u, v, c in edges:gmatch("(%d+)>(%d+):(%d+)") do
    list[#list + 1] = { from = u + 1, to = { v + 1 }, bytes = tonumber(c), resident = 0 }
  end
  return assert(berth.graph { ops = ops, tensors = list })
end
local function devices(n, memory) return berth.topology.mesh(n, { bandwidth = 1, memory = memory }) end
local function vector(p)
  local text = {}
  for i = 1, #p do text[i] = p[i] - 1 end
  return table.concat(text, " ")
end

local A = { seconds = { 1, 3, 3, 1, 3, 1 }, edges = "0>1:1 0>4:1 1>2:1 2>3:1 4>5:1 5>3:1", memory = { 1, 2, 2, 1, 1, 1 } }
local B = { seconds = { 5, 4, 7, 4 }, edges = "0>2:1 1>2:3 1>3:1" }
local C = { seconds = { 9, 9, 8, 5, 6, 4 }, edges = "0>2:2 1>2:3 1>3:1 4>5:3" }
local D = { seconds = { 6, 7, 9, 8, 10, 6, 6, 10, 6 },
  edges = "0>2:1 0>3:5 0>4:2 1>2:1 1>3:1 1>4:1 2>5:5 2>6:3 3>5:4 3>6:1 3>7:5 4>8:1" }
local golden = {
  { "A", A, 2, 4, "0 0 1 1 1 0", 9 }, { "B", B, 2, nil, "0 1 0 1", 14 },
  { "C", C, 2, nil, "0 1 1 1 0 0", 22 }, { "D", D, 3, nil, "0 1 1 0 2 1 1 0 2", 29 },
}

describe("m-ETF", function()
  for _, case in ipairs(golden) do
    local name, graph, n, memory, want, makespan = case[1], case[2], case[3], case[4], case[5], case[6]
    for _, variant in ipairs { "", "baechi-tf", "baechi-pt" } do
      it(("places case %s as published, variant %q"):format(name, variant), function()
        local g = toy(graph.seconds, graph.edges, graph.memory)
        -- the cases count whole time units, here seconds
        local p = assert(berth.place(g, devices(n, memory), "m-etf", { variant = variant, quantum = variant ~= "" and 1 or nil }))
        if variant ~= "" then assert.equal(want, vector(p)) end
        if variant ~= "" then assert.equal(makespan, p.estimate) else assert.is_true(p.estimate <= 1.2 * makespan) end
      end)
    end
  end

  it("simulates case D under the queue: 34 for its own vector, 38 for m-SCT's", function()
    local g, t = toy(D.seconds, D.edges), devices(3)
    local function queue(placement)
      return assert(berth.simulate(g, t, placement, { preset = "baechi-tf", quantum = 1 })).makespan
    end
    assert.equal(34, queue { 1, 2, 2, 1, 3, 2, 2, 1, 3 })
    assert.equal(38, queue { 1, 2, 1, 3, 2, 2, 1, 3, 2 })
  end)
end)

describe("m-TOPO", function()
  it("fills to the cap and no further, case A, and passes the real limit as published", function()
    local g = toy(A.seconds, A.edges, A.memory)
    local t = devices(2, 4)
    local p = assert(berth.place(g, t, "m-topo", { variant = "baechi-tf", quantum = 1 }))
    assert.equal("0 0 0 1 0 1", vector(p))
    local r = assert(berth.simulate(g, t, p, { memory = "total" }))
    assert.equal(12, r.makespan)
    assert.same({ 6, 2 }, { r.peak_memory[1], r.peak_memory[2] })
    assert.is_truthy(r.oom)
  end)

  it("keeps the real limit when corrected", function()
    local g = toy(A.seconds, A.edges, A.memory)
    local r = assert(berth.simulate(g, devices(2, 4), assert(berth.place(g, devices(2, 4), "m-topo")), { memory = "total" }))
    assert.is_nil(r.oom)
  end)
end)

describe("the operator graphs of the dnn-partitioning set", function()
  if not shared.present() then return pending("needs the test data, which is not here") end

  local published = { -- ms: single, m-TOPO queue, m-ETF queue, m-ETF parallel (planned)
    { "bert_l-3_training", 123.1, 414.3, 199.9, 121.0 }, { "bert_l-6_training", 193.0, 597.4, 338.7, 190.1 },
    { "resnet50_training", 685.5, 1730.0, 879.3, 729.9 }, { "bert_L-12_training", 1891.8, 3393.1, 2800.8 },
  }
  local function printed(seconds) return ("%.1f"):format(1000 * seconds) end

  for _, row in ipairs(published) do
    local name, single, topo, etf, parallel = row[1], row[2], row[3], row[4], row[5]
    it(name .. " takes the published step times", function()
      local g, t = operator_graph(name)
      local sum = 0
      for op in g:ops() do sum = sum + op.seconds end
      assert.equal(("%.1f"):format(single), printed(sum))
      for placer, want in pairs { ["m-topo"] = topo, ["m-etf"] = etf } do
        local p = assert(berth.place(g, t, placer, { variant = "baechi-tf", quantum = 1e-6 }))
        local r = assert(berth.simulate(g, t, p, { preset = "baechi-tf", bound = false }))
        assert.equal(placer .. (" %.1f"):format(want), placer .. " " .. printed(r.makespan))
      end
      if parallel then
        local p = assert(berth.place(g, t, "m-etf", { variant = "baechi-pt", quantum = 1e-6 }))
        assert.equal(("%.1f"):format(parallel), printed(p.estimate))
      end
    end)
  end
end)
