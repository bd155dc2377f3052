--- Measures what an executor's ops and links take, by running it.
local core = require "berth.core"
local options = require "berth.base.options"

-- The value below which a share q of the list lies: 0 the least, 0.5 the median.
local function quantile(list, q)
  table.sort(list)
  return list[math.max(1, math.ceil(q * #list))]
end

local function add(lists, key, value)
  local list = lists[key]
  if not list then
    list = {}
    lists[key] = list
  end
  list[#list + 1] = value
end

-- ---- runs ---------------------------------------------------------------------------------------

-- alone: one device at a time computes, as far as pins allow. busy: all of them do.
local function placements(cost, given)
  local list = {}
  for i = 1, given.runs do
    local alone = { device = (i - 1) % cost.topology.n_devices + 1 }
    local p, message, code
    if given.load == "alone" then p, message, code = core.place(cost, "single", alone)
    else p, message, code = core.place(cost, "random", { seed = given.seed + i }) end
    if not p then return nil, message, code end
    list[i] = p
  end
  return list
end

-- Nominal seconds of an op where it ran, of a transfer as it went.
local function nominal_op(ex, op, device) return ex.cost:op(op, device) * ex.scale end
local function nominal_transfer(ex, x)
  return ex.cost:transfer(x.tensor, x.from, x.to) * ex.scale
end

local function record_ops(ex, r, kernels, seen)
  local device, start, finish = r.device, r.start, r.finish
  for op = 1, #device do
    local nominal, took = nominal_op(ex, op, device[op]), finish[op] - start[op]
    add(seen.ratio, kernels[op], nominal > 0 and took / nominal or nil)
    add(seen.took, kernels[op], took)
  end
end

local function record_transfers(ex, r, bytes, path_of, seen)
  for _, x in ipairs(r.transfers) do
    local path = path_of(x.from, x.to)
    seen.sent[path] = seen.sent[path] or {}
    add(seen.sent[path], bytes[x.tensor], x.finish - x.start)
    seen.late[#seen.late + 1] = x.finish - x.start - nominal_transfer(ex, x)
  end
end

-- ---- links --------------------------------------------------------------------------------------

-- Ordered pairs with the same latency and bandwidth are one path: its name, bandwidth and latency;
-- nothing without a way.
local function paths_of(t)
  return function(from, to)
    local bandwidth, latency = t:path(from, to)
    if not bandwidth then return nil end
    return core.sprintf("%.17g %.17g", bandwidth, latency), bandwidth, latency
  end
end

-- By size. A fit needs two sizes; where there are fewer, all above the nominal time is latency.
local function fit(sent, q)
  local sizes, seconds = {}, {}
  for size in pairs(sent or {}) do sizes[#sizes + 1] = size end
  table.sort(sizes)
  for i, size in ipairs(sizes) do seconds[i] = quantile(sent[size], q) end
  if #sizes < 2 then return nil end
  -- absolute: what small transfers miss by hardly shows in a makespan
  return (core.fit_link(sizes, seconds))
end

local function measured_link(ex, sent, q, late, bandwidth, latency)
  return fit(sent, q) or { latency = math.max(0, latency * ex.scale + late),
    bandwidth = bandwidth / ex.scale }
end

-- One link for each ordered pair of devices, as its path was measured.
local function measured_topology(ex, t, path_of, seen, q)
  local late = #seen.late > 0 and quantile(seen.late, q) or 0
  local devices, links, fitted = {}, {}, {}
  for d in t:devices() do devices[#devices + 1] = d end
  for from = 1, #t do
    for to = 1, #t do
      local path, bandwidth, latency = path_of(from, to)
      if path and from ~= to then
        fitted[path] = fitted[path] or measured_link(ex, seen.sent[path], q, late, bandwidth,
          latency)
        links[#links + 1] = { from, to, latency = fitted[path].latency,
          bandwidth = fitted[path].bandwidth, directed = true }
      end
    end
  end
  return core.topology { name = t.name, devices = devices, links = links }
end

-- ---- ops ----------------------------------------------------------------------------------------

-- The types of devices in order, and the first device of each.
local function types_of(t)
  local names, first = {}, {}
  for d in t:devices() do
    if not first[d.type] then
      names[#names + 1] = d.type
      first[d.type] = d
    end
  end
  return names, first
end

-- Seconds at speed 1 on each type: the nominal time times the kernel's ratio; of ops without time,
-- what it took. A pinned op has times on its device alone.
local function op_seconds(ex, op, names, first, ratio, took)
  local list, own = {}, op.pin and ex.cost.topology:device(op.pin)
  for k, name in ipairs(names) do
    local d = own or first[name]
    local nominal = nominal_op(ex, op.id, d.id)
    list[k] = (nominal > 0 and ratio and nominal * ratio or nominal > 0 and nominal
      or took) * d.speed
  end
  return #names > 1 and list or list[1]
end

local function measured_graph(ex, g, t, kernels, seen, q)
  local names, first = types_of(t)
  local ratio, took = {}, {}
  for k, list in pairs(seen.ratio) do ratio[k] = quantile(list, q) end
  for k, list in pairs(seen.took) do took[k] = quantile(list, q) end
  local ops, tensors = {}, {}
  for op in g:ops() do
    op.seconds = op_seconds(ex, op, names, first, ratio[kernels[op.id]], took[kernels[op.id]])
    op.communication = nil -- here it was an op like others
    ops[op.id] = op
  end
  for tensor in g:tensors() do tensors[tensor.id] = tensor end
  return core.graph { name = g.name, types = #names > 1 and names or nil, ops = ops,
    tensors = tensors }
end

-- ---- all ----------------------------------------------------------------------------------------

local function tensor_bytes(g)
  local bytes = {}
  for tensor in g:tensors() do bytes[tensor.id] = tensor.bytes end
  return bytes
end

options.declare("executor:calibrate", options.join({
  { key = "load", type = "name", default = "busy",
    text = "busy: random placements, all devices computing; alone: one device at a time" },
  { key = "runs", type = "whole", default = "6", text = "placements; with samples also 0" },
  options.merge(options.by_key("executor:run").repeats, { default = "3", text = "runs of each" }),
  { key = "seed", type = "whole", default = "1", high = 2 ^ 53, text = "of the placements" },
  { key = "quantile", type = "share", default = "0.5",
    text = "of the times, 0 to 1; 0: the least, what a shared machine disturbed least" },
  { key = "samples", type = "table", default = "none",
    text = "of earlier calls, to which what is measured is added" },
}))

--- Runs the executor on some placements and takes medians: of each kernel (what it takes, by what
-- it should take), and of the transfers of each size over each path, to which latency and bandwidth
-- are fitted. Times are those under which ops run: `load = "busy"`, random placements, all devices
-- computing, or "alone", one at a time.
--
-- @tparam table ex an executor
-- @tparam[opt] table opts as declared above; with samples a calibration can be spread over the
--  time in which a machine is used
-- @treturn[1] graph with measured seconds for each type of device in the topology (devices of one
--  type are alike but for speed)
-- @treturn[1] topology with a link for each ordered pair of devices that reach each other, as
--  measured; save both to keep them
-- @treturn[1] table samples
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code
return function(ex, opts)
  local given = options.merge({ load = "busy", runs = 6, repeats = 3, seed = 1, quantile = 0.5 },
    options.read("executor:calibrate", "executor:calibrate", opts))
  options.refuse(given.load ~= "busy" and given.load ~= "alone",
    "executor:calibrate: load: expected \"busy\" or \"alone\", got %s", tostring(given.load))
  if type(given.quantile) ~= "number" or not (given.quantile >= 0 and given.quantile <= 1) then
    options.fail("executor:calibrate: quantile: %s is not from 0 to 1", tostring(given.quantile))
  end
  options.refuse(given.runs < 1 and not given.samples,
    "executor:calibrate: runs: without samples at least 1")
  local g, t = ex.cost.graph, ex.cost.topology
  local kernels, bytes, path_of = ex:kernels(), tensor_bytes(g), paths_of(t)
  local seen = given.samples or { ratio = {}, took = {}, sent = {}, late = {} }
  local list, message, code = placements(ex.cost, given)
  if not list then return nil, message, code end
  for _, p in ipairs(list) do
    for _ = 1, given.repeats do
      local r
      r, message, code = ex:run(p)
      if not r then return nil, message, code end
      record_ops(ex, r, kernels, seen)
      record_transfers(ex, r, bytes, path_of, seen)
      r:close()
    end
  end
  local graph
  graph, message, code = measured_graph(ex, g, t, kernels, seen, given.quantile)
  if not graph then return nil, message, code end
  local topology
  topology, message, code = measured_topology(ex, t, path_of, seen, given.quantile)
  if not topology then return nil, message, code end
  return graph, topology, seen
end
