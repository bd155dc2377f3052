--- What figures are drawn from: a run, and what its ops are called and coloured by.
-- Facts are a table of arrays by op (name, group, device, start, finish), by device (devices,
-- n_ops) and of the run (makespan, transfers, collectives, critical, legend); times in s, bytes in
-- B. Figures read it and do not change it.
local colours = require "berth.report.colours"
local sort = require "berth.base.sort"

local facts = {}

-- The name of an op, or "op 12".
local function label_of(op)
  return op.name and op.name ~= "" and op.name or ("op %.0f"):format(op.id)
end

-- What an op is shown as: the pass, if the graph has a backward one, else its kind.
local function group_of(op, passes)
  if not passes then return op.kind ~= "" and op.kind or "op" end
  if op.communication then return "communication" end
  return op.backward and "backward" or op.update and "update" or "forward"
end

-- Names and groups of all ops, and the time of each group.
local function read_ops(f)
  local passes, ops = false, {}
  f.name, f.kind, f.group, f.communication = {}, {}, {}, {}
  for op in f.graph:ops() do
    ops[op.id] = { kind = op.kind or "", backward = op.backward, update = op.update,
      communication = op.communication }
    f.communication[op.id] = op.communication
    f.name[op.id], f.kind[op.id] = label_of(op), op.kind or ""
    passes = passes or op.backward or op.update
  end
  for i, op in ipairs(ops) do f.group[i] = group_of(op, passes) end
  f.passes = passes
end

-- Passes in their own order, so that they look the same in every report. Communication that takes
-- no time stands for a collective.
local function passes_of(time)
  local out = {}
  for _, pass in ipairs { "forward", "backward", "update", "communication" } do
    local shown = time[pass] and (pass ~= "communication" or time[pass] > 0)
    if shown then out[#out + 1] = pass end
  end
  return out
end

-- Groups by time, longest first; the first seven have colours of their own.
local function rank_groups(f)
  local time, list = {}, {}
  for i, group in ipairs(f.group) do
    if not time[group] then
      time[group] = 0
      list[#list + 1] = group
    end
    time[group] = time[group] + f.finish[i] - f.start[i]
  end
  sort.falling(list, time)
  f.class, f.legend = {}, {}
  if f.passes then list = passes_of(time) end
  for k, group in ipairs(list) do
    f.class[group] = f.passes and group == "communication" and "meet" or colours.ranked(k)
    if k < 8 then
      f.legend[k] = { f.class[group], group, f.class[group] == "meet" and "bar" or nil }
    end
  end
  if #list == 8 then f.legend[8] = { "c8", list[8] }
  elseif #list > 8 then f.legend[8] = { "c8", ("%d other kinds"):format(#list - 7) } end
end

-- [devices] number of ops on each.
local function count_ops(f)
  f.n_ops = {}
  for d = 1, #f.devices do f.n_ops[d] = 0 end
  for _, d in ipairs(f.device) do f.n_ops[d] = f.n_ops[d] + 1 end
end

--- At most `most` devices, those that are most by `weight` (an array, nil: never; ties to the lower
-- id), in id order.
-- @treturn table ids
-- @treturn number how many more have a weight
-- @treturn number how many have none
function facts.most(f, weight, most)
  local list = {}
  for d = 1, #f.devices do
    if weight[d] then list[#list + 1] = d end
  end
  local idle = #f.devices - #list
  if #list <= most then return list, 0, idle end
  sort.falling(list, weight)
  local out = {}
  for i = 1, most do out[i] = list[i] end
  table.sort(out)
  return out, #list - most, idle
end

--- The busiest devices, in id order, as facts.most. Up to `idle` devices in all also count those
-- without an op, so that one sees which have nothing to do.
function facts.busiest(f, idle, most)
  local weight = {}
  for d, n in ipairs(f.n_ops) do
    if n > 0 or #f.devices <= idle then weight[d] = f.result.busy[d] end
  end
  return facts.most(f, weight, most)
end

-- The entries of a list, each once.
local function different(list)
  local out, seen = {}, {}
  for _, d in ipairs(list) do
    if not seen[d] then
      seen[d] = true
      out[#out + 1] = d
    end
  end
  return out
end

-- { kind, bytes, algorithm, start, finish, on = devices, each once }, by id.
local function read_collectives(f)
  f.collectives = {}
  if f.graph.n_collectives == 0 then return end
  for k, run in ipairs(f.result.collectives) do
    f.collectives[k] = { kind = f.graph:collective(k).kind, bytes = run.bytes,
      algorithm = run.algorithm, start = run.start, finish = run.finish,
      on = different(run.devices) }
  end
end

--- Bytes that each device sends and receives.
function facts.traffic(f)
  local bytes, sent, received = {}, {}, {}
  for tensor in f.graph:tensors() do bytes[tensor.id] = tensor.bytes end
  for d = 1, #f.devices do sent[d], received[d] = 0, 0 end
  for _, t in ipairs(f.transfers) do
    local n = bytes[t.tensor] or 0
    sent[t.from], received[t.to] = sent[t.from] + n, received[t.to] + n
  end
  return sent, received
end

--- @tparam result r
-- @treturn table
function facts.of(r)
  local f = { result = r, graph = r.cost.graph, topology = r.cost.topology, makespan = r.makespan,
    start = r.start, finish = r.finish, device = r.device, transfers = r.transfers,
    critical = r:critical_path(), devices = {} }
  for device in f.topology:devices() do f.devices[device.id] = device end
  read_ops(f)
  rank_groups(f)
  count_ops(f)
  read_collectives(f)
  return f
end

return facts
