-- Options of functions: the core's descriptors, and lists of Lua modules in the same form.
local core = require "berth.core"
local options = require "berth.base.options"

describe("declared options", function()
  local name = "spec.options"
  options.declare(name, {
    { key = "size", type = "whole", default = "1", low = 1, high = 8, text = "how many" },
    { key = "share", type = "number", default = "0.5", above = true, high = 1, text = "of what" },
    { key = "quick", type = "flag", default = "false", text = "whether", readers = { a = true } },
    { key = "kind", type = "choice", default = "x", text = "which",
      choices = { { name = "x", text = "X." }, { name = "y", text = "Y." } } },
    { key = "time", type = "seconds", default = "none", text = "the function's to check" },
  })

  local function message(given, reader)
    local fine, text = pcall(options.read, "f", name, given, reader)
    assert.is_false(fine)
    return text:match "f: .*$"
  end

  it("are found beside the core's", function()
    assert.equal("size", options.described(name)[1].key)
    assert.same(core.options "simulate", options.described "simulate")
    assert.is_nil(options.described "nobody")
    local known = {}
    for _, one in ipairs(options.described()) do
      assert.is_nil(known[one])
      known[one] = true
    end
    assert.is_true(known[name] and known.simulate and known.cluster)
    for _, one in ipairs(options.described()) do
      for _, row in ipairs(options.described(one)) do
        assert.is_string(row.key)
        assert.is_string(row.type, row.key)
        assert.is_string(row.text, row.key)
        assert.is_string(row.default, row.key)
      end
    end
  end)

  it("are refused by key, and by who reads them", function()
    assert.same({ "size", "share", "kind", "time" }, options.keys(name, "b"))
    assert.equal("f: unknown option 'quick' (legal: size, share, kind, time)",
      message({ quick = true }, "b"))
    assert.equal("f: unknown option 'sise' (legal: size, share, quick, kind, time; did you "
      .. "mean 'size'?)", message({ sise = 1 }, "a"))
    assert.equal("f: options: expected a table, got number", message(3))
  end)

  it("are refused by value", function()
    assert.equal("f: size: 9 is out of range 1 to 8", message { size = 9 })
    assert.equal("f: size: expected a whole number, got 1.5", message { size = 1.5 })
    assert.equal("f: size: expected a number, got string", message { size = "1" })
    assert.equal("f: share: 0 is out of range above 0 to 1", message { share = 0 })
    assert.equal("f: quick: expected true or false, got number", message({ quick = 1 }, "a"))
    assert.equal("f: kind: 'z' is none of: x, y", message { kind = "z" })
    assert.equal("f: kind: expected one of: x, y; got number", message { kind = 1 })
    local fine = { size = 8, share = 1, quick = false, kind = "y", time = {} }
    assert.equal(fine, options.read("f", name, fine, "a"))
    assert.same({}, options.read("f", name, nil))
  end)
end)
