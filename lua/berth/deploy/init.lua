--- Deployment of training graphs on many devices: docs/deploy.md.
-- @module berth.deploy
local sfb = require "berth.deploy.sfb"

return {
  plan = require("berth.deploy.plan").plan,
  load = require "berth.deploy.plan_load",
  problem = require("berth.core").deploy_problem,
  analyse = require("berth.core").deploy_analyse,
  rules = require("berth.core").deploy_rules,
  simplify = require("berth.core").deploy_simplify,
  clusters = require "berth.topology.tag_clusters",
  models = require "berth.deploy.models",
  batch_time = require("berth.core").batch_time,
  sfb = sfb.choose,
  sfb_measure = sfb.measure,
  tag_lines = require("berth.core").tag_lines,
}
