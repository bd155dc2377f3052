--- PAC-ML: how many pieces each arriving job is cut into; docs/pacml.md.
-- @module berth.pacml
return {
  env = require "berth.pacml.env",
  profile = require "berth.pacml.profile",
}
