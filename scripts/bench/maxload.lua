-- Max-load and latency splits of the dnn-partitioning inputs and the listed results of the
-- published program and its greedy rule: optimum, CPU seconds, bytes. Fails if an optimum differs,
-- a latency is above the greedy one, or memory is exceeded.
-- usage: maxload.lua FOLDER [REFERENCE]: FOLDER holds throughput-inputs and latency-inputs, REFERENCE max_load.csv and
--        latency.csv (default FOLDER/../../reference)
local berth = require "berth"
local core = require "berth.core"
local folder = assert(arg[1], "usage: maxload.lua FOLDER [REFERENCE]")
local reference = arg[2] or folder .. "/../../reference"

local function rows(path)
  local list, keys = {}, nil
  for line in assert(io.lines(path)) do
    local row, fields = {}, {}
    for field in (line .. ","):gmatch("([^,]*),") do fields[#fields + 1] = field end
    if keys then
      for k, key in ipairs(keys) do row[key] = fields[k] end
      list[row.input] = row
    else
      keys = fields
    end
  end
  return list
end

local loads, latencies = rows(reference .. "/max_load.csv"), rows(reference .. "/latency.csv")

local function files()
  local list = {}
  local pipe = assert(io.popen(("ls %s/*-inputs/*/*.json"):format(folder)))
  for path in pipe:lines() do list[#list + 1] = path end
  pipe:close()
  return list
end

-- The result of a call, its CPU seconds (the best of three if it is fast), and the additional MiB
-- of the library.
local function measured(call)
  local best, found, mib = math.huge, nil, 0
  for _ = 1, 3 do
    collectgarbage()
    local before = core.memory(true)
    local from = os.clock()
    found = assert(call())
    best = math.min(best, os.clock() - from)
    mib = (select(2, core.memory()) - before) / 2 ^ 20
    if best > 0.5 then break end
  end
  return found, best, mib
end

local function share(ours, listed) return listed and listed > 0 and ("%.3f"):format(ours / listed) or "-" end

local function row(path)
  local name = path:match("([^/]+/[^/]+/[^/]+)%.json$")
  local listed, slow = loads[name] or {}, latencies[name] or {}
  local g, t = assert(berth.load(path, { cpus = true }))
  local s, seconds, mib = measured(function() return berth.split(g, t) end)
  local fast, latency_seconds = measured(function() return berth.split(g, t, { objective = "latency" }) end)
  local moved = assert(berth.split(g, t, { contiguous = false }))
  local optimum, greedy = tonumber(listed.optimal_max_load), tonumber(slow.greedy_latency)
  assert(not s.over and not fast.over, name .. ": memory")
  assert(not optimum or math.abs(1e3 * s.max_load - optimum) <= 1e-6 * optimum, name .. ": not the listed optimum")
  assert(not greedy or 1e3 * fast.latency <= greedy * (1 + 1e-9), name .. ": above the greedy latency")
  local cpu, kib = tonumber(listed.cpu_s), tonumber(listed.peak_kib)
  print(("%s\t%.10g\t%s\t%s\t%d\t%.3f\t%s\t%s\t%.1f\t%s\t%s\t%.10g\t%.7g\t%s\t%.2f"):format(name, 1e3 * s.max_load,
    optimum and ("%.10g"):format(optimum) or "-", tostring(s.proven), s.ideals, seconds, cpu or "-", share(seconds, cpu), mib,
    kib and ("%.1f"):format(kib / 1024) or "-", share(mib, kib and kib / 1024), 1e3 * moved.max_load, 1e3 * fast.latency,
    greedy and ("%.7g"):format(greedy) or "-", latency_seconds))
end

print("input\tmax_load_ms\tlisted_ms\tproven\tideals\tcpu_s\tlisted_cpu_s\tshare\tMiB\tlisted_MiB\tshare\tmoved_ms\tlatency_ms\t"
  .. "greedy_ms\tlatency_cpu_s")
for _, path in ipairs(files()) do row(path) end
