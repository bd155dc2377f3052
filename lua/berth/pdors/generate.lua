--- Problems to schedule, drawn at random: training jobs and machines.
local core = require "berth.core"
local options = require "berth.base.options"
local draws = require "berth.pdors.draws"
local models = require "berth.pdors.measured"
local sort = require "berth.base.sort"

local FN = "berth.pdors.generate"
local RESOURCES = { "gpu", "cpu", "memory_gb", "storage_gb" }
local CLASSES = { "insensitive", "sensitive", "critical" }
local MIXES = { default = { 0.10, 0.55, 0.35 }, google = { 0.30, 0.69, 0.01 } }
local MACHINES = { realistic = { gpu = 8, cpu = 96, memory_gb = 768, storage_gb = 4000 } }

-- PD-ORS as recalled: ranges of a uniform draw; bandwidth is that of a worker's link, bytes/s.
local DEFAULT = {
  epochs = { 50, 200 }, samples = { 2e4, 5e5 }, batch = { 1, 200 }, tau = { 1e-5, 1e-4 },
  bytes = { 30e6, 575e6 }, ratio = { 1, 10 }, across = { 12.5e6, 625e6 },
  worker = { gpu = { 0, 4 }, cpu = { 1, 10 }, memory_gb = { 2, 32 }, storage_gb = { 5, 10 } },
  server = { gpu = { 0, 0 }, cpu = { 1, 10 }, memory_gb = { 2, 32 }, storage_gb = { 5, 10 } },
}
local LEAST = { epochs = 1, samples = 1, batch = 1, tau = 1e-300, bytes = 0, ratio = 1e-9,
  across = 1e-300 }

-- ---- options ------------------------------------------------------------------------------------

local MOST = 2 ^ 31 - 1
local DRAWN, MEASURED = { default = true }, { realistic = true }

-- All ranges are of uniform draws.
local function uniform(key, default, text, readers)
  local only = readers and next(readers)
  return { key = key, type = "number or range", default = default, text = text, readers = readers,
    only = only }
end

options.declare("pdors.generate", {
  { key = "seed", type = "whole", default = "0", high = MOST, text = "of the draws" },
  { key = "jobs", type = "whole", default = "100", high = MOST, text = "how many" },
  { key = "machines", type = "whole", default = "100, of realistic jobs 20", low = 1, high = MOST,
    text = "how many" },
  { key = "slots", type = "whole", default = "100", low = 1, high = MOST, text = "how many" },
  { key = "slot_seconds", type = "number", default = "1200", above = true,
    text = "length of a slot, s" },
  { key = "load", type = "number", default = "1", above = true, text = "factor of the work" },
  { key = "arrivals", type = "choice or array", default = "alternating",
    text = "alternating: twice as many in each second slot; uniform; or a weight for each slot" },
  { key = "classes", type = "choice or array", default = "default",
    text = "default: 10 % insensitive, 55 % sensitive, 35 % critical; google: 30, 69, 1; or three "
      .. "weights" },
  uniform("importance", "1..100", "factor of the utility"),
  uniform("sensitive", "0.01..1", "decay of the utility of sensitive jobs"),
  uniform("critical", "4..6", "decay of the utility of critical jobs"),
  uniform("target", "1..15", "completion time that is wanted, slots"),
  { key = "machine", type = "choice or table", default = "by the jobs",
    text = "default: room for `room` workers or servers of mean demand, 36 GPUs; realistic: 8 "
      .. "GPUs, 96 CPUs, 768 GB, 4 TB; or "
      .. "such a table" },
  { key = "room", type = "number", default = "18", above = true, text = "of the machine default" },
  options.by_key("pdors.problem").comm,
  { key = "moving", type = "number", default = "0",
    text = "slots that a job loses when its places change" },
  uniform("epochs", "50..200", "passes over the samples, whole", DRAWN),
  uniform("samples", "2e4..5e5", "of a job, whole", DRAWN),
  { key = "batch", type = "number or range", default = "1..200, of realistic jobs 16",
    text = "workers at most, whole" },
  uniform("tau", "1e-5..1e-4", "time of a sample, slots", DRAWN),
  uniform("bytes", "30e6..575e6", "of the parameters", DRAWN),
  { key = "ratio", type = "number or range", default = "1..10, of realistic jobs 1",
    text = "workers for one server" },
  uniform("across", "12.5e6..625e6", "bandwidth of a worker's link, bytes/s", DRAWN),
  { key = "gain", type = "number", default = "10", above = true, readers = DRAWN, only = "default",
    text = "bandwidth inside a machine over that across" },
  { key = "worker", type = "table", default = "0..4, 1..10, 2..32, 5..10", readers = DRAWN,
    only = "default", text = "demand: gpu, cpu, memory_gb, storage_gb, whole" },
  { key = "server", type = "table", default = "0, 1..10, 2..32, 5..10", readers = DRAWN,
    only = "default", text = "likewise" },
  { key = "models", type = "table", default = "all eight", readers = MEASURED, only = "realistic",
    text = "names" },
  uniform("worker_slots", "4..80", "slots of computing that one worker would need", MEASURED),
})

local function weights(key, list, n)
  local sum = 0
  options.refuse(type(list) ~= "table" or #list ~= n,
    "%s: %s: expected an array of %d weights, got %s", FN, key, n, core.kind(list))
  for i, x in ipairs(list) do
    options.refuse(type(x) ~= "number" or not (x >= 0 and x < math.huge),
      "%s: %s[%d]: expected a number of at least 0, got %s", FN, key, i, tostring(x))
    sum = sum + x
  end
  if sum == 0 then options.fail("%s: %s: all weights are 0", FN, key) end
  return list
end

local function named(key, given, list, n)
  if type(given) ~= "string" then return weights(key, given, n) end
  if not list[given] then
    options.fail("%s: %s: no '%s' (there are %s)", FN, key, given,
      options.names_text(given, options.sorted_keys(list)))
  end
  return list[given]
end

-- Slots count from 0; the first is an odd one, as the paper counts from 1.
local function arrival_weights(given, slots)
  local lists = { alternating = {}, uniform = {} }
  for t = 1, slots do
    lists.alternating[t] = math.fmod(t, 2) == 1 and 1 or 2
    lists.uniform[t] = 1
  end
  return named("arrivals", given.arrivals or "alternating", lists, slots)
end

local function demands(key, given, default)
  if given ~= nil then options.check(FN .. ": " .. key, given, RESOURCES) end
  local out = {}
  for i, name in ipairs(RESOURCES) do
    out[i] = draws.range(FN, key .. "." .. name, given and given[name], default[name], 0)
  end
  return out
end

-- ---- jobs ---------------------------------------------------------------------------------------

local function utility_ranges(given)
  return {
    importance = draws.range(FN, "importance", given.importance, { 1, 100 }, 0),
    target = draws.range(FN, "target", given.target, { 1, 15 }, 0),
    urgency = { draws.range(FN, "insensitive", nil, { 0, 0 }, 0),
      draws.range(FN, "sensitive", given.sensitive, { 0.01, 1 }, 0),
      draws.range(FN, "critical", given.critical, { 4, 6 }, 0) },
    classes = named("classes", given.classes or "default", MIXES, #CLASSES),
  }
end

local function add_utility(job, d, ranges)
  local class = d:weighted("class", ranges.classes)
  job.kind = CLASSES[class]
  job.importance = d:real("importance", ranges.importance)
  job.urgency = d:real("urgency", ranges.urgency[class])
  job.target = d:real("target", ranges.target)
end

local function draw_demand(d, who, ranges)
  local out = {}
  for i, range in ipairs(ranges) do out[i] = d:whole(who .. " " .. i, range) end
  return out
end

-- What is drawn of each job, all as recalled of the paper.
local function default_jobs(given, o)
  local ranges, gain = {}, given.gain or 10
  for _, key in ipairs { "epochs", "samples", "batch", "tau", "bytes", "ratio", "across" } do
    ranges[key] = draws.range(FN, key, given[key], DEFAULT[key], LEAST[key])
  end
  local worker, server = demands("worker", given.worker, DEFAULT.worker),
    demands("server", given.server, DEFAULT.server)
  local function draw(d)
    local across = d:real("across", ranges.across) * o.slot_seconds
    return {
      epochs = math.max(1, math.floor(d:whole("epochs", ranges.epochs) * o.load + 0.5)),
      samples = d:whole("samples", ranges.samples), batch = d:whole("batch", ranges.batch),
      tau = d:real("tau", ranges.tau), bytes = d:real("bytes", ranges.bytes),
      ratio = d:whole("ratio", ranges.ratio), across = across, inside = gain * across,
      worker = draw_demand(d, "worker", worker), server = draw_demand(d, "server", server),
    }
  end
  return draw, { worker, server }
end

local function chosen(given)
  local list, by, out = given.models, {}, {}
  if list == nil then return models end
  options.refuse(type(list) ~= "table" or #list == 0,
    "%s: models: expected an array of names, got %s", FN, core.kind(list))
  for _, m in ipairs(models) do by[m.name] = m end
  for i, name in ipairs(list) do
    if not by[name] then
      options.fail("%s: models[%d]: no '%s' (there are %s)", FN, i, tostring(name),
        options.names_text(name, options.sorted_keys(by)))
    end
    out[i] = by[name]
  end
  return out
end

-- A "sample" is a mini-batch of one worker: with as many workers as `batch`, an iteration takes
-- what was measured.
local function realistic_jobs(given, o)
  local pool, pick = chosen(given), {}
  local batch = draws.range(FN, "batch", given.batch, { 16, 16 }, 1)
  local ratio = draws.range(FN, "ratio", given.ratio, { 1, 1 }, 1e-9)
  local work = draws.range(FN, "worker_slots", given.worker_slots, { 4, 80 }, 1e-9)
  for i = 1, #pool do pick[i] = 1 end
  local function draw(d)
    local m = pool[d:weighted("model", pick)]
    local tau = m.seconds / o.slot_seconds
    return {
      name = m.name,
      epochs = math.max(1, math.floor(d:real("work", work) * o.load / (tau * m.batches) + 0.5)),
      samples = m.batches, batch = d:whole("batch", batch), tau = tau, bytes = m.bytes,
      ratio = d:real("ratio", ratio), across = m.across * o.slot_seconds,
      inside = m.inside * o.slot_seconds, worker = { m.gpu, 2, 0, 0 }, server = { 0, 2, 0, 0 },
    }
  end
  return draw
end

-- ---- machines -----------------------------------------------------------------------------------

-- Room for so many workers or servers of mean demand; only workers have GPUs.
local function mean_machine(ranges, room)
  local out = {}
  for r = 1, #RESOURCES do
    local worker, server = ranges[1][r], ranges[2][r]
    local w, s = (worker[1] + worker[2]) / 2, (server[1] + server[2]) / 2
    out[r] = room * (s > 0 and (w + s) / 2 or w)
  end
  return out
end

local function capacity(given, ranges)
  local machine, out = given.machine, {}
  if machine == nil then machine = ranges and "default" or "realistic" end
  if machine == "default" and ranges then return mean_machine(ranges, given.room or 18) end
  if type(machine) == "string" then
    if not MACHINES[machine] then
      options.fail("%s: machine: no '%s' here (there are %s)", FN, machine,
        ranges and "default, realistic" or "realistic")
    end
    machine = MACHINES[machine]
  end
  options.check(FN .. ": machine", machine, RESOURCES)
  for r, name in ipairs(RESOURCES) do
    local x = machine[name] or 0
    options.refuse(type(x) ~= "number" or not (x >= 0 and x < math.huge),
      "%s: machine.%s: expected a number of at least 0, got %s", FN, name, tostring(x))
    out[r] = x
  end
  return out
end

-- ---- problems -----------------------------------------------------------------------------------

local function by_arrival(arrivals)
  local order = sort.ids(#arrivals)
  sort.rising(order, arrivals)
  return order
end

local function draw_jobs(given, o, draw)
  local d, ranges = draws.new(FN, o.seed), utility_ranges(given)
  local weight, drawn, arrivals, jobs = arrival_weights(given, o.slots), {}, {}, {}
  for j = 1, o.jobs do
    local job = draw(d)
    add_utility(job, d, ranges)
    job.arrival, job.moving = d:weighted("arrival", weight) - 1, o.moving
    drawn[j], arrivals[j] = job, job.arrival
  end
  for k, j in ipairs(by_arrival(arrivals)) do jobs[k] = drawn[j] end
  return jobs
end

--- Draws a problem: the same one, byte for byte, for the same options. Each field has a random
-- stream of its own.
--
-- "default": the synthetic jobs of PD-ORS and OASiS as far as they are known. "realistic": eight
-- models as measured, docs/pdors.md.
-- @tparam[opt] string kind "default" or "realistic"
-- @tparam[opt] table given as declared above
-- @treturn table jobs, cluster: for berth.pdors.problem
-- @usage p = berth.pdors.generate("default", { jobs = 100, machines = 100, slots = 80, seed = 1 })
local function generate(kind, given)
  if type(kind) == "table" and given == nil then kind, given = nil, kind end
  kind = kind or "default"
  if kind ~= "default" and kind ~= "realistic" then
    options.fail("%s: no '%s' (there are default, realistic)", FN,
      type(kind) == "string" and kind or core.kind(kind))
  end
  given = options.read(FN, "pdors.generate", given, kind)
  local o = { seed = given.seed or 0, jobs = given.jobs or 100,
    machines = given.machines or (kind == "default" and 100 or 20), slots = given.slots or 100,
    slot_seconds = given.slot_seconds or 1200, load = given.load or 1, moving = given.moving }
  local draw, ranges
  if kind == "default" then
    draw, ranges = default_jobs(given, o)
  else
    draw = realistic_jobs(given, o)
  end
  return {
    jobs = draw_jobs(given, o, draw),
    cluster = { machines = o.machines, slots = o.slots, slot_seconds = o.slot_seconds,
      comm = given.comm, resources = { RESOURCES[1], RESOURCES[2], RESOURCES[3], RESOURCES[4] },
      capacity = capacity(given, ranges) },
  }
end

return generate
