--- Writes a whole file.
-- @tparam string path
-- @tparam string|table text or pieces of it
-- @treturn[1] boolean true
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code "io"
return function(path, text)
  local file, message = io.open(path, "wb")
  if not file then return nil, message, "io" end
  local written, why = file:write(type(text) == "table" and table.concat(text) or text)
  local closed, late = file:close()
  if written and closed then return true end
  return nil, ("%s: %s"):format(path, why or late or "cannot be written"), "io"
end
