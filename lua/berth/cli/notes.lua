--- Remarks of a command that are no results: lines on standard error, each once, before the answer.
local notes = {}

local complain, given

--- Where the remarks of the next command go.
function notes.start(sink) complain, given = sink, {} end

--- A remark.
function notes.add(text)
  if not complain or given[text] then return end
  given[text] = true
  complain("note: " .. text)
end

return notes
