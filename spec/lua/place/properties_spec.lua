-- Properties of the answers of every placer on random graphs.
local berth = require "berth"
local random_graph = require "support.random_graph"
local runs = require "support.runs"

local topologies = {
  berth.topology.mesh(3, { bandwidth = 100, latency = 0.5 }),
  berth.topology.ring(4, { bandwidth = 60 }),
  berth.topology {
    devices = { { name = "a", speed = 2 }, { name = "b" }, { name = "c", speed = 0.5 } },
    switches = { "s" },
    links = {
      { "a", "s", bandwidth = 200, latency = 0.1 }, { "b", "s", bandwidth = 50 },
      { "c", "s", bandwidth = 100 },
    },
  },
}

-- Bytes of parameters and outputs by device, and the largest need of one op.
local function stored(description, placement, devices)
  local used, largest = {}, 0
  for d = 1, devices do used[d] = 0 end
  for i, op in ipairs(description.ops) do
    used[placement[i]] = used[placement[i]] + op.params
    largest = math.max(largest, op.params + op.workspace)
  end
  for _, tensor in ipairs(description.tensors) do
    used[placement[tensor.from]] = used[placement[tensor.from]] + tensor.bytes
  end
  return used, largest
end

local function check_groups(description, placement, what)
  local home = {}
  for i, op in ipairs(description.ops) do
    if op.group then
      home[op.group] = home[op.group] or placement[i]
      assert.equal(home[op.group], placement[i], what .. ": group " .. op.group)
    end
  end
end

describe("every placer", function()
  for _, name in ipairs(berth.placers()) do
    local small = name == "exact" and runs(true, false) -- it takes seconds for the others

    it(name .. " keeps groups, and gives the same answer again", function()
      for seed = 1, 8 do
        local description = random_graph.describe(seed,
          { n = small and 8 or 25, memory = true, groups = 4, zero = 10 })
        local g, t = assert(berth.graph(description)), topologies[seed % 3 + 1]
        local p = assert(berth.place(g, t, name, { seed = seed }))
        check_groups(description, p, "seed " .. seed)
        assert.same(p:devices(), assert(berth.place(g, t, name, { seed = seed })):devices())
        local r = assert(berth.simulate(g, t, p, { links = "duplex" }))
        assert.is_true(r.bound <= r.makespan * (1 + 1e-12))
        for _, variant in ipairs(berth.placers(name)) do
          local q = berth.place(g, t, name, { variant = variant })
          if q then check_groups(description, q, variant) end -- a published one may find no place
        end
      end
    end)

    it(name .. " fits into tight memory or says what stops it", function()
      local fitted, seeds = 0, runs(5, 10)
      for seed = 1, seeds do
        local description = random_graph.describe(seed, { n = small and 11 or 20, memory = true })
        local all = random_graph.placement(1, #description.ops, 1)
        local total, largest = stored(description, all, 1)
        local t = berth.topology.mesh(3, { bandwidth = 100, memory = 1.5 * total[1] / 3 + largest })
        local g = assert(berth.graph(description))
        local p, message, code, why = berth.place(g, t, name, { memory = "total", seed = seed })
        if p then
          fitted = fitted + 1
          for d, bytes in ipairs(stored(description, p, 3)) do
            assert.is_true(bytes <= t:device(d).memory * (1 + 1e-12),
              "seed " .. seed .. " device " .. d)
          end
        else
          assert.equal("infeasible", code, message)
          assert.is_true(why.missing > 0, message)
          assert.is_truthy(why.op or why.device or message:match "cannot fit", message)
        end
      end
      assert.is_true(name == "single" or fitted >= seeds * (small and 0.5 or 0.8), "fitted only " .. fitted)
    end)
  end
end)

-- The same graph with its ops in another order; array from old id to new.
local function renumbered(description, seed)
  local below, new = random_graph.source(seed + 5), {}
  for i = 1, #description.ops do new[i] = i end
  for i = #new, 2, -1 do
    local j = below(i)
    new[i], new[j] = new[j], new[i]
  end
  local out = { ops = {}, tensors = {} }
  for i, op in ipairs(description.ops) do out.ops[new[i]] = op end
  for k, t in ipairs(description.tensors) do
    local to = {}
    for i, op in ipairs(t.to) do to[i] = new[op] end
    out.tensors[k] = { from = new[t.from], to = to, bytes = t.bytes }
  end
  return out
end

describe("a graph with its ops renumbered", function()
  local placers = {
    { "m-etf" }, { "etf" }, { "heft" }, { "minmin" }, { "blevel" },
    { "m-sct", { favourites = "through" } }, { "m-sct", { favourites = "none" } },
    { "m-sct", { gap = 1e-9 } },
  }
  it("takes the same time, where ties are by level", function()
    for seed = 1, 12 do
      local description = random_graph.describe(seed, { n = 25 })
      -- no two paths of one length
      for i, op in ipairs(description.ops) do
        op.seconds = op.seconds + 0.001 * math.sqrt(i * 7 + seed)
      end
      for k, t in ipairs(description.tensors) do t.bytes = t.bytes + math.sqrt(k * 3 + seed) end
      local g = assert(berth.graph(description))
      local h = assert(berth.graph(renumbered(description, seed)))
      local t = berth.topology.mesh(3, { bandwidth = 100 })
      for _, placer in ipairs(placers) do
        local a, b = assert(berth.place(g, t, placer)), assert(berth.place(h, t, placer))
        assert.near(a.estimate, b.estimate, 1e-9 * a.estimate,
          ("%s, seed %d"):format(placer[1], seed))
      end
    end
  end)
end)
