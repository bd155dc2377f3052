--- Finished trials in a file, one line each, written when a trial is done. A process that is killed
-- leaves at most one line without an end: it is cut off when the file is opened again, and its
-- trial is run again.
local core = require "berth.core"
local json = require "berth.base.json"
local write = require "berth.base.write"

local store = {}
store.__index = store


-- Rows of all whole lines.
local function parse(path, text)
  local rows, n = {}, 0
  for line in text:gmatch("([^\n]*)\n") do
    n = n + 1
    local row, message = json.decode(line, "")
    if type(row) ~= "table" then
      return nil, ("%s:%d: %s"):format(path, n,
        message and message:gsub("^:1: ", "") or "expected an object"), "parse"
    end
    rows[n] = row
  end
  return rows
end

--- Rows of a file's whole lines.
-- @treturn[1] table
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code "io", "parse"
function store.read(path)
  local text, message, code = core.read(path)
  if not text then return nil, message, code end
  return parse(path, text)
end

--- Opens a file to add to, or makes it; half a line at its end is cut off.
-- @treturn[1] store rows
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code
function store.open(path)
  local file, message = io.open(path, "ab") -- makes it
  if not file then return nil, message, "io" end
  file:close()
  local text, rows, fine, code
  text, message, code = core.read(path)
  if not text then return nil, message, code end
  local whole = text:match("^.*\n") or ""
  rows, message, code = parse(path, whole)
  if not rows then return nil, message, code end
  if #whole < #text then -- the new file takes the place of the old one at once
    fine, message, code = write(path, whole)
    if not fine then return nil, message, code end
  end
  file, message = io.open(path, "ab")
  if not file then return nil, message, "io" end
  -- a line is written in one piece: processes that add to one file repeat trials, but spoil no line
  file:setvbuf "no"
  return setmetatable({ path = path, file = file, rows = rows }, store)
end

--- Adds a line, which is out of this process when it returns.
-- @treturn[1] boolean true
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code
function store:add(line)
  local fine, message = self.file:write(line .. "\n")
  if fine then fine, message = self.file:flush() end
  if not fine then return nil, ("%s: %s"):format(self.path, message), "io" end
  return true
end

function store:close() self.file:close() end

return store
