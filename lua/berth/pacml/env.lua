--- The cluster on which jobs of some models arrive.
local core = require "berth.core"
local options = require "berth.base.options"

local env = {}
local meta = { __index = env, __name = "berth.pacml.env" }

function meta:__tostring()
  return ("pac-ml: jobs of %.0f models, at most %.0f pieces"):format(#self.models, self.most)
end

--- A sequence of jobs, at its first arrival: docs/pacml.md, "Runs".
-- @tparam table trace { model =, beta =, arrival = }, arrays of equal length
-- @treturn run
function env:run(trace) return self.core:run(trace) end

--- A planner for runs of these models: docs/pacml.md, "Looking ahead".
-- @tparam table opts as core.options("env:planner") lists them
-- @treturn[1] planner
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code
function env:planner(opts) return core.pacml_planner(self.core, opts) end

options.declare("pacml.env", {
  { key = "models", type = "array", default = "none; must be given", text = "of one ramp" },
  { key = "names", type = "table", default = "model 1, model 2, ...", text = "of the models" },
  { key = "steps", type = "whole", default = "50", low = 1, text = "training steps of a job" },
  { key = "most", type = "whole", default = "16", low = 1, text = "pieces of a job at most" },
})

local function check_names(names, n)
  if names == nil then return {} end
  options.expect(names, "array", "berth.pacml.env: names")
  options.refuse(#names ~= n, "berth.pacml.env: names: has %d entries, expected %d (one per model)",
    #names, n)
  for i = 1, n do
    options.expect(names[i], "string", "berth.pacml.env: names[%d]", i)
  end
  return names
end

--- @tparam table opts as declared above
-- @treturn env models, names, most, sequential (s of a job on one server), steps
local function new(opts)
  local o = options.check("berth.pacml.env", opts, "pacml.env")
  local made = core.pacml(o.models, o.steps or 50, o.most or 16)
  local names = check_names(o.names, #o.models)
  local self = { core = made, models = {}, names = {}, steps = o.steps or 50, most = made.most,
    sequential = made.sequential }
  for i, model in ipairs(o.models) do
    self.models[i], self.names[i] = model, names[i] or ("model %.0f"):format(i)
  end
  self.ramp = self.models[1].ramp
  return setmetatable(self, meta)
end

return new
