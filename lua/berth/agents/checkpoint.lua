--- Files of agents: weights, and in a note what the agent is and how far its training is.
-- @module berth.agents.checkpoint
local nn = require "berth.nn"
local options = require "berth.base.options"
local record = require "berth.agents.record"

local checkpoint = {}

options.declare("agents.checkpoint", {
  { key = "checkpoint", type = "string", default = "none",
    text = "file that is kept up to date, to resume from" },
  { key = "resume", type = "flag", default = "false",
    text = "resumes from checkpoint, to the same bytes" },
  { key = "progress", type = "function", default = "none",
    text = "is called with a table on the state of the training" },
})

--- Raises for wrong values of these options, and for resume without checkpoint.
function checkpoint.check(fn, o)
  options.check_values(fn, "agents.checkpoint", o)
  options.refuse(o.resume and not o.checkpoint,
    "%s: resume: requires checkpoint, the file to go on from", fn)
end

--- @tparam string path
-- @param params nn.parameters
-- @param adam or nil
-- @tparam table what the note
-- @treturn[1] boolean true
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code
function checkpoint.write(path, params, adam, what)
  local part = path .. ".part"
  local done, message, code = params:save(part, { adam = adam, note = record.write(what) })
  if not done then return nil, message, code end
  done, message = os.rename(part, path)
  if not done then
    os.remove(part)
    return nil, ("%s: cannot be written: %s"):format(path, (tostring(message):gsub("^.*: ", ""))),
      "io"
  end
  return true
end

--- The note of a file.
function checkpoint.note(path)
  local text, message, code = nn.read_note(path)
  if not text then return nil, message, code end
  local what = record.read(text)
  if type(what) ~= "table" or type(what.kind) ~= "string" then
    return nil, path .. ": holds no agent", "parse"
  end
  return what
end

--- Whether there is a file of that name.
function checkpoint.exists(path)
  local f = io.open(path, "rb")
  if f then f:close() end
  return f ~= nil
end

return checkpoint
