--- The GRAPH [TOPOLOGY] arguments of commands.
local berth = require "berth"
local fail = require "berth.cli.fail"
local notes = require "berth.cli.notes"
local options = require "berth.cli.options"
local registry = require "berth.place.registry"
local shared = require "berth.base.options"
local sources = require "berth.cli.sources"

local inputs = {}

-- The name of a device without a rate of FLOP or bytes, or nil.
local function lacks_rates(topology)
  for d = 1, #topology do
    local device = topology:device(d)
    if device.flops == 0 or device.memory_bandwidth == 0 then return device.name end
  end
  return nil
end

-- A model has no measured times: reported here, before the library does in general words.
local function check_rates(spec, topology)
  local name = lacks_rates(topology)
  if not name then return end
  fail.usage("%s is priced by FLOP and bytes, but device %s has no rates: give the topology "
    .. "preset=NAME, as in mesh:4,preset=V100 (presets: %s), or flops= and memory_bandwidth=", spec,
    name, table.concat(berth.device_presets(), " "))
end

--- For commands that take many graphs, and beside TOPOLOGY for those that take one.
inputs.topology_options = {
  { name = "topology", kind = "string", value = "TOPOLOGY", names = sources.generators,
    text = "of all graphs; default: that of each graph's file" },
  options.count("devices", "instead of a topology: N devices alike, each pair with a link of 1 "
    .. "B/s, for files with transfers in units of time"),
}

--- Raises unless the topology is given once.
function inputs.check(positional, given)
  if given.topology and given.devices then fail.usage("--devices: is instead of --topology") end
  if positional[2] and (given.topology or given.devices) then
    fail.usage("--%s: the topology is given already: %s", given.devices and "devices" or "topology",
      positional[2])
  end
end

-- The topology that arguments and options give, or nil; --devices makes a mesh of 1 B/s links.
local function topology_of(spec, given)
  if given.devices then return berth.topology.mesh(given.devices, { bandwidth = 1 }) end
  spec = spec or given.topology
  return spec and sources.topology(spec) or nil
end

--- Graph and topology of the arguments; the topology may come from the graph's file.
-- @tparam table positional
-- @tparam table given parsed options
-- @treturn graph
-- @treturn topology
function inputs.read(positional, given)
  inputs.check(positional, given)
  local graph, topology, _, about = sources.graph(positional[1], options.for_loading(given))
  topology = topology_of(positional[2], given) or topology
  if not topology then
    fail.usage("%s holds no topology: give one, a file or %s; or --devices N where transfers are "
      .. "in units of time", positional[1], sources.topology_examples)
  end
  if about and not about.timed then check_rates(positional[1], topology) end
  -- what is built in says what takes no time: inputs, gradients of sums
  if not sources.built_in(positional[1]) and graph.note then
    notes.add(positional[1] .. ": " .. graph.note)
  end
  return graph, topology
end

inputs.placement_option = options.file("placement",
  "a placement that berth place wrote, or single:DEVICE for all ops on one: single:d0")

-- "d0 to d3, or 1 to 4"
local function legal_devices(topology)
  local n = #topology
  return ("%s to %s, or 1 to %d"):format(topology:device(1).name, topology:device(n).name, n)
end

--- The id of a device on the command line: its name, as tables print it, or its number from 1.
-- @tparam string what for messages: "--device"
-- @tparam string text
-- @tparam topology topology
function inputs.device(what, text, topology)
  local names = {}
  for device in topology:devices() do
    if device.name == text then return device.id end
    names[device.id] = device.name
  end
  local id = text:match "^%d+$" and math.floor(tonumber(text))
  if id and id >= 1 and id <= #topology then return id end
  local meant = shared.nearest(text, names)
  return fail.usage("%s: the topology has no device %s (legal: %s%s)", what, text,
    legal_devices(topology), meant and ("; did you mean '%s'?"):format(meant) or "")
end

--- The placement of --placement.
-- @tparam string command for messages
-- @tparam string spec file name, or "single:DEVICE"
-- @treturn placement of as many ops as the graph has
function inputs.placement(command, spec, graph, topology)
  fail.refuse(not spec, "%s: --placement is needed: a file, or single:DEVICE for all ops on one, "
    .. "as in --placement single:d0", command)
  local device = spec:match("^single:(.*)$")
  if device then
    local devices, id = {}, inputs.device("--placement " .. spec, device, topology)
    for i = 1, #graph do devices[i] = id end
    return berth.placement(devices)
  end
  local placement, message, code = berth.load_placement(spec)
  if code == "io" and registry.by_name[spec] then
    fail.usage("%s\n%s is a placer: berth place ... --placer %s --output p.json writes a placement",
      message, spec, spec)
  end
  fail.need(placement, message, code)
  fail.refuse(#placement ~= #graph, "%s places %d ops, the graph has %d", spec, #placement, #graph)
  for op = 1, #placement do
    if placement[op] > #topology then
      fail.usage("%s places op %d on device %d, the topology has %s", spec, op, placement[op],
        legal_devices(topology))
    end
  end
  return placement
end

inputs.notes = [[
GRAPH is a file (any format of berth convert, gzip too) or model:NAME[,option=value...], such as
model:bert-large,batch=8,seq=512; berth models lists the names. TOPOLOGY is a file, or
NAME[:SIZE][,option=value...]:
  mesh:4  ring:8  star:4  pcie_tree:8  dgx1  fat_tree:4  torus:4x4  two_level:2x4
  options: bandwidth=50GB/s latency=5us preset=V100 memory=16GB flops=312TFLOP/s
  memory_bandwidth=2TB/s overhead=5us speed=1 type=gpu, and those of the generator (fan_out,
  up_bandwidth, between_latency, ...)
A preset has a rate for each dtype of a model (docs/devices.md); the output says which one was used.
A device is written as tables print it, d0, or as a number from 1.
It may be left out when the graph's file holds one.
exit: 0 done, 1 nothing fits (or memory ran out), 2 bad input or usage, 130 interrupted (the
result so far is printed)]]

return inputs
