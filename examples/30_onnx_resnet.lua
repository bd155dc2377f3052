-- From a ResNet-50 in a file of ONNX to a training step on four GPUs: which gap is left, and is the
-- step that of the built-in model? resnet50.onnx is written by scripts/tools/resnet_onnx.lua; its
-- weights, 102 MB, are in a file that is not needed.
local berth = require "berth"

local file = (arg and arg[0]:match "^(.*)/" or ".") .. "/resnet50.onnx"
local facts = {}
local inference = assert(berth.load(file, { bind = { batch = 1 }, facts = facts }))
print(("%d ops, %d trained parameters, %.2f GFLOP of products for an image"):format(#inference,
  facts.trained_parameters, facts.matrix_flop / 1e9))

local step = assert(berth.load(file, { bind = { batch = 32 }, training = true,
  optimizer = "adam" }))
local model = berth.models.resnet { depth = 50, batch = 32 }
for _, each in ipairs { { "from ONNX", step }, { "built in", model } } do
  local flop, params, kinds = 0, 0, { forward = 0, backward = 0, update = 0 }
  for op in each[2]:ops() do
    flop, params = flop + op.flop, params + op.params
    local pass = op.update and "update" or op.backward and "backward" or "forward"
    kinds[pass] = kinds[pass] + 1
  end
  print(("%-9s  %d + %d + %d ops, %.1f GFLOP, weights and state %s"):format(each[1], kinds.forward,
    kinds.backward, kinds.update, flop / 1e9, berth.format(params, "bytes")))
end

local machine = berth.topology.mesh(4, { preset = "A100", bandwidth = "100 GB/s" })
local rules = { links = "duplex" }
for _, each in ipairs { { "inference", inference }, { "training", step } } do
  local p = assert(berth.place(each[2], machine, "heft", rules))
  local r = assert(berth.simulate(each[2], machine, p, rules))
  print(("%-9s  %s"):format(each[1], tostring(r)))
  if each[2] == step then
    local path = arg and arg[1] or os.tmpname()
    assert(berth.report(path, { result = r, placement = p }))
    local page = assert(io.open(path)):read "*a"
    if not (arg and arg[1]) then os.remove(path) end
    for title in page:gmatch "<h2>(.-)</h2>" do print("section: " .. title) end
  end
end
