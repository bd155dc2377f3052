-- The table of studies of scripts/bench/learn.lua and learn_transfer.lua: mean and deviation over seeds of the best seen, of the
-- greedy answer, or of CPU seconds, for each cell and method.
-- lua scripts/bench/learn_table.lua FOLDER best|greedy|cpu FILE ...
package.path = "spec/?.lua;scripts/bench/?.lua;" .. package.path
local cells = require "learn.cells"
local store = require "learn.store"

local folder, field = arg[1], arg[2]
if not arg[3] or not ("best greedy cpu"):find(field, 1, true) then
  io.stderr:write("usage: learn_table.lua FOLDER best|greedy|cpu FILE ...\n")
  os.exit(2)
end

local all = setmetatable({ rows = {} }, { __index = store })
local methods, seen = {}, {}
for i = 3, #arg do
  for _, row in ipairs(store.open(arg[i]).rows) do
    table.insert(all.rows, row)
    if row[field] and not seen[row.method] then
      seen[row.method] = true
      table.insert(methods, row.method)
    end
  end
end

local function text(mean, deviation, n)
  if not mean then return "-" end
  local few = n < 5 and (" (%d)"):format(n) or ""
  if deviation < 0.005 then return ("%.2f%s"):format(mean, few) end
  return ("%.2f +- %.2f%s"):format(mean, deviation, few)
end

print("| cell | best known | " .. table.concat(methods, " | ") .. " |")
print("|---|---|" .. ("---|"):rep(#methods))
for _, cell in ipairs(cells.all(folder)) do
  local row, any = { cell.label, ("%.2f"):format(cell.best) }, false
  for _, name in ipairs(methods) do
    local mean, deviation, n = all:mean(cell.label, name, field)
    table.insert(row, text(mean, deviation, n))
    any = any or mean ~= nil
  end
  if any then print("| " .. table.concat(row, " | ") .. " |") end
end
