--- PAC-ML: how many pieces each arriving job is cut into; docs/pacml.md.
-- @module berth.pacml
return {
  beta = require "berth.pacml.beta",
  bound = require "berth.pacml.bound",
  decider = require("berth.pacml.deciders").decider,
  deciders = require("berth.pacml.deciders").names,
  env = require "berth.pacml.env",
  play = require "berth.pacml.play",
  profile = require "berth.pacml.profile",
  published = require("berth.pacml.study").published,
  report = require "berth.pacml.page",
  study = require("berth.pacml.study").study,
  trace = require "berth.pacml.trace",
}
