--- The executor: runs placements on threads, for stage III of training and to hold the simulator
-- to.
local core = require "berth.core"
local options = require "berth.base.options"

local Executor = {}

options.declare("executor:objective", options.rows "executor:run")

local function is_placement(given)
  return core.kind(given) == "placement" or type(given) == "table" and type(given[1]) == "number"
end

--- Runs a placement.
-- @tparam placement p or an array of device ids
-- @tparam[opt] table opts repeats (1)
-- @treturn[1] execution of the run of median makespan: makespan (s), times (of all runs), start,
--  finish, busy, device, transfers, turns, checksums, wrong (nil: all results are right), checked,
--  cost; save_trace(path), trace()
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code
function Executor:run(p, opts) return self.core:run(p, opts) end

--- A function that measures placements, as an objective to train with: an array of placements gives
-- an array of seconds, one placement a number. A refusal raises; an interrupt gives nil, message,
-- "interrupted", so that training ends with what it has.
-- @tparam[opt] table opts repeats (1): the median counts
-- @treturn function
function Executor:objective(opts)
  local given = options.merge(options.check("executor:objective", opts, "executor:objective"))
  local function measure(p)
    local r, message, code = self.core:run(p, given)
    if code == "interrupted" then return nil, message, code end
    if not r then options.fail("objective: %s", message) end
    local seconds = r.makespan
    if r.wrong then options.fail("objective: the result of op %d is wrong", r.wrong) end
    r:close()
    return seconds
  end
  return function(placements)
    if is_placement(placements) then return measure(placements) end
    local out = {}
    for i, p in ipairs(placements) do
      local seconds, message, code = measure(p)
      if not seconds then return nil, message, code end
      out[i] = seconds
    end
    return out
  end
end

--- What ops and links really take: see berth.execute.calibrate.
function Executor:calibrate(opts) return require("berth.exec.calibrate")(self, opts) end

--- Number of the kernel of each op, and how many there are: ops of one number do the same work.
function Executor:kernels() return self.core:kernels() end

--- Joins the threads and frees the arenas.
function Executor:close() self.core:close() end

local fields = { scale = true, byte_scale = true, threads = true, cost = true }

local mt = { __name = "berth.executor" }

function mt.__index(self, key)
  if Executor[key] then return Executor[key] end
  if fields[key] then return rawget(self, "core")[key] end
  options.fail("executor has no '%s' (fields: byte_scale, cost, scale, simulation, threads; "
    .. "methods: calibrate, close, kernels, "
    .. "objective, run)", tostring(key))
end

function mt.__tostring(self) return tostring(self.core) end
mt.__close = function(self) self.core:close() end

local execute = {}

--- Starts the threads of an executor.
-- @tparam graph g
-- @tparam topology t
-- @tparam[opt] table opts mode ("compute", "paced"), links ("duplex"), dispatch ("fifo"), seconds
--  (0.1), scale, duty (0.1), flops (2e10), stream (1e9), memory ("64 MiB"), check (true), seed,
--  cost
-- @treturn[1] table the executor; its field `simulation` has the options with which the simulator
--  runs the same discipline
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code
function execute.executor(a, b, c)
  local made, message, code = core.executor(a, b, c)
  if not made then return nil, message, code end
  local given = (core.kind(a) == "cost" and b or c) or {}
  local simulation = { links = given.links or "duplex", dispatch = given.dispatch or "fifo",
    seed = given.seed, memory = "none" }
  return setmetatable({ core = made, simulation = simulation }, mt)
end

--- executor:calibrate(opts) as a function.
function execute.calibrate(executor, opts)
  if getmetatable(executor) ~= mt then
    options.fail("berth.execute.calibrate: executor: expected an executor, got %s",
      core.kind(executor))
  end
  return Executor.calibrate(executor, opts)
end

return execute
