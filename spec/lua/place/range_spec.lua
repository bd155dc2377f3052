-- Times and sizes at the ends of the range of numbers, and ops without times, under every placer.
local berth = require "berth"
local errors = require "support.errors"
local shell = require "support.shell"

-- A chain of three ops, on two devices with links of 1 B/s.
local function chain(seconds, bytes)
  local ops = {}
  for i = 1, 3 do ops[i] = { name = "o" .. i, seconds = seconds } end
  return berth.graph { ops = ops, edges = { { 1, 2, bytes }, { 2, 3, bytes } } }
end
local mesh = berth.topology.mesh(2, { bandwidth = 1 })
local names = {}
for _, name in ipairs(berth.placers()) do if name ~= "policy" then names[#names + 1] = name end end

-- f(placer, result, message, code) of each placer, the portfolio and berth.exact.
local function each(g, f)
  for _, name in ipairs(names) do f(name, berth.place(g, mesh, name)) end
  f("berth.portfolio", berth.portfolio(g, mesh))
  f("berth.exact", berth.exact(g, mesh))
  f("pipeline", berth.place(g, mesh, berth.pipeline { "heft", "repair" }))
end

describe("placers", function()
  for _, row in ipairs {
    { "times of 1e308 s", chain(1e308, 1), "times are too large: ops and transfers may take inf s" },
    { "times whose sum is too large", chain(5e149, 1),
      "times are too large: ops and transfers may take 1.5e%+150 s in all, more than 1e%+150 s" },
    { "transfers that take too long", chain(1, 1e308), "times are too large" },
    { "an overhead", chain(1, 6e149), "times are too large" },
  } do
    it("refuse with one message: " .. row[1], function()
      local first
      each(row[2], function(name, ...)
        errors.refused("unsupported", "^" .. row[3], ...)
        first = first or select(2, ...)
        assert.equal(first, (select(2, ...)), name)
      end)
      local path = shell.path ".json"
      assert(row[2]:save(path))
      for _, name in ipairs { "heft", "m-sct", "exact", "portfolio" } do
        local exit, _, err = shell.run("place", path, "mesh:2,bandwidth=1B/s", "--placer", name)
        assert.equal(2, exit)
        assert.equal("berth: " .. first, err)
      end
      shell.tidy()
    end)
  end

  it("take sizes whose sum is too large for no graph", function()
    local g = berth.graph { ops = { { params = 1e308, seconds = 1 }, { params = 1e308, seconds = 1 } } }
    each(g, function(_, ...) errors.refused("unsupported", "^sizes are too large: .* inf B", ...) end)
  end)

  it("take times up to the limit, denormal ones and none", function()
    for _, seconds in ipairs { 3e149, 1e-320, 0 } do
      each(chain(seconds, 1), function(name, p, message)
        local r = assert(p, name .. ": " .. tostring(message))
        assert.is_true(berth.simulate(chain(seconds, 1), mesh, r).makespan < 1e150, name)
      end)
    end
  end)

  it("place ops of no time on as many devices as the result says", function()
    local g = chain(0, 0)
    local p = assert(berth.place(g, mesh, "heft"))
    assert.matches("3 ops on 1 device", tostring(p), 1, true)
    assert.matches("on 1 of 2 devices", tostring(assert(berth.simulate(g, mesh, p))), 1, true)
    assert.is_nil(p.note)
  end)

  it("note ops without times and FLOP, once", function()
    local g = berth.graph { ops = { { seconds = 1 }, { name = "b" }, {} } }
    local note = "2 of 3 ops have neither times nor FLOP nor bytes, and no time is counted for "
      .. 'them; the first: op 2 "b"'
    assert.equal(note, g.note)
    assert.equal(note, assert(berth.place(g, mesh, "heft")).note)
    assert.is_nil(assert(berth.place(g, mesh, "heft", { cost = { op = function() return 1 end } })).note)
    local path = shell.path ".json"
    assert(g:save(path))
    for _, command in ipairs { "place", "bounds", "compare" } do
      local exit, _, err = shell.run(command, path, "mesh:2,bandwidth=1B/s")
      assert.equal(0, exit)
      assert.equal(("berth: note: %s: %s"):format(path, note), err)
    end
    shell.tidy()
  end)
end)
