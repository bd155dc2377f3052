-- Schedules for identical processors: the Standard Task Graph rows of the test data, with berth.exact.
-- usage: stg.lua DIRECTORY [schedules] [nodes] (defaults: those of berth.exact)
-- Prints per set of rows: best known reached, mean excess, proved, below; CPU seconds.
-- Fails if a makespan is below a published bound or an optimum.
local berth = require "berth"

local directory, schedules, nodes = arg[1], tonumber(arg[2]), tonumber(arg[3])
if not directory then
  io.stderr:write("usage: stg.lua DIRECTORY [schedules] [nodes]\n")
  os.exit(2)
end

local function rows(path)
  local list, keys = {}, nil
  for line in assert(io.lines(path)) do
    local fields = {}
    for field in line:gmatch("[^,]+") do fields[#fields + 1] = field end
    if keys then
      local row = {}
      for k, key in ipairs(keys) do row[key] = tonumber(fields[k]) or fields[k] end
      list[#list + 1] = row
    else
      keys = fields
    end
  end
  return list
end

local sum = { rows = 0, reached = 0, proved = 0, optimal = 0, excess = 0, seconds = 0, slowest = 0, better = {} }

local function look(row, g)
  local t = berth.topology.mesh(row.procs, { bandwidth = 1 })
  local before = os.clock()
  local p, proof = berth.exact(g, t, { schedules = schedules, nodes = nodes })
  local spent = os.clock() - before
  assert(p, proof)
  assert(proof.makespan >= row.published_lower_bound, row.file .. ": below the published bound")
  assert(row.status ~= "optimal" or proof.makespan >= row.best_known, row.file .. ": below the optimum")
  assert(proof.bound <= proof.makespan, row.file .. ": bound above the makespan")
  assert(proof.bound <= row.best_known, row.file .. ": bound above what is known to be possible")
  sum.rows, sum.seconds, sum.slowest = sum.rows + 1, sum.seconds + spent, math.max(sum.slowest, spent)
  sum.excess = sum.excess + proof.makespan / row.best_known - 1
  if proof.makespan <= row.best_known then sum.reached = sum.reached + 1 end
  if proof.proved then sum.proved = sum.proved + 1 end
  if proof.makespan < row.best_known then
    sum.better[#sum.better + 1] = ("%s on %d: %d, was %d, bound %d"):format(row.file, row.procs, proof.makespan, row.best_known,
      proof.bound)
  elseif os.getenv("MISSED") and proof.makespan > row.best_known then
    io.stderr:write(("%s on %d: %d, best known %d\n"):format(row.file, row.procs, proof.makespan, row.best_known))
  end
end

local graphs = {}
for _, row in ipairs(rows(directory .. "/optimum.csv")) do
  graphs[row.file] = graphs[row.file] or assert(berth.load(directory .. "/" .. row.file))
  look(row, graphs[row.file])
end
print(("rows %d, best known or better %d (%.2f %%), mean excess %.4f %%, proved %d (%.2f %%)"):format(sum.rows, sum.reached,
  100 * sum.reached / sum.rows, 100 * sum.excess / sum.rows, sum.proved, 100 * sum.proved / sum.rows))
print(("CPU %.1f s, %.4f s a row, slowest %.3f s"):format(sum.seconds, sum.seconds / sum.rows, sum.slowest))
for _, line in ipairs(sum.better) do print("better: " .. line) end
