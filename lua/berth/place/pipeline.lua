--- Placing in stages: transforms of the graph, one placer, refinements of its answer.
--
-- A pipeline is a list. Stages before the placer are transforms: a name of berth.transforms(), `{
-- name, options }`, or a function: `transform(graph, topology)` gives another graph and the way
-- back, an array with the new op of every old op, or a function from the devices of the new graph
-- to those of the old one. `{ name = "mine", transform = f }` gives it a name. The placer is a
-- name, a policy table, `{ name, options }`, or an object with a function `place`. Stages behind it
-- are refinements: a name, `{ name, options }`, or a function: `refine(graph, topology, placement)`
-- gives a placement, or an array of devices, of the original graph. `{ name = "mine", refine = f }`
-- gives it a name. Behind a transform the answer is simulated on the original graph: there memory
-- must hold, and its step time is the estimate.
local core = require "berth.core"
local options = require "berth.base.options"
local own_placer = require "berth.place.own_placer"
local registry = require "berth.place.registry"
local transforms = require "berth.place.transforms"

local mt = { __name = "berth.pipeline" }

-- The name of a stage that has one.
local function name_of(stage)
  if type(stage) == "string" then return stage end
  return type(stage) == "table" and type(stage[1]) == "string" and stage[1] or nil
end

-- The function of a stage of the user's.
local function own_function(stage, field)
  if type(stage) == "function" then return stage end
  local f = type(stage) == "table" and not name_of(stage) and rawget(stage, field) or nil
  return type(f) == "function" and f or nil
end

local function kind_of(stage)
  local name = name_of(stage)
  if type(stage) == "table" and own_function(stage, "transform") then return "transform" end
  if type(stage) == "table" and own_function(stage, "refine") then return "refinement" end
  if name and transforms.is_transform(name) then return "transform" end
  if name and transforms.is_refinement(name) then return "refinement" end
  if type(stage) == "function" then return "function" end
  return (type(stage) == "string" or type(stage) == "table" or own_placer.is(stage)) and "placer"
    or nil
end

-- Those that search may stand for both.
local also_places = { anneal = true, ["local"] = true, brkga = true }

local function own_options(stage) return type(stage) == "table" and stage[2] or nil end

local function describe(stage)
  if own_placer.is(stage) then return own_placer.name(stage) end
  local own = own_function(stage, "transform") or own_function(stage, "refine")
  return name_of(stage) or (type(stage) == "table" and stage.name or nil)
    or (own and "function" or "policy")
end

local pipeline = {}

pipeline.describe = describe

function mt.__tostring(self) return "pipeline: " .. pipeline.name(self) end

function pipeline.is(x) return getmetatable(x) == mt end

local function check(name, self)
  if pipeline.is(self) then return end
  options.fail("berth.pipeline.%s: pipeline: expected a pipeline, got %s", name, core.kind(self))
end

--- The stage that places.
function pipeline.placer(self)
  check("placer", self)
  return self[self.at]
end

--- The names of the stages, joined. The placer's may be given: the one that the portfolio chose,
-- say.
function pipeline.name(self, placer)
  check("name", self)
  local names = {}
  for i, stage in ipairs(self) do names[i] = i == self.at and placer or describe(stage) end
  return table.concat(names, " -> ")
end

local function check_own(stage, i, field)
  local where = ("berth.pipeline: stages[%d]"):format(i)
  options.check(where, stage, { "name", field })
  if stage.name ~= nil then options.expect(stage.name, "string", "%s: name", where) end
end

local function check_named(stage, i)
  if type(stage) ~= "table" then return end
  if name_of(stage) then
    return options.check_named(("berth.pipeline: stages[%d]"):format(i), stage)
  end
  if own_function(stage, "transform") then return check_own(stage, i, "transform") end
  if own_function(stage, "refine") then return check_own(stage, i, "refine") end
end

-- Where a stage of a kind may not stand.
local function check_place(self, kind, stage, i)
  if type(stage) == "string" and kind == "placer" and not registry.by_name[stage] then
    options.fail("berth.pipeline: stages[%d]: '%s' is unknown (legal: %s)", i, stage,
      options.names_text(stage, options.join(registry.names, transforms.names,
        { "adjust", "repair" }), "berth.help(\"pipeline\")"))
  end
  options.refuse(kind == "placer" and self.at, "berth.pipeline: stages[%d]: is a second placer", i)
  if kind == "transform" and self.at then
    options.fail("berth.pipeline: stages[%d]: '%s' is a transform: it must come before the placer",
      i, describe(stage))
  elseif kind == "refinement" and not self.at then
    options.fail("berth.pipeline: stages[%d]: '%s' is a refinement: it must come after the placer",
      i, describe(stage))
  end
end

--- @tparam table stages
-- @treturn table the pipeline, for `berth.place` and `berth.compare`
function pipeline.new(stages)
  options.expect(stages, "table", "berth.pipeline: stages")
  local self = { at = nil }
  for i, stage in ipairs(stages) do
    local kind = kind_of(stage)
    if kind == "refinement" and not self.at and also_places[name_of(stage)] then kind = "placer" end
    options.refuse(pipeline.is(stage), "berth.pipeline: stages[%d]: is a pipeline itself", i)
    options.refuse(not kind,
      "berth.pipeline: stages[%d]: expected a function, a name or a policy, got %s", i,
      core.kind(stage))
    check_named(stage, i)
    check_place(self, kind, stage, i)
    if kind == "placer" then self.at = i end
    self[i] = stage
  end
  for _, key in ipairs(options.sorted_keys(stages)) do
    options.refuse(type(key) ~= "number" or key > #self, "berth.pipeline: stages: unknown key '%s'",
      tostring(key))
  end
  if not self.at then options.fail("berth.pipeline: stages: there is no placer among them") end
  return setmetatable(self, mt)
end

-- What a stage gave as devices of `n` ops, raised for here rather than wherever it would matter.
local function check_devices(devices, n, i, most)
  options.refuse(type(devices) ~= "table",
    "berth.pipeline: stages[%d]: gave %s, expected an array of devices", i, core.kind(devices))
  options.refuse(#devices ~= n, "berth.pipeline: stages[%d]: gave %d devices for %d ops", i,
    #devices, n)
  for op = 1, n do
    local d = devices[op]
    options.refuse(type(d) ~= "number" or d % 1 ~= 0 or d < 1 or d > most,
      "berth.pipeline: stages[%d]: gave device %s for op %d (ids are 1..%d)", i, tostring(d), op,
      most)
  end
  return devices
end

-- Devices of the old graph from those of the new one.
local function go_back(back, devices, n, i, most)
  if type(back) == "function" then return check_devices(back(devices), n, i, most) end
  local out = {}
  for op = 1, n do
    local new = back[op]
    out[op] = devices[new]
    options.refuse(not out[op],
      "berth.pipeline: stages[%d]: the way back has no op of the new graph for op %d", i, op)
  end
  return out
end

-- The devices of the original graph; the estimate is the placer's own.
local function map_back(steps, p, name, most)
  local devices = p:devices()
  for i = #steps, 1, -1 do devices = go_back(steps[i].back, devices, steps[i].n, i, most) end
  return core.placement(devices, { placer = name, estimate = p.estimate })
end

-- The price of a transformed graph: the same factors; functions speak of the ops of the original
-- graph.
local function price(cost, g)
  if g == cost.graph then return cost end
  local model = cost.model
  if model and (model.op or model.transfer or model.collective) then
    options.fail("berth.place: cost: functions of the original ops do not go with a pipeline that "
      .. "transforms the graph")
  end
  return core.priced("berth.place", g, cost.topology, model)
end

-- What a transform gives: graph, way back; or nil, message, code.
local function apply(stage, g, cost, given)
  local own = own_function(stage, "transform")
  if own then return own(g, cost.topology) end
  return transforms.run(name_of(stage), own_options(stage), g, cost.topology, given,
    function() return price(cost, g) end)
end

local function transform(self, cost, given)
  local steps, g = {}, cost.graph
  for i = 1, self.at - 1 do
    local new, back, code = apply(self[i], g, cost, given)
    -- a refusal is passed on
    if new == nil and type(back) == "string" then return nil, back, code end
    options.refuse(core.kind(new) ~= "graph",
      "berth.pipeline: stages[%d]: gave %s, expected a graph", i, core.kind(new))
    options.refuse(type(back) ~= "function" and type(back) ~= "table",
      "berth.pipeline: stages[%d]: gave no way back (an array or a function)", i)
    steps[i] = { back = back, n = #g }
    g = new
  end
  return g, steps
end

-- Forward ops that carry the memory of training are placed as if nothing were freed: it waits for
-- the way back.
local function placer_options(self, cost, given)
  for i = 1, self.at - 1 do
    if transforms.keeps_all(name_of(self[i]), own_options(self[i]))
      and (given.memory or core.default_memory(cost)) == "training" then
      return options.merge(given, { memory = "total" })
    end
  end
  return given
end

local function stage_options(self)
  local stage = self[self.at]
  return name_of(stage) and own_options(stage) or nil
end

local function relabel(p, name)
  return core.placement(p:devices(), { sequence = p:sequence(), placer = name,
    estimate = p.estimate })
end

local function refine_once(stage, cost, p, given, name, place)
  local own = own_function(stage, "refine")
  if own then return own(cost.graph, cost.topology, p) end
  local refine = transforms.refinements[name_of(stage)]
  local new, message, code, why = refine(cost, p, own_options(stage), given, place)
  if not new then return nil, message, code, why end
  return relabel(new, name), message, code
end

local function refine(self, cost, p, given, name, place)
  for i = self.at + 1, #self do
    local new, message, code, why = refine_once(self[i], cost, p, given, name, place)
    if new == nil and type(message) == "string" then return nil, message, code, why end
    local kind = core.kind(new)
    options.refuse(kind ~= "placement" and kind ~= "table",
      "berth.pipeline: stages[%d]: gave %s, expected a placement", i, kind)
    check_devices(kind == "table" and new or new:devices(), #cost.graph, i, #cost.topology)
    p = kind == "table" and core.placement(new, { placer = name }) or new
    if code == "interrupted" then return p, message, code end
  end
  return p
end

-- ---- the original graph behind a transform ------------------------------------------------------

local function label(kind, id, name)
  return name and name ~= "" and ('%s %.0f "%s"'):format(kind, id, name) or ("%s %.0f"):format(kind,
    id)
end

local function runs_out(cost, r)
  local op, device = r.oom.op, r.oom.device
  local missing = r.peak_memory[device] - cost.topology:device(device).memory
  local text = "pipeline: no placement found: on the original graph, first in, first out, %s runs "
    .. "out of memory on %s: "
    .. "%s are missing"
  return nil, text:format(label("op", op, cost.graph:op(op).name),
    ('device "%s"'):format(cost.topology:device(device).name),
    core.format(missing, "bytes")), "infeasible", { op = op, device = device, missing = missing }
end

local function simulated(cost, p, judge, name)
  local r, message, code = core.simulate(cost, p, judge)
  if not r then return nil, message, code end
  if r.oom then return runs_out(cost, r) end
  return core.placement(p:devices(), { sequence = p:sequence(), placer = name,
    estimate = r.makespan })
end

-- The placement on the original graph, simulated; repaired if memory runs out.
local function simulate_or_repair(cost, p, given, name)
  local judge = {
    links = given.links, memory = given.memory, param_multiple = given.param_multiple,
    quantum = given.quantum, bound = false,
  }
  local found, message, code, why = simulated(cost, p, judge, name)
  if found or code ~= "infeasible" then return found, message, code, why end
  local mended, refusal, reason, obstacle = transforms.refinements.repair(cost, p, nil, given)
  if not mended then return nil, refusal, reason, obstacle end
  return simulated(cost, mended, judge, name)
end

-- ---- the whole ----------------------------------------------------------------------------------

local function place_transformed(self, cost, given, stage, place)
  local g, steps, code = transform(self, cost, given)
  if not g then return nil, steps, code end
  local inner, message
  inner, message, code = price(cost, g)
  if not inner then return nil, message, code end
  local own = stage_options(self)
  local p, failure, reason, why = place(inner, stage,
    registry.common_links(stage, placer_options(self, cost, given), own))
  if not p then
    if reason == "infeasible" and g ~= cost.graph then
      failure = "pipeline: behind its transforms: " .. failure
    end
    return nil, failure, reason, why
  end
  local name = pipeline.name(self, p.placer)
  return self.at > 1 and map_back(steps, p, name, #cost.topology) or p, failure, reason, name
end

-- place(cost, placer, options) is that of berth.place.
function pipeline.run(self, cost, given, place)
  check("run", self)
  local stage = self[self.at]
  if name_of(stage) and type(stage) == "table" then
    given = options.merge(given, stage[2])
    stage = stage[1]
  end
  local p, message, code, name = place_transformed(self, cost, given, stage, place)
  if not p then return nil, message, code, name end
  local refined, refusal, reason, why = refine(self, cost, p, given, name, place)
  local stopped = refined and reason == "interrupted" and refusal
  if refined and self.at > 1 then
    refined, refusal, reason, why = simulate_or_repair(cost, refined, given, name)
  end
  if not refined then return nil, refusal, reason, why end
  if code then return refined, message, code end -- the placer was interrupted
  if stopped then return refined, stopped, "interrupted" end
  return refined
end

return setmetatable(pipeline, { __call = function(_, stages) return pipeline.new(stages) end })
