--- The commands of berth by name.
--
-- A command is a table: the descriptor that args.lua parses by (name, use, least, most, text,
-- notes, options), and run(positional, given, write, complain, words) -> exit code. `write` and
-- `complain` take one line without its end, for standard output and standard error; `words` are the
-- arguments as typed. A command with kinds has choose(words) -> the command that these words name.
-- Modules are loaded when a command is found, so that --help of one does not load them all.
local commands = {}

-- In the order of the help text; each is a module of commands/.
commands.names = { "place", "simulate", "compare", "repair", "bounds", "split", "schedule",
  "deploy", "report", "convert", "check", "train", "cluster", "llm", "models", "placers",
  "completion", "repl" }

commands.summaries = {
  place = "decides which device runs each op, and simulates the answer",
  simulate = "runs one step of a placed graph",
  compare = "many placers on one graph, best first",
  repair = "changes a placement as little as makes it keep memory",
  bounds = "lower bounds of the makespan",
  split = "pipeline stages: the smallest largest load, or the least latency",
  schedule = "pipeline schedules: generators, search, comparison, pictures",
  deploy = "training on many devices: what is repeated where, and how it is kept in step",
  report = "one HTML file with pictures of a step",
  convert = "from one file format to another",
  check = "what a file is and what is in it, or what is wrong with it",
  train = "teaches an agent to place, or to cut jobs",
  cluster = "jobs arrive, and are given servers or turned away",
  llm = "language models: how to split training, whether it fits, how long a step takes",
  models = "the networks that are built in",
  placers = "the placers, their variants and options",
  completion = "completion of words for bash, zsh or fish",
  repl = "interactive prompt",
}

--- The descriptor of a command, by the words behind its name if it has kinds; nil: there is no such
-- command.
function commands.find(name, words)
  if not commands.summaries[name] then return nil end
  local command = require("berth.cli.commands." .. name)
  return command.choose and command.choose(words) or command
end

return commands
