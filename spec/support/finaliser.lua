--- Has a finaliser close an object wherever Lua collects garbage during an operation.
local runs = require "support.runs"

local finaliser = {}

local jitted = rawget(_G, "jit")

-- Calls f when the garbage is collected next.
local function leave(f)
  local make = rawget(_G, "newproxy")
  if make then getmetatable(make(true)).__gc = f
  else setmetatable({}, { __gc = f }) end
end

-- What is left in dead stack slots is not garbage for LuaJIT.
local function wipe()
  local a, b, c, d, e, f, g, h, i, j, k, l, m, n = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14
  return a + b + c + d + e + f + g + h + i + j + k + l + m + n
end

local function arm(f)
  collectgarbage()
  collectgarbage()
  leave(f)
  wipe()
end

local kept
local function litter(n)
  for _ = 1, n do kept = {} end
  return kept
end

-- How many tables it takes until the finaliser comes.
local function count(make)
  local x, closes = make()
  closes = closes or x
  local closed, n = false, 0
  arm(function()
    closes:close()
    closed = true
  end)
  while not closed do
    litter(1)
    n = n + 1
  end
  return n
end

local function try(make, use, n)
  local x, closes = make()
  local within, closed = false, false
  closes = closes or x
  arm(function()
    closes:close()
    closed = within
  end)
  litter(n)
  within = true
  local ok, value = pcall(use, x)
  within = false
  return closed, ok, value
end

-- The whole collection in one step, soon after the last one; then as usual.
local compiles = jitted and jitted.status()
local function hurry()
  if not jitted then return collectgarbage("incremental", 104, 1000, 40) end
  jitted.off()
  collectgarbage("setpause", 104)
  collectgarbage("setstepmul", 1000000)
end
local function calm()
  if not jitted then return collectgarbage("incremental", 200, 100, 13) end
  if compiles then jitted.on() end
  collectgarbage("setpause", 200)
  collectgarbage("setstepmul", 200)
end

local function sweep(make, use, check)
  local most, hits = count(make), 0
  for n = math.max(0, most - runs(15, 60)), most do
    local closed, ok, value = try(make, use, n)
    if closed then
      hits = hits + 1
      check(ok, value)
    end
  end
  return hits
end

--- @tparam function make gives an object, and, if another one is to be closed, that
-- @tparam function use is called with the object
-- @tparam function check is called with what pcall(use) gave, for each time that it was closed
-- meanwhile
-- @treturn int how often that was
function finaliser.sweep(make, use, check)
  hurry()
  local ran, hits = pcall(sweep, make, use, check)
  calm()
  if not ran then error(hits, 0) end
  return hits
end

return finaliser
