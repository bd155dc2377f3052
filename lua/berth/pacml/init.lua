--- PAC-ML: how many pieces each arriving job is cut into; docs/pacml.md.
-- @module berth.pacml
return {
  beta = require "berth.pacml.beta",
  bound = require "berth.pacml.bound",
  env = require "berth.pacml.env",
  profile = require "berth.pacml.profile",
  trace = require "berth.pacml.trace",
}
