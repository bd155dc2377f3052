-- Objects of the binding: how long they live, and what they refuse once they are closed.
local berth = require "berth"
local errors = require "support.errors"
local raised, raises = errors.raised, errors.raises

local function objects()
  local g =
    assert(berth.graph { ops = { { seconds = 1 }, { seconds = 1 } }, edges = { { 1, 2, 1 } },
    collectives = { { kind = "barrier", members = { 1 } } } })
  local plain =
    assert(berth.graph { ops = { { seconds = 1 }, { seconds = 1 } }, edges = { { 1, 2, 1 } } })
  local t = berth.topology.mesh(2)
  local c = assert(berth.cost(plain, t))
  local p = assert(berth.place(c, "m-etf"))
  local r = assert(berth.simulate(c, p))
  return { graph = g, topology = t, cost = c, placement = p, result = r, rng = berth.rng(1) }
end

-- Every method and computed field of every type; arguments are good enough to get behind the check
-- of self.
local members = {
  graph = {
    "op", "tensor", "collective", "ops", "tensors", "inputs", "outputs", "find", "successors",
    "predecessors", "mirror", "save",
    "to_string", "topo_order", "b_level", "t_level", "slack", "depth", "critical_path", "reachable",
    "descendants", "ancestors",
    "components",
  },
  topology = { "device", "devices", "link", "node", "route", "path", "save", "to_string" },
  cost = { "op", "transfer", "mean_ops", "mean_transfers", "min_ops", "collective", "rho" },
  placement = { "devices", "sequence", "save", "to_string" },
  result = { "peak_ops", "memory_timeline", "critical_path", "slack", "to_table", "save_trace",
    "trace" },
  rng = { "uniform", "normal", "below", "shuffle" },
}
local fields = {
  graph = { "name", "n_ops", "n_tensors", "n_edges", "n_groups", "n_collectives", "types" },
  topology = { "name", "n_links", "n_nodes", "n_devices" },
  cost = { "graph", "topology", "model" },
  placement = { "placer", "estimate", "start", "finish" },
  result = {
    "makespan", "bound", "bound_name", "gap", "device", "start", "finish", "busy", "peak_memory",
    "peak_time", "transfers",
    "links", "oom", "memory", "cost",
  },
  rng = {},
}

describe("an object", function()
  it("reports a misspelt name instead of giving nil", function()
    for kind, x in pairs(objects()) do
      local text = raised(function() return x.makespn end)
      assert.matches("life_spec.lua:%d+: " .. kind .. " has no 'makespn' %(legal: ", text)
      for _, list in ipairs { members[kind], fields[kind] } do
        for _, name in ipairs(list) do
          text = raised(function() return x[name:upper()] end)
          assert.matches("did you mean '" .. name .. "'?", text, 1, true)
        end
      end
      assert.is_nil(x[{}])
    end
  end)
end)

describe("a closed object", function()
  for kind, names in pairs(members) do
    it("says so: " .. kind, function()
      local x = objects()[kind]
      local open = tostring(x)
      x:close()
      x:close()
      assert.equal(kind .. ": closed", tostring(x))
      assert.is_true(open ~= tostring(x))
      for _, name in ipairs(names) do
        assert.matches("the " .. kind .. " is closed", raised(x[name], x, 1, 1))
      end
      for _, name in ipairs(fields[kind]) do
        raises("is closed", function() return x[name] end)
      end
      if kind ~= "cost" and kind ~= "result" and kind ~= "rng" then
        raises("is closed", function() return #x end)
      end
    end)
  end

  it("is refused as an argument, by name", function()
    local o = objects()
    o.placement:close()
    raises("berth.simulate: placement: the placement is closed", berth.simulate, o.cost,
      o.placement)
    o.topology:close()
    raises("topology: the topology is closed", berth.place, o.graph, o.topology, "etf")
    o.cost:close()
    raises("cost: the cost is closed", berth.simulate, o.cost, { 1, 1 })
    local each = o.graph:ops()
    o.graph:close()
    raises("the graph is closed", each)
  end)

  it("does not disturb what was made from it", function()
    local o = objects()
    local graph, topology = o.cost.graph, o.cost.topology
    graph:close()
    topology:close()
    assert.equal(2, o.result.makespan)
    assert.equal(2, #o.cost.graph)
    assert.is_string(o.placement:to_string())
    o.cost:close()
    assert.equal(2, o.result.makespan)
    assert.is_string(o.result:trace())
    assert.same({ 1, 2 }, o.result:critical_path())
  end)

  it("runs on without its simulator's graph", function()
    local g = assert(berth.graph { ops = { { seconds = 1 } } })
    local t = berth.topology.mesh(1)
    local run = assert(berth.simulator(g, t))
    g:close()
    t:close()
    collectgarbage()
    assert.equal(1, (run { 1 }))
  end)
end)

describe("a variable that is to be closed", function()
  it("is closed at the end of its block", function()
    -- Lua 5.4 only
    local chunk = (rawget(_G, "loadstring") or load)("local x <close> = ... ; return 1")
    if not chunk then return end
    local r = berth.rng(1)
    chunk(r)
    assert.equal("rng: closed", tostring(r))
  end)
end)

describe("every object", function()
  it("prints one line and lists all its members here", function()
    for kind, x in pairs(objects()) do
      assert.is_nil(tostring(x):find("\n"))
      for _, name in ipairs(members[kind]) do assert.is_function(x[name]) end
      assert.equal(kind, berth.kind(x))
    end
  end)

  it("refuses another type as self", function()
    local o = objects()
    for kind, names in pairs(members) do
      for _, name in ipairs(names) do
        local other = kind == "rng" and o.graph or o.rng
        assert.matches("self: expected a " .. kind .. ", got ", raised(o[kind][name], other, 1, 1))
        assert.matches("self: expected a " .. kind .. ", got nil", raised(o[kind][name]))
      end
    end
  end)

  it("hides its metatable", function()
    for kind, x in pairs(objects()) do assert.equal("berth." .. kind, getmetatable(x)) end
  end)
end)

describe("memory", function()
  local function work(seed)
    local random = require "support.random_graph"
    local g = assert(berth.graph(random.describe(seed, { n = 20, memory = true, groups = 2 })))
    local t = berth.topology.mesh(2, { bandwidth = 300, latency = 0.1 })
    local c = assert(berth.cost(g, t, { op = function(op, device) return (op % 3) + device end }))
    local p = assert(berth.place(c, { device = function(_, est, _, eft)
      return est[1] < math.huge and (eft[1] <= eft[2] and 1 or 2) or 2
    end }))
    local r = assert(berth.simulate(c, p, { links = "duplex" }))
    pcall(berth.place, c, { select = function() error("x") end })
    pcall(berth.cost, g, t, { transfer = function() error("x") end })
    pcall(berth.graph, { ops = { { seconds = 1 }, { seconds = -1 } } })
    pcall(berth.topology, { devices = { {} }, links = { { 1, 2 } } })
    local both = assert(g:mirror())
    return tostring(r) .. tostring(p) .. tostring(both) .. tostring(berth.compare(g, t,
      { "etf", "single" })) ..
      #berth.parse(g:to_string()) .. r:trace()
  end

  it("all comes back", function()
    local function collect_all()
      collectgarbage()
      collectgarbage()
      return (berth.memory())
    end
    work(1)
    local before = collect_all()
    for seed = 1, 10 do work(seed) end
    assert.equal(before, collect_all())
  end)

  it("holds under a collector that never rests", function()
    local calm = work(3)
    local pause, step = collectgarbage("setpause", 0), collectgarbage("setstepmul", 10000)
    local busy = work(3)
    collectgarbage("setpause", pause)
    collectgarbage("setstepmul", step)
    assert.equal(calm, busy)
  end)

  it("holds when garbage is collected at every call", function()
    local calm = work(4)
    local function collect() collectgarbage() end
    debug.sethook(collect, "c")
    local busy = work(4)
    debug.sethook()
    assert.equal(calm, busy)
  end)

  it("is collected by itself when many large objects are dropped", function()
    collectgarbage()
    berth.memory(true)
    local before = (berth.memory())
    collectgarbage("stop") -- Lua sees only small boxes: it would not collect in time
    local ops = {}
    for i = 1, 20000 do ops[i] = { seconds = i } end
    for _ = 1, 60 do assert(berth.graph { ops = ops }) end
    collectgarbage("restart")
    local _, peak = berth.memory(true)
    assert.is_true(peak - before < 2 ^ 28)
  end)
end)
