--- berth completion: a script that completes commands, options and names in a shell.
local names = require "berth.cli.names"

local SHELLS = { "bash", "zsh", "fish" }

local command = {
  name = "completion", use = "completion bash|zsh|fish", least = 1, most = 1, options = {},
  words = SHELLS, files = false, text = "Prints a script by which the shell completes commands, "
    .. "options, names and files.",
  notes = "bash: eval \"$(berth completion bash)\" in ~/.bashrc; zsh: the same in ~/.zshrc, behind "
    .. "compinit;\n"
    .. "fish: berth completion fish > ~/.config/fish/completions/berth.fish",
}

function command.run(positional, _, write)
  for _, shell in ipairs(SHELLS) do
    if shell == positional[1] then
      write(require("berth.cli.completion").script(shell))
      return 0
    end
  end
  return names.refuse("completion", positional[1], SHELLS)
end

return command
