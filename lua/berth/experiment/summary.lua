--- Means over seeds, with confidence intervals, for each point of a grid.
local core = require "berth.core"
local json = require "berth.base.json"
local options = require "berth.base.options"
local student = require "berth.experiment.student"

local Summary = { __name = "berth.experiment.summary" }

local function field_names(points)
  if points.chosen then return points.chosen end
  local all = {}
  for _, point in ipairs(points) do all = options.merge(all, point.fields) end
  return options.sorted_keys(all)
end

local function parameter_names(points)
  local all = {}
  for _, point in ipairs(points) do all = options.merge(all, point.parameters) end
  return options.sorted_keys(all)
end

local function cell(field)
  if not field then return "-" end
  return core.number_text(field.mean, 5) .. (field.half and " +- " .. core.number_text(field.half,
    2) or "")
end

local function text(x)
  if x == nil then return "-" end
  return type(x) == "number" and core.sprintf("%.14g", x) or tostring(x)
end

-- Cells below each other, all to the left.
local function align(lines)
  local width = {}
  for _, cells in ipairs(lines) do
    for i, x in ipairs(cells) do width[i] = math.max(width[i] or 0, #x) end
  end
  for k, cells in ipairs(lines) do
    for i, x in ipairs(cells) do cells[i] = x .. (" "):rep(width[i] - #x) end
    lines[k] = (table.concat(cells, "  "):gsub(" +$", ""))
  end
  return table.concat(lines, "\n")
end

local function head(parameters, fields)
  local cells = {}
  for _, name in ipairs(parameters) do cells[#cells + 1] = name end
  for _, name in ipairs { "trials", "failed" } do cells[#cells + 1] = name end
  for _, name in ipairs(fields) do cells[#cells + 1] = name end
  return cells
end

-- The first error in words, and what runs such trials again; or nothing.
local function failures(s)
  if not s.failed then return "" end
  local row, n = s.failed, 0
  for _, point in ipairs(s) do n = n + point.failed end
  return ("\n%d failed, the first (%s, seed %.0f): %s%s"):format(n, json.encode(row.parameters),
    row.seed, row.error:match "^[^\n]*", s.path and "\nretry = true runs them again" or "")
end

function Summary.__tostring(s)
  local parameters, fields = parameter_names(s), field_names(s)
  local lines = { head(parameters, fields) }
  for _, point in ipairs(s) do
    local cells = {}
    for _, name in ipairs(parameters) do cells[#cells + 1] = text(point.parameters[name]) end
    cells[#cells + 1], cells[#cells + 2] = text(point.n), text(point.failed)
    for _, name in ipairs(fields) do cells[#cells + 1] = cell(point.fields[name]) end
    lines[#lines + 1] = cells
  end
  return align(lines) .. failures(s)
end

local function numbers_of(rows)
  local values = {}
  for _, row in ipairs(rows) do
    for name, x in pairs(row.result or {}) do
      if type(x) == "number" and type(name) == "string" then
        values[name] = values[name] or {}
        table.insert(values[name], x)
      end
    end
  end
  return values
end

local function point_of(parameters, rows, level)
  local point = { parameters = parameters, n = #rows, failed = 0, cpu_s = 0, fields = {} }
  for _, row in ipairs(rows) do
    point.cpu_s = point.cpu_s + row.cpu_s
    if row.error then point.failed = point.failed + 1 end
  end
  local values = numbers_of(rows)
  for _, name in ipairs(options.sorted_keys(values)) do
    point.fields[name] = student.describe(values[name], level)
  end
  return point
end

--- @tparam experiment e
-- @tparam table rows of each point, in the order of trials
-- @tparam number level
-- @tparam[opt] table chosen names of the fields to print, in this order
return function(e, rows, level, chosen)
  local out = { level = level, chosen = chosen, path = e.path }
  for p, parameters in ipairs(e.points) do out[p] = point_of(parameters, rows[p], level) end
  for _, row in ipairs(e.rows) do out.failed = out.failed or row.error and row end
  return setmetatable(out, Summary)
end
