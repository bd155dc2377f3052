--- berth llm export: the file that launches a plan with a framework.
local berth = require "berth"
local fail = require "berth.cli.fail"
local inputs = require "berth.cli.llm_inputs"
local json = require "berth.base.json_writer"
local options = require "berth.cli.options"
local schema = require "berth.base.schema"
require "berth.llm.launch" -- declares its options

local command = {
  name = "llm export", use = "llm export [CONFIG] --gpus CLUSTER --format FORMAT [options]",
  least = 1, most = 2,
  text = "The file that launches a plan: flags of Megatron-LM, torchtitan's TOML, a Slurm script.",
  notes = inputs.notes, options = options.join(
    { options.changed("llm.export", "format", { text = "what is written; needed" }) },
    inputs.options, inputs.overlaps,
    { options.output("output", "writes the file, and prints the notes alone"), options.json }),
}

--- @return exit code 0
function command.run(positional, given, write, complain)
  fail.refuse(not given.format, "llm export: --format is needed: megatron, torchtitan, slurm, ...")
  local m, c, plan, found = inputs.read("llm export", positional, given)
  local e = fail.need(berth.llm.export(m, c, plan, given.format))
  if given.output then fail.need(e:save(given.output)) end
  if given.json then
    write(json.encode(schema.document "llm export" { { "format", e.format },
      { "file", given.output }, { "text", e.text }, { "notes", e.notes } }))
    return 0
  end
  if not given.output then write((e.text:gsub("\n$", ""))) end
  local say = given.output and write or complain
  for _, note in ipairs(e.notes) do say("note: " .. note) end
  for _, note in ipairs(found and found.notes or {}) do say("note: " .. note) end
  if given.output then write("written: " .. given.output) end
  return 0
end

return command
