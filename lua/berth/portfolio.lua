--- The default placer: several fast placers, judged by the step simulator; the best answer that keeps memory stays.
-- Never worse, under the simulation that judges, than any member whose answer keeps memory. Same input and seed, same answer.
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

local function better(a, b) return not b or a.makespan < b.makespan end

-- What the device on which memory first runs out needs more, at its peak.
local function missing_in(cost, r)
  return r.oom and r.peak_memory[r.oom.device] - cost.topology:device(r.oom.device).memory
end

local function try(cost, name, given, simulation)
  local p, message, code, why = core.place(cost, name, portfolio.only_read(name, given))
  if not p then return { name = name, error = message, code = code, why = why } end
  local r
  r, message, code = core.simulate(cost, p, simulation)
  if not r then return { name = name, error = message, code = code } end
  return { name = name, makespan = r.makespan, oom = r.oom, missing = missing_in(cost, r), placement = p }
end

-- ---- when no answer keeps memory ------------------------------------------------------------------

-- Bytes that a member lacked; nil: something else stopped it.
local function lacks(row)
  if row.oom then return row.missing end
  local missing = row.code == "infeasible" and row.why and row.why.missing
  return missing and missing > 0 and missing or nil
end

local function closest(rows)
  local best
  for _, row in ipairs(rows) do
    if lacks(row) and (not best or lacks(row) < lacks(best)) then best = row end
  end
  return best
end

local function label(kind, id, name)
  return name and name ~= "" and ('%s %.0f "%s"'):format(kind, id, name) or ("%s %.0f"):format(kind, id)
end

-- A list placer keeps memory in its own order, which first in, first out need not follow.
local function holds_as_planned(cost, row, simulation)
  if not row.oom or not row.placement:sequence() then return false end
  local r = core.simulate(cost, row.placement, options.merge(simulation, { dispatch = "planned" }))
  return r ~= nil and not r.oom
end

local function hint(cost, rows, simulation)
  for _, row in ipairs(rows) do
    if holds_as_planned(cost, row, simulation) then
      return ('; with dispatch = "planned" that of %s keeps memory'):format(row.name)
    end
  end
  return ""
end

local function ran_out(cost, row, tail)
  local op, device = row.oom.op, row.oom.device
  local text = "portfolio: no placement found: that of %s comes closest, but %s runs out of "
  local message = (text .. "memory on %s: %s are missing%s"):format(row.name, label("op", op, cost.graph:op(op).name),
    label("device", device, cost.topology:device(device).name), core.format(row.missing, "bytes"), tail)
  return nil, message, "infeasible", { op = op, device = device, missing = row.missing }
end

-- A proof that nothing can fit is the best reason, then what the member lacked that came closest.
local function refuse(cost, given, rows, simulation)
  local bounds, message, code, why = core.bounds(cost, { memory = given.memory, param_multiple = given.param_multiple })
  if not bounds and code == "infeasible" then return nil, (message:gsub("^bounds", "portfolio")), code, why end
  local row = closest(rows) or rows[1]
  if row.oom then return ran_out(cost, row, hint(cost, rows, simulation)) end
  return nil, row.error, row.code, row.why
end

-- ---- the members ------------------------------------------------------------------------------------

local function so_far(n)
  return ("interrupted: the best of the first %d of %d placers"):format(n, #portfolio.members)
end

--- Runs the members on a cost. If that is interrupted, the best answer so far stands, and `rows.interrupted` says so.
-- @treturn[1] placement
-- @treturn[1] table one row per member that ran: name, makespan, oom, placement or error
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code
-- @treturn[2] table obstacle
function portfolio.run(cost, given)
  local simulation = judge(given)
  local rows, best, stopped = {}, nil, nil
  for i, name in ipairs(portfolio.members) do
    local row = try(cost, name, given, simulation)
    if row.code == "interrupted" then
      rows.interrupted, stopped = so_far(i - 1), row
      break
    end
    rows[i] = row
    core.progress("portfolio", i / #portfolio.members)
    if not row.error and not row.oom and better(row, best) then best = row end
  end
  if best then return best.placement, rows end
  if stopped then return nil, stopped.error, stopped.code, stopped.why end
  return refuse(cost, given, rows, simulation)
end

--- As `berth.place` without a placer, but also tells what every member reached.
function portfolio.portfolio(...)
  local cost, rest, code = options.priced("berth.portfolio", 1, ...)
  if not cost then return nil, rest, code end
  return portfolio.run(cost, options.check("berth.portfolio", rest[1], portfolio.legal))
end

return portfolio
