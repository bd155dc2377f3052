--- Rows of placers in the order in which tables and figures show them: by makespan, then those that
-- run out of memory, then those that failed; ties in the order given.

-- @tparam table rows each with makespan (s), oom, or error
-- @treturn table of { row, at (index in rows), class (1, 2, 3), time (s; math.huge: failed) }
return function(rows)
  local list = {}
  for i, row in ipairs(rows) do
    local class = row.error and 3 or row.oom and 2 or 1
    list[i] = { row = row, at = i, class = class, time = class < 3 and row.makespan or math.huge }
  end
  table.sort(list, function(a, b)
    if a.class ~= b.class then return a.class < b.class end
    if a.time ~= b.time then return a.time < b.time end
    return a.at < b.at
  end)
  return list
end
