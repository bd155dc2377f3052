-- Shapes of all tensors of ONNX models, against those that libonnx infers (python3-onnx).
local libonnx = require "spec.support.libonnx"
local testdata = require "spec.support.onnx_testdata"

local DOORS = "../shared/reference/doors/onnx/"

-- Models of the reference with their bindings; nil: there are none here.
local function reference()
  local file, out = io.open(DOORS .. "expected.csv"), {}
  if not file then return nil end
  for line in file:lines() do
    local name, sizes = line:match "^([^,]+%.onnx),([^,]*),"
    local bind = {}
    for key, n in (sizes or ""):gmatch "(%S+)=(%d+)" do bind[key] = tonumber(n) end
    if name then out[#out + 1] = { path = DOORS .. name, bind = bind } end
  end
  file:close()
  return out
end

local function folder()
  if not testdata.installed() then return nil end
  local out = {}
  for i, dir in ipairs(testdata.models()) do out[i] = { path = dir .. "/model.onnx" } end
  return out
end

describe("tensors of ONNX models have the shapes of libonnx:", function()
  local function compared(name, models, why, least)
    it(name, function()
      if not models then return pending(why) end
      if not libonnx.installed() then return pending "python3-onnx is not installed" end
      local count = libonnx.compare(models())
      assert.same({}, count.differing)
      assert.is_true(count.equal >= least, count.equal)
      assert.is_true(count.only_libonnx <= 1 and count.failed == 0)
      return nil
    end)
  end

  compared("models of the reference", reference() and reference, DOORS .. " is not there", 2800)
  compared("models of libonnx-testdata", folder() and folder, "libonnx-testdata is not installed",
    2100)
end)
