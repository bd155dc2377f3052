-- Max-load and latency splits of dnn-partitioning inputs: optimum, CPU seconds, bytes of the library.
-- usage: maxload.lua FOLDER (that holds throughput-inputs and latency-inputs)
local berth = require "berth"
local folder = assert(arg[1], "usage: maxload.lua FOLDER")

local function files()
  local list = {}
  local pipe = assert(io.popen(("ls %s/*-inputs/*/*.json"):format(folder)))
  for path in pipe:lines() do list[#list + 1] = path end
  pipe:close()
  return list
end

local function row(path)
  local g, t = assert(berth.load(path, { cpus = true }))
  local from = os.clock()
  local s = assert(berth.split(g, t))
  local seconds = os.clock() - from
  local moved = assert(berth.split(g, t, { contiguous = false }))
  local fast = assert(berth.split(g, t, { objective = "latency" }))
  print(("%s\t%.10g\t%s\t%d\t%.3f\t%.10g\t%.10g"):format(path:match("([^/]+/[^/]+/[^/]+)%.json$"), 1e3 * s.max_load,
    tostring(s.proven), s.ideals, seconds, 1e3 * moved.max_load, 1e3 * fast.latency))
end

print("input\tmax_load_ms\tproven\tideals\tcpu_s\tmoved_ms\tlatency_ms")
for _, path in ipairs(files()) do row(path) end
