--- Placing in stages: transforms of the graph, one placer, refinements of its answer.
--
-- A pipeline is a list. Functions before the placer are transforms: `transform(graph, topology)` gives another graph and the way
-- back, an array with the new op of every old op, or a function from the devices of the new graph to those of the old one.
-- The placer is a name, a policy table, or `{ name, options }`. Functions behind it are refinements:
-- `refine(graph, topology, placement)` gives a placement, or an array of devices, of the original graph.
local core = require "berth.core"
local options = require "berth.options"

local mt = { __name = "berth.pipeline" }

local function is_placer(stage) return type(stage) == "string" or type(stage) == "table" end

local function describe(stage)
  if type(stage) == "string" then return stage end
  if type(stage) == "table" then return type(stage[1]) == "string" and stage[1] or stage.name or "policy" end
  return "function"
end

local pipeline = {}

function mt.__tostring(self) return "pipeline: " .. pipeline.name(self) end

function pipeline.is(x) return getmetatable(x) == mt end

--- The names of the stages, joined. The placer's may be given: the one that the portfolio chose, say.
function pipeline.name(self, placer)
  local names = {}
  for i, stage in ipairs(self) do names[i] = i == self.at and placer or describe(stage) end
  return table.concat(names, " -> ")
end

--- @tparam table stages
-- @treturn table the pipeline, for `berth.place` and `berth.compare`
function pipeline.new(stages)
  if type(stages) ~= "table" then options.fail("berth.pipeline: stages: expected a table, got %s", core.kind(stages)) end
  local self = { at = nil }
  for i, stage in ipairs(stages) do
    if is_placer(stage) then
      if self.at then options.fail("berth.pipeline: stages[%d]: is a second placer", i) end
      self.at = i
    elseif type(stage) ~= "function" then
      options.fail("berth.pipeline: stages[%d]: expected a function, a placer's name or a policy, got %s", i, core.kind(stage))
    end
    self[i] = stage
  end
  for _, key in ipairs(options.sorted_keys(stages)) do
    if type(key) ~= "number" or key > #self then options.fail("berth.pipeline: stages: unknown key '%s'", tostring(key)) end
  end
  if not self.at then options.fail("berth.pipeline: stages: there is no placer among them") end
  return setmetatable(self, mt)
end

-- Devices of the old graph from those of the new one.
local function go_back(back, devices, n, i)
  if type(back) == "function" then return back(devices) end
  local out = {}
  for op = 1, n do
    local new = back[op]
    out[op] = devices[new]
    if not out[op] then
      options.fail("berth.pipeline: stages[%d]: the way back has no op of the new graph for op %d", i, op)
    end
  end
  return out
end

-- The estimate stays: it is the placer's own, of the graph that it saw.
local function map_back(steps, p, name)
  local devices = p:devices()
  for i = #steps, 1, -1 do devices = go_back(steps[i].back, devices, steps[i].n, i) end
  return core.placement(devices, { placer = name, estimate = p.estimate })
end

local function transform(self, g, t)
  local steps = {}
  for i = 1, self.at - 1 do
    local new, back, code = self[i](g, t)
    if new == nil and type(back) == "string" then return nil, back, code end -- a refusal is passed on
    if core.kind(new) ~= "graph" then options.fail("berth.pipeline: stages[%d]: gave %s, expected a graph", i, core.kind(new)) end
    if type(back) ~= "function" and type(back) ~= "table" then
      options.fail("berth.pipeline: stages[%d]: gave no way back (an array or a function)", i)
    end
    steps[i] = { back = back, n = #g }
    g = new
  end
  return g, steps
end

-- The price of the transformed graph: the same factors; functions speak of the ops of the old graph.
local function price(cost, g, t)
  local model = cost.model
  if model and (model.op or model.transfer or model.collective) then
    options.fail("berth.place: cost: functions of the original ops do not go with a pipeline that transforms the graph")
  end
  return core.priced("berth.place", g, t, model)
end

local function refine(self, cost, p, name)
  for i = self.at + 1, #self do
    local new, message, code = self[i](cost.graph, cost.topology, p)
    if new == nil and type(message) == "string" then return nil, message, code end
    if type(new) == "table" then new = core.placement(new, { placer = name }) end
    if core.kind(new) ~= "placement" then
      options.fail("berth.pipeline: stages[%d]: gave %s, expected a placement", i, core.kind(new))
    end
    p = new
  end
  return p
end

-- place(cost, placer, options) is that of berth.place.
function pipeline.run(self, cost, given, place)
  local stage, own = self[self.at], nil
  if type(stage) == "table" and type(stage[1]) == "string" then stage, own = stage[1], stage[2] end
  local g, steps, code = transform(self, cost.graph, cost.topology)
  if not g then return nil, steps, code end
  local inner = cost
  if self.at > 1 then
    local message
    inner, message, code = price(cost, g, cost.topology)
    if not inner then return nil, message, code end
  end
  local p, message, failure, why = place(inner, stage, options.merge(given, own))
  if not p then return nil, message, failure, why end
  local name = pipeline.name(self, p.placer)
  if self.at > 1 then p = map_back(steps, p, name) end
  local refined, refusal, reason = refine(self, cost, p, name)
  if not refined then return nil, refusal, reason end
  if failure then return refined, message, failure end -- the portfolio was interrupted
  return refined
end

return setmetatable(pipeline, { __call = function(_, stages) return pipeline.new(stages) end })
