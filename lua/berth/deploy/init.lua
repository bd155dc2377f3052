--- Deployment of training graphs on many devices: docs/deploy.md.
-- @module berth.deploy
local sfb = require "berth.deploy.sfb"

return {
  batch_time = require("berth.core").batch_time,
  sfb = sfb.choose,
  sfb_measure = sfb.measure,
  tag_lines = require("berth.core").tag_lines,
}
