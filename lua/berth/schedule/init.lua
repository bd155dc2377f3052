--- Pipeline schedules: the order in which the stages of a pipeline run the passes of micro-batches.
-- docs/schedule.md describes it.
local core = require "berth.core"
local compare = require "berth.schedule.compare"
local costs = require "berth.schedule.costs"
local files = require "berth.schedule.files"
local object = require "berth.schedule.object"
local options = require "berth.base.options"
local problem = require "berth.schedule.problem"
local search = require "berth.schedule.search"
local words = require "berth.schedule.words"

local schedule = {}

local FN = "berth.schedule.make"

-- ---- generators ---------------------------------------------------------------------------------

options.declare("schedule.generators", options.rows("schedule.make", "chunks map"))

local Generators = {}

function Generators:__tostring()
  local lines = {}
  for i, g in ipairs(self) do lines[i] = ("%-17s %s"):format(g.name, g.text) end
  return table.concat(lines, "\n")
end

--- The built-in generators: array of { name, text, source, map, chunks } (of a stage; 0: any from 2
-- on), which prints a line for each.
-- @tparam[opt] table opts chunks, map: those alone that fit these
function schedule.generators(opts)
  local out, o = {}, options.read("berth.schedule.generators", "schedule.generators", opts)
  for _, g in ipairs(core.schedule_generators()) do
    local fits = not o.chunks or g.chunks == o.chunks or g.chunks == 0 and o.chunks > 1
    if fits and (not o.map or g.map == o.map or g.chunks == 1) then out[#out + 1] = g end
  end
  return setmetatable(out, Generators)
end

local function find(fn, name)
  local found = core.schedule_generators(name)
  if found then return found end
  local names = {}
  for i, g in ipairs(core.schedule_generators()) do names[i] = g.name end
  return options.fail("%s: unknown generator '%s' (legal: %s)", fn, name,
    options.names_text(name, names))
end

--- A schedule by a generator.
-- @tparam string|function generator a name of berth.schedule.generators(), or function(problem,
--  stage) -> word, an array of "F", "B", "W", "BW" ("F2": of the stage's second chunk; "F1&B2": one
--  slot)
-- @tparam table opts options of the problem
-- @treturn[1] schedule its outcome is "runs", "deadlock" or "memory"
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code
-- @usage print(berth.schedule.make("1f1b", { stages = 8, microbatches = 32 }))
function schedule.make(generator, opts)
  local is_name = type(generator) == "string"
  options.refuse(not is_name and type(generator) ~= "function",
    "%s: generator: expected a name or a function, got %s", FN, core.kind(generator))
  local p, message, code = problem.of(FN, opts, is_name and find(FN, generator) or nil)
  if not p then return nil, message, code end
  local handle
  if is_name then handle, message, code = core.schedule_make(p.handle, generator)
  else
    handle, message, code = core.schedule_new(p.handle, words.made_by(FN, generator, p), "own")
  end
  if not handle then return nil, message, code end
  return object.of(handle, p)
end

schedule.simulate = require("berth.schedule.simulate").run
schedule.costs = costs.of
schedule.load = files.load
schedule.save = files.save

schedule.bound = search.bound
schedule.exact = search.exact
schedule.search = search.run

function schedule.compare(names, opts) return compare.run(schedule, names, opts) end

return schedule
