-- berth: what a function works on may be closed by a finaliser while Lua makes room for the result.
local berth = require "berth"
local finaliser = require "support.finaliser"

local N_OPS = 40
local ops, edges, devices = {}, {}, {}
for i = 1, N_OPS do
  ops[i] = { seconds = 1, name = "op" .. i }
  devices[i] = i % 2 + 1
  if i > 1 then edges[#edges + 1] = { i - 1, i, 8 } end
end

local function graph() return berth.graph { ops = ops, edges = edges } end
local g, t = graph(), berth.topology.mesh(2, { bandwidth = 80 })
local function cost() return berth.cost(g, t) end
local function result() return berth.simulate(g, t, devices) end
local function placement() return berth.place(g, t, "etf") end
local function mesh() return berth.topology.mesh(5) end

local operations = {
  { "result.start", result, function(r) return r.start end },
  { "result.transfers", result, function(r) return r.transfers end },
  { "result.links", result, function(r) return r.links end },
  { "result:critical_path", result, function(r) return r:critical_path() end },
  { "result:slack", result, function(r) return r:slack() end },
  { "result:memory_timeline", result, function(r) return r:memory_timeline(1) end },
  { "result:to_table", result, function(r) return r:to_table() end },
  { "result, printed", result, function(r) return tostring(r) end },
  { "result:trace", result, function(r) return r:trace() end },
  { "simulate", cost, function(c) return berth.simulate(c, devices) end },
  { "simulate, the placement", placement, function(p) return berth.simulate(g, t, p) end },
  { "simulate_batch", cost,
    function(c) return berth.simulate_batch(c, { devices, devices, devices }) end },
  { "simulator", cost, function(c) return berth.simulator(c)(devices) end },
  { "place", cost, function(c) return berth.place(c, "etf") end },
  { "placement:devices", placement, function(p) return p:devices() end },
  { "placement:sequence", placement, function(p) return p:sequence() end },
  { "graph:op", graph, function(x) return x:op(3) end },
  { "graph:ops", graph, function(x) for _ in x:ops() do end end },
  { "graph:topo_order", graph, function(x) return x:topo_order() end },
  { "cost", graph, function(x) return berth.cost(x, t) end },
  { "cost.graph", cost, function(c) return c.graph:op(1) end },
  { "cost:mean_ops", cost, function(c) return c:mean_ops() end },
  { "bounds", cost, function(c) return berth.bounds(c) end },
  { "topology:device", mesh, function(x) return x:device(3) end },
  { "topology:devices", mesh, function(x) for _ in x:devices() do end end },
  { "topology:route", mesh, function(x) return x:route(1, 3) end },
  { "assignment", cost, function(c) return berth.assignment(c) end },
}

local function closed(ok, value)
  if not ok then assert.matches("is closed", value) end
end

describe("a finaliser that closes what a function works on", function()
  local hits = 0
  for _, operation in ipairs(operations) do
    it("does not harm: " .. operation[1], function()
      hits = hits + finaliser.sweep(operation[2], operation[3], closed)
    end)
  end

  it("came while they ran, too", function() assert.is_true(hits > #operations) end)

  it("may do so in a coroutine, while the function runs in another", function()
    finaliser.sweep(function()
      local r = result()
      return r, { close = coroutine.wrap(function() r:close() end) }
    end, function(r)
      return assert(select(2,
        coroutine.resume(coroutine.create(function() return r.transfers end))))
    end, closed)
  end)
end)

describe("close", function()
  -- What an open result holds, and what is held after f(result).
  local function after(f)
    g, t = graph(), berth.topology.mesh(2, { bandwidth = 80 })
    local kept = cost()
    berth.place(kept, function() return 1 end):close() -- what costs keep for the next time
    collectgarbage()
    collectgarbage()
    local before = berth.memory()
    local r = berth.simulate(kept, devices)
    local open = berth.memory()
    f(r, kept)
    assert.error_matches(function() return r.makespan end, "the result is closed")
    assert.are.equal("result: closed", tostring(r))
    return open - before, berth.memory() - before, r
  end

  it("frees at once", function()
    local open, rest = after(function(r) r:close() end)
    assert.is_true(open > 0)
    assert.are.equal(0, rest)
  end)

  it("frees at once in a coroutine, also after a function has raised there", function()
    local _, rest = after(function(r)
      local co = coroutine.create(function() return r.no_such_field end)
      assert.is_false(coroutine.resume(co))
      coroutine.wrap(function() return r.makespan, r:close() end)()
      assert.are.equal("dead", coroutine.status(co))
    end)
    assert.are.equal(0, rest)
  end)

  it("leaves it to the collector, or a second close, while a policy runs", function()
    local function close_within(r, kept)
      assert(berth.place(kept, function()
        r:close()
        return 1
      end)):close()
    end
    local open, rest, r = after(close_within)
    assert.is_true(rest >= open)
    r:close()
    local _, again = after(function(other, kept)
      close_within(other, kept)
      other:close()
    end)
    assert.is_true(again < open)
  end)
end)
