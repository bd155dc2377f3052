--- Which rate of each preset a graph's arithmetic has: "989 TFLOP/s (bf16 of preset H100)", or, in
-- the form kernels, whose constants: "H100 bf16, ..., constants fitted to H100 bf16".
local core = require "berth.core"

local rates = {}

-- What is behind the rate of a device.
local function source(device, dtype, used)
  if not used then return ("flops of device %s, whatever the dtype"):format(device.name) end
  if used == dtype then return ("%s of preset %s"):format(used, device.type) end
  if dtype == "fp32" then return ("%s of preset %s, for fp32"):format(used, device.type) end
  return ("%s of preset %s, which has no %s"):format(used, device.type, dtype)
end

-- A device of speed 2 runs each op in half the time.
local function at_speed(speed, flops)
  if speed == 1 then return "" end
  return core.sprintf(", at speed %.3g: %s", speed, core.format(speed * flops, "flop/s"))
end

-- The text of a device's kernels.
local function kernels(graph, device, dtype, used)
  local k = used and core.kernels(device.type, dtype) or core.kernels("", dtype,
    { flops = device.flops, memory_bandwidth = device.memory_bandwidth })
  return ("%s; %d of %d ops by shape"):format(tostring(k):gsub("^kernels: ", ""), graph.n_shapes,
    #graph)
end

local function named(form, graph, topology)
  return form and form ~= "auto" and form or core.cost_form(graph, topology)
end

--- The rates of a graph with FLOP whose dtype is known, once for devices alike.
-- @tparam graph graph
-- @tparam topology topology
-- @tparam[opt="auto"] string form how ops are priced, as in berth.cost
-- @treturn table array of { form, flops (FLOP/s), dtype (of the graph), arithmetic (of the rate;
--  nil: the devices' own flops), type, devices (ids), text }
function rates.of(graph, topology, form)
  form = named(form, graph, topology)
  local out, seen, dtype = {}, {}, graph.dtype
  if dtype == "" and form ~= "kernels" then return out end
  if dtype == "" then dtype = "fp32" end
  for device in topology:devices() do
    local flops, used = topology:rate(device.id, dtype)
    local key = ("%s %.17g %s %.17g"):format(device.type, flops, used or "", device.speed)
    if flops > 0 and not seen[key] then
      seen[key] = { flops = flops, dtype = dtype, arithmetic = used, type = device.type,
        devices = {}, form = form, text = form == "kernels" and kernels(graph, device, dtype, used)
          or ("%s (%s)%s"):format(core.format(flops, "flop/s"), source(device, dtype, used),
            at_speed(device.speed, flops)) }
      out[#out + 1] = seen[key]
    end
    if flops > 0 then table.insert(seen[key].devices, device.id) end
  end
  return out
end

--- A line for each of them; nil: there are none.
function rates.line(graph, topology, form)
  local texts = {}
  for i, rate in ipairs(rates.of(graph, topology, form)) do
    texts[i] = rate.form .. ": " .. rate.text
  end
  return #texts > 0 and table.concat(texts, "\n") or nil
end

return rates
