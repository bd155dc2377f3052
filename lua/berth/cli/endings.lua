--- Files that a command writes: their names must not end as those of another format.
local fail = require "berth.cli.fail"

local NAMES = { csv = "CSV", dot = "DOT", gv = "DOT", graphml = "GraphML", htm = "HTML",
  html = "HTML", json = "JSON", jsonl = "JSON lines", pdf = "PDF", png = "PNG", svg = "SVG",
  xml = "XML" }

-- The format of an option's file: that of pages is SVG, if one figure is wanted.
local function format_of(option, given)
  return option.format == "html" and given.figure and "svg" or option.format
end

-- What else there is for a name in .svg.
local function hint(command, ending, format)
  if ending ~= "svg" or format ~= "html" then return "" end
  for _, option in ipairs(command.options) do
    if option.name == "figure" then
      return (", or add --figure %s for SVG"):format(option.choices[1])
    end
  end
  return ""
end

--- Raises if a file that is given has the ending of another format than is written.
-- @tparam table command
-- @tparam table given options
return function(command, given)
  for _, option in ipairs(command.options) do
    local path, format = given[option.name], format_of(option, given)
    local ending = format and path and path:lower():match "%.(%w+)$"
    if ending and NAMES[ending] and NAMES[ending] ~= NAMES[format] then
      fail.usage("--%s %s: what is written is %s: end the name in .%s%s", option.name, path,
        NAMES[format], format, hint(command, ending, format))
    end
  end
end
