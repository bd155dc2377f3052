--- Small things of learners: the best of a row, draws, legal decisions.
-- @module berth.agents.pacml.rows
local rows = {}

--- The best action (from 0) of a row of a flat table, and its value; the first of equals. mask:
-- only those of 1.
function rows.best(flat, before, actions, mask)
  local at, value
  for a = 1, actions do
    local x = flat[before + a]
    if (not mask or mask[a] == 1) and (not at or x > value) then at, value = a, x end
  end
  return at - 1, value
end

--- Any of the actions, evenly; mask: only those of 1.
function rows.any(rng, actions, mask)
  if not mask then return rng:below(actions) - 1 end
  local legal = {}
  for a = 1, actions do
    if mask[a] == 1 then legal[#legal + 1] = a - 1 end
  end
  return legal[rng:below(#legal)]
end

--- One drawn from the logarithms of probabilities.
function rows.draw(rng, flat, before, actions)
  local left, last = rng:uniform(), 0
  for a = 1, actions do
    local p = math.exp(flat[before + a])
    if p > 0 then last = a - 1 end
    left = left - p
    if left < 0 then return a - 1 end
  end
  return last
end

--- The value of a number or { from, to, steps } after so many steps: a straight line.
function rows.course(course, step)
  if type(course) ~= "table" then return course end
  return course[1] + (course[2] - course[1]) * math.min(step / course[3], 1)
end

function rows.append(to, from)
  local n = #to
  for i = 1, #from do to[n + i] = from[i] end
end

return rows
