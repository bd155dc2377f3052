--- Placers of the user's: an object with a function `place`, such as a trained agent.
--
-- `placer:place(cost, options)` gives a placement, or an array of devices, or nil, message, code.
-- `cost.graph` and `cost.topology` are what is placed; `options` are those of berth.place, as
-- given. `placer.name` labels the answer. What it gives is checked: a device for every op, pins and
-- groups kept (else an error: the placer is wrong), memory (else "infeasible").
local core = require "berth.core"
local options = require "berth.base.options"

local own_placer = {}

local function field(x, name)
  local ok, value = pcall(function() return x[name] end)
  return ok and value or nil
end

--- Is it a table or userdata with a function `place`?
function own_placer.is(x)
  local kind = type(x)
  if kind ~= "table" and kind ~= "userdata" then return false end
  return type(field(x, "place")) == "function"
end

function own_placer.name(placer)
  local name = field(placer, "name")
  return type(name) == "string" and name or "placer"
end

local function wrong(name, format, ...)
  options.fail("berth.place: placer '%s': %s", name, format:format(...))
end

local function label(kind, id, name)
  return name and name ~= "" and ('%s %.0f "%s"'):format(kind, id, name) or ("%s %.0f"):format(kind,
    id)
end

local function check_device(cost, name, op, d)
  local most = #cost.topology
  if type(d) ~= "number" or d % 1 ~= 0 or d < 1 or d > most then
    wrong(name, "gave device %s for op %d (ids are 1..%d)", tostring(d), op, most)
  end
end

local function check_group(name, groups, i, op, d)
  local first = groups[op.group]
  if not first then
    groups[op.group] = { op = i, device = d }
  elseif first.device ~= d then
    wrong(name, "ops %d and %d of group %d are on devices %d and %d", first.op, i, op.group,
      first.device, d)
  end
end

local function check_rules(cost, name, devices)
  local groups = {}
  for i = 1, #devices do
    local op, d = cost.graph:op(i), devices[i]
    check_device(cost, name, i, d)
    if op.pin and op.pin ~= d then
      wrong(name, 'op %d is on device "%s", but is pinned to "%s"', i,
        cost.topology:device(d).name, op.pin <= #cost.topology and cost.topology:device(op.pin).name
        or ("device %d"):format(op.pin))
    end
    if op.group then check_group(name, groups, i, op, d) end
  end
end

local function devices_of(cost, name, got)
  local kind = core.kind(got)
  if kind ~= "placement" and kind ~= "table" then
    wrong(name, "gave %s, expected a placement or an array of devices", kind)
  end
  local devices = kind == "table" and got or got:devices()
  if #devices ~= #cost.graph then
    wrong(name, "gave %d devices for %d ops", #devices, #cost.graph)
  end
  check_rules(cost, name, devices)
  return devices, kind == "placement" and got or nil
end

local function has_limits(cost)
  for d = 1, #cost.topology do
    if cost.topology:device(d).memory < math.huge then return true end
  end
  return false
end

local function runs_out(cost, name, r)
  local op, device = r.oom.op, r.oom.device
  local missing = r.peak_memory[device] - cost.topology:device(device).memory
  return nil, ("%s: %s runs out of memory on %s: %s are missing"):format(name,
    label("op", op, cost.graph:op(op).name),
    ('device "%s"'):format(cost.topology:device(device).name), core.format(missing, "bytes")),
      "infeasible",
    { op = op, device = device, missing = missing }
end

-- First in, first out, on the given links.
local function check_memory(cost, name, p, given)
  local memory = given.memory or core.default_memory(cost)
  if memory == "none" or not has_limits(cost) then return p end
  local r, message, code = core.simulate(cost, p, { links = given.links, memory = memory,
    param_multiple = given.param_multiple, quantum = given.quantum, bound = false })
  if not r then return nil, message, code end
  if r.oom then return runs_out(cost, name, r) end
  return p
end

local function refusal(name, message, code, why)
  if type(message) ~= "string" then wrong(name, "gave nil and no message") end
  return nil, message, code or "infeasible", why
end

--- @treturn[1] placement
-- @treturn[1] ?string message, if it was interrupted
-- @treturn[1] ?string "interrupted"
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code
-- @treturn[2] ?table obstacle
function own_placer.run(placer, cost, given)
  local name = own_placer.name(placer)
  local got, message, code, why = placer:place(cost, given)
  if got == nil then return refusal(name, message, code, why) end
  local devices, placement = devices_of(cost, name, got)
  local sequence = placement and placement:sequence() or nil
  local p = core.placement(devices, { sequence = sequence, placer = name,
    estimate = placement and placement.estimate })
  local kept, failure, reason, obstacle = check_memory(cost, name, p, given)
  if not kept then return nil, failure, reason, obstacle end
  if code == "interrupted" then return p, message, code end
  return p
end

return own_placer
