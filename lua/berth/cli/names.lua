--- Unknown names of the command line: one message for commands, options and their values.
local fail = require "berth.cli.fail"

local names = {}

--- Ends the command: `--links: no "dupex" (legal: free, channel, duplex; did you mean 'duplex'?)`.
-- @tparam ?string where "--links"; nil: the program
-- @tparam string word
-- @tparam table legal array of names
-- @tparam[opt] string all what lists all of them: "berth models"
-- @tparam[opt] string noun "option": `place: no option --placr`
function names.refuse(where, word, legal, all, noun)
  local text = require("berth.core").names_text(word, legal, all)
  return fail.usage("%sno %s (legal: %s)", where and where .. ": " or "",
    noun and ("%s %s"):format(noun, word) or ("%q"):format(word), text)
end

--- The same, unless the word is among the names.
function names.check(where, word, legal, all)
  for _, name in ipairs(legal) do
    if name == word then return end
  end
  names.refuse(where, word, legal, all)
end

return names
