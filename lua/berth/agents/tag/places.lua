--- Where op groups are in the model, forward and backward ops side by side, and where it can be
-- cut: as searches see it.
-- @module berth.agents.tag.places
local places = {}

-- Numbers 1 to n, the least of `value` first, the first of equal ones first.
local function ranked(n, value)
  local out = {}
  for k = 1, n do
    local i = #out + 1
    while i > 1 and value[out[i - 1]] > value[k] do out[i], i = out[i - 1], i - 1 end
    out[i] = k
  end
  return out
end

-- Bytes that op groups send over the cut behind each place.
local function crossing(f, rank, n)
  local from, to, bytes, out = f.edge_from:totable(), f.edge_to:totable(), f.edge:totable(), {}
  for k = 1, n do out[k] = 0 end
  for e = 1, #from do
    local a, b = rank[from[e]], rank[to[e]]
    for k = math.min(a, b), math.max(a, b) - 1 do out[k] = out[k] + bytes[e][1] end
  end
  return out
end

--- @param d problem of berth.deploy
-- @tparam {int,...} action a strategy whose simulation is known
-- @treturn {int,...} op groups from the begin of the model to its end
-- @treturn {int,...} cuts, each behind so many of them, that which is crossed by the fewest bytes
--  first
function places.new(d, action)
  local position, rank = d:positions(), {}
  local order = ranked(#position, position)
  for k, g in ipairs(order) do rank[g] = k end
  local f = d:features({ action = action, sfb = "local" }, { decided = #order, scale = "raw" })
  return order, ranked(#order - 1, crossing(f, rank, #order))
end

return places
