--- What all kinds of berth train read alike: --set, and files that must be writable.
require "berth.agents.checkpoint" -- declares its options
local cli = require "berth.cli.options"
local fail = require "berth.cli.fail"
local lists = require "berth.cli.lists"
local options = require "berth.base.options"

local words = {}

--- Puts the settings of --set into a table; "3e-3..0" is a course over the training, { 3e-3, 0 }.
-- @tparam ?string text K=V,...
-- @tparam table out
-- @tparam function flag_of key -> its flag, if it has one
function words.settings(text, out, flag_of)
  local given = lists.settings("--set", text, lists.value)
  for _, key in ipairs(options.sorted_keys(given)) do
    local flag = flag_of(key)
    if flag then fail.usage("--set: %s: use --%s", key, flag) end
    out[key] = given[key]
  end
  return out
end

--- Raises unless the files that flags name can be written, each for itself.
function words.check_files(name, given, flags)
  fail.refuse(not given.save, "%s: --save FILE is needed: where the agent goes", name)
  fail.refuse(given.resume and not given.checkpoint, "--resume: requires --checkpoint")
  local seen = {}
  for _, flag in ipairs(flags) do
    local path = given[flag]
    if path then
      fail.refuse(path == "-" and flag ~= "output",
        "--%s: is a file with weights, not on standard output", flag)
      fail.refuse(seen[path], "--%s and --%s: each needs a file of its own", seen[path], flag)
      fail.unless_writable(flag, path)
      seen[path] = flag
    end
  end
end

--- Options about checkpoints and progress.
words.options = options.join(cli.of("agents.checkpoint", "checkpoint"), {
  cli.flag("resume", "resumes from --checkpoint"),
  cli.flag("progress", "lines on standard error"),
})

words.save = cli.file("save", "the agent's file; needed")

--- The exit code of a training, with a message if it was interrupted.
function words.finish(done, given, complain)
  if not done.interrupted then return 0 end
  complain("interrupted: the agent is as it was after the last update" .. (given.checkpoint
    and ("; to go on: --checkpoint %s --resume"):format(given.checkpoint) or ""))
  return fail.INTERRUPTED
end

return words
