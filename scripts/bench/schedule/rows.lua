-- Rows of files with cells of schedules, and how the benchmarks of schedules search them.
local core = require "berth.core"

local rows = {}

--- A file of comma-separated values with a header, as an array of rows by column. Quoted cells may
-- hold commas.
function rows.read(path)
  local names, out = nil, {}
  for line in io.lines(path) do
    local row, rest = {}, line .. ","
    while rest ~= "" do
      local cell, after = rest:match '^"([^"]*)",(.*)$'
      if not cell then cell, after = rest:match "^([^,]*),(.*)$" end
      row[#row + 1], rest = cell, after
    end
    if not names then
      names = row
    else
      local by_name = {}
      for i, name in ipairs(names) do by_name[name] = row[i] end
      out[#out + 1] = by_name
    end
  end
  return out
end

--- Searches a problem: step of the best schedule or nil, its bound, CPU s. Without calls by the
-- default of the search.
function rows.search(options, calls)
  local problem = assert(core.schedule_problem(options))
  local from = os.clock()
  local bound = core.schedule_bound(problem).best
  local _, report = core.schedule_search(problem, { calls = calls })
  return type(report) == "table" and report.step or nil, bound, os.clock() - from, problem
end

--- Options of the command line: `kinds` has "flag", "number" or "text" by name.
function rows.options(arguments, kinds)
  local o, i = {}, 2
  while arguments[i] do
    local key = arguments[i]:match "^%-%-(%a+)$"
    local kind = kinds[key] or error("unknown argument " .. arguments[i])
    if kind == "flag" then
      o[key] = true
    else
      i = i + 1
      local value = arguments[i]
      if kind == "number" then value = tonumber(value) end
      o[key] = value or error(("--%s: expected a %s"):format(key, kind))
    end
    i = i + 1
  end
  return o
end

return rows
