-- Output shapes of the models of libonnx-testdata (Debian), against inferred ones.
local testdata = require "spec.support.onnx_testdata"

describe("models of libonnx-testdata", function()
  if not testdata.installed() then
    it("are compared where the package is installed", function()
      pending("libonnx-testdata is not installed; BERTH_ONNX_TESTDATA may name its folder")
    end)
    return
  end
  it("have the right output shapes, or none", function()
    local count = { right = 0, wrong = 0, unknown = 0, refused = 0 }
    local wrong = {}
    for _, dir in ipairs(testdata.models()) do
      local verdict = testdata.judge(dir)
      count[verdict] = count[verdict] + 1
      if verdict == "wrong" then wrong[#wrong + 1] = dir end
    end
    assert.same({}, wrong)
    assert.is_true(count.right >= 1020, ("%d right, %d unknown, %d refused"):format(count.right,
      count.unknown, count.refused))
  end)
end)
