--- A line of progress on a terminal, for commands that take longer than a moment.
local core = require "berth.core"

local progress = {}

local MOMENT = 0.5 -- s

-- Writes a text in place of the last one.
local function on_errors(text)
  io.stderr:write("\r" .. text .. "\27[K")
  io.stderr:flush()
end

--- Runs a command with a hook that keeps one line current: what runs, and the part that is done.
-- The line is gone before the command writes, and at its end.
-- @tparam function put (text) writes a text in place of the last one; "": none
-- @tparam function clock () -> s
-- @tparam function run (positional, given, write, complain, ...)
-- @return what run returns
function progress.shown(put, clock, run, positional, given, write, complain, ...)
  local begin, shown = clock(), ""
  local function show(text)
    if text ~= shown then put(text) end
    shown = text
  end
  local function cleared(f)
    return function(line)
      show ""
      return f(line)
    end
  end
  local before = core.hooks()
  core.hooks { interrupt = before.interrupt, progress = function(what, done)
    if clock() - begin < MOMENT then return end
    show(done < 1 and core.sprintf("%s %.0f %%", what, 100 * done) or "")
  end }
  local function finish(ok, ...)
    core.hooks(before)
    show ""
    if not ok then error((...), 0) end
    return ...
  end
  return finish(pcall(run, positional, given, cleared(write), cleared(complain), ...))
end

--- The same where standard error is a terminal; else the command alone.
function progress.on_terminal(run, ...)
  if not core.shows_errors() then return run(...) end
  return progress.shown(on_errors, core.clock, run, ...)
end

return progress
