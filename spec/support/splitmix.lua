-- One step of splitmix64 from a state, modulo m: DOPPLER reference answers are drawn so.
--
-- 64-bit integers differ between the interpreters, so each gets its own text.
local text = tostring(_VERSION) ~= "Lua 5.1" and [[
  return function(state, m1, m2)
    local z = state + 0x9E3779B97F4A7C15
    z = (z ~ (z >> 30)) * 0xBF58476D1CE4E5B9
    z = (z ~ (z >> 27)) * 0x94D049BB133111EB
    z = z ~ (z >> 31)
    return math.tointeger(math.fmod(z >> 1, m1) * 2 + (z & 1)) % m1 % m2
  end]] or [[
  local bit = require "bit"
  return function(state, m1, m2)
    local z = state + 0x9E3779B97F4A7C15ULL
    z = bit.bxor(z, bit.rshift(z, 30)) * 0xBF58476D1CE4E5B9ULL
    z = bit.bxor(z, bit.rshift(z, 27)) * 0x94D049BB133111EBULL
    z = bit.bxor(z, bit.rshift(z, 31))
    return tonumber(z % (m1 + 0ULL)) % m2
  end]]
local step = assert((rawget(_G, "loadstring") or load)(text))()

local splitmix = {}

--- j(i, s) of the rule, i from 0.
function splitmix.jitter(i, s) return step(s * 1000003 + i, 1000000007, 1000003) end

--- A loaded DOPPLER graph with its costs perturbed, as a description for berth.graph.
function splitmix.perturb(g)
  local ops, tensors = {}, {}
  for op in g:ops() do ops[op.id] = { seconds = op.seconds + splitmix.jitter(op.id - 1, 1) } end
  for t in g:tensors() do
    tensors[t.id] = { from = t.from, to = t.to, bytes = t.bytes + splitmix.jitter(t.from - 1, 2) }
  end
  return { ops = ops, tensors = tensors }
end

return splitmix
