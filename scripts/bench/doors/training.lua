-- Training steps of models of ONNX beside those of the built-in models: work, sizes, and memory of one
-- device that executes all ops.
local align = require "berth.base.align"
local berth = require "berth"

local dir = arg[1]
assert(dir and not arg[2], "usage: scripts/bench/doors_training DIR")

local device = berth.topology.mesh(1, { preset = "A100" })

-- Bytes of forward tensors that backward ops read.
local function saved_bytes(g)
  local bytes = 0
  for t = 1, g.n_tensors do
    local x, saved = g:tensor(t), false
    for _, id in ipairs(x.to) do saved = saved or g:op(id).backward end
    if saved and not g:op(x.from).backward then bytes = bytes + x.resident end
  end
  return bytes
end

local function line(name, g)
  local flop, params, state, bytes = { forward = 0, backward = 0, update = 0 }, 0, 0, 0
  for op in g:ops() do
    local pass = op.update and "update" or op.backward and "backward" or "forward"
    flop[pass] = flop[pass] + op.flop
    bytes = bytes + op.bytes
    if op.update then state = state + op.params else params = params + op.params end
  end
  local p = assert(berth.place(g, device, "single"))
  local r = assert(berth.simulate(g, device, p, { memory = "training" }))
  local function giga(x) return ("%.4g"):format(x / 1e9) end
  return { name, ("%d"):format(g.n_ops), giga(flop.forward), giga(flop.backward),
    giga(flop.update), giga(params), giga(state), giga(bytes), giga(saved_bytes(g)),
    giga(r.peak_memory[1]) }
end

local function onnx(path, bind)
  return assert(berth.load(path, { bind = bind, training = true }))
end

local lines = {
  { "model", "ops", "forward", "backward", "update", "weights", "state", "moved", "saved", "peak" },
  line("resnet18, ONNX", onnx(dir .. "/onnx/resnet18_dynbatch.onnx", { N = 32 })),
  line("resnet18, built in", (berth.models.resnet { depth = 18, batch = 32 })),
  line("resnet50, ONNX", onnx("examples/resnet50.onnx", { batch = 32 })),
  line("resnet50, built in", (berth.models.resnet { depth = 50, batch = 32 })),
  line("resnet50, folded", onnx(dir .. "/onnx/resnet50.onnx")),
  line("resnet50, batch 1", (berth.models.resnet { depth = 50, batch = 1 })),
  line("bert base, ONNX", onnx(dir .. "/onnx/bert_base_dyn.onnx", { batch = 8, seq = 128 })),
  line("bert base, built in", (berth.models.bert { size = "base", batch = 8, seq = 128 })),
}
print "GFLOP forward, backward, update; GB of weights, optimizer state, traffic, saved, peak"
for _, each in ipairs(align.lines(lines, { true })) do print(each) end
