-- Topologies of docs/how-good.md. Bandwidths of the two testbeds as published with TAG.
local berth = require "berth"
local topology = berth.topology
local clusters = {}

function clusters.nvlink_mesh() return topology.mesh(4, { preset = "V100", bandwidth = "25 GB/s", latency = "5 us" }) end

function clusters.small_nvlink_mesh()
  return topology.mesh(4, { preset = "V100", memory = "2.5 GB", bandwidth = "25 GB/s", latency = "5 us" })
end

function clusters.pcie_tree()
  return topology.pcie_tree(8, { preset = "T4", bandwidth = "12 GB/s", latency = "5 us", up_bandwidth = "12 GB/s" })
end

function clusters.dgx1() return topology.dgx1 { preset = "V100", bandwidth = "25 GB/s", latency = "5 us" } end

function clusters.ring() return topology.ring(4, { preset = "V100", bandwidth = "25 GB/s", latency = "5 us" }) end

function clusters.two_machines()
  return topology.two_level(2, 4, { preset = "P100", memory = "3 GB", bandwidth = "12 GB/s", latency = "5 us",
    between_bandwidth = "10 Gbit/s", between_latency = "50 us" })
end

function clusters.star()
  return topology.star(4, { preset = "T4", memory = "0.5 GB", bandwidth = "25 Gbit/s", latency = "20 us" })
end

-- By its TF32 rate, which is that of the type's preset only under the preset's name.
function clusters.llama()
  return topology.two_level(2, 2, { preset = "A100", type = "A100 by TF32", memory = "6 GB", bandwidth = "100 GB/s",
    latency = "5 us",
    between_bandwidth = "100 Gbit/s", between_latency = "10 us" })
end

function clusters.uneven_ring()
  local devices, links = {}, {}
  for d = 1, 8 do
    devices[d] = { speed = d % 2 == 1 and 1 or 0.5 }
    links[d] = { d, d % 8 + 1, bandwidth = "5 GB/s", latency = "10 us" }
  end
  return assert(topology { name = "uneven ring", devices = devices, links = links })
end

function clusters.unequal()
  local devices, links = {}, {}
  for d, speed in ipairs { 1, 1, 0.5, 0.25 } do
    devices[d] = { speed = speed }
    for e = 1, d - 1 do links[#links + 1] = { e, d, bandwidth = "10 GB/s", latency = "5 us" } end
  end
  return assert(topology { name = "unequal", devices = devices, links = links })
end

-- Machines of like devices at a switch each, the switches at one in the middle: { count, preset, memory, bandwidth, up }.
local function machines(name, list)
  local devices, switches, links = {}, { "middle" }, {}
  for m, machine in ipairs(list) do
    local switch = "machine" .. m
    switches[#switches + 1] = switch
    links[#links + 1] = { switch, "middle", bandwidth = machine.up, latency = "20 us" }
    for k = 1, machine.count do
      local device = ("m%d-%d"):format(m, k)
      devices[#devices + 1] = { name = device, preset = machine.preset, memory = machine.memory, machine = m }
      links[#links + 1] = { device, switch, bandwidth = machine.bandwidth, latency = "5 us" }
    end
  end
  return assert(topology { name = name, devices = devices, switches = switches, links = links })
end

function clusters.tag_testbed()
  local up = "2810 MB/s"
  return machines("testbed", {
    { count = 4, preset = "V100", memory = "30 GiB", bandwidth = "8000 MB/s", up = up },
    { count = 8, preset = "GTX1080Ti", memory = "9 GiB", bandwidth = "3000 MB/s", up = up },
    { count = 4, preset = "P100", memory = "10 GiB", bandwidth = "3000 MB/s", up = up },
  })
end

function clusters.tag_six()
  return machines("six", {
    { count = 2, preset = "V100", memory = "12 GiB", bandwidth = "8000 MB/s", up = "2180 MB/s" },
    { count = 2, preset = "V100", memory = "12 GiB", bandwidth = "8000 MB/s", up = "5000 MB/s" },
    { count = 2, preset = "GTX1080Ti", memory = "8 GiB", bandwidth = "8000 MB/s", up = "5000 MB/s" },
  })
end

-- The devices of a machine have a separate type.
function clusters.two_replicas()
  local devices, switches, links = {}, { "fabric" }, {}
  for m = 1, 2 do
    local switch = "machine" .. m
    switches[#switches + 1] = switch
    links[#links + 1] = { switch, "fabric", bandwidth = "100 Gbit/s", latency = "10 us" }
    for k = 1, 4 do
      local device = ("m%d-%d"):format(m, k)
      devices[#devices + 1] = { name = device, preset = "V100", type = switch, memory = "1.5 GB", machine = m }
      links[#links + 1] = { device, switch, bandwidth = "25 GB/s", latency = "5 us" }
    end
  end
  return assert(topology { name = "two replicas", devices = devices, switches = switches, links = links })
end

--- The same with so much memory in each device.
function clusters.limited(t, bytes)
  local devices, links = {}, {}
  for device in t:devices() do
    device.memory, device.id = bytes, nil
    devices[#devices + 1] = device
  end
  for k = 1, t.n_links do
    local link = t:link(k)
    links[k] = { link.from, link.to, bandwidth = link.bandwidth, latency = link.latency, directed = true }
  end
  return assert(topology { name = t.name, devices = devices, links = links })
end

return clusters
