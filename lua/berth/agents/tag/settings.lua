--- Settings of the training of TAG's agent.
-- @module berth.agents.tag.settings
local check = require "berth.agents.check"
local options = require "berth.base.options"
local presets = require "berth.agents.presets"

local settings = {}

local values = presets.declare("agents.tag.settings", { "search", "visits" }, {
  { key = "teacher", type = "choice", search = "search", visits = "visits",
    default = "search; the others are by it",
    text = "what games teach", choices = {
      { name = "search", text = "The best strategy that d:search finds, without changes that save "
        .. "less than 0.02 %." },
      { name = "visits", text = "Shares of the visits at the root of a tree search with this agent "
        .. "as the prior, as published." },
    } },
  { key = "calls", type = "whole", low = 1, high = 1e9, search = 1200, visits = 800,
    text = "of the search of a game; visits at each root at most" },
  { key = "states", type = "whole", low = 1, high = 1e4, search = 8, visits = 12,
    text = "strategies of a game that are learned from" },
  { key = "groups", type = "whole", low = 1, high = 1e4, search = 10, visits = 16,
    text = "op groups in question in each; teacher search: and up to as many where the best "
      .. "strategy has something else" },
  { key = "changes", type = "whole", high = 1e4, search = 1, visits = 0,
    text = "for how many of these half of the answer is the simulated time of each action" },
  { key = "batch", type = "whole", low = 1, high = 1e4, search = 4, visits = 1,
    text = "states in a step of Adam" },
  { key = "passes", type = "whole", low = 1, high = 1e4, search = 8, visits = 4,
    text = "how often each state is seen" },
  { key = "rate", type = "course", high = 10, search = { 1e-3, 0 }, visits = 1e-4,
    text = "of Adam; { from, to } over the training" },
  { key = "clip", type = "number", low = 1e-30, high = 1e30, search = 1, visits = 0.6,
    text = "norm of the gradient" },
  { key = "share", type = "number", high = 1, search = 0.35, visits = 0.5,
    text = "part of the minutes for games" },
  { key = "rounds", type = "whole", low = 1, high = 1e4, search = 1, visits = 4,
    text = "games and steps take turns so often" },
  { key = "op_groups", type = "whole", low = 2, high = 1e4, search = 60, visits = 40,
    text = "of the problems of games" },
  { key = "ops", type = "whole", low = 20, high = 1e5, search = 300, visits = 300,
    text = "of a model of games at most" },
})

settings.search, settings.visits = values.search, values.visits
settings.names = options.keys "agents.tag.settings"

--- All settings of a training; raises for what can mean nothing.
function settings.complete(fn, given)
  local teacher = given.teacher or "search"
  check.choice(fn, "teacher", teacher, { search = true, visits = true })
  return options.check_values(fn, "agents.tag.settings", options.merge(settings[teacher], given))
end

--- The rate at this part (0 to 1) of the training.
function settings.rate(o, part)
  if type(o.rate) ~= "table" then return o.rate end
  return o.rate[1] + (o.rate[2] - o.rate[1]) * part
end

return settings
