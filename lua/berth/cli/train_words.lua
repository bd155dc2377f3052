--- What all kinds of berth train read alike: --set, and files that must be writable.
local fail = require "berth.cli.fail"
local lists = require "berth.cli.lists"
local options = require "berth.base.options"

local words = {}

--- Puts the settings of --set into a table; "3e-3..0" is a course over the training, { 3e-3, 0 }.
-- @tparam ?string text K=V,...
-- @tparam table out
-- @tparam function flag_of key -> the flag that says it, if one does
function words.settings(text, out, flag_of)
  local given = lists.settings("--set", text, lists.value)
  for _, key in ipairs(options.sorted_keys(given)) do
    local flag = flag_of(key)
    if flag then fail.usage("--set: %s: use --%s", key, flag) end
    out[key] = given[key]
  end
  return out
end

-- Found out before the work, not after it.
local function check_writable(flag, path)
  if not path then return end
  local there = io.open(path, "rb")
  if there then there:close() end
  local f, message = io.open(path, "ab")
  if not f then fail.usage("--%s: %s", flag, message) end
  f:close()
  if not there then os.remove(path) end
end

--- Raises unless the files that flags name can be written.
function words.check_writable(given, flags)
  for _, flag in ipairs(flags) do check_writable(flag, given[flag]) end
end

return words
