--- Output shapes of the models of libonnx-testdata (Debian), which they declare, against inferred
-- ones: the declarations are taken away, and small inputs beside the first are given.
local berth = require "berth"
local o = require "spec.support.onnx"

local testdata = { dir = os.getenv "BERTH_ONNX_TESTDATA" or "/usr/share/libonnx-testdata/data" }

-- What a file holds; nil: there is none.
local function read(path)
  local file = io.open(path, "rb")
  local text = file and file:read "*a"
  if file then file:close() end
  return text
end

local function get(message, number)
  for _, f in ipairs(o.parse(message)) do
    if f[1] == number then return f[2] end
  end
end

-- Sizes of a TensorProto; nil: a sequence or an optional.
local function tensor(message)
  local dims = {}
  for _, f in ipairs(o.parse(message)) do
    if f[1] == 3 or f[1] == 1 and type(f[2]) == "string" then return nil end
    if f[1] == 1 then dims[#dims + 1] = f[2] end
  end
  return dims
end

-- The same tensor under a name.
local function named(message, name)
  local list = {}
  for _, f in ipairs(o.parse(message)) do
    if f[1] ~= 8 then list[#list + 1] = f end
  end
  list[#list + 1] = { 8, name, 2 }
  return o.join(list)
end

-- The fields of a graph without declared shapes, its inputs, its outputs, its kinds; one more op,
-- which keeps models of constants from having none.
local function stripped(graph)
  local kept, inputs, outputs, kinds = {}, {}, {}, {}
  for _, f in ipairs(o.parse(graph)) do
    local name = (f[1] == 11 or f[1] == 12) and get(f[2], 1)
    if f[1] == 1 then kinds[#kinds + 1] = get(f[2], 4) end
    if f[1] == 11 then inputs[#inputs + 1] = name end
    if f[1] == 12 then
      outputs[#outputs + 1] = name
      f = { 12, o.field(1, name), 2 }
    end
    if f[1] ~= 13 then kept[#kept + 1] = f end
  end
  kept[#kept + 1] = { 1, o.node "Relu live -> alive", 2 }
  kept[#kept + 1] = { 11, o.info("live", 1, { 1 }), 2 }
  return kept, inputs, outputs, kinds
end

local function product(dims)
  local n = 1
  for _, d in ipairs(dims) do n = n * d end
  return n
end

--- "right", "wrong", "unknown" or "refused" of the model in a folder, its kinds, and why it was
-- refused.
function testdata.judge(dir)
  local model, at = o.parse(read(dir .. "/model.onnx")), nil
  for i, f in ipairs(model) do
    if f[1] == 7 then at = i end
  end
  local kept, inputs, outputs, kinds = stripped(model[at][2])
  for k, name in ipairs(inputs) do
    local text = read(("%s/test_data_set_0/input_%d.pb"):format(dir, k - 1))
    local dims = text and tensor(text)
    if dims and #dims <= 2 and product(dims) <= 64 then
      kept[#kept + 1] = { 5, named(text, name), 2 }
    end
  end
  model[at][2] = o.join(kept)
  local facts, verdict = {}, "right"
  local g, why = berth.parse(o.join(model), { facts = facts })
  if not g then return "refused", kinds, why end
  for k in ipairs(outputs) do
    local text = read(("%s/test_data_set_0/output_%d.pb"):format(dir, k - 1))
    local dims = text and tensor(text)
    local got = facts.outputs[k].shape
    if not dims or not got then verdict = "unknown"
    elseif table.concat(dims, "x") ~= table.concat(got, "x"):gsub("%.0", "") then
      return "wrong", kinds
    end
  end
  return verdict, kinds
end

--- Whether the package is installed.
function testdata.installed() return read(testdata.dir .. "/node/test_relu/model.onnx") ~= nil end

--- Folders of all models.
function testdata.models()
  local out = {}
  for path in io.popen("ls " .. testdata.dir .. "/*/*/model.onnx"):lines() do
    out[#out + 1] = path:gsub("/model.onnx$", "")
  end
  return out
end

return testdata
