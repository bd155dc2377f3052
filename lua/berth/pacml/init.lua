--- PAC-ML: how many pieces each arriving job is cut into; docs/pacml.md.
-- @module berth.pacml
local options = require "berth.base.options"

return {
  beta = require "berth.pacml.beta",
  bound = require "berth.pacml.bound",
  decider = require("berth.pacml.deciders").decider,
  deciders = require("berth.pacml.deciders").names,
  env = require "berth.pacml.env",
  play = options.moved("berth.pacml.play", "berth.pacml.simulate"),
  profile = require "berth.pacml.profile",
  published = require("berth.pacml.study").published,
  report = require "berth.pacml.page",
  simulate = require "berth.pacml.simulate",
  study = require("berth.pacml.study").study,
  trace = require "berth.pacml.trace",
}
