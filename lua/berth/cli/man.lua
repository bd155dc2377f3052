--- The manual page berth(1), from the descriptors of the commands.
local args = require "berth.cli.args"
local commands = require "berth.cli.command_list"
local core = require "berth.core"

local man = {}

-- Text as troff reads it: backslashes, hyphens, and no line that begins with a control character.
local function escaped(text)
  text = text:gsub("\\", "\\e"):gsub("%-", "\\-")
  return (("\n" .. text):gsub("\n([.'])", "\n\\&%1"):sub(2))
end

local function add(out, ...)
  for _, line in ipairs { ... } do out[#out + 1] = line end
end

-- Lines of a note stand as they are.
local function add_plain(out, text)
  add(out, ".nf", escaped(text), ".fi")
end

local function add_options(out, command)
  for _, option in ipairs(command.options) do
    add(out, ".TP", ".B " .. escaped(args.left_column(option)), escaped(args.right_column(option)))
  end
end

local function add_command(out, command)
  add(out, ".SS " .. escaped("berth " .. command.use), escaped(command.text))
  add_options(out, command)
end

--- The page.
-- @treturn string
function man.page()
  local out = { ('.TH BERTH 1 "" "berth %s" "User Commands"'):format(core.version), ".SH NAME",
    "berth \\- places, simulates and schedules distributed machine-learning graphs", ".SH SYNOPSIS",
    ".B berth", ".I COMMAND", "[arguments] [options]", ".SH DESCRIPTION",
    "A file named \\- is standard input or output; what else is printed then goes to standard "
      .. "error.", ".SH COMMANDS" }
  local seen = {}
  local function once(command)
    if seen[command] then return end
    seen[command] = true
    add_command(out, command)
  end
  for _, name in ipairs(commands.names) do
    local command = commands.find(name, {})
    once(command)
    for _, word in ipairs(command.words or {}) do once(commands.find(name, { word })) end
  end
  add(out, ".SH ARGUMENTS")
  add_plain(out, require("berth.cli.inputs").notes)
  add(out, ".SH PLACERS")
  add_plain(out, require("berth.cli.placers").notes)
  add(out, ".SH EXIT STATUS",
    "0 done, 1 nothing fits, 2 bad input or usage, 130 interrupted.")
  return table.concat(out, "\n") .. "\n"
end

return man
