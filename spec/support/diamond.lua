--- Two chains of two ops, joined: transfers at 1 byte/s cost as much as an op. No two paths are
-- alike: where features nearly tie, their normalising multiplies rounding by thousands.
local berth = require "berth"

return function()
  local ops = {}
  for i, seconds in ipairs { 1, 2, 3, 2, 1, 3 } do
    ops[i] = { name = "op" .. i, seconds = seconds }
  end
  local edges = { { 1, 2, 1 }, { 1, 3, 1 }, { 2, 4, 1 }, { 3, 5, 1 }, { 4, 6, 1 }, { 5, 6, 1 } }
  return assert(berth.graph { ops = ops, edges = edges })
end
