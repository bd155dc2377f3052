--- Workers and parameter servers on machines, slot by slot: PD-ORS and what it is compared with;
-- docs/pdors.md.
-- @module berth.pdors
local core = require "berth.core"
local options = require "berth.base.options"
local problem = require "berth.pdors.problem"

return {
  fit_speed = core.ps_speed_fit,
  gdelta = core.gdelta,
  generate = require "berth.pdors.generate",
  load = problem.load,
  options = require("berth.pdors.policies").options,
  policies = require("berth.pdors.policies").names,
  problem = problem.new,
  report = require "berth.pdors.page",
  run = options.moved("berth.pdors.run", "berth.pdors.simulate"),
  simulate = require "berth.pdors.simulate",
  study = require("berth.pdors.study").study,
  scheduler = function(p, opts)
    if problem.is(p) then p = p.core end
    return core.pdors(p, opts)
  end,
}
