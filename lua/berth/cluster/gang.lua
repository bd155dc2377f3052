--- Gang schedulers by name: the core's.
local core = require "berth.core"
local options = require "berth.base.options"

local gang = {}

-- What each takes besides `seed`.
local PLAIN, LEVELS = { "rate", "placement" }, { "rate", "placement", "limits", "promote", "tick" }
local RULES = {
  fifo = PLAIN, ["fit-first"] = PLAIN, backfill = PLAIN, sjf = PLAIN, srtf = PLAIN, ["srtf-2d"] = PLAIN, fewest = PLAIN,
  las = LEVELS, ["las-2d"] = { "rate", "placement", "limits", "promote", "tick", "published" },
  gittins = { "rate", "placement", "history", "quantum" },
  optimus = { "restart" }, pollux = { "restart", "power", "floor" }, gavel = { "types", "goal" },
}
local RESIZE = { optimus = true, pollux = true }
gang.names = options.sorted_keys(RULES)

-- Sizes of all jobs; whether these are GPUs, not machines.
local function sizes_of(fn, rows)
  local amounts = false
  for _, row in ipairs(rows) do amounts = amounts or row.gpus ~= nil or row.speeds ~= nil or row.goodput ~= nil end
  local key, sizes = amounts and "gpus" or "machines", {}
  for j, row in ipairs(rows) do
    local n = row[key] == nil and 1 or row[key]
    if type(n) ~= "number" or n < 1 or n ~= math.floor(n) or n >= 2 ^ 31 then
      options.fail("%s: trace[%d].%s: expected a whole number of at least 1, got %s", fn, j, key, tostring(n))
    end
    if amounts and row.machines ~= nil then
      options.fail("%s: trace[%d].machines: jobs have `gpus`: expected one of both", fn, j)
    end
    sizes[j] = n
  end
  return sizes, amounts
end

local function placement_of(fn, o, rows)
  if o.placement ~= "skewed" then return o.placement end
  local flags = {}
  for j, row in ipairs(rows) do
    if row.skewed ~= nil and type(row.skewed) ~= "boolean" then
      options.fail("%s: trace[%d].skewed: expected a boolean, got %s", fn, j, core.kind(row.skewed))
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

-- Of jobs without `speeds` and `goodput`: their gang, or nothing.
local function speeds_of(fn, rows, sizes, c)
  local out, all, largest = {}, count_gpus(c)
  for j, row in ipairs(rows) do
    local list = row.speeds
    if row.goodput ~= nil and list == nil then list = speeds_by_model(row.goodput, math.min(row.most or all, all), largest) end
    if list ~= nil and type(list) ~= "table" then
      options.fail("%s: trace[%d].speeds: expected an array of work per s on 1, 2, ... GPUs, got %s", fn, j, core.kind(list))
    end
    if not list then
      list = {}
      for n = 1, sizes[j] do list[n] = n == sizes[j] and 1 or 0 end
    end
    out[j] = list
  end
  return out
end

-- Names of types, numbered as they come; the number of each machine.
local function types_of(fn, given, machines)
  if type(given) ~= "table" or #given ~= machines then
    options.fail("%s: types: expected an array of %d names (one per machine)", fn, machines)
  end
  local names, number, out = {}, {}, {}
  for m, name in ipairs(given) do
    if type(name) ~= "string" then options.fail("%s: types[%d]: expected a name, got %s", fn, m, core.kind(name)) end
    if not number[name] then
      names[#names + 1] = name
      number[name] = #names
    end
    out[m] = number[name]
  end
  return out, names
end

-- Rates of each job on each type; work at 1 per s on all types if it has none.
local function throughputs_of(fn, rows, names)
  local out, priorities = {}, {}
  for j, row in ipairs(rows) do
    if row.rates ~= nil and type(row.rates) ~= "table" then
      options.fail("%s: trace[%d].rates: expected a table of work per s by type, got %s", fn, j, core.kind(row.rates))
    end
    for _, name in ipairs(names) do
      local x = 1
      if row.rates then x = row.rates[name] or 0 end
      if type(x) ~= "number" then
        options.fail("%s: trace[%d].rates.%s: expected a number, got %s", fn, j, name, core.kind(x))
      end
      out[#out + 1] = x
    end
    priorities[j] = row.priority == nil and 1 or row.priority
  end
  return out, priorities
end

--- @return whether a scheduler is one of the core's
function gang.is_one(name) return RULES[name] ~= nil end

--- Do jobs take the same time wherever they run?
function gang.has_bounds(rule, o) return not o.rate and not RESIZE[rule] and rule ~= "gavel" end

--- The options of a rule, checked.
function gang.options(fn, rule, opts)
  local legal = { "seed" }
  for _, key in ipairs(RULES[rule]) do legal[#legal + 1] = key end
  return options.check(fn, opts, legal)
end

--- Plays a cluster to its end.
-- @tparam table rows a table per job
-- @tparam table o what gang.options gave
-- @treturn gang with runs() and counts(); whether gangs are GPUs
function gang.run(fn, c, rows, rule, o)
  local made = { rule = rule }
  made.sizes, made.amounts = sizes_of(fn, rows)
  if o.placement ~= nil and not made.amounts then options.fail("%s: placement: is for jobs with `gpus`", fn) end
  made.placement, made.consolidate = placement_of(fn, o, rows)
  for _, key in ipairs(RULES[rule]) do
    if key ~= "placement" and key ~= "types" then made[key] = o[key] end
  end
  if rule == "gavel" then
    local names
    made.types, names = types_of(fn, o.types, c.machines)
    made.n_types = #names
    made.throughputs, made.priorities = throughputs_of(fn, rows, names)
  end
  if RESIZE[rule] then made.speeds = speeds_of(fn, rows, made.sizes, c) end
  if o.rate then
    function made.rate(j, machines, amounts) return o.rate(rows[j], machines, amounts) end
  end
  local done, message, code = core.gang(c, made)
  return done, message, code, made.amounts
end

return gang
