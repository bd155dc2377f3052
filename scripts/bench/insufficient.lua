-- Devices with a share of the memory that a single one would need: which placers find a placement,
-- which run out of memory, and at what step time?
-- usage: eval "$(make -s env)"; lua5.4 scripts/bench/insufficient.lua [LINKS, default duplex]
package.path = "scripts/bench/?.lua;" .. package.path
local berth = require "berth"
local studies = require "studies"

local links = arg[1] or "duplex"
local memory, multiple = "training", 3 -- parameters, their gradients and momentum
local placers = {
  "m-topo (tf)", "m-etf (tf)", "m-sct (tf)", "m-topo (pt)", "m-etf (pt)", "m-sct (pt)", "m-topo", "m-etf", "m-sct", "heft",
  "single", "portfolio",
}
local fractions = { 1.0, 0.8, 0.6, 0.5, 0.4, 0.35, 0.3 }

-- The same machine with other limits; files of the dnn-partitioning set give links by seconds, which are kept.
local function limited(t, bytes)
  local parts = { devices = {}, links = {}, switches = {} }
  for d in t:devices() do
    d.memory, d.id = bytes, nil
    parts.devices[#parts.devices + 1] = d
  end
  for k = 1, t.n_links do
    local l = t:link(k)
    parts.links[k] = { l.from, l.to, bandwidth = l.bandwidth, latency = l.latency, directed = true }
  end
  return assert(berth.topology(parts))
end

local function on(g, t, p, dispatch)
  return berth.simulate(g, t, p,
    { links = links, memory = memory, param_multiple = multiple, dispatch = dispatch, bound = false })
end

local function place(g, t, placer)
  local name, tag = placer:match("^(%S+) ?%(?(%a*)%)?$")
  local own = { memory = memory, param_multiple = multiple }
  if tag ~= "" then own.variant = "baechi-" .. tag else own.links = links end
  return berth.place(g, t, name, own)
end

-- Step time; "refuses"; "runs out": also in the planned order, if there is one.
local function outcome(g, t, placer)
  local p, message, code = place(g, t, placer)
  if not p then return assert(code == "infeasible" and "refuses", message) end
  local r = on(g, t, p)
  if r.oom and p:sequence() then r = on(g, t, p, "planned") end
  return r.oom and "runs out" or r.makespan
end

local function needed(g, t)
  local free = limited(t, math.huge)
  local r = on(g, free, assert(berth.place(g, free, "single", { memory = memory, param_multiple = multiple })))
  local peak = 0
  for _, bytes in ipairs(r.peak_memory) do peak = math.max(peak, bytes) end
  return peak, r.makespan
end

-- [placer][fraction] = { held, refuses, out, log }
local totals = {}
for _, placer in ipairs(placers) do
  totals[placer] = {}
  for k in ipairs(fractions) do totals[placer][k] = { held = 0, refuses = 0, out = 0, log = 0 } end
end

local function count(total, x, single)
  if x == "refuses" then total.refuses = total.refuses + 1
  elseif x == "runs out" then total.out = total.out + 1
  else total.held, total.log = total.held + 1, total.log + math.log(x / single) end
end

local unfit, begin = {}, os.clock()
for _, input in ipairs(studies.inputs()) do
  local bytes, single = needed(input.graph, input.topology)
  for k, fraction in ipairs(fractions) do
    local t = limited(input.topology, bytes * fraction)
    local fits = berth.bounds(input.graph, t, { memory = memory, param_multiple = multiple })
    unfit[k] = (unfit[k] or 0) + (fits and 0 or 1)
    for _, placer in ipairs(placers) do count(totals[placer][k], outcome(input.graph, t, placer), single) end
  end
  io.stderr:write(("%s: %d ops, %d devices, %s; %.1f s\n"):format(input.name, #input.graph, #input.topology,
    berth.format(bytes, "bytes"), os.clock() - begin))
end

print("held / refuses / runs out (geometric mean of step time / single device, of those that hold)")
local head = { "placer" }
for _, fraction in ipairs(fractions) do head[#head + 1] = ("%.2f"):format(fraction) end
print("| " .. table.concat(head, " | ") .. " |\n" .. ("|---"):rep(#head) .. "|")
print("| proved that nothing fits | " .. table.concat(unfit, " | ") .. " |")
for _, placer in ipairs(placers) do
  local cells = { placer }
  for k, t in ipairs(totals[placer]) do
    local mean = t.held > 0 and (" (%.2f)"):format(math.exp(t.log / t.held)) or ""
    cells[k + 1] = ("%d / %d / %d%s"):format(t.held, t.refuses, t.out, mean)
  end
  print("| " .. table.concat(cells, " | ") .. " |")
end
