-- Recipe: a scheduler in Lua. berth does not change: copy this file beside your script, change it,
-- and pass what it returns to berth.cluster.simulate in the place of a scheduler's name.
-- docs/cluster.md has the other methods, the plans and the view.
--
-- This one gives idle machines to the waiting jobs with the least work; a running job is not
-- interrupted.
local shortest = { name = "shortest" }

local function start(view)
  local waiting, idle, list = view:waiting(), view:idle(), {}
  local function before(a, b)
    local x, y = view:job(a).work, view:job(b).work
    return x < y or x == y and a < b
  end
  table.sort(waiting, before)
  for i = 1, math.min(#waiting, #idle) do
    list[i] = { job = waiting[i], machines = { idle[i] } }
  end
  return { start = list }
end

function shortest.arrival(_, view) return start(view) end

function shortest.finish(_, view) return start(view) end

return shortest
