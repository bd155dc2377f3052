-- Results of a study, one line each, appended when a trial is done: existing trials are not run
-- again, so a study may be stopped and taken up at any time. A line: cell, method, seed, best,
-- greedy ("-": none), calls, CPU seconds.
local store = {}

local function key(cell, method, seed) return ("%s\t%s\t%d"):format(cell, method, seed) end

--- @treturn table { rows, done }
function store.open(path)
  local self = { path = path, rows = {}, done = {} }
  local file = io.open(path, "r")
  for line in file and file:lines() or function() end do
    local cell, method, seed, best, greedy, calls, cpu = line:match("^([^\t]+)\t([^\t]+)\t(%d+)\t(%S+)\t(%S+)\t(%S+)\t(%S+)$")
    if cell then
      local row = { cell = cell, method = method, seed = tonumber(seed), best = tonumber(best), greedy = tonumber(greedy),
        calls = tonumber(calls), cpu = tonumber(cpu) }
      table.insert(self.rows, row)
      self.done[key(cell, method, row.seed)] = true
    end
  end
  if file then file:close() end
  return setmetatable(self, { __index = store })
end

function store:has(cell, method, seed) return self.done[key(cell, method, seed)] end

function store:add(row)
  local file = assert(io.open(self.path, "a"))
  local greedy = row.greedy and ("%.4f"):format(row.greedy) or "-"
  file:write(("%s\t%s\t%d\t%.4f\t%s\t%d\t%.2f\n"):format(row.cell, row.method, row.seed, row.best, greedy, row.calls, row.cpu))
  file:close()
  table.insert(self.rows, row)
  self.done[key(row.cell, row.method, row.seed)] = true
end

local function mean_and_deviation(values)
  local sum, squares = 0, 0
  for _, v in ipairs(values) do sum = sum + v end
  local mean = sum / #values
  for _, v in ipairs(values) do squares = squares + (v - mean) ^ 2 end
  return mean, #values > 1 and math.sqrt(squares / (#values - 1)) or 0
end

--- Mean and deviation over seeds of one field of (cell, method); nil: no trial.
function store:mean(cell, method, field)
  local values = {}
  for _, row in ipairs(self.rows) do
    if row.cell == cell and row.method == method and row[field] then table.insert(values, row[field]) end
  end
  if #values == 0 then return nil end
  local mean, deviation = mean_and_deviation(values)
  return mean, deviation, #values
end

return store
