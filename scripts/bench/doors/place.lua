-- Places each model of ONNX of a folder on four devices by the default placer: one inference and one
-- training step; step time, lower bound, gap.
local align = require "berth.base.align"
local berth = require "berth"
local csv = require "doors.csv"

local dir = arg[1]
assert(dir and not arg[2], "usage: scripts/bench/doors_place DIR")
local rows = assert(csv.read(dir .. "/onnx/expected.csv"), dir .. "/onnx/expected.csv: not there")

local topology = berth.topology.mesh(4, { preset = "V100", bandwidth = "25 GB/s",
  latency = "5 us" })
local OPTIONS = { links = "duplex" }

local function bindings(text)
  local out = {}
  for name, value in text:gmatch "(%S+)=(%d+)" do out[name] = tonumber(value) end
  return out
end

-- Ops, step, bound, gap, devices and CPU seconds as texts; nil and why.
local function placed(path, bind, training)
  local graph, why = berth.load(path, { bind = bind, training = training, format = "onnx" })
  if not graph then return nil, why end
  local begin = os.clock()
  local p = assert(berth.place(graph, topology, "portfolio", OPTIONS))
  local seconds = os.clock() - begin
  local r = assert(berth.simulate(graph, topology, p, OPTIONS))
  local used, n = {}, 0
  for _, d in ipairs(p:devices()) do
    if not used[d] then used[d], n = true, n + 1 end
  end
  return { ("%d"):format(graph.n_ops), berth.format(r.makespan, "seconds"),
    berth.format(r.bound, "seconds"), ("%.1f %%"):format(math.max(0, 100 * r.gap)), ("%d"):format(n),
    ("%.1f"):format(seconds) }
end

local refused = {}
local lines = { { "model", "ops", "step", "bound", "gap", "devices", "CPU s" } }
for _, row in ipairs(rows) do
  for _, training in ipairs { false, true } do
    local line, why = placed(dir .. "/onnx/" .. row.file, bindings(row.bind), training)
    local name = row.file:gsub("%.onnx$", "") .. (row.bind ~= "" and " " .. row.bind or "")
    if line then
      table.insert(line, 1, name .. (training and ", training" or ""))
      lines[#lines + 1] = line
    elseif not training then
      refused[#refused + 1] = why
    end
  end
end
print(tostring(topology) .. ", links duplex")
for _, line in ipairs(align.lines(lines, { true })) do print(line) end
for _, why in ipairs(refused) do print(why) end
