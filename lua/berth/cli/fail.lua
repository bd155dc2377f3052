--- How a command ends early: an error value with an exit code.
local fail = {}

fail.INFEASIBLE, fail.USAGE = 1, 2

local Failure = {}
Failure.__index = Failure
Failure.__tostring = function(self) return self.message end

--- Ends the command: bad input or usage.
function fail.usage(...)
  error(setmetatable({ exit = fail.USAGE, message = string.format(...) }, Failure), 0)
end

--- Ends the command: nothing fits.
function fail.infeasible(...)
  error(setmetatable({ exit = fail.INFEASIBLE, message = string.format(...) }, Failure), 0)
end

--- Passes its arguments on, unless they are nil, message, code.
function fail.need(value, message, code, ...)
  if value ~= nil and value ~= false then return value, message, code, ... end
  local exit = code == "infeasible" and fail.INFEASIBLE or fail.USAGE
  return error(setmetatable({ exit = exit, message = tostring(message) }, Failure), 0)
end

--- Exit code and message of whatever a command raised.
function fail.describe(err)
  if getmetatable(err) == Failure then return err.exit, err.message end
  return fail.USAGE, (tostring(err):gsub("^[^%s:]+:%d+: ", ""))
end

return fail
