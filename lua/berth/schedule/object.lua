--- Schedules as Lua has them: a table with the core's handle, the problem, and what the evaluation
-- says. Names of actions ("F2.5": chunk, micro-batch) and stages ("stage0") count from 0, as in
-- files and in graphs; ids count from 1.
local core = require "berth.core"
local options = require "berth.base.options"
local percent = require "berth.base.percent"

local object = {}

local Schedule = { __name = "berth.schedule" }
Schedule.__index = Schedule

--- "F2.5"
function object.action_name(a)
  return ("%s%.0f.%.0f"):format(a.kind, a.chunk - 1, a.microbatch - 1)
end

-- What stops the schedule, nil where it runs: message, { outcome, stage, index, action, excess }.
local function stop(s)
  local v = s.stopped
  if not v then return nil end
  local name = object.action_name(v.action)
  if v.outcome == "deadlock" then
    return ("deadlock: stage%.0f waits for ever before %s"):format(v.stage - 1, name), v
  end
  return core.sprintf("memory: at %s stage%.0f holds %.6g, the limit is %.6g", name, v.stage - 1,
    s.problem.memory[v.stage] + v.excess, s.problem.memory[v.stage]), v
end

--- nil where it runs; else what the calls that need it to run return.
-- @treturn string message
-- @treturn string code "infeasible"
-- @treturn table outcome, stage, index, action, excess
function object.stop(fn, s)
  local message, why = stop(s)
  if not message then return nil end
  return ("%s: %s"):format(fn, message), "infeasible", why
end

local function most(list)
  local out = 0
  for _, x in ipairs(list) do out = math.max(out, x) end
  return out
end

--- "peak 8 of 8": the stage that comes nearest to its limit.
function object.peak_text(s)
  local best, share = 1, -1
  for i, peak in ipairs(s.peak) do
    local limit = s.problem.memory[i]
    local part = limit < math.huge and peak / limit or peak / 1e300
    if part > share then best, share = i, part end
  end
  local limit = s.problem.memory[best]
  return core.sprintf("%.4g", s.peak[best])
    .. (limit < math.huge and core.sprintf(" of %.4g", limit) or "")
end

function Schedule:__tostring()
  local p, name = self.problem, self.name ~= "" and self.name or "schedule"
  local head = ("%s: %.0f stages%s, %.0f micro-batches"):format(name, p.stages,
    p.chunks > 1 and (" x %.0f chunks"):format(p.chunks) or "", p.microbatches)
  local why = stop(self)
  if self.outcome == "deadlock" then return head .. ", " .. why end
  local gap = self.bound and (", bound %s (gap %s)"):format(core.format(self.bound, "seconds"),
    self.bound > 0 and percent(math.max(self.step / self.bound - 1, 0)) or "-") or ""
  return ("%s, %s %s%s, bubble %s, peak %s%s%s"):format(head,
    p.objective == "span" and "span" or "step", core.format(self.step, "seconds"), gap,
    percent(math.max(self.bubble, 0)), object.peak_text(self), why and "; " .. why or "",
    self.interrupted and ", interrupted" or "")
end

--- Actions of a stage in execution order: array of { kind, chunk, microbatch, overlapped, start,
-- finish } (ids from 1, s; without times: never). kind: "F", "B", "W", "BW" (both as one).
function Schedule:actions(stage)
  options.refuse(type(stage) ~= "number" or not self.list[stage],
    "schedule:actions: stage: expected 1 to %d, got %s", self.problem.stages, tostring(stage))
  return self.list[stage]
end

--- Writes the schedule; the ending of the path says how: .csv, .json, .layout.
-- @tparam string path
-- @tparam[opt] table opts format
function Schedule:save(path, opts)
  return require("berth.schedule.files").save(self, path, opts)
end

--- What save would write.
function Schedule:to_string(format)
  return require("berth.schedule.files").text(self, format)
end

--- By the step simulator: as berth.schedule.simulate.
function Schedule:simulate(opts)
  return require("berth.schedule.simulate").run(self, opts)
end

--- The picture, an SVG file.
function Schedule:figure(opts) return require("berth.schedule.picture").file(self, opts) end

--- Writes one self-contained HTML page.
function Schedule:report(path, opts)
  return require("berth.schedule.page")(path, self, opts)
end

local function with_times(s, value)
  local i = 0
  for _, list in ipairs(s.list) do
    for _, a in ipairs(list) do
      i = i + 1
      local start, finish = value.start[i], value.finish[i]
      if start == start then a.start, a.finish = start, finish end
    end
  end
end

--- @param handle the core's schedule
-- @tparam table problem as problem.of gives it
function object.of(handle, problem)
  local value = assert(core.schedule_evaluate(handle))
  local list, name = core.schedule_actions(handle)
  local s = setmetatable({ handle = handle, problem = problem, name = name, list = list,
    outcome = value.outcome, step = value.step, span = value.span, makespan = value.makespan,
    bubble = value.bubble, peak = value.peak, most = most(value.peak) }, Schedule)
  if value.outcome ~= "runs" then
    s.stopped = { outcome = value.outcome, stage = value.stage, index = value.index,
      action = value.action, excess = value.excess }
  end
  with_times(s, value)
  return s
end

--- Raises unless x is a schedule.
function object.check(fn, x)
  if getmetatable(x) == Schedule then return x end
  return options.fail("%s: expected a schedule of berth.schedule.make, got %s", fn, core.kind(x))
end

return object
