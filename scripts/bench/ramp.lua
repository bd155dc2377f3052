-- Measures decisions on a RAMP cluster: partition, place, schedule, look ahead. Lines as in
-- bench.c.
-- usage: ramp.lua
-- Cold: the first one of a new planner, without allocated arrays. Warm: the next ones.
package.path = "spec/?.lua;" .. package.path
local berth = require "berth"
local shared = require "support.shared"

local MODELS = { "alexnet", "vgg16", "resnet18", "squeezenet1_0", "gnmt" }
local REPEATS, MOST = 31, 16

local function report(name, value, unit, input, cpu)
  print(("%s\t%.6g\t%s\t%s\t%.4f"):format(name, value, unit, input, cpu))
  io.flush()
end

local function timed(ramp, model)
  collectgarbage()
  local from = os.clock()
  local plan = ramp:plan(model, MOST)
  return os.clock() - from, plan
end

local function median(list)
  table.sort(list)
  return list[(#list + 1) / 2]
end

local function measure(mode, options, name)
  local cold, warm, cpu, plan = {}, {}, 0, nil
  for i = 1, REPEATS do
    local ramp = berth.ramp(options)
    local model = assert(berth.pacml.profile(ramp, shared.path("data/pipedream/" .. name .. ".txt")))
    cold[i], plan = timed(ramp, model)
    warm[i] = timed(ramp, model)
    cpu = cpu + cold[i] + warm[i]
  end
  local input = ("%s, at most %d pieces: %d ops, %d dependencies, %d ticks, 50 steps %.10g s; median of %d"):format(mode, MOST,
    plan.ops, plan.deps, plan.ticks, 50 * plan.step, REPEATS)
  local slow = median(cold)
  report(("ramp decision, cold, %s, %s"):format(mode, name), 1e3 * slow, "CPU ms", input, cpu)
  report(("ramp decision, warm, %s, %s"):format(mode, name), 1e3 * median(warm), "CPU ms", input, cpu)
  return slow
end

if not shared.present() then
  io.stderr:write("ramp.lua: no " .. shared.dir .. ": its profiles are the inputs\n")
  os.exit(1)
end
for _, case in ipairs { { "compat", { compat = true } }, { "exact", {} } } do
  local slowest = 0
  for _, name in ipairs(MODELS) do slowest = math.max(slowest, measure(case[1], case[2], name)) end
  report(("ramp decision, cold, %s, slowest model"):format(case[1]), 1e3 * slowest, "CPU ms", "the same", 0)
end
