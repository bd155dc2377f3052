--- berth llm memory: bytes of a GPU by pipeline stage, and whether training fits.
local berth = require "berth"
local fail = require "berth.cli.fail"
local inputs = require "berth.cli.llm_inputs"
local json = require "berth.base.json_writer"
local options = require "berth.cli.options"
local schema = require "berth.base.schema"

local command = {
  name = "llm", use = "llm memory [CONFIG] --gpus CLUSTER [options]", least = 1, most = 2,
  text = "What training a language model needs on a GPU, by pipeline stage and kind.\n"
    .. "berth llm plan --help: how to split the training over GPUs.\n"
    .. "berth llm estimate --help: how long a step takes.\n"
    .. "berth llm export --help: the file that launches a plan.\n"
    .. "berth llm model --help: what a model consists of.",
  notes = inputs.notes, options = options.join(inputs.options, { options.json }),
  words = { "memory", "plan", "estimate", "export", "model" },
}

--- The command that these words ask for: each has options of its own.
function command.choose(words)
  if words[1] == "estimate" then return require "berth.cli.commands.llm_estimate" end
  if words[1] == "plan" then return require "berth.cli.llm.plan" end
  if words[1] == "export" then return require "berth.cli.llm.export" end
  if words[1] == "model" then return require "berth.cli.commands.llm_model" end
  return command
end

--- @return exit code: 0, or 1 if a stage does not fit
function command.run(positional, given, write)
  fail.refuse(positional[1] ~= "memory",
    "llm: expected \"plan\", \"estimate\", \"export\", \"memory\" or \"model\", got %q",
    positional[1])
  local m, c, plan, found = inputs.read("llm memory", positional, given)
  local r = fail.need(berth.llm.memory(m, c, plan))
  if given.json then
    write(json.encode(schema.document "llm memory" (inputs.members(m, r, found))))
  else
    inputs.print_head(write, m, c, r.plan, found)
    write(tostring(r))
    inputs.print_notes(write, m, found)
    inputs.print_lack(write, r, positional[2], given.gpus)
  end
  return r.fits and 0 or fail.INFEASIBLE
end

return command
