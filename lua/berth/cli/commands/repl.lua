--- berth repl: the interactive prompt.
local berth = require "berth"
local fail = require "berth.cli.fail"

local repl = {
  name = "repl", use = "repl", least = 0, most = 0,
  text = "Lua with berth at hand: expressions print, help(x) explains. Reads standard input when "
    .. "that is no terminal.",
  options = {},
  notes = "History is kept in $BERTH_HISTORY, or .berth_history in the home directory.\n"
    .. "Ctrl-C stops what runs, and clears the line at the prompt.\n"
    .. "exit: 0 done, 2 something in the input failed, 130 interrupted (both not on a terminal)",
}

--- @return exit code, as the notes say
function repl.run()
  local errors, interrupted = berth.repl.run()
  return interrupted and fail.INTERRUPTED or errors > 0 and fail.USAGE or 0
end

return repl
