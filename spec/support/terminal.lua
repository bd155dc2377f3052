--- A terminal to type into, made by script(1): for what only happens there.
local shell = require "support.shell"

local read = shell.read

local terminal = {}

local function quote(s) return "'" .. s:gsub("'", "'\\''") .. "'" end

local function succeeds(command)
  local status = os.execute(command .. " > /dev/null 2>&1")
  return status == true or status == 0
end

--- Is there a script command that can do it?
function terminal.there() return succeeds "script -qec true /dev/null" end

-- Waits are for answers, not for times: the machine may be slow. The end of input is typed until it
-- is read; who does not answer within ten minutes is interrupted for good.
local FEED = [[
answered() {
  case $1 in
    prompts) [ "$(tr -d '\r' < "$out" | grep -c '^> ')" -ge "$2" ] ;;
    text) tr -d '\r' < "$out" | grep -qF -- "$2" ;;
  esac
}
leave() {
  n=0
  while [ $n -lt 1000 ]; do
    printf '%b' "$1"
    sleep 0.2
    n=$((n + 1))
  done
  exit
}
wait_for() {
  n=0
  until answered "$@"; do
    sleep 0.1
    n=$((n + 1))
    if [ $n -ge 6000 ]; then
      echo "no answer: $2" >> "$out"
      leave '\003\004'
    fi
  done
}
]]

local function write(path, text)
  shell.write(path, text)
end

--- Types, each time when the output so far has what was waited for, and ends the input.
-- @tparam string command
-- @tparam table steps arrays: what to type (escapes as in printf), what the output must then hold:
-- a text, or a number of prompts "> " at the beginning of lines (for terminals that are dumb)
-- @tparam string environment before the command: "TERM=dumb "
-- @treturn string the output, without carriage returns
function terminal.typed(command, steps, environment)
  local out, feed = os.tmpname(), os.tmpname()
  local lines = { "out=" .. out, FEED }
  for _, step in ipairs(steps) do
    local wanted = type(step[2]) == "number" and ("prompts %d"):format(step[2])
      or "text " .. quote(step[2])
    lines[#lines + 1] = ("printf '%%b' %s; wait_for %s"):format(quote(step[1]), wanted)
  end
  lines[#lines + 1] = "leave '\\004'"
  write(feed, table.concat(lines, "\n") .. "\n")
  os.execute(("sh %s 2> /dev/null | %sscript -qec %s /dev/null > %s 2>&1"):format(feed,
    environment or "", quote(command), out))
  local text = read(out):gsub("\r", "")
  os.remove(out)
  os.remove(feed)
  return text
end

return terminal
