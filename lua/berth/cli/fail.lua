--- How a command ends early: an error value with an exit code.
-- fail.usage and fail.need raise a Failure; main.lua catches it, prints its message and exits. Exit
-- codes: 0 done, 1 nothing fits, 2 bad input or usage, 130 interrupted.
local interrupt = require "berth.base.interrupt"

-- The module may not be built: then a command says so.
local built, core = pcall(require, "berth.core")
local sprintf = built and core.sprintf or string.format

local fail = {}

fail.INFEASIBLE, fail.USAGE, fail.INTERRUPTED = 1, 2, 130

local Failure = {}
Failure.__index = Failure
Failure.__tostring = function(self) return self.message end

--- Ends the command: bad input or usage.
function fail.usage(...)
  error(setmetatable({ exit = fail.USAGE, message = sprintf(...) }, Failure), 0)
end

--- Ends the command if the condition holds.
function fail.refuse(condition, ...)
  if condition then fail.usage(...) end
end

--- Ends the command if the file of an option cannot be written: before the work, not after it.
function fail.unless_writable(name, path)
  local fine, message = require("berth.core").can_write(path)
  if not fine then fail.usage("--%s: %s", name, message) end
end

local exits = { infeasible = fail.INFEASIBLE, interrupted = fail.INTERRUPTED }

--- Passes its arguments on, unless they are nil, message, code, why: then ends the command with the
-- exit code of that code.
function fail.need(value, message, code, why, ...)
  if value ~= nil and value ~= false then return value, message, code, why, ... end
  local failure = { exit = exits[code] or fail.USAGE, message = tostring(message), code = code,
    why = why }
  return error(setmetatable(failure, Failure), 0)
end

-- Lua files that call what berth.core lacks are newer than it.
local function stale(message)
  local name = message:match "attempt to call a nil value %(%a+ '([%w_]+)'%)" or
    message:match "attempt to call %a+ '([%w_]+)' %(a nil value%)"
  if not name or not built or core[name] ~= nil then return nil end
  return ("the built module has no '%s': it seems older than the Lua files; make rebuilds it "
    .. "(%s)"):format(name, message)
end

--- Whatever a command raised: exit code and message; of a refusal its code, too, and what is to
-- blame.
function fail.describe(err)
  if getmetatable(err) == Failure then return err.exit, err.message, err.code, err.why end
  if interrupt.is(err) then return fail.INTERRUPTED, "interrupted" end
  local message = tostring(err)
  message = message:match("^[^\n]-%.lua:%d+: (.*)$") or message
  return fail.USAGE, stale(message) or message
end

return fail
