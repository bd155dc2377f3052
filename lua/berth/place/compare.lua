--- Several placers on one graph, judged by the same simulation; the answer prints as a table.
local align = require "berth.base.align"
local core = require "berth.core"
local options = require "berth.base.options"
local priced = require "berth.base.priced"
local percent = require "berth.base.percent"
local pipeline = require "berth.place.pipeline"
local place = require "berth.place"
local portfolio = require "berth.place.portfolio"
local proved = require "berth.bound.proved"
local ranking = require "berth.base.ranking"
local refusals = require "berth.place.refusals"

local label = portfolio.label

options.declare("compare", options.join(options.rows("simulate", "links"), {
  { key = "place", type = "table", default = "none",
    text = "options of berth.place; each placer gets those that it reads" },
  { key = "simulate", type = "table", default = "none", text = "options of berth.simulate" },
  { key = "thorough", type = "flag", default = "false", text = "gaps against the thorough bounds" },
}, options.rows("portfolio", "cost")))
options.declare("compare:to_string", options.rows "portfolio rows:to_string")

-- ---- rows ---------------------------------------------------------------------------------------

-- The portfolio judges its members as the rows are judged; noise is not known beforehand.
local function judge(opts)
  if opts.simulate == nil then return nil end
  local out = options.merge({ links = opts.links }, opts.simulate)
  out.bound, out.noise = nil, nil
  return out
end

-- Options for all placers; each takes what it reads.
local function place_options(placer, opts)
  local given = portfolio.read_by(placer, options.merge({ links = opts.links }, opts.place))
  local name = type(placer) == "table" and placer[1] or placer
  if name == "portfolio" and not pipeline.is(placer) and given.judge == nil then
    given.judge = judge(opts)
  end
  return given
end

local function largest(array)
  local top = 0
  for _, x in ipairs(array) do top = math.max(top, x) end
  return top
end

local function out_of_memory(cost, oom)
  local name = cost.graph:op(oom.op).name
  return ("out of memory on %s at op %d%s"):format(cost.topology:device(oom.device).name, oom.op,
    name and (' "%s"'):format(name) or "")
end

local function run(cost, placer, opts)
  local row = { name = label(placer) }
  local begin = core.clock()
  local p, message, code, why = place.on_cost(cost, placer, place_options(placer, opts))
  row.seconds, row.interrupted = core.clock() - begin, code == "interrupted" and message or nil
  if not p then
    row.error, row.code, row.why = message, code, why
    return row
  end
  row.placement, row.estimate = p, p.estimate
  local r
  r, message, code = core.simulate(cost, p, options.merge({ links = opts.links }, opts.simulate))
  if not r then
    row.error, row.code = message, code
    return row
  end
  row.makespan, row.gap, row.bound, row.bound_name, row.oom = r.makespan, r.gap, r.bound,
    r.bound_name, r.oom
  row.peak = r.memory ~= "none" and largest(r.peak_memory) or nil
  row.note = r.oom and out_of_memory(cost, r.oom) or nil
  return row
end

local function proved_by(row, placer, opts)
  if not row.placement then return 0 end
  local own = type(placer) == "table" and not pipeline.is(placer) and placer[2] or nil
  local placed = options.merge(place_options(placer, opts), own)
  return proved.bound(row.placement, placed, options.merge({ links = opts.links }, opts.simulate))
    or 0
end

-- The bound of the rows that keep memory (of those that do not: whatever memory does), where it is
-- larger than theirs.
local function raise(rows, holds, best, name)
  for _, row in ipairs(rows) do
    if row.bound and (not row.oom) == holds and best > row.bound then
      row.bound, row.bound_name, row.gap = best, name, row.makespan / best - 1
    end
  end
end

-- What one row proves holds for all that keep memory.
local function share_proofs(rows, placers, opts)
  local best = 0
  for i, row in ipairs(rows) do best = math.max(best, proved_by(row, placers[i], opts)) end
  raise(rows, true, best, proved.name)
end

-- Rows of all placers; after an interrupt the rest is not run. Also how many rows there were
-- then; nil: it went through.
local function run_all(cost, placers, opts)
  local rows, stopped = {}, nil
  for i, placer in ipairs(placers) do
    local row = stopped and { name = label(placer), error = "interrupted", code = "interrupted" }
      or run(cost, placer, opts)
    rows[i] = row
    if row.code == "interrupted" then
      stopped = stopped or i - 1
    elseif row.interrupted then
      stopped = i
    end
    if not stopped then core.progress("comparing", i / #placers) end
  end
  return rows, stopped
end

-- The bounds of a level, for the rows that keep memory or for the others.
local function tighten_by(cost, rows, holds, opts)
  local some = false
  for _, row in ipairs(rows) do some = some or row.bound ~= nil and (not row.oom) == holds end
  if not some then return true end
  local b, message, code = core.bounds(cost, opts)
  if not b then return nil, message, code end
  raise(rows, holds, b.best, b.name)
  if holds then rows.bound_level = b.level end
  return true
end

-- A preset has a policy of its own.
local function tighten(cost, rows, simulate, links, level)
  local memory = simulate.memory
  if simulate.preset and not memory then memory = "none" end
  local ok, message, code = tighten_by(cost, rows, true, options.merge(level,
    { links = links, memory = memory, param_multiple = simulate.param_multiple }))
  if not ok then return nil, message, code end
  return tighten_by(cost, rows, false, options.merge(level, { links = links, memory = "none" }))
end

-- The level of the bounds: as berth.portfolio, if it is among the placers.
local function level_of(cost, placers, thorough)
  if thorough then return { thorough = true } end
  for _, placer in ipairs(placers) do
    if placer == "portfolio" then return portfolio.level(cost) end
  end
  return nil
end

-- The largest bound of those that keep memory, as that of the whole.
local function set_bound(rows)
  for _, row in ipairs(rows) do
    if row.bound and not row.oom and row.bound > (rows.bound or 0) then
      rows.bound, rows.bound_name = row.bound, row.bound_name
    end
  end
end

-- ---- printing -----------------------------------------------------------------------------------

local function time(x, bare) return x and core.format(x, "seconds", bare) or "-" end

local function cells(row, with_seconds, shared, bare)
  local out = {
    row.name, time(row.makespan, bare), row.gap and percent(math.max(row.gap, 0)) or "-",
    time(row.estimate, bare), row.peak and core.format(row.peak, "bytes", bare) or "-",
  }
  if with_seconds then out[#out + 1] = time(row.seconds) end
  out[#out + 1] = row.error and refusals.short(row, shared) or row.note or row.interrupted or ""
  return out
end

local mt = { __name = "berth.compare", __index = {} }

--- The table as text, best first. `{ seconds = true }` adds the time that placing took (which no
-- two runs share).
function mt.__index.to_string(self, opts)
  opts = options.read("compare:to_string", "compare:to_string", opts)
  local head = { "placer", "step time", "gap", "estimate", "peak" }
  if opts.seconds then head[#head + 1] = "placing" end
  head[#head + 1] = ""
  local lines, shared = { head }, refusals.shared(self)
  for _, row in ipairs(self.best) do
    lines[#lines + 1] = cells(row, opts.seconds, shared, self.unitless)
  end
  return align.text(lines) .. (shared and "\ninfeasible: " .. shared or "")
    .. (self.bound and ("\nbound %s (%s)"):format(time(self.bound, self.unitless),
    portfolio.bound_name(self)) or "")
end

function mt.__tostring(self) return self:to_string() end

--- Places and simulates with each placer.
-- @tparam graph g
-- @tparam topology t
-- @tparam[opt] table placers names, policies, pipelines, `{ name, options }`; nil: all names
-- @tparam[opt] table opts as declared above
-- @treturn[1] table rows in the order of the placers; `best`: the same rows, best first;
--  `bound`, `bound_name`, `bound_level`: the largest bound, if there is one; `interrupted`: after
--  how many, if it was
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code
return function(...)
  local cost, rest, code = options.priced("berth.compare", 2, ...)
  if not cost then return nil, rest, code end
  local placers, opts = rest[1] or place.placers(), options.read("berth.compare", "compare",
    rest[2])
  options.refuse(type(placers) ~= "table",
    'berth.compare: placers: expected an array as { "heft", "etf" }, got %s', core.kind(placers))
  local unitless = priced.unitless(cost)
  local rows, stopped = run_all(cost, placers, opts)
  if stopped == 0 then return nil, "interrupted", "interrupted" end
  rows.unitless = unitless
  share_proofs(rows, placers, opts)
  if stopped then
    rows.interrupted = ("interrupted after %d of %d placers"):format(stopped, #placers)
  elseif level_of(cost, placers, opts.thorough) then
    local ok, message, why = tighten(cost, rows, opts.simulate or {},
      opts.simulate and opts.simulate.links or opts.links, level_of(cost, placers, opts.thorough))
    if why == "interrupted" then
      rows.interrupted = "interrupted: the gaps are not by the best bounds"
    elseif not ok then
      return nil, message, why
    end
  end
  set_bound(rows)
  rows.best = {}
  for i, entry in ipairs(ranking(rows)) do rows.best[i] = entry.row end
  return setmetatable(rows, mt)
end
