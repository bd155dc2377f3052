--- Training: games on random models and clusters, then steps of Adam on what they teach;
-- checkpoints.
-- @module berth.agents.tag.train
local checkpoint = require "berth.agents.checkpoint"
local core = require "berth.core"
local games = require "berth.agents.tag.games"
local interrupt = require "berth.base.interrupt"
local lessons = require "berth.agents.tag.lessons"
local nn = require "berth.nn"
local options = require "berth.base.options"
local record = require "berth.agents.record"
local settings = require "berth.agents.tag.settings"
local sight = require "berth.agents.tag.sight"

local train = {}
local fn = "agent:train"

options.declare("agents.tag.train", options.join({
  { key = "games", type = "whole", low = 1, high = 1e9, default = "none",
    text = "to learn from; or minutes" },
  { key = "minutes", type = "number", low = 1e-3, high = 1e9, default = "none",
    text = "of CPU time; or games" },
  { key = "problems", type = "function", default = "random models on random clusters",
    text = "gives the problem of a game" },
}, options.rows "agents.checkpoint"))

-- One game of so many is held out: its loss measures generalisation.
local HELD_OUT = 16

-- ---- time ---------------------------------------------------------------------------------------

local function cpu(run) return run.at.cpu + os.clock() - run.clock end

-- The part of the training that is done.
local function part(run)
  local at, o = run.at, run.o
  if o.minutes then return math.min(cpu(run) / (60 * o.minutes), 1) end
  return (at.round - 1 + math.min(at.step / math.max(run.steps, 1), 1)) / run.settings.rounds
end

local function playing(run)
  local at, o, s = run.at, run.o, run.settings
  if o.minutes then return cpu(run) < 60 * o.minutes * (at.round - 1 + s.share) / s.rounds end
  return at.games < math.floor(o.games * at.round / s.rounds)
end

local function learning(run)
  local at, o = run.at, run.o
  if o.minutes then return cpu(run) < 60 * o.minutes * at.round / run.settings.rounds end
  return at.step < run.steps
end

-- ---- checkpoints --------------------------------------------------------------------------------

local function keep(run)
  if not run.o.checkpoint then return true end
  local what = run.agent:header()
  run.at.cpu, run.clock = cpu(run), os.clock()
  what.at, what.records, what.settings = run.at, run.records, record.write(run.settings)
  return checkpoint.write(run.o.checkpoint, run.net.params, run.adam, what)
end

local function report_progress(run)
  local at = run.at
  if run.o.progress then
    run.o.progress { games = at.games, steps = at.steps, loss = run.loss, held_out = run.held_out,
      cpu = cpu(run) }
  end
end

local function pause(run)
  local done, message, code = keep(run)
  if not done then return nil, message, code end
  report_progress(run)
  return true
end

-- ---- games --------------------------------------------------------------------------------------

local function add_examples(run, game, teacher, kept)
  if not kept.best and not kept.states then return end -- nothing was found
  local seen = sight.new(game.deploy, run.net.sizes)
  local list = game.index % HELD_OUT == 0 and run.tests or run.examples
  for _, state in ipairs(teacher.states(kept, game, run.settings)) do
    list[#list + 1] = lessons.example(seen, state)
  end
end

local function play(run)
  local index, teacher = run.at.games + 1, lessons.teachers[run.settings.teacher]
  local game, message, code = games.new(run.agent.seed, index, run.settings, run.o.problems)
  if not game then return nil, message, code end
  local kept = teacher.play(game, run.settings, run.agent) or {}
  add_examples(run, game, teacher, kept)
  run.records[index], run.at.games = kept, index
  if index % 20 == 0 then return pause(run) end
  return true
end

-- The examples of games that were played before.
local function replay(run)
  local teacher = lessons.teachers[run.settings.teacher]
  for index, kept in ipairs(run.records) do
    local game, message, code = games.new(run.agent.seed, index, run.settings, run.o.problems)
    if not game then return nil, message, code end
    add_examples(run, game, teacher, kept)
  end
  return true
end

-- ---- steps --------------------------------------------------------------------------------------

local function mean_loss(run, list)
  local sum = 0
  for _, example in ipairs(list) do sum = sum + lessons.loss(run.net, example):item() end
  return #list > 0 and sum / #list or nil
end

local function step(run)
  local at, s, n, sum = run.at, run.settings, #run.examples, 0
  local rng = core.rng(run.agent.seed * 1e6 + at.steps + 1)
  for _ = 1, s.batch do
    local example = run.examples[rng:below(n)]
    local loss = run.tape:record(function()
      return lessons.loss(run.net, example):scale(1 / s.batch)
    end)
    sum = sum + loss:item()
    run.tape:backward(loss)
  end
  run.adam:step(settings.rate(s, part(run)))
  run.loss = run.loss and 0.98 * run.loss + 0.02 * sum or sum
  at.steps, at.step = at.steps + 1, at.step + 1
  if at.steps % 500 ~= 0 then return true end
  run.held_out = mean_loss(run, run.tests)
  return pause(run)
end

local function round(run)
  while playing(run) do
    local done, message, code = play(run)
    if not done then return nil, message, code end
  end
  local kept, why, what = pause(run)
  if not kept then return nil, why, what end
  run.steps =
    math.ceil(#run.examples * run.settings.passes / run.settings.batch / run.settings.rounds)
  while learning(run) and #run.examples > 0 do
    local done, message, code = step(run)
    if not done then return nil, message, code end
  end
  return true
end

local function report(run, interrupted)
  return { games = run.at.games, steps = run.at.steps, loss = run.loss, held_out = run.held_out,
    cpu = cpu(run), interrupted = interrupted }
end

local function all(run)
  while run.at.round <= run.settings.rounds do
    local done, message, code = round(run)
    if not done then return nil, message, code end
    run.at.round, run.at.step = run.at.round + 1, 0
  end
  run.held_out = mean_loss(run, run.tests)
  local done, message, code = pause(run)
  if not done then return nil, message, code end
  return report(run)
end

-- ---- the beginning ------------------------------------------------------------------------------

local function restore(run)
  local path = run.o.checkpoint
  local what, message, code = checkpoint.note(path)
  if not what then return nil, message, code end
  if what.kind ~= "tag" or not what.records then
    return nil, ("%s: checkpoint: %s: is of an agent %s, not of a training of tag"):format(fn, path,
      what.kind), "invalid"
  end
  if what.settings ~= record.write(run.settings) then
    return nil, ("%s: checkpoint: %s: is of a training with other settings"):format(fn, path),
      "invalid"
  end
  local done
  done, message, code = run.net.params:load(path, { adam = run.adam })
  if not done then return nil, message, code end
  run.at, run.records = what.at, what.records
  return replay(run)
end

local function read_options(given)
  local legal = options.join(options.keys "agents.tag.train", settings.names)
  legal.was = { evaluations = "calls" }
  local o = options.check_values(fn, "agents.tag.train", options.check(fn, given, legal))
  options.refuse((o.games == nil) == (o.minutes == nil),
    "%s: either games or minutes is required", fn)
  checkpoint.check(fn, o)
  local chosen = {}
  for _, key in ipairs(settings.names) do chosen[key] = o[key] end
  return o, settings.complete(fn, chosen)
end

--- Trains until `games` are played and learned from, or for `minutes` of CPU time. With games the
-- same seed makes the same bytes, also after an interrupt and a resume; how far minutes
-- reach depends on the machine.
-- @param agent
-- @tparam table given games or minutes, checkpoint, resume, progress, settings
function train.run(agent, given)
  local o, all_settings = read_options(given)
  local net = agent:network()
  local run = { agent = agent, net = net, o = o, settings = all_settings, tape = nn.tape(),
    clock = os.clock(), records = {}, examples = {}, tests = {},
    adam = nn.adam(net.params, { clip = all_settings.clip }), steps = 0,
    at = { round = 1, step = 0, games = 0, steps = 0, cpu = 0 } }
  if o.resume and checkpoint.exists(o.checkpoint) then
    local done, message, code = restore(run)
    if not done then return nil, message, code end
  end
  local ran, out, message, code = pcall(all, run)
  if ran then return out, message, code end
  if interrupt.is(out) then return report(run, true) end
  return error(out, 0)
end

return train
