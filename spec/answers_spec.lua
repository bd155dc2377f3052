-- All systems answer as spec/answers.tsv says; scripts/answers --update changes that file.
package.path = "scripts/answers.d/?.lua;" .. package.path
local lines = require "lines"

describe("answers", function()
  it("are those of spec/answers.tsv", function()
    local expected, got = {}, {}
    for line in assert(io.lines "spec/answers.tsv") do expected[#expected + 1] = line end
    lines.all(function(line) got[#got + 1] = line end)
    local differences = lines.compare(expected, got)
    assert(#differences == 0,
      ("%d answers differ\n%s"):format(#differences, table.concat(differences, "\n")))
  end)

  it("are compared to the byte, or to 1e-9 where BLAS is on the way", function()
    local old = { "a\t1 2\tx", "~b\t0.1 7\t-", "c\t1\tx" }
    assert.equal(0, #lines.compare(old, { "a\t1 2\tx", "~b\t0.10000000000000002 7\t-", "c\t1\tx" }))
    local texts = lines.compare(old,
      { "a\t1 2.0000000000000004\tx", "~b\t0.1000001 7\t-", "d\t1\tx" })
    assert.equal(4, #texts)
    assert.truthy(texts[1]:find("differs: a", 1, true) and texts[2]:find("differs: ~b", 1, true))
    assert.truthy(texts[3]:find("missing: c", 1, true) and texts[4]:find("new: d", 1, true))
  end)
end)
