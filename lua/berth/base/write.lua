--- Writes a file: all of it, or nothing (the core's berth_save: a new file takes its place).
local core = require "berth.core"

-- @tparam string path
-- @tparam string|table text or pieces of it
-- @treturn[1] boolean true
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code
return function(path, text)
  return core.write(path, type(text) == "table" and table.concat(text) or text)
end
