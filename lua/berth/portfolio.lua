--- The default placer: several fast placers, judged by the step simulator; the best answer stays.
-- Never worse, under the simulation that judges, than any member that gave an answer. Same input and seed, same answer.
local core = require "berth.core"
local options = require "berth.options"

local portfolio = {}

--- In the order in which ties are broken.
portfolio.members = {
  "m-etf", "etf", "heft", "peft", "cpop", "blevel", "critical-path", "minmin", "m-topo", "metis", "single", "round-robin",
}

portfolio.legal = { "averages", "links", "memory", "param_multiple", "quantum", "tries", "seed", "cost" }

-- Which placers an option means something to; those not named here mean something to all.
local readers = {
  averages = { heft = true, cpop = true, peft = true },
  tries = { ["critical-path"] = true },
  device = { single = true },
}

--- The options of `given` that the placer reads.
function portfolio.only_read(placer, given)
  local out = {}
  for key, value in pairs(given) do
    if not readers[key] or readers[key][placer] then out[key] = value end
  end
  out.cost = nil
  return out
end

--- Raises for an option that the placer would not read.
function portfolio.check_read(placer, given)
  for _, key in ipairs(options.sorted_keys(given)) do
    if readers[key] and not readers[key][placer] then
      local names = options.sorted_keys(readers[key])
      options.fail("berth.place: option '%s' means nothing to %s, only to: %s", tostring(key), placer, table.concat(names, ", "))
    end
  end
end

local function judge(given)
  return {
    links = given.links, memory = given.memory, param_multiple = given.param_multiple, quantum = given.quantum, bound = false,
  }
end

local function better(a, b)
  if not b then return true end
  local held_a, held_b = not a.oom, not b.oom
  if held_a ~= held_b then return held_a end
  return a.makespan < b.makespan
end

local function try(cost, name, given, simulation)
  local p, message, code, why = core.place(cost, name, portfolio.only_read(name, given))
  if not p then return { name = name, error = message, code = code, why = why } end
  local r
  r, message, code = core.simulate(cost, p, simulation)
  if not r then return { name = name, error = message, code = code } end
  return { name = name, makespan = r.makespan, oom = r.oom, placement = p }
end

--- Runs the members on a cost.
-- @treturn[1] placement
-- @treturn[1] table one row per member: name, makespan, oom, placement or error
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code
-- @treturn[2] table obstacle
function portfolio.run(cost, given)
  local simulation = judge(given)
  local rows, best, failure = {}, nil, nil
  for i, name in ipairs(portfolio.members) do
    local row = try(cost, name, given, simulation)
    rows[i] = row
    if row.error then
      failure = failure or row
    elseif better(row, best) then
      best = row
    end
  end
  if best then return best.placement, rows end
  return nil, failure.error, failure.code, failure.why
end

--- As `berth.place` without a placer, but also tells what every member reached.
function portfolio.portfolio(...)
  local cost, rest, code = options.priced("berth.portfolio", 1, ...)
  if not cost then return nil, rest, code end
  return portfolio.run(cost, options.check("berth.portfolio", rest[1], portfolio.legal))
end

return portfolio
