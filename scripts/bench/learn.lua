-- Learned policies and search at equal cost, on the twelve cells of scripts/bench/learn/cells.lua:
-- a line per trial, appended to a file; trials that are in it are not run again.
-- scripts/bench/learn_table.lua FILE ... prints the table.
-- lua scripts/bench/learn.lua FOLDER FILE METHODS [CELL [SEEDS]]
--   FOLDER: that of the graph files. METHODS: names, comma-separated, or "all". CELL: part of
--   "chain D=4", selects cells. SEEDS: from 1 to that (5), or "A-B".
package.path = "spec/?.lua;scripts/bench/?.lua;" .. package.path
local cells = require "learn.cells"
local methods = require "learn.methods"
local store = require "learn.store"

local folder, path, names, wanted, seeds = arg[1], arg[2], arg[3], arg[4] or "", arg[5] or "5"
local first, last = seeds:match("^(%d+)%-(%d+)$")
first, last = tonumber(first or 1), tonumber(last or seeds)
if not names or not last then
  io.stderr:write("usage: learn.lua FOLDER FILE METHODS [CELL [SEEDS]]\n  METHODS: all or of ",
    table.concat(methods.names, ","), "\n")
  os.exit(2)
end

local function chosen()
  if names == "all" then return methods.names end
  local out = {}
  for name in names:gmatch("[^,]+") do
    if not methods[name] then
      io.stderr:write(("learn.lua: %s is none of %s\n"):format(name, table.concat(methods.names, ",")))
      os.exit(2)
    end
    table.insert(out, name)
  end
  return out
end

local results = store.open(path)
for _, name in ipairs(chosen()) do
  for _, cell in ipairs(cells.all(folder, wanted)) do
    for seed = first, last do
      if not results:has(cell.label, name, seed) then
        collectgarbage()
        local start = os.clock()
        local row = methods[name](cell, seed)
        results:add { cell = cell.label, method = name, seed = seed, best = row.best / cells.scale,
          greedy = row.greedy and row.greedy / cells.scale, calls = row.calls, cpu = os.clock() - start }
        local done = results.rows[#results.rows]
        print(("%-16s %-20s seed %d  best %10.4f  greedy %10s  %5d calls  %.1f CPU s"):format(done.cell, name, seed, done.best,
          done.greedy and ("%.4f"):format(done.greedy) or "-", done.calls, done.cpu))
      end
    end
  end
end
