--- berth: places, partitions, simulates and schedules distributed machine-learning graphs.
-- The whole surface is described in docs/lua.md.
-- @module berth
local core = require "berth.core"
local execute = require "berth.exec"
local options = require "berth.base.options"
local place = require "berth.place"
local load = require "berth.io"
local transforms = require "berth.place.transforms"

local berth = {
  version = core.version,
  graph = core.graph,
  topology = require "berth.topology",
  device_presets = core.device_presets,
  device_sheet = core.device_sheet,
  cost = core.cost,
  kernels = core.kernels,
  fit_link = core.fit_link,
  fit_collective = core.fit_collective,
  fit_lines = core.fit_lines,
  place = place.place,
  placers = place.placers,
  placement = core.placement,
  pipeline = require "berth.place.pipeline",
  transforms = transforms.list,
  adjust = transforms.adjust,
  expand = core.expand,
  repair = require "berth.place.repair",
  exact = require "berth.place.exact",
  split = require("berth.split").split,
  split_measure = require("berth.split").measure,
  portfolio = place.portfolio,
  simulate = core.simulate,
  simulate_batch = core.simulate_batch,
  simulator = core.simulator,
  tries = core.tries,
  executor = execute.executor,
  bounds = require "berth.bound",
  gaps = require "berth.place.gaps",
  favourites = require "berth.lp",
  compare = require "berth.place.compare",
  load = load.load,
  load_topology = load.load_topology,
  load_placement = load.load_placement,
  load_trace = function(path, opts) return require("berth.cluster.traces").load(path, opts) end,
  parse = load.parse,
  parse_topology = load.parse_topology,
  parse_placement = load.parse_placement,
  save = core.save,
  to_string = core.to_string,
  formats = load.formats,
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

-- Parts that not every program needs are loaded when they are first named; the module of each.
local later = { execute = "exec", figure = "report.figure", cluster_report = "report.cluster" }
for _, name in ipairs { "agents", "cluster", "decide", "deploy", "experiment", "help", "llm",
    "models", "nn", "pacml", "pdors", "repl", "report", "schedule" } do later[name] = name end

-- Whether a plan of training is far faster, for graphs of berth.models; where that is not loaded,
-- there is none.
function place.hint_of(cost, p)
  local models = package.loaded["berth.models"]
  if not models or not models.origin(cost.graph) then return nil end
  return function() return berth.llm.hint(cost, p.estimate) end
end

-- A misspelt name is an error, not nil; others are nil.
local function check_name(self, name)
  local names = options.join(options.sorted_keys(self), options.sorted_keys(later))
  local meant = options.nearest(name, names)
  if meant then options.fail("berth has no '%s'; did you mean '%s'?", name, meant) end
end

return setmetatable(berth, {
  __index = function(self, name)
    if not later[name] then return check_name(self, name) end
    local part = require("berth." .. later[name])
    rawset(self, name, part)
    return part
  end,
  __tostring = function() return "berth " .. core.version end,
})
