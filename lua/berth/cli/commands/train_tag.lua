--- berth train tag: teaches TAG's network on random models and clusters, and writes the agent.
local core = require "berth.core"
local berth = require "berth"
local cli = require "berth.cli.options"
local fail = require "berth.cli.fail"
local json = require "berth.base.json_writer"
local schema = require "berth.base.schema"
local options = require "berth.base.options"
local ranks = require "berth.agents.ranks"
local settings = require "berth.agents.tag.settings"
local words = require "berth.cli.train_words"

local train = {
  name = "train tag", use = "train tag --save FILE [options]", least = 1, most = 1,
  text = "Teaches a graph network which action is likely for each op group of a deployment: the "
    .. "prior of berth deploy.\n"
    .. "Games are searches on random models and clusters; what they find is what it learns. With "
    .. "--games the same seed\n"
    .. "makes the same file. After an interrupt the agent is written as far as it got. It learns "
    .. "in one process.",
  options = options.join({
    words.save,
    { name = "minutes", kind = "number", value = "N",
      text = "of CPU time, games and steps together; default 25" },
    cli.count("games", "instead of minutes: games to learn from"),
    { name = "size", kind = "choice", value = "NAME", choices = { "small", "tiny", "published" },
      text = "of the network: 0.92, 0.18 and 14.29 million numbers; default small" },
    { name = "seed", kind = "whole", value = "N", text = "of weights and games; default 0" },
    { name = "set", kind = "string", value = "K=V,...",
      text = "more options of the agent and its training: teacher=visits,calls=400,rate=1e-3..0" },
    cli.flag("json", "prints JSON"),
  }, words.options),
}

-- Keys of --set that have an option of their own, by the name of that option.
local FLAGS = { size = "size", seed = "seed", games = "games", minutes = "minutes",
  checkpoint = "checkpoint", resume = "resume", progress = "progress" }

-- Usage errors that do not depend on the agent; raised before anything is read or written.
local function check(given)
  if ranks.launched() then fail.usage("train tag: learns in one process: not under mpirun") end
  if given.games and given.minutes then fail.usage("train tag: --games or --minutes, not both") end
  local minutes = given.minutes
  fail.refuse(minutes and (minutes < 1e-3 or minutes > 1e9),
    "--minutes: a number from 0.001 to 1000000000 is needed, not %.14g", minutes)
  words.check_files("train tag", given, { "save", "checkpoint" })
end

-- Settings of the training; the rest is the agent's.
local function split(set, o, training)
  local of_training = {}
  for _, key in ipairs(settings.names) do of_training[key] = true end
  for key, value in pairs(set) do (of_training[key] and training or o)[key] = value end
end

-- Three decimals; "-" for a loss that is not there yet.
local function number(x) return x and core.sprintf("%.3f", x) or "-" end

-- Games, steps, CPU minutes and losses so far.
local function line(at)
  return core.sprintf("%.0f games, %.0f steps, %.1f CPU minutes: loss %s, on games held out %s",
    at.games, at.steps, at.cpu / 60, number(at.loss), number(at.held_out))
end

local function print_json(write, given, agent, done)
  write(json.encode(schema.document "train tag" { { "agent", "tag" }, { "size", agent.size },
    { "seed", agent.seed }, { "games", done.games }, { "steps", done.steps }, { "cpu_s", done.cpu },
    { "loss", done.loss }, { "held_out_loss", done.held_out }, { "saved", given.save },
    { "interrupted", done.interrupted and true or false } }))
end

--- Trains, saves the agent also after an interrupt, and prints.
-- @return exit code: 0, or 130 after an interrupt
function train.run(_, given, write, complain)
  check(given)
  local o = { size = given.size, seed = given.seed or 0 }
  local training = { games = given.games, minutes = not given.games and (given.minutes or 25)
    or nil,
    checkpoint = given.checkpoint, resume = given.resume }
  split(words.settings(given.set, {}, function(key) return FLAGS[key] end), o, training)
  if given.progress then training.progress = function(at) complain(line(at)) end end
  local agent = berth.agents.tag(o)
  local done = fail.need(agent:train(training))
  fail.need(agent:save(given.save))
  if given.json then
    print_json(write, given, agent, done)
  else
    write(tostring(agent))
    write(line(done))
    write("written: " .. given.save)
  end
  return words.finish(done, given, complain)
end

return train
