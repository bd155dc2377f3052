--- Schedules of rates: callables of the step, from 0. With { warmup = n } the first n steps rise
-- evenly to the start, which step n - 1 has; what comes after fits in the other steps.
-- @module berth.nn.schedule
local core = require "berth.core"
local options = require "berth.base.options"

local schedule = {}

local function check_number(fn, what, x)
  options.refuse(type(x) ~= "number" or x ~= x, "%s: %s: expected a number, got %s", fn, what,
    core.kind(x))
  return x
end

local function check_steps(fn, what, n, least)
  check_number(fn, what, n)
  options.refuse(n < least or n ~= math.floor(n),
    "%s: %s: expected a whole number not below %d, got %.14g", fn, what, least, n)
  return n
end

for _, name in ipairs { "constant", "linear", "cosine" } do
  options.declare("nn.schedule." .. name, {
    { key = "warmup", type = "whole", default = "0", text = "steps that rise to the start" },
  })
end

-- shape(part): value after `part` (0 to 1) of the steps behind the warmup.
local function make(fn, text, from, steps, opts, shape)
  local warmup = check_steps(fn, "warmup", options.check(fn, opts, fn:match "nn.*").warmup or 0,
    0)
  local rest = math.max(steps - warmup, 1)
  local function value(_, step)
    if step < warmup then return from * (step + 1) / warmup end
    return shape(math.min((step - warmup) / rest, 1))
  end
  if warmup > 0 then text = ("%s, %d of warmup"):format(text, warmup) end
  return setmetatable({},
    { __call = value, __tostring = function() return "schedule: " .. text end })
end

--- Always the same.
function schedule.constant(value, opts)
  local fn = "berth.nn.schedule.constant"
  check_number(fn, "value", value)
  return make(fn, core.sprintf("constant %.6g", value), value, 1, opts, function() return value end)
end

--- A straight line from `from` at step 0 to `to` at step `steps`; then `to`.
function schedule.linear(from, to, steps, opts)
  local fn = "berth.nn.schedule.linear"
  check_number(fn, "from", from)
  check_number(fn, "to", to)
  check_steps(fn, "steps", steps, 1)
  return make(fn, core.sprintf("linear %.6g to %.6g in %d steps", from, to, steps), from, steps,
    opts, function(part) return from + (to - from) * part end)
end

--- Half a wave from `from` at step 0 to `to` at step `steps`; then `to`.
function schedule.cosine(from, to, steps, opts)
  local fn = "berth.nn.schedule.cosine"
  check_number(fn, "from", from)
  check_number(fn, "to", to)
  check_steps(fn, "steps", steps, 1)
  return make(fn, core.sprintf("cosine %.6g to %.6g in %d steps", from, to, steps), from, steps,
    opts, function(part) return to + (from - to) * (1 + math.cos(math.pi * part)) / 2 end)
end

return schedule
