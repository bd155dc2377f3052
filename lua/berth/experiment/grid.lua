--- The points of an experiment, its seeds, and the trials that they make, always in the same order.
local options = require "berth.base.options"
local json = require "berth.base.json"

local FN = "berth.experiment"
local grid = {}

-- What a trial has beside its parameters.
local RESERVED = { index = true, name = true, parameters = true, seed = true }

local function check_value(x, where)
  local kind = type(x)
  if kind == "string" or kind == "boolean" or kind == "number" and x == x
      and math.abs(x) < math.huge then
    return
  end
  options.fail("%s: %s: expected a finite number, a string or a boolean, got %s", FN, where,
    kind == "number" and tostring(x) or kind)
end

local function check_name(name)
  options.refuse(type(name) ~= "string", "%s: grid: expected names of parameters, got a %s", FN,
    type(name))
  if RESERVED[name] then options.fail("%s: grid.%s: a trial has that already", FN, name) end
end

local function check_values(name, values)
  if type(values) ~= "table" or #values == 0 then
    options.fail("%s: grid.%s: expected an array of values, got %s", FN, name,
      type(values) == "table" and "a table without entries" or type(values))
  end
  for i, x in ipairs(values) do check_value(x, ("grid.%s[%d]"):format(name, i)) end
end

-- All combinations; the first name in alphabetical order varies slowest.
local function product(given)
  local points = { {} }
  for _, name in ipairs(options.sorted_keys(given)) do
    check_name(name)
    check_values(name, given[name])
    local longer = {}
    for _, point in ipairs(points) do
      for _, x in ipairs(given[name]) do
        longer[#longer + 1] = options.merge(point, { [name] = x })
      end
    end
    points = longer
  end
  return points
end

local function listed(given)
  local points = {}
  for i, point in ipairs(given) do
    options.expect(point, "table", "%s: grid[%d]", FN, i)
    for _, name in ipairs(options.sorted_keys(point)) do
      check_name(name)
      check_value(point[name], ("grid[%d].%s"):format(i, name))
    end
    points[i] = options.merge(point)
  end
  return points
end

--- @tparam table|nil given arrays of values by name, or an array of points
function grid.points(given)
  if given == nil then return { {} } end
  options.expect(given, "table", "%s: grid", FN)
  return (#given > 0 and listed or product)(given)
end

local function is_seed(x)
  return type(x) == "number" and x == math.floor(x) and x >= 0 and x <= 2 ^ 53
end

--- @tparam number|table|nil given how many from 1, or an array
function grid.seeds(given)
  if given == nil then return { 1 } end
  if type(given) ~= "table" then
    options.refuse(not is_seed(given) or given < 1,
      "%s: seeds: expected how many or an array, got %s", FN, tostring(given))
    local list = {}
    for i = 1, given do list[i] = i end
    return list
  end
  if #given == 0 then options.fail("%s: seeds: is empty", FN) end
  for i, x in ipairs(given) do
    options.refuse(not is_seed(x), "%s: seeds[%d]: expected a whole number of at least 0, got %s",
      FN, i, tostring(x))
  end
  return given
end

--- What identifies a trial, whatever its place in the grid.
function grid.key(parameters, seed) return ("%s %.0f"):format(json.encode(parameters), seed) end

--- Trials of each point with each seed; seeds vary fastest. Equal ones are refused.
function grid.trials(name, points, seeds)
  local list, seen = {}, {}
  for p, parameters in ipairs(points) do
    for _, seed in ipairs(seeds) do
      local trial = options.merge(parameters)
      trial.name, trial.index, trial.seed, trial.parameters = name, #list + 1, seed, parameters
      local key = grid.key(parameters, seed)
      if seen[key] then
        options.fail("%s: trials %d and %d are the same: %s", FN, seen[key], trial.index, key)
      end
      seen[key] = trial.index
      list[trial.index] = { trial = trial, key = key, point = p }
    end
  end
  return list
end

--- "2/4" as 2 and 4.
function grid.shard(given)
  if given == nil then return 1, 1 end
  local i, n
  if type(given) == "string" then i, n = given:match("^(%d+)/(%d+)$") end
  i, n = tonumber(i), tonumber(n)
  options.refuse(not i or i < 1 or i > n, "%s: shard: expected \"i/n\" with i from 1 to n, got %s",
    FN, tostring(given))
  return i, n
end

return grid
