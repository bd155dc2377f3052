-- Numbers in files, quantities with units, and random streams.
local berth = require "berth"
local errors = require "support.errors"
local shell = require "support.shell"
local refused, raises = errors.refused, errors.raises

describe("numbers in files", function()
  local core, decimals = require "berth.core", require "berth.base.decimals"

  it("are the same on every interpreter, where halves are rounded, too", function()
    assert.equal("9503711414.550781", core.number_text(9503711414.55078125))
    -- LuaJIT's %.17g: 10000000000.007813
    assert.equal("10000000000.007812", core.number_text(10000000000.0078125))
    assert.equal("1.0312", core.number_text(1.03125, 5))
    assert.same({ "0.0313", "0.13", "0.3333", "-2.5" },
      { decimals(0.03125, 4), decimals(0.125, 2), decimals(1 / 3, 4), decimals(-2.5, 1) })
    raises("number_text: x: expected a number, got string", core.number_text, "1")
    raises("digits: 18 is out of range 1..17", core.number_text, 1, 18)
  end)
end)

describe("quantities", function()
  it("are read with their units", function()
    assert.near(5e-6, berth.quantity("5 us", "seconds"), 1e-18)
    assert.equal(16 * 2 ^ 30, berth.quantity("16 GiB", "bytes"))
    assert.equal(25e9 / 8, berth.quantity("25 Gbit/s", "bytes/s"))
    assert.equal(312e12, berth.quantity("312 TFLOP/s", "flop/s"))
    assert.equal(7, berth.quantity(7, "flop"))
  end)

  it("are refused with the text", function()
    refused("invalid", "parsec", berth.quantity("5 parsec", "seconds"))
    raises("unit: 'metres' is none of: seconds, bytes", berth.quantity, 1, "metres")
    raises("unit: expected", berth.quantity, 1)
  end)

  it("are written with three digits", function()
    assert.equal("41.2 ms", berth.format(0.0412, "seconds"))
    assert.equal("11.3 GB", berth.format(11.3e9, "bytes"))
    assert.equal("25 GB/s", berth.format(25e9, "bytes/s"))
    raises("value: expected a number, got string", berth.format, "1", "bytes")
  end)
end)

describe("random streams", function()
  it("give the same numbers for the same seed and stream", function()
    local a, b, c = berth.rng(7, 1), berth.rng(7, 1), berth.rng(7, 2)
    local same, other = true, true
    for _ = 1, 20 do
      local x = a:uniform()
      same = same and x == b:uniform()
      other = other and x == c:uniform()
      assert.is_true(x >= 0 and x < 1)
    end
    assert.is_true(same)
    assert.is_false(other)
  end)

  it("give known first numbers, whatever the interpreter", function()
    local r = berth.rng(1)
    local text = {}
    for _ = 1, 3 do text[#text + 1] = ("%.17g"):format(r:uniform()) end
    for _ = 1, 3 do text[#text + 1] = ("%d"):format(r:below(1000)) end
    local again = berth.rng(1, 0)
    for i = 1, 3 do assert.equal(text[i], ("%.17g"):format(again:uniform())) end
    assert.equal("rng: seed 1, stream 0", tostring(r))
  end)

  it("count from 1, and shuffle in place", function()
    local r = berth.rng(3)
    local seen = {}
    for _ = 1, 200 do seen[r:below(4)] = true end
    assert.same({ true, true, true, true }, seen)
    local items = { "a", "b", "c", "d", "e", "f" }
    assert.equal(items, r:shuffle(items))
    table.sort(items)
    assert.same({ "a", "b", "c", "d", "e", "f" }, items)
    assert.same({}, r:shuffle {})
    assert.is_number(r:normal())
  end)

  it("refuse mistakes", function()
    local r = berth.rng(3)
    raises("rng:below: n: 0 is out of range", r.below, r, 0)
    raises("n: expected a whole number, got 1.5", r.below, r, 1.5)
    raises("berth.rng: seed: -1 is out of range", berth.rng, -1)
    raises("self: expected a rng, got number", r.uniform, 3)
    r:close()
    raises("the rng is closed", r.uniform, r)
  end)
end)

describe("the module", function()
  it("reports its version, memory and kinds", function()
    assert.matches("^%d+%.%d+%.%d+$", berth.version)
    local held, peak = berth.memory()
    assert.is_true(held >= 0 and peak >= held)
    berth.memory(true)
    assert.equal("rng", berth.kind(berth.rng(1)))
    assert.equal("table", berth.kind {})
    assert.is_nil(berth.nothing_of_the_kind)
  end)

  it("makes no globals and prints nothing when it is loaded", function()
    local lua = os.getenv("BERTH_LUA") or arg[-1] or "lua5.4"
    local script = "local n = 0 for _ in pairs(_G) do n = n + 1 end require 'berth' "
      .. "for _ in pairs(_G) do n = n - 1 end print(n)"
    local out =
      shell.capture("ASAN_OPTIONS=detect_leaks=0 " .. lua .. ' -e "' .. script .. '" 2>&1')
    assert.equal("0\n", out)
  end)
end)
