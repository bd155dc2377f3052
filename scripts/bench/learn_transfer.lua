-- Trained agents on other graphs: a line per agent, cell and seed, appended to a file; trials in it
-- are not run again.
-- scripts/bench/learn_table.lua FOLDER FILE ... prints it.
-- lua scripts/bench/learn_transfer.lua FOLDER FILE STUDIES [SEEDS [CELL]]
--   STUDIES, comma-separated: pair (trained on chain and ffnn, used on block and layer), devices (trained on 4, used on 8),
--   random (trained on random sharded einsum graphs, used on all), start (no agent: the searches' start by units, one call).
--   SEEDS: from 1 to that (5), or "A-B". CELL: part of the cells' names.
package.path = "spec/?.lua;scripts/bench/?.lua;" .. package.path
local transfer = require "learn.transfer"

local folder, path, names, seeds, wanted = arg[1], arg[2], arg[3], arg[4] or "5", arg[5]
local first, last = seeds:match("^(%d+)%-(%d+)$")
first, last = tonumber(first or 1), tonumber(last or seeds)
if not names or not last then
  io.stderr:write("usage: learn_transfer.lua FOLDER FILE STUDIES [SEEDS [CELL]]\n")
  os.exit(2)
end

for name in names:gmatch("[^,]+") do
  local study = transfer.studies[name]
  if not study then
    io.stderr:write(("learn_transfer.lua: no study %s\n"):format(name))
    os.exit(2)
  end
  for seed = first, last do transfer.run(study, { folder = folder, path = path, wanted = wanted, seed = seed }) end
end
