--- Options of agents: what is not as it should be raises, with the place, the value and what was
-- expected.
-- @module berth.agents.check
local core = require "berth.core"
local options = require "berth.base.options"

local check = {}

-- Numbers as every interpreter writes them; of anything else what it is.
local function shown(x)
  if type(x) == "string" then return ("'%s'"):format(x) end
  if type(x) ~= "number" then return core.kind(x) end
  return x ~= x and "nan" or core.sprintf("%.14g", x)
end

--- One of the keys of `known`.
function check.choice(fn, key, value, known)
  if type(value) == "string" and known[value] then return end
  options.fail("%s: %s: %s is none of: %s", fn, key, shown(value),
    options.names_text(value, options.sorted_keys(known)))
end

--- A number from least to most.
function check.number(fn, key, value, least, most)
  if type(value) == "number" and value >= least and value <= most then return end
  options.fail("%s: %s: expected a number from %.14g to %.14g, got %s", fn, key, least, most,
    shown(value))
end

--- A whole number from least to most.
function check.whole(fn, key, value, least, most)
  if type(value) == "number" and value % 1 == 0 and value >= least and value <= most then return end
  options.fail("%s: %s: expected a whole number from %.14g to %.14g, got %s", fn, key, least, most,
    shown(value))
end

return check
