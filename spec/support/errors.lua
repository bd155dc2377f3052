--- What calls raise, and what they refuse with nil, a message and a code.
local assert = require "luassert"

local errors = {}

--- The error that f(...) raises.
function errors.raised(f, ...)
  local ok, value = pcall(f, ...)
  assert.is_false(ok, "nothing is raised")
  return value
end

--- Checks that f(...) raises an error with this text in it.
function errors.raises(text, f, ...)
  assert.matches(text, tostring(errors.raised(f, ...)), 1, true)
end

--- Checks the results of a call: nil, a message that matches the pattern, the code. Returns those
-- behind them.
function errors.refused(code, pattern, nothing, message, got, ...)
  assert.is_nil(nothing)
  assert.equal(code, got, message)
  assert.matches(pattern, message)
  return ...
end

return errors
