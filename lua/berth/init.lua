--- berth: places, partitions, simulates and schedules distributed machine-learning graphs.
-- The whole surface is described in docs/lua.md.
-- @module berth
local core = require "berth.core"

-- Errors blame the first caller outside this directory.
local source = debug and debug.getinfo(1, "S").source
if source and source:find("init%.lua$") then core.set_home((source:gsub("init%.lua$", ""))) end

local execute = require "berth.execute"
local place = require "berth.place"
local load = require "berth.load"
local transforms = require "berth.transforms"

local berth = {
  version = core.version,
  graph = core.graph,
  topology = require "berth.topology",
  device_presets = core.device_presets,
  cost = core.cost,
  fit_link = core.fit_link,
  fit_collective = core.fit_collective,
  fit_lines = core.fit_lines,
  place = place.place,
  placers = place.placers,
  placement = core.placement,
  pipeline = require "berth.pipeline",
  transforms = transforms.list,
  adjust = transforms.adjust,
  expand = core.expand,
  repair = require "berth.repair",
  exact = require "berth.exact",
  split = require("berth.split").split,
  split_measure = require("berth.split").measure,
  portfolio = require("berth.portfolio").portfolio,
  simulate = core.simulate,
  simulate_batch = core.simulate_batch,
  simulator = core.simulator,
  tries = core.tries,
  executor = execute.executor,
  bounds = require "berth.bounds",
  gaps = require "berth.gaps",
  favourites = require "berth.favourites",
  compare = require "berth.compare",
  load = load.load,
  load_topology = load.load_topology,
  load_placement = load.load_placement,
  load_trace = function(path, opts) return require("berth.cluster.traces").load(path, opts) end,
  parse = load.parse,
  parse_topology = load.parse_topology,
  parse_placement = load.parse_placement,
  save = core.save,
  to_string = core.to_string,
  formats = core.formats,
  rng = core.rng,
  quantity = core.quantity,
  ramp = core.ramp,
  format = core.format,
  memory = core.memory,
  hooks = core.hooks,
  assignment = core.assignment,
  catch_interrupts = core.catch_interrupts,
  kind = core.kind,
}

-- Parts that not every program needs are loaded when they are first named.
local later = {
  agents = true, cli = true, cluster = true, decide = true, deploy = true, execute = true, experiment = true, figure = true,
  help = true, models = true, nn = true, pacml = true, pdors = true, repl = true, report = true, search = true,
}

return setmetatable(berth, {
  __index = function(self, name)
    if not later[name] then return nil end
    local found, part = pcall(require, "berth." .. name)
    if not found then
      if tostring(part):find("module 'berth." .. name .. "' not found", 1, true) then return nil end
      error(part, 0)
    end
    rawset(self, name, part)
    return part
  end,
  __tostring = function() return "berth " .. core.version end,
})
