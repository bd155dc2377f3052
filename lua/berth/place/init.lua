--- Placing: names, policies, pipelines, and the default placer.
local core = require "berth.core"
local options = require "berth.base.options"
local own_placer = require "berth.place.own_placer"
local pipeline = require "berth.place.pipeline"
local portfolio = require "berth.place.portfolio"
local registry = require "berth.place.registry"

local place = {}

local function check_name(name, fn)
  if registry.by_name[name] then return end
  options.fail("%s: placer '%s' is unknown (legal: %s)", fn or "berth.place", name,
    options.names_text(name, registry.names, "berth.placers()"))
end

--- Names of the placers, or variants of one.
-- @tparam[opt] string name
-- @treturn table array of strings
function place.placers(name)
  if name == nil then return options.copy(registry.names) end
  options.expect(name, "string", "berth.placers: name")
  check_name(name, "berth.placers")
  return registry.variants(name)
end

-- Replaced by berth: the function that placement.hint calls for a placement on a cost, or nil.
function place.hint_of() end

-- The results of placing, with what the placement's `hint` calls.
local function hinted(cost, p, ...)
  local hint = p and place.hint_of(cost, p)
  if hint then core.placement_hint(p, hint) end
  return p, ...
end

local function without_cost(given)
  if given == nil then return {} end
  if type(given) ~= "table" then
    options.fail("berth.place: options: expected a table as { links = \"duplex\" }, got %s",
      core.kind(given))
  end
  local out = options.merge(given)
  out.cost = nil
  return out
end

local POLICY = { "name", "ready", "fit", "choose", "prepare", "select", "score", "eft", "place" }

-- Raises for a table of options in the place of the placer: it has no key of a policy.
local function check_slot(placer)
  if type(placer) ~= "table" or getmetatable(placer) or placer[1] ~= nil then return end
  for _, key in ipairs(POLICY) do
    if placer[key] ~= nil then return end
  end
  for _, value in pairs(placer) do
    if type(value) == "function" then return end
  end
  local key = options.sorted_keys(placer)[1]
  if key == nil or key == "device" then return end -- which a policy has, too
  options.fail("berth.place: placer: got a table of options ('%s'): they come after the placer, "
    .. "berth.place(g, t, nil, { %s = ... })", tostring(key), tostring(key))
end

local function on_cost(cost, placer, given)
  if placer == nil or placer == "portfolio" then
    local p, rows, code, why = portfolio.run(cost, options.check("berth.place", given,
      portfolio.legal), on_cost)
    if not p then return nil, rows, code, why end
    if rows.interrupted then return p, rows.interrupted, "interrupted" end
    return p
  end
  if pipeline.is(placer) then return pipeline.run(placer, cost, given, on_cost) end
  if own_placer.is(placer) then return own_placer.run(placer, cost, given) end
  if type(placer) == "string" then
    check_name(placer)
    portfolio.check_read(placer, given)
    if portfolio.searches(placer) and given.judge ~= nil then
      given = options.merge(given, { judge = portfolio.judge(given.judge, given) })
    end
  elseif type(placer) == "table" and type(placer[1]) == "string" then
    options.check_named("berth.place: placer", placer)
    return on_cost(cost, placer[1], options.merge(given, placer[2]))
  elseif type(placer) == "table" and placer.kind == "tag" then
    options.fail("berth.place: placer: an agent of kind tag decides for op groups: it is a prior "
      .. "of berth.deploy.plan")
  elseif type(placer) == "table" or type(placer) == "function" then
    check_slot(placer)
    portfolio.check_read("a policy", given)
  else
    options.fail("berth.place: placer: expected a name, a policy, a pipeline or an object with "
      .. "place, got %s", core.kind(placer))
  end
  return core.place(cost, placer, given)
end

place.on_cost = on_cost

--- As `berth.place` without a placer, but also returns what every member reached.
-- @tparam graph g
-- @tparam topology t
-- @tparam[opt] table opts those of placing, and members, threads, seconds, judge, thorough (of the
--  rows' bound)
-- @usage local p, rows = assert(berth.portfolio(g, t, { links = "duplex" })); print(rows)
function place.portfolio(...) return portfolio.portfolio(on_cost, ...) end

--- Which device each op should run on.
-- @tparam graph g
-- @tparam topology t
-- @param[opt] placer a name, a policy table or function, a pipeline, `{ name, options }`,
-- an object with a function `place(self, cost, options)`; nil: the portfolio
-- @tparam[opt] table opts see docs/lua.md
-- @treturn[1] placement
-- @treturn[1] ?string if the portfolio was interrupted: of how many placers this is the best
-- @treturn[1] ?string "interrupted"
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code
-- @treturn[2] table op, device, missing (bytes): what stops it, for "infeasible"
-- @usage local p = assert(berth.place(g, t, "m-etf", { seed = 1 }))
function place.place(...)
  local cost, rest, code = options.priced("berth.place", 2, ...)
  if not cost then return nil, rest, code end
  return hinted(cost, on_cost(cost, rest[1], without_cost(rest[2])))
end

return place
