-- The table of a study of scripts/bench/learn.lua: mean and deviation over seeds of the best seen, and of the greedy answer.
-- lua scripts/bench/learn_table.lua FOLDER FILE ...
package.path = "spec/?.lua;scripts/bench/?.lua;" .. package.path
local cells = require "learn.cells"
local methods = require "learn.methods"
local store = require "learn.store"

local function add_file(all, path)
  for _, row in ipairs(store.open(path).rows) do table.insert(all.rows, row) end
end

local all = setmetatable({ rows = {} }, { __index = store })
for i = 2, #arg do add_file(all, arg[i]) end

local function text(mean, deviation) return mean and ("%.3f +- %.3f"):format(mean, deviation) or "-" end

print("| cell | method | best seen | above best known | greedy | seeds |")
print("|---|---|---|---|---|---|")
for _, cell in ipairs(cells.all(arg[1])) do
  for _, name in ipairs(methods.names) do
    local best, deviation, n = all:mean(cell.label, name, "best")
    if best then
      print(("| %s | %s | %s | %+.2f %% | %s | %d |"):format(cell.label, name, text(best, deviation),
        100 * (best / cell.best - 1), text(all:mean(cell.label, name, "greedy")), n))
    end
  end
end
