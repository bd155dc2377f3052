--- Random numbers of generated jobs: a stream for each field, so that another range of one leaves
-- the others as they are.
local core = require "berth.core"
local options = require "berth.base.options"

local Draws = {}
Draws.__index = Draws

-- Numbers of the streams. New ones come at the end: what there is stays the same.
local STREAMS = { "arrival", "epochs", "samples", "batch", "tau", "bytes", "ratio", "across",
  "class", "importance", "urgency", "target", "model", "work", "worker 1", "worker 2", "worker 3",
  "worker 4", "server 1", "server 2", "server 3", "server 4" }

local draws = {}

function draws.new(fn, seed)
  local d = { fn = fn, rng = {} }
  for i, name in ipairs(STREAMS) do d.rng[name] = core.rng(seed, i) end
  return setmetatable(d, Draws)
end

--- Two numbers, the first at most the second, at least `least`.
-- @tparam string key for messages
-- @param given { from, to }, a number (both), or nil
function draws.range(fn, key, given, default, least)
  local range = given == nil and default or given
  if type(range) == "number" then range = { range, range } end
  if type(range) ~= "table" or #range ~= 2 or type(range[1]) ~= "number"
      or type(range[2]) ~= "number" then
    options.fail("%s: %s: expected a number or { from, to }, got %s", fn, key, core.kind(given))
  end
  local from, to = range[1], range[2]
  options.refuse(not (from >= least and to >= from and to < math.huge),
    "%s: %s: expected %.6g <= from <= to, got %.6g to %.6g", fn, key, least, from, to)
  return { from, to }
end

--- Uniform in the range.
function Draws:real(stream, range)
  return range[1] + (range[2] - range[1]) * self.rng[stream]:uniform()
end

--- Uniform among the whole numbers of the range.
function Draws:whole(stream, range)
  local from, to = math.ceil(range[1]), math.floor(range[2])
  if to < from then
    options.fail("%s: %s: no whole number from %.6g to %.6g", self.fn, stream, range[1], range[2])
  end
  return from + math.min(to - from, math.floor((to - from + 1) * self.rng[stream]:uniform()))
end

--- A number from 1 to #weights, by weight.
function Draws:weighted(stream, weights)
  local sum = 0
  for i = 1, #weights do sum = sum + weights[i] end
  local x, last = sum * self.rng[stream]:uniform(), 1
  for i = 1, #weights do
    if weights[i] > 0 then
      if x < weights[i] then return i end
      last = i
    end
    x = x - weights[i]
  end
  return last
end

return draws
