--- Texts of written pages, and what they hold.
local assert = require "luassert"
local shell = require "support.shell"

local pages = {}

--- What write(path, ...) wrote.
function pages.of(write, ...)
  local path = os.tmpname()
  assert(write(path, ...))
  return shell.take(path)
end

function pages.has(text, ...)
  for _, part in ipairs { ... } do assert.truthy(text:find(part, 1, true), part) end
end

function pages.lacks(text, ...)
  for _, part in ipairs { ... } do assert.is_nil(text:find(part, 1, true), part) end
end

return pages
