--- Ctrl-C in the front ends.
local interrupt = {}

--- Is this what Lua code raises when an interrupt is caught, here or (with "!") by the interpreters
-- themselves?
function interrupt.is(err)
  return type(err) == "string" and (err == "interrupted" or err:find(":%d+: interrupted!?$") ~= nil)
end

local function restore(core, before, ...)
  core.catch_interrupts(before)
  return ...
end

--- pcall(f, ...) with interrupts caught; plain pcall where berth.core is not built.
function interrupt.catching(f, ...)
  local found, core = pcall(require, "berth.core")
  if not found then return pcall(f, ...) end
  return restore(core, core.catch_interrupts(true), pcall(f, ...))
end

return interrupt
