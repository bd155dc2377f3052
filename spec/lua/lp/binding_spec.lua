-- berth.favourites: the linear program behind m-sct, from Lua.
local berth = require "berth"
local raised = require("support.errors").raised

local function fork() -- of 5, 4, 7, 4 s: case B of the published ones
  return assert(berth.graph {
    ops = { { seconds = 5 }, { seconds = 4 }, { seconds = 7 }, { seconds = 4 } },
    edges = { { 1, 3, 1 }, { 2, 3, 3 }, { 2, 4, 1 } },
  })
end
local function pair() return berth.topology.mesh(2, { bandwidth = 1 }) end

describe("berth.favourites", function()
  it("gives value, pairs and favourites as plain tables", function()
    local lp = assert(berth.favourites(fork(), pair(), { gap = 1e-8 }))
    assert.near(12.5, lp.lower, 1e-6)
    assert.near(12.5, lp.upper, 1e-6)
    assert.is_true(lp.lower <= 12.5 + 1e-12 and lp.upper >= 12.5 - 1e-12)
    assert.is_true(lp.reached and lp.gap <= 1e-8)
    assert.near(0.75, lp.rho, 1e-12)
    assert.same({ 1, 2, 2 }, lp.from)
    assert.same({ 3, 3, 4 }, lp.to)
    assert.same({ 1, 3, 1 }, lp.c)
    assert.near(0.5, lp.y[1], 1e-5)
    assert.near(0.5, lp.y[2], 1e-5)
    assert.equal(3, #lp.flow)
    assert.same({ 3, 2, 0 }, { lp.ops, lp.edges, lp.entropic })
    assert.is_true(lp.interior > 0)
  end)

  it("names a favourite child for each op, or false", function()
    local lp = assert(berth.favourites(fork(), pair(), { gap = 1e-8 }))
    assert.equal(4, #lp.child)
    local n = 0
    for op, child in ipairs(lp.child) do
      if child then
        n = n + 1
        assert.is_true(child == 3 or (op == 2 and child == 4))
      end
    end
    assert.is_true(n >= 1)
    local few = assert(berth.favourites(fork(), pair(), { gap = 1e-8, tau = 0.1 }))
    assert.same({ false, false, false, false }, few.child)
  end)

  it("prints as a line", function()
    local text = tostring(assert(berth.favourites(fork(), pair(), { gap = 1e-8 })))
    assert.equal("favourites: longest path 12.5 s to 12.5 s, gap", text:match("^(.-gap)"))
    local chain =
      assert(berth.graph { ops = { { seconds = 2 }, { seconds = 1 } }, edges = { { 1, 2, 8 } } })
    local lp = assert(berth.favourites(chain, pair()))
    assert.equal("favourites: longest path 3 s; 1 of 2 ops have a favourite child", tostring(lp))
    local rough =
      assert(berth.favourites(fork(), pair(), { method = "entropic", gap = 1e-9, iterations = 1 }))
    assert.is_false(rough.reached)
    assert.truthy(tostring(rough):find("the given gap was not reached", 1, true))
  end)

  it("takes a cost, methods and least times", function()
    local cost = assert(berth.cost(fork(), pair()))
    for _, method in ipairs { "auto", "entropic", "interior" } do
      local lp = assert(berth.favourites(cost, { method = method, times = "least" }))
      assert.is_true(lp.lower <= 14 and lp.upper >= lp.lower)
    end
    local priced =
      assert(berth.favourites(fork(), pair(), { gap = 1e-8, cost = { transfer_factor = 2 } }))
    assert.same({ 2, 6, 2 }, priced.c)
  end)

  it("gives the same twice", function()
    local g = fork()
    assert.same(assert(berth.favourites(g, pair())), assert(berth.favourites(g, pair())))
  end)

  it("refuses what is wrong, by name", function()
    local g, t = fork(), pair()
    for text, opts in pairs {
      ["tau: 2 is out of range 0 to 1"] = { tau = 2 },
        ["gap: expected a finite number from 1e-09, got 0"] = { gap = 0 },
      ["'x' is none of: mean, least"] = { times = "x" },
      ["'x' is none of: auto, entropic, interior"] = { method = "x" },
        ["unknown option 'foo'"] = { foo = 1 },
      ["iterations"] = { iterations = 1.5 },
    } do
      local message = raised(berth.favourites, g, t, opts)
      assert.matches("berth.favourites: ", message, 1, true)
      assert.matches(text, message, 1, true)
    end
  end)

  it("leaves pairs of devices without a way out of the means", function()
    local lp = assert(berth.favourites(fork(), berth.topology { devices = { {}, {} } }))
    assert.equal(lp.upper, lp.lower)
  end)

  it("stops when a hook says so", function()
    local ops, edges = {}, {}
    for i = 1, 400 do ops[i] = { seconds = 1 + i % 7 } end
    for i = 11, 400 do
      for k = 1, 3 do edges[#edges + 1] = { i - 10 + (i * k) % 5, i, 1 + (i * k) % 3 } end
    end
    local seen = {}
    for k = #edges, 1, -1 do
      local e = edges[k]
      local key = e[1] .. ":" .. e[2]
      if seen[key] or e[1] >= e[2] then table.remove(edges, k) end
      seen[key] = true
    end
    local g, t = assert(berth.graph { ops = ops, edges = edges }), pair()
    berth.hooks { interrupt = function() return true end }
    local lp, _, code = berth.favourites(g, t, { method = "entropic", gap = 1e-6 })
    berth.hooks {}
    assert.is_nil(lp)
    assert.equal("interrupted", code)
  end)
end)
