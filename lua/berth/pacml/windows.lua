--- A run in windows of equal length: what arrived, what was blocked, what servers did.
local windows = {}

local function zeros(n)
  local out = {}
  for i = 1, n do out[i] = 0 end
  return out
end

local function at(time, width, n) return math.max(1, math.min(n, math.floor(time / width) + 1)) end

-- A value that holds from one time to another, in server-seconds or whatever it is per second,
-- distributed over the windows.
local function spread(sums, from, to, value, width)
  local n = #sums
  for w = at(from, width, n), at(to, width, n) do
    local low, high = math.max(from, (w - 1) * width), math.min(to, w * width)
    if high > low then sums[w] = sums[w] + value * (high - low) end
  end
end

local function scaled(sums, factor)
  for i = 1, #sums do sums[i] = sums[i] * factor end
  return sums
end

--- Shares by window.
-- @tparam table records of berth.pacml.simulate
-- @tparam number n windows
-- @treturn table width (s); load (sequential time that arrives before the end, over what all
--  servers could do); blocked (of the arrivals, as in the report: in compat also what runs at the
--  horizon; false: there were none); held, computing (of all servers)
function windows.of(records, n)
  local time, servers = records.report.time, records.env.ramp.servers
  local width = time > 0 and time / n or 1
  local out = { width = width, load = zeros(n), held = zeros(n), computing = zeros(n),
    blocked = {} }
  local arrived, blocked, compat = zeros(n), zeros(n), records.env.ramp.compat
  for _, row in ipairs(records) do
    if row.arrival_s <= time then
      local w = at(row.arrival_s, width, n)
      if row.arrival_s < time then out.load[w] = out.load[w] + row.sequential_s end
      arrived[w] = arrived[w] + 1
      if not row.accepted or compat and not row.completed then blocked[w] = blocked[w] + 1 end
      if row.accepted then
        local last = math.min(row.end_s, time)
        spread(out.held, row.arrival_s, last, row.servers, width)
        spread(out.computing, row.arrival_s, last, row.speedup or 0, width)
      end
    end
  end
  for w = 1, n do out.blocked[w] = arrived[w] > 0 and blocked[w] / arrived[w] end
  for _, key in ipairs { "load", "held", "computing" } do
    scaled(out[key], 1 / (width * servers))
  end
  return out
end

return windows
