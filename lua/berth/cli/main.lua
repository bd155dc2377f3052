--- The command line: finds the command, parses its options, runs it, turns failures into exit
-- codes.
local args = require "berth.cli.args"
local commands = require "berth.cli.command_list"
local fail = require "berth.cli.fail"
local interrupt = require "berth.base.interrupt"
local json = require "berth.base.json_writer"
local names = require "berth.cli.names"
local notes = require "berth.cli.notes"
local schema = require "berth.base.schema"

local main = {}

-- The text of berth without a command, and of --help.
local function overview()
  local lines = { "usage: berth COMMAND ...", "",
    "Places, simulates and schedules distributed machine-learning graphs.", "" }
  lines[#lines + 1] = "commands:"
  for _, name in ipairs(commands.names) do
    lines[#lines + 1] = string.format("  %-10s %s", name, commands.summaries[name])
  end
  lines[#lines + 1] = ""
  lines[#lines + 1] = "berth COMMAND --help lists the options, with units; berth --version the "
    .. "version."
  lines[#lines + 1] = "A file named - is standard input or output; what else is printed then goes "
    .. "to standard error."
  lines[#lines + 1] = "exit: 0 done, 1 nothing fits, 2 bad input or usage, 130 interrupted"
  return table.concat(lines, "\n")
end

-- argv without its first word.
local function rest(argv)
  local out = {}
  for i = 2, #argv do out[i - 1] = argv[i] end
  return out
end

local function no_command(word)
  if word:sub(1, 1) == "-" then
    fail.usage("%s comes before the command: berth COMMAND ... %s", word, word)
  end
  return names.refuse(nil, word, commands.names, "berth --help", "command")
end

-- The command of argv[1], and the words behind it, by which it may choose.
local function command_of(argv)
  local words = rest(argv)
  local command = commands.find(argv[1], words)
    or no_command(argv[1])
  return command, words
end

-- Raises if two files are standard output. @return whether one is
local function takes_output(command, given)
  local name = given.json and "json" or nil
  local taken = false
  for _, option in ipairs(command.options) do
    if option.writes and given[option.name] == "-" then
      if name then fail.usage("--%s and --%s: both on standard output", name, option.name) end
      name, taken = option.name, true
    end
  end
  return taken
end

-- Runs one command line and returns its exit code. state.json is set when errors have to be printed
-- as JSON, too; state.captured: the output is no terminal's; plain writes a line to standard error.
local function dispatch(argv, write, complain, state, plain)
  local name = argv[1]
  if not name then fail.usage("a command is needed\n\n%s", overview()) end
  if name == "--help" or name == "-h" or name == "help" then
    write(argv[2] and args.help((command_of(rest(argv)))) or overview())
    return 0
  end
  if name == "--version" then
    write("berth " .. require("berth").version)
    return 0
  end
  local command, words = command_of(argv)
  local positional, given = args.parse(command, words)
  if given.help then
    write(args.help(command))
    return 0
  end
  state.json = given.json
  notes.start(complain)
  require "berth.cli.endings"(command, given)
  if takes_output(command, given) then write = plain end
  local align = require "berth.base.align"
  local columns = state.captured and align.COLUMNS or align.columns()
  local progress = require "berth.cli.progress"
  return align.within(columns, progress.on_terminal, command.run, positional, given, write,
    complain, words)
end

-- Writes lines to standard output; the second function flushes it and returns why a line was not
-- written.
local function standard_output()
  local reason
  local function note(ok, why)
    if not ok then reason = reason or why or "cannot be written" end
  end
  return function(line) note(io.stdout:write(line, "\n")) end, function()
    note(io.stdout:flush())
    return reason
  end
end

-- The same with failures turned into messages: say(message); with --json an infeasible problem is
-- also a JSON object on standard output.
local function run(argv, write, say, plain, captured)
  local state = { captured = captured }
  local ok, result = interrupt.catching(dispatch, argv, write, say, state, plain)
  if ok then return result end
  local exit, message, code, why = fail.describe(result)
  if state.json and exit == fail.INFEASIBLE then
    write(json.encode(schema.document "refusal" (json.refusal(message, code, why))))
  end
  say(message)
  return exit
end

-- Names of files cannot control the terminal: \u001b in text, and the same in JSON strings.
local function for_terminal(write)
  local found, core = pcall(require, "berth.core")
  if not found then return write end
  return function(line) return write(core.escape(line, true)) end
end

--- Runs one command line.
-- @tparam table argv words after the program's name
-- @tparam[opt] table to write(line) and complain(line); default: standard output and error
-- @treturn number exit code
function main.run(argv, to)
  to = to or {}
  local write, finish = standard_output()
  write, finish = to.write or write, not to.write and finish
  local complain = to.complain or function(line) io.stderr:write(line, "\n") end
  local function say(message) for_terminal(complain)("berth: " .. message) end
  local exit = run(argv, for_terminal(write), say, for_terminal(complain), to.write ~= nil)
  local reason = finish and finish()
  if not reason then return exit end
  say("standard output: " .. reason)
  return fail.USAGE
end

return main
