--- The answer of berth.deploy.plan.
local core = require "berth.core"
local notes = require "berth.deploy.notes"
local options = require "berth.base.options"
local words = require "berth.deploy.answer_words"

local Answer = { __name = "berth.deploy.answer" }
local methods = {}

local answer = {}

function answer.is(x) return getmetatable(x) == Answer end

local MISSING = "deploy answer has no '%s' (fields: n_ops, batch, physics, seconds, speedup, "
  .. "speedup_runs, speedup_uniform, speedup_uniform_runs, bound, bound_name, gap, "
  .. "groups, notes, baselines, peaks, limits, device_names, evaluations, reason_evaluations, "
  .. "trace, interrupted, from, "
  .. "problem)"

local OPTIONAL = { speedup = true, speedup_runs = true, speedup_uniform = true,
  speedup_uniform_runs = true, bound = true, bound_name = true,
  gap = true, interrupted = true, command = true }

function Answer.__index(_, key)
  local found = methods[key]
  if found ~= nil or OPTIONAL[key] then return found end
  return options.fail(MISSING, tostring(key))
end

function Answer.__tostring(self) return words.with_notes(self) end

-- ---- making -------------------------------------------------------------------------------------

local function dressed_reasons(list, names)
  local out = {}
  for i, r in ipairs(list or {}) do
    out[i] = { what = r.what, action = r.action, change = r.change,
      missing = r.missing and words.whole(r.missing), device = r.device, device_name = r.device
      and names[r.device] }
  end
  return out
end

local function own_repeated(g, duplicate)
  local mine, out = {}, {}
  for _, op in ipairs(g.ops) do mine[op] = true end
  for _, op in ipairs(duplicate) do
    if mine[op] then out[#out + 1] = op end
  end
  return out
end

local function decided_groups(d, list, s, why, names)
  local actions, sets = d:actions(), d:sets()
  for i, g in ipairs(list) do
    local x = actions[s.action[i]]
    g.action, g.option, g.shares, g.devices = s.action[i], x.option, x.shares, sets[x.set]
    g.samples, g.where = x.samples, words.devices(names, sets[x.set])
    g.repeated, g.reasons = own_repeated(g, s.duplicate or {}), dressed_reasons(why[i], names)
  end
  return list
end

-- Where there is nothing to reduce, parameter servers are called AllReduce: the first op group that
-- reduces decides.
local function action_for_all(row, groups)
  for i, g in ipairs(groups) do
    if g.reduces then return row.strategy.action[i] end
  end
  return row.strategy.action[1]
end

-- What a strategy does where it does the same with all op groups.
local function uniform_words(d, row, names, groups)
  if row.name ~= "uniform" then return nil end
  local x = d:actions()[action_for_all(row, groups)]
  local devices = d:sets()[x.set]
  local repeated = row.strategy.sfb ~= "none" and ", ops repeated by the same rule" or ""
  if #devices == 1 then return words.devices(names, devices) end
  return ("%s, %s, %s%s"):format(words.devices(names, devices), words.options[x.option],
    words.shares[x.shares], repeated)
end

local function baseline_rows(d, rows, names, groups)
  local out = {}
  for i, row in ipairs(rows) do
    local v = row.value
    out[i] = { name = row.name, detail = uniform_words(d, row, names, groups), seconds = v.seconds,
      fits = v.over == 0, missing = v.over > 0 and words.whole(v.shortfall) or nil,
      device = v.over > 0 and v.worst or nil, device_name = v.over > 0 and names[v.worst] or nil }
  end
  return out
end

local function limits_of(topology)
  local limits = {}
  for device in topology:devices() do limits[device.id] = words.whole(device.memory) end
  return limits
end

local function whole_numbers(list)
  local out = {}
  for i, x in ipairs(list) do out[i] = words.whole(x) end
  return out
end

local function whole_trace(trace)
  local out = {}
  for i, point in ipairs(trace) do
    out[i] = options.merge(point, { evaluations = words.whole(point.evaluations) })
  end
  return out
end

local function ratio(row, seconds) return row and words.ratio(row.seconds, seconds) or nil end

-- Whether memory allows a baseline; nil: there is none.
local function runs(row)
  if row then return row.fits end
  return nil
end

--- @tparam deploy d
-- @tparam table given options of the plan
-- @tparam table r run that is done: best, groups, evaluations, trace, interrupted
-- @tparam table found rows, why, bound, bound_name, searched, peaks
function answer.new(d, given, r, found)
  local names, best = words.names(d.topology), r.best
  local a = { n_ops = #d.graph, batch = d.batch, physics = d.physics, seconds = best.value.seconds,
    from = best.from, peaks = whole_numbers(found.peaks), limits = limits_of(d.topology),
    device_names = names, evaluations = words.whole(found.searched),
    trace = whole_trace(r.trace), reason_evaluations = words.whole(r.evaluations - found.searched),
    notes = notes.of(d), interrupted = r.interrupted, problem = d, given = given,
    chosen = { action = best.strategy.action, duplicate = best.strategy.duplicate or {} } }
  a.groups = decided_groups(d, r.groups, a.chosen, found.why, names)
  a.baselines = baseline_rows(d, found.rows, names, a.groups)
  a.bound, a.bound_name = found.bound, found.bound_name
  a.gap = a.bound and a.bound > 0 and a.seconds / a.bound - 1 or nil
  setmetatable(a, Answer)
  a.speedup, a.speedup_uniform = ratio(a:baseline "dp", a.seconds),
    ratio(a:baseline "uniform", a.seconds)
  a.speedup_runs, a.speedup_uniform_runs = runs(a:baseline "dp"), runs(a:baseline "uniform")
  return a
end

-- ---- methods ------------------------------------------------------------------------------------

--- The row of a baseline, or nil.
function methods:baseline(name)
  for _, row in ipairs(self.baselines) do
    if row.name == name then return row end
  end
  return nil
end

--- The strategy, as methods of berth.deploy.problem take it.
-- @treturn table action (by op group), duplicate (ops)
function methods:strategy()
  local s = { action = {}, duplicate = {} }
  for i, a in ipairs(self.chosen.action) do s.action[i] = a end
  for i, op in ipairs(self.chosen.duplicate) do s.duplicate[i] = op end
  return s
end

--- The graph that the strategy comes to, with a placement: to simulate, save, execute.
-- @treturn[1] table graph, placement, cost, origin, part, samples, source, rank, simulation: as
--  deploy:compile
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code
function methods:compile() return self.problem:compile(self:strategy()) end

--- One simulated step of the compiled graph.
-- @treturn result
function methods:simulate()
  local c, message, code = self:compile()
  if not c then return nil, message, code end
  return core.simulate(c.cost, c.placement, c.simulation)
end

--- Op groups as text, the heaviest first.
-- @tparam[opt] number most
function methods:table(most)
  options.refuse(most ~= nil and not (type(most) == "number" and most >= 0),
    "deploy answer:table: most: expected how many op groups, got %s", tostring(most))
  return words.groups(self, most and math.floor(math.min(most, #self.groups)))
end

--- The baselines as text.
function methods:baseline_table() return words.baseline_table(self) end

--- Peak memory of each device as text.
function methods:memory_table() return words.memory_table(self) end

--- Writes the plan, for berth.deploy.load.
function methods:save(path)
  options.expect(path, "string", "deploy answer:save: path")
  return require "berth.base.write"(path, self:to_json() .. "\n")
end

--- What save writes, and berth deploy --json prints.
function methods:to_json() return require("berth.deploy.json").encode(self) end

--- Writes the page: a self-contained HTML file.
-- @tparam string path
-- @tparam[opt] table opts title, command
function methods:report(path, opts) return require "berth.deploy.page"(path, self, opts) end

return answer
