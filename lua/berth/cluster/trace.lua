--- Jobs in order of arrival, and the machines that they run on, as the core takes them.
local core = require "berth.core"
local options = require "berth.base.options"

local trace = {}

local COLUMNS = { "arrival", "work", "deadline", "kind", "machines", "gpus", "skewed", "name" }

local function is_columns(given) return type(given.arrival) == "table" end

-- A table per job out of arrays.
local function rows_of(fn, given)
  local rows = {}
  for j = 1, #given.arrival do rows[j] = {} end
  for _, key in ipairs(COLUMNS) do
    local list = given[key]
    options.refuse(list ~= nil and (type(list) ~= "table" or #list ~= #rows),
      "%s: trace.%s: expected an array of %d entries (one per job)", fn, key, #rows)
    for j = 1, list and #rows or 0 do rows[j][key] = list[j] end
  end
  return rows
end

-- What the simulator and its schedulers read of a job; others are the caller's own.
local FIELDS = options.join(COLUMNS, { "speeds", "goodput", "most", "rates", "priority", "step" })
local READ = { steps = true, slo = true } -- of traces
for _, key in ipairs(FIELDS) do READ[key] = true end

-- Whether two words have the same letters.
local function swapped(a, b)
  local function letters(word)
    local out = { word:lower():byte(1, -1) }
    table.sort(out)
    return string.char((rawget(table, "unpack") or rawget(_G, "unpack"))(out))
  end
  return letters(a) == letters(b)
end

-- The field of which a key is a misspelling, or false; computed once for each key. "cost" is none
-- of "most": of short words a letter more or less, or two that are swapped.
local meant = setmetatable({}, { __index = function(t, key)
  local name, distance = options.nearest(key, FIELDS)
  local near = name and distance <= 1 and (#key >= 6 or #key ~= #name or swapped(key, name))
  t[key] = near and name or false
  return t[key]
end })

local function check_row(fn, j, row)
  options.expect(row, "table", "%s: trace[%d]", fn, j)
  local wrong = nil -- the least one: the order of the table must not matter
  for key in pairs(row) do
    if not READ[key] and meant[key] and (not wrong or key < wrong) then wrong = key end
  end
  if wrong then
    options.fail("%s: trace[%d]: unknown field '%s'; did you mean '%s'?", fn, j, wrong,
      meant[wrong])
  end
  for _, key in ipairs { "arrival", "work" } do
    options.expect(row[key], "number", "%s: trace[%d].%s", fn, j, key)
  end
  local n = row.machines
  if n ~= nil and (type(n) ~= "number" or n < 1 or n ~= math.floor(n)) then
    options.fail("%s: trace[%d].machines: expected a whole number of at least 1, got %s", fn, j,
      tostring(n))
  end
  if row.name ~= nil then options.expect(row.name, "string", "%s: trace[%d].name", fn, j) end
end

--- @tparam table given array of { arrival, work, deadline, kind, machines or gpus, name, ... }, or
--  a table of such arrays
-- @treturn table one table per job
function trace.rows(fn, given)
  options.expect(given, "table", "%s: trace", fn)
  local rows = is_columns(given) and rows_of(fn, given) or given
  for j = 1, #rows do check_row(fn, j, rows[j]) end
  return rows
end

--- Raises unless a machine's capacity is an array of so many numbers.
function trace.check_capacity(where, row, resources)
  for _, key in ipairs(type(row) == "table" and options.sorted_keys(row) or {}) do
    if type(key) ~= "number" or key < 1 or key > #row then
      options.fail("%s: unknown key '%s': expected an array of %d numbers (one per resource)",
        where, tostring(key), math.max(resources, 1))
    end
  end
  if type(row) ~= "table" or #row ~= resources or resources == 0 then
    options.fail("%s: expected an array of %d numbers (one per resource)", where,
      math.max(resources, 1))
  end
end

-- Capacities of all machines, resource by resource: one number, a list per resource, or a list of
-- lists per machine.
local function capacities(fn, machines, given)
  local list = type(given) == "table" and given or { given }
  if type(list[1]) == "table" then
    options.refuse(#list ~= machines, "%s: capacity: has %d entries, expected %d (one per machine)",
      fn, #list, machines)
  else
    local each = list
    list = {}
    for m = 1, machines do list[m] = each end
  end
  local flat, resources = {}, #list[1]
  for m = 1, machines do
    trace.check_capacity(("%s: capacity[%d]"):format(fn, m), list[m], resources)
    for r = 1, resources do flat[#flat + 1] = list[m][r] end
  end
  return flat, resources
end

--- The core's cluster of these jobs on these machines.
-- @tparam table cluster machines, capacity, horizon (s), slot (s), slack (s)
function trace.cluster(fn, rows, cluster)
  if type(cluster) == "number" then cluster = { machines = cluster } end
  options.refuse(cluster == nil, "%s: cluster: expected a table or how many machines, got nil", fn)
  local made, resources = options.merge(options.read(fn, "cluster", cluster))
  if made.machines == nil then options.fail("%s: machines: is missing", fn) end
  if made.capacity ~= nil then
    made.capacity, resources = capacities(fn, made.machines, made.capacity)
  end
  local jobs = { arrival = {}, work = {}, deadline = {} }
  for j, row in ipairs(rows) do
    jobs.arrival[j], jobs.work[j] = row.arrival, row.work
    jobs.deadline[j] = row.deadline == nil and math.huge or row.deadline
  end
  return core.cluster(jobs, made, resources)
end

return trace
