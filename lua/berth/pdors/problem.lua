--- Training jobs and the machines that they will come to.
local core = require "berth.core"
local options = require "berth.base.options"
local json = require "berth.base.json"
local schema = require "berth.base.schema"
local write = require "berth.base.write"
local check_capacity = require("berth.cluster.trace").check_capacity

local FN = "berth.pdors.problem"
local STEPS = 100

local required = "none; must be given"
options.declare("pdors.job", {
  { key = "arrival", type = "whole", default = "0", text = "slot, from 0; jobs are ordered by it" },
  { key = "epochs", type = "number", default = required, text = "passes over the samples" },
  { key = "samples", type = "number", default = required, text = "of an epoch" },
  { key = "batch", type = "number", default = required,
    text = "samples of an iteration over all workers, and workers at most" },
  { key = "tau", type = "number or time", default = required,
    text = "slots that a worker computes for a sample; as text a time: 50 ms" },
  { key = "bytes", type = "bytes", default = required, text = "of gradients, as of parameters" },
  { key = "ratio", type = "number", default = required, text = "workers for one server" },
  { key = "inside", type = "number or bytes/s", default = required,
    text = "bandwidth inside a machine, bytes per slot; as text per second: 10 GB/s" },
  { key = "across", type = "number or bytes/s", default = required,
    text = "bandwidth between machines, likewise" },
  { key = "rack", type = "number or bytes/s", default = "as across",
    text = "bandwidth inside a rack, likewise" },
  { key = "worker", type = "array", default = required, text = "what one takes of each resource" },
  { key = "server", type = "array", default = required, text = "what one takes of each resource" },
  { key = "importance", type = "number", default = required, text = "factor of the utility" },
  { key = "urgency", type = "number", default = required, text = "decay of the utility" },
  { key = "target", type = "number", default = required,
    text = "completion time that is wanted, slots" },
  { key = "moving", type = "number", default = "0",
    text = "slots that the job loses when its places change" },
  { key = "name", type = "string", default = "none", text = "for records" },
  { key = "kind", type = "string", default = "none", text = "for records" },
  { key = "data", type = "any", default = "none", text = "the caller's own" },
})

options.declare("pdors.cluster", options.join(options.rows("pdors.problem", "machines slots"), {
  { key = "resources", type = "array of names", default = required,
    text = "of a machine, at most 8" },
  { key = "capacity", type = "array", default = required,
    text = "a number for each resource, or an array of such arrays, one per machine" },
  { key = "rack", type = "array", default = "none", text = "rack of each machine, from 1" },
}, options.rows("pdors.problem", "slot_seconds comm")))

local Problem = { __name = "berth.pdors.problem" }
Problem.__index = Problem

-- ---- quantities ---------------------------------------------------------------------------------

local function quantity(where, x, unit)
  if type(x) ~= "string" then return x end
  local value, message = core.quantity(x, unit)
  if not value then options.fail("%s: %s", where, message) end
  return value
end

-- Bandwidths as text are per second, times as text are times; the core has slots.
local function job_of(j, given, slot_seconds)
  options.expect(given, "table", "%s: jobs[%d]", FN, j)
  local where = ("%s: jobs[%d]"):format(FN, j)
  options.check(where, given, "pdors.job")
  local out = options.merge(given)
  if type(out.tau) == "string" then
    out.tau = quantity(where .. ".tau", out.tau, "seconds") / slot_seconds
  end
  out.bytes = quantity(where .. ".bytes", out.bytes, "bytes")
  for _, key in ipairs { "inside", "across", "rack" } do
    if type(out[key]) == "string" then
      out[key] = quantity(where .. "." .. key, out[key], "bytes/s") * slot_seconds
    end
  end
  return out
end

-- ---- machines -----------------------------------------------------------------------------------

local function resources_of(given)
  local list = given.resources
  options.refuse(type(list) ~= "table" or #list == 0,
    "%s: cluster.resources: expected an array of names, got %s", FN, core.kind(list))
  for i, name in ipairs(list) do
    options.expect(name, "name", "%s: cluster.resources[%d]", FN, i)
  end
  return list
end

-- A number per resource, for all machines; or such an array for each.
local function capacities(given, resources)
  local list, flat, n = given.capacity, {}, given.machines
  options.refuse(type(n) ~= "number" or not (n >= 1 and n <= 2 ^ 20) or n ~= math.floor(n),
    "%s: cluster.machines: expected a whole number of at least 1, got %s", FN, tostring(n))
  options.expect(list, "array", "%s: cluster.capacity", FN)
  local each = type(list[1]) == "table"
  options.refuse(each and #list ~= n,
    "%s: cluster.capacity: has %d entries, expected %d (one per machine)", FN, #list, n)
  for m = 1, n do
    local row = each and list[m] or list
    check_capacity(("%s: cluster.capacity%s"):format(FN, each and ("[%d]"):format(m) or ""), row,
      #resources)
    for r = 1, #resources do flat[#flat + 1] = row[r] end
  end
  return flat
end

-- ---- the object ---------------------------------------------------------------------------------

function Problem:__tostring() return tostring(self.core) end

--- Samples per slot of a job on places { { machine, workers, servers }, ... }.
function Problem:speed(job, places) return self.core:speed(job, places) end
--- What a job is worth when it is done so many slots after its arrival.
function Problem:utility(job, slots) return self.core:utility(job, slots) end
--- Slots that a worker needs for a sample at a bandwidth, bytes per slot.
function Problem:worker_slots(job, bandwidth) return self.core:worker_slots(job, bandwidth) end

--- No schedule of all jobs, even one that is given all of them, is worth more than this; computed
-- once.
-- @tparam[opt=100] number steps of improvement
-- @treturn[1] number
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code
function Problem:bound(steps)
  steps = steps or STEPS
  if not self.bounds[steps] then
    local scheduler, message, code = core.pdors(self.core, { plans = "final" })
    if not scheduler then return nil, message, code end
    local certificate
    certificate, message, code = scheduler:certify(0, steps)
    if not certificate then return nil, message, code end
    self.bounds[steps], self.possible = certificate.bound, certificate.possible
  end
  return self.bounds[steps]
end

local Optimum = { __name = "berth.pdors.optimum" }

function Optimum.__tostring(o)
  if o.proved then return core.sprintf("optimum %.4f, proved", o.utility) end
  return core.sprintf("utility %.4f, at most %.4f", o.utility, o.bound)
end

options.declare("problem:offline", {
  { key = "nodes", type = "whole", default = "100000", text = "of the search at most" },
})

--- The optimum for all jobs known in advance, by branch and bound: for small problems.
-- @tparam[opt] table opts as declared above
-- @treturn[1] table utility, bound, proved, nodes, jobs (utility of each)
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code
function Problem:offline(opts)
  local best, message, code = core.pdors_offline(self.core, options.check("problem:offline", opts,
    "problem:offline").nodes)
  if not best then return nil, message, code end
  return setmetatable(best, Optimum)
end

-- JSON has no infinite numbers; "inf" is read as a bandwidth.
local function writable(jobs)
  local out = {}
  for j, job in ipairs(jobs) do
    out[j] = options.merge(job)
    for _, key in ipairs { "inside", "across", "rack" } do
      if job[key] == math.huge then out[j][key] = "inf" end
    end
  end
  return out
end

--- Writes jobs and cluster as JSON, for berth.pdors.load.
-- @treturn[1] boolean true
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code "io"
function Problem:save(path)
  local what = { schema = schema.numbers["pdors problem"], jobs = writable(self.jobs),
    cluster = self.cluster }
  local fine, text = pcall(json.encode, what, "problem")
  if not fine then options.fail("problem:save: %s", text) end
  return write(path, text .. "\n")
end

local problem = {}

function problem.is(x) return getmetatable(x) == Problem end

--- @tparam table jobs array by arrival of tables with the options of "pdors.job" declared above
-- @tparam table cluster as "pdors.cluster" declared above
-- @treturn problem
-- @usage p = berth.pdors.problem(jobs, { machines = 4, slots = 20, resources = { "gpu", "cpu" },
--  capacity = { 8, 96 } })
function problem.new(jobs, cluster)
  options.expect(jobs, "array", "%s: jobs", FN)
  if cluster == nil and jobs.jobs then jobs, cluster = jobs.jobs, jobs.cluster end
  cluster = options.check(FN .. ": cluster", cluster, "pdors.cluster")
  local names, seconds = resources_of(cluster), quantity(FN .. ": cluster.slot_seconds",
    cluster.slot_seconds or 1200, "seconds")
  local made, list = { machines = cluster.machines, slots = cluster.slots, slot_seconds = seconds,
    comm = cluster.comm, rack = cluster.rack, resources = #names,
    capacity = capacities(cluster, names) }, {}
  for j, job in ipairs(jobs) do list[j] = job_of(j, job, seconds) end
  local c, message, code = core.ps(list, made)
  if not c then return nil, message, code end
  return setmetatable({ core = c, jobs = list, cluster = cluster, resources = names,
    machines = cluster.machines, slots = cluster.slots, slot_seconds = seconds, bounds = {} },
      Problem)
end

--- The problem, or that of tables { jobs, cluster }.
function problem.of(x)
  if problem.is(x) then return x end
  return problem.new(x)
end

--- Reads what problem:save has written, or other JSON with "jobs" and "cluster".
-- @treturn[1] problem
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code "io", "parse"
function problem.load(path)
  options.expect(path, "string", "berth.pdors.load: path")
  local text, message, code = core.read(path)
  if not text then return nil, message, code end
  local found, why = json.decode((text:gsub("^\239\187\191", "")), path)
  if why then return nil, why, "parse" end
  if type(found) ~= "table" or type(found.jobs) ~= "table" or type(found.cluster) ~= "table" then
    return nil, ("%s: expected an object with \"jobs\" and \"cluster\""):format(path), "parse"
  end
  if not schema.reads("pdors problem", found.schema) then
    return nil, ("%s: schema: %s, this reads %d"):format(path, tostring(found.schema),
      schema.numbers["pdors problem"]), "parse"
  end
  local made, p, reason, kind = pcall(problem.new, found.jobs, found.cluster)
  if not made then
    return nil, ("%s: %s"):format(path, (tostring(p):gsub("^.-" .. FN .. ": ", ""))), "parse"
  end
  return p, reason, kind
end

return problem
