--- Gang schedulers by name: the core's.
local core = require "berth.core"
local options = require "berth.base.options"

local gang = {}

-- The core's descriptors by name, and names in order of the core.
local rules, in_order = {}, {}
for i, rule in ipairs(core.gang_rules()) do rules[rule.name], in_order[i] = rule, rule.name end
gang.names, gang.in_order = options.sorted_keys(rules), in_order

-- ---- options ------------------------------------------------------------------------------------

--- Has the rule an option of that key, if only one that berth.cluster.simulate fills in?
function gang.has(name, key)
  for _, o in ipairs(rules[name].options) do
    if o.key == key then return true end
  end
  return false
end

--- In which order a scheduler serves jobs, and who runs.
function gang.text(name) return rules[name].text end

function gang.source(name) return rules[name].source end

-- Readers in words: those, or all but the others, whichever are fewer.
local function only(readers)
  local those, others = {}, {}
  for _, name in ipairs(in_order) do
    local list = readers[name] and those or others
    list[#list + 1] = name
  end
  return #those <= #others and table.concat(those, ", ") or "all but " .. table.concat(others, ", ")
end

-- Of all rules, each option once.
local function described()
  local rows, by_key = { { key = "seed", type = "whole", default = "0", text = "of view.rng" } }, {}
  for _, name in ipairs(in_order) do
    for key in (rules[name].reads or ""):gmatch "%S+" do
      for _, o in ipairs(rules[name].options) do
        if o.key == key and not by_key[key] then
          by_key[key], o.readers = o, {}
          rows[#rows + 1] = o
        end
      end
      by_key[key].readers[name] = true
    end
  end
  for i = 2, #rows do rows[i].only = only(rows[i].readers) end
  by_key.rate.readers.methods = true
  table.insert(by_key.placement.choices,
    { name = "skewed", text = "Jobs with skewed = true as consolidate, others as spread." })
  return rows
end

options.declare("cluster.simulate", described())

-- ---- what a run needs of the jobs ---------------------------------------------------------------

--- Sizes of all jobs.
-- @treturn[1] table
-- @treturn[1] boolean whether these are GPUs, not machines
-- @treturn[2] nil
-- @treturn[2] string message
function gang.sizes(rows)
  local amounts = false
  for _, row in ipairs(rows) do
    amounts = amounts or row.gpus ~= nil or row.speeds ~= nil or row.goodput ~= nil
  end
  local key, sizes = amounts and "gpus" or "machines", {}
  for j, row in ipairs(rows) do
    local n = row[key] == nil and 1 or row[key]
    if type(n) ~= "number" or n < 1 or n ~= math.floor(n) or n >= 2 ^ 31 then
      return nil, ("trace[%d].%s: expected a whole number of at least 1, got %s"):format(j, key,
        tostring(n))
    end
    if amounts and row.machines ~= nil then
      return nil, ("trace[%d].machines: jobs have `gpus`: expected one of both"):format(j)
    end
    sizes[j] = n
  end
  return sizes, amounts
end

local function placement_of(fn, o, rows)
  if o.placement ~= "skewed" then return o.placement end
  local flags = {}
  for j, row in ipairs(rows) do
    if row.skewed ~= nil then
      options.expect(row.skewed, "boolean", "%s: trace[%d].skewed", fn, j)
    end
    flags[j] = row.skewed == true
  end
  return "consolidate", flags
end

-- GPUs in all, and of the largest machine.
local function count_gpus(c)
  local all, largest = 0, 0
  for _, x in ipairs(c:capacity()) do
    local n = math.floor(type(x) == "table" and x[1] or x)
    all, largest = all + n, math.max(largest, n)
  end
  return all, largest
end

-- By a model of goodput, on as few machines as can be.
local function speeds_by_model(model, most, largest)
  local list = {}
  for n = 1, most do list[n] = core.goodput(model, n, math.ceil(n / largest)) end
  return list
end

local function check_numbers(fn, j, field, list)
  for key, x in pairs(list) do
    if type(x) ~= "number" or not (x >= 0 and x < math.huge) then
      options.fail("%s: trace[%d].%s[%s]: expected a finite number not below 0, got %s", fn, j,
        field, tostring(key), type(x) == "number" and core.number_text(x) or core.kind(x))
    end
  end
end

-- Of a job without `speeds` and `goodput`: its gang, or nothing.
local function speeds_of(fn, j, row, size, all, largest)
  local list = row.speeds
  if row.goodput ~= nil and list == nil then
    list = speeds_by_model(row.goodput, math.min(row.most or all, all), largest)
  end
  if list ~= nil and type(list) ~= "table" then
    options.fail("%s: trace[%d].speeds: expected an array of work per s on 1, 2, ... GPUs, got %s",
      fn, j, core.kind(list))
  end
  if list then
    check_numbers(fn, j, "speeds", list)
    return list
  end
  list = {}
  for n = 1, size do list[n] = n == size and 1 or 0 end
  return list
end

-- Names of types, numbered as they come; the number of each machine.
local function types_of(fn, given, machines)
  options.refuse(type(given) ~= "table" or #given ~= machines,
    "%s: types: expected an array of %d names (one per machine)", fn, machines)
  local names, number, out = {}, {}, {}
  for m, name in ipairs(given) do
    options.expect(name, "name", "%s: types[%d]", fn, m)
    if not number[name] then
      names[#names + 1] = name
      number[name] = #names
    end
    out[m] = number[name] - 1
  end
  return out, names
end

-- Rates of each job on each type (1 per s on all if it has none), its priority, its step.
local function throughputs_of(fn, rows, names)
  local out, priorities, steps, n_steps = {}, {}, {}, 0
  for j, row in ipairs(rows) do
    if row.rates ~= nil and type(row.rates) ~= "table" then
      options.fail("%s: trace[%d].rates: expected a table of work per s by type, got %s", fn, j,
        core.kind(row.rates))
    end
    if row.rates then check_numbers(fn, j, "rates", row.rates) end
    for _, name in ipairs(names) do out[#out + 1] = row.rates and (row.rates[name] or 0) or 1 end
    priorities[j] = row.priority == nil and 1 or row.priority
    steps[j] = row.step
    if row.step ~= nil then n_steps = n_steps + 1 end
  end
  options.refuse(n_steps > 0 and n_steps < #rows,
    "%s: trace: %d of %d jobs have `step`: expected all or none", fn, n_steps, #rows)
  return out, priorities, n_steps > 0 and steps or nil
end

-- Options of the core that are made of the jobs, by the key of one.
local make = {}

function make.speeds(fn, made, rows, sizes, c)
  local all, largest = count_gpus(c)
  made.first, made.speeds = { 0 }, {}
  for j, row in ipairs(rows) do
    for _, x in ipairs(speeds_of(fn, j, row, sizes[j], all, largest)) do
      made.speeds[#made.speeds + 1] = x
    end
    made.first[j + 1] = #made.speeds
  end
end

function make.types(fn, made, rows, _, c)
  local names
  made.types, names = types_of(fn, made.types, c.machines)
  made.n_types = #names
  made.throughputs, made.priorities, made.steps = throughputs_of(fn, rows, names)
end

--- @return whether a scheduler is one of the core's
function gang.is_one(name) return rules[name] ~= nil end

--- Plays a cluster to its end.
-- @tparam table rows a table per job
-- @tparam table o options of the rule, checked
-- @treturn gang with runs() and counts(); whether gangs are GPUs
function gang.run(fn, c, rows, rule, o)
  local sizes, amounts = gang.sizes(rows)
  if not sizes then options.fail("%s: %s", fn, amounts) end
  options.refuse(o.placement ~= nil and not amounts, "%s: placement: is for jobs with `gpus`", fn)
  local made = options.merge(o)
  made.seed, made.rule, made.amounts = nil, rule, amounts
  made.placement, made.consolidate = placement_of(fn, o, rows)
  for _, option in ipairs(rules[rule].options) do
    if make[option.key] then make[option.key](fn, made, rows, sizes, c) end
  end
  if o.rate then
    function made.rate(j, machines, given) return o.rate(rows[j], machines, given) end
  end
  local done, message, code = core.gang(c, sizes, made)
  return done, message, code, amounts
end

return gang
