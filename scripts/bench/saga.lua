-- List schedulers and SAGA: makespans with its averages, and its CPU seconds over ours for the same
-- call (graph and topology loaded, prices not yet known).
-- usage: saga.lua DIRECTORY [SECONDS per row, default 0.05]: a line per row, then the least and the geometric mean of the ratios.
-- Fails if a makespan of HEFT or CPOP differs by more than 1e-6.
local berth = require "berth"

local directory, budget = arg[1], tonumber(arg[2] or 0.05)
if not directory then
  io.stderr:write("usage: saga.lua DIRECTORY [SECONDS]\n")
  os.exit(2)
end

local placers = { HEFT = "heft", CPOP = "cpop", PEFT = "peft", ETF = "etf", MinMin = "minmin" }
local averaged = { heft = true, cpop = true, peft = true }

-- CPU seconds of one call: the least mean of five spells.
local function seconds(call)
  local least = math.huge
  for _ = 1, 5 do
    local from, n = os.clock(), 0
    repeat
      call()
      n = n + 1
    until os.clock() - from >= budget / 5
    least = math.min(least, (os.clock() - from) / n)
  end
  return least
end

local sums = { n = 0, logs = 0, least = math.huge }

local function look(instance, scheduler, low, high, theirs)
  local placer = placers[scheduler]
  local g, t = assert(berth.load(("%s/%s.json"):format(directory, instance)))
  local options = averaged[placer] and { averages = "saga" } or {}
  local makespan = assert(berth.place(g, t, placer, options)).estimate
  local equal = makespan >= low * (1 - 1e-6) and makespan <= high * (1 + 1e-6)
  assert(equal or (placer ~= "heft" and placer ~= "cpop"), instance .. " " .. scheduler .. ": not SAGA's makespan")
  local ours = seconds(function() return berth.place(g, t, placer, options) end)
  local ratio = theirs / ours
  sums.n, sums.logs = sums.n + 1, sums.logs + math.log(ratio)
  if ratio < sums.least then sums.least, sums.where = ratio, instance .. " " .. scheduler end
  print(("%s\t%s\t%.9g\t%s\t%s\t%.3g\t%.3g\t%.0f"):format(instance, scheduler, makespan,
    low == high and ("%.9g"):format(low) or ("%.9g to %.9g"):format(low, high), equal and "equal" or "-", theirs, ours, ratio))
end

print("instance\tscheduler\tmakespan\tsaga\tsame\tsaga_cpu_s\tcpu_s\tratio")
for line in assert(io.lines(directory .. "/saga_makespans.csv")) do
  local fields = {}
  for field in line:gmatch("[^,]+") do fields[#fields + 1] = field end
  if placers[fields[4]] then look(fields[1], fields[4], tonumber(fields[5]), tonumber(fields[6]), tonumber(fields[7])) end
end
print(("rows %d: SAGA's CPU seconds over ours: least %.0f (%s), geometric mean %.0f"):format(sums.n, sums.least, sums.where,
  math.exp(sums.logs / sums.n)))
