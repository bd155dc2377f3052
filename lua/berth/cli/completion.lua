--- Scripts of completion for shells, from the descriptors of the commands.
--
-- A script has one table. Its keys are "COMMAND" (arguments), "COMMAND -" (options) and "COMMAND
-- --OPTION" (values of one); an entry is a list of words, and whether files go there, too. COMMAND
-- is "" where the command itself is completed.
local commands = require "berth.cli.command_list"
local options = require "berth.base.options"
local sources = require "berth.cli.sources"

local completion = {}

-- ---- the table ----------------------------------------------------------------------------------

local FILES = { FILE = true, TOPOLOGY = true }

-- Words of a value; of A,B,... of one of its pieces.
local function values_of(option) return option.choices or option.names or {} end

-- Kinds of the command, and what its arguments may be beside files.
local function arguments_of(command)
  return options.join(command.words or {}, command.use:find "GRAPH" and sources.models or {},
    command.use:find "TOPOLOGY" and sources.generators or {})
end

-- Appends the rows of a command: values of its options, its flags, its arguments.
local function add_command(rows, path, command)
  local flags = { "--help" }
  for _, option in ipairs(command.options) do
    flags[#flags + 1] = "--" .. option.name
    if option.kind ~= "flag" then
      rows[#rows + 1] = { key = path .. " --" .. option.name, words = values_of(option),
        files = FILES[option.value] }
    end
  end
  rows[#rows + 1] = { key = path .. " -", words = flags }
  rows[#rows + 1] = { key = path, words = arguments_of(command),
    files = command.most > 0 and command.files ~= false }
end

--- Array of { key, words, files }.
function completion.rows()
  local rows, first = {}, { "help" }
  for _, name in ipairs(commands.names) do
    local command = commands.find(name, {})
    first[#first + 1] = name
    add_command(rows, name, command)
    for _, word in ipairs(command.words or {}) do
      local kind = commands.find(name, { word })
      if kind ~= command then add_command(rows, name .. " " .. word, kind) end
    end
  end
  rows[#rows + 1] = { key = "help", words = commands.names }
  rows[#rows + 1] = { key = "", words = first }
  rows[#rows + 1] = { key = " -", words = { "--help", "--version" } }
  return rows
end

-- ---- scripts ------------------------------------------------------------------------------------

-- The rows by what they offer, so that a list of placers is written once.
local function cases(rows)
  local out, by_text = {}, {}
  for _, row in ipairs(rows) do
    local text = table.concat(row.words, " ")
    local id = text .. (row.files and " /" or "")
    if not by_text[id] then
      by_text[id] = { keys = {}, words = text, files = row.files and "yes" or "" }
      out[#out + 1] = by_text[id]
    end
    table.insert(by_text[id].keys, row.key)
  end
  return out
end

-- "    case ..." lines: `before` and `after` stand around each key.
local function table_of(rows, before, between, after, body)
  local out = {}
  for i, case in ipairs(cases(rows)) do
    local keys = {}
    for k, key in ipairs(case.keys) do keys[k] = ("'%s'"):format(key) end
    out[i] = before .. table.concat(keys, between) .. after .. body:format(case.words, case.files)
  end
  return table.concat(out, "\n")
end

-- Of bash and zsh alike. Sets list and files by a key; 1: there is no such key.
local function sh_table(rows)
  return ([[
_berth_list() {
  list='' files=''
  case "$1" in
%s
    *) return 1 ;;
  esac
}
# _berth_find COMMAND KIND PREVIOUS CURRENT
_berth_find() {
  local command=$1
  if [ -n "$2" ] && _berth_list "$1 $2 -"; then command="$1 $2"; fi
  _berth_list "$command $3" && return
  case "$4" in -*) _berth_list "$command -" ;; *) _berth_list "$command" ;; esac
}]]):format(table_of(rows, "    ", " | ", ") ", "list='%s' files='%s' ;;"))
end

local scripts = {}

-- Words of bash end at "=" and ":", which are words of their own; what is offered follows the
-- last one.
scripts.bash = { sh_table, [[
_berth() {
  local list files head previous before='' command='' kind='' IFS=$' \t\n'
  local at=$COMP_CWORD cur=${COMP_WORDS[COMP_CWORD]}
  if [ "$cur" = ':' ]; then cur=''; elif [ "${COMP_WORDS[at-1]}" = ':' ]; then at=$((at - 1)); fi
  if [ "${COMP_WORDS[at]}" = ':' ]; then at=$((at - 1)) before=${COMP_WORDS[at]}:; fi
  previous=${COMP_WORDS[at-1]}
  [ "$at" -gt 1 ] && command=${COMP_WORDS[1]}
  [ "$at" -gt 2 ] && kind=${COMP_WORDS[2]}
  [ "$cur" != '=' ] || cur=''
  [ "$previous" != '=' ] || previous=${COMP_WORDS[at-2]}
  _berth_find "$command" "$kind" "$previous" "$before$cur"
  before=${before##*,}
  head=${cur%"${cur##*,}"}
  [ -z "$head" ] || before=''
  COMPREPLY=($(compgen -W "$list" -- "$before${cur#"$head"}"))
  COMPREPLY=("${COMPREPLY[@]#"$before"}")
  COMPREPLY=("${COMPREPLY[@]/#/$head}")
  IFS=$'\n'
  [ -z "$files" ] || COMPREPLY+=($(compgen -f -- "$cur"))
}
complete -o filenames -F _berth berth]] }

scripts.zsh = { function(rows) return "#compdef berth\n" .. sh_table(rows) end, [[
_berth() {
  local list files command='' kind='' previous=${words[CURRENT-1]}
  (( CURRENT > 2 )) && command=${words[2]}
  (( CURRENT > 3 )) && kind=${words[3]}
  if compset -P '--*='; then previous=${IPREFIX%=}; fi
  _berth_find "$command" "$kind" "$previous" "$PREFIX"
  [ -z "$files" ] || _files
  compset -P '*,'
  compadd -- ${=list}
}
compdef _berth berth]] }

scripts.fish = { function(rows)
  return ([[
function __berth_list
  set -g __berth_files
  switch "$argv[1]"
%s
    case '*'
      return 1
  end
  for word in $__berth_words; echo "$argv[2]$word"; end
  test -z "$__berth_files"; or __fish_complete_path (commandline -ct)
  return 0
end]]):format(table_of(rows, "    case ", " ", "\n",
    "      set -g __berth_words %s; set -g __berth_files %s"))
end, [[
function __berth
  set -l words (commandline -opc)
  set -l cur (commandline -ct)
  set -l command "$words[2]"
  set -l head (string match -r '^.*[,=]' -- $cur)
  set -l previous $words[-1]
  string match -q -- '--*=*' $cur; and set previous (string replace -r '=.*' '' -- $cur)
  __berth_list "$command $words[3] -" >/dev/null; and set command "$command $words[3]"
  __berth_list "$command $previous" $head; and return
  if string match -q -- '-*' $cur
    __berth_list "$command -"
  else
    __berth_list "$command" $head
  end
end
complete -c berth -f -a '(__berth)']] }

--- The script for a shell.
-- @tparam string shell "bash", "zsh", "fish"
-- @treturn string
function completion.script(shell)
  local head, tail = scripts[shell][1], scripts[shell][2]
  return head(completion.rows()) .. "\n" .. tail
end

return completion
