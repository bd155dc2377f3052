--- What figures are drawn from: a run, and what its ops are called and coloured by.
local colours = require "berth.report.colours"

local facts = {}

local function label_of(op) return op.name and op.name ~= "" and op.name or ("op %.0f"):format(op.id) end

-- What an op is shown as: the pass, if the graph has a backward one, else its kind.
local function group_of(op, passes)
  if not passes then return op.kind and op.kind ~= "" and op.kind or "op" end
  return op.backward and "backward" or op.update and "update" or "forward"
end

local function read_ops(f)
  local passes = false
  f.name, f.kind, f.back = {}, {}, {}
  local ops = {}
  for op in f.graph:ops() do
    ops[op.id] = { id = op.id, kind = op.kind, backward = op.backward, update = op.update }
    f.name[op.id] = label_of(op)
    passes = passes or op.backward or op.update
  end
  f.group = {}
  for i, op in ipairs(ops) do f.group[i] = group_of(op, passes) end
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
  table.sort(list, function(a, b)
    if time[a] ~= time[b] then return time[a] > time[b] end
    return a < b
  end)
  f.class, f.legend = {}, {}
  for k, group in ipairs(list) do
    f.class[group] = colours.ranked(k)
    if k < 8 then f.legend[k] = { f.class[group], group } end
  end
  if #list == 8 then f.legend[8] = { "c8", list[8] }
  elseif #list > 8 then f.legend[8] = { "c8", ("%d other kinds"):format(#list - 7) } end
end

local function count_ops(f)
  f.n_ops = {}
  for d = 1, #f.devices do f.n_ops[d] = 0 end
  for _, d in ipairs(f.device) do f.n_ops[d] = f.n_ops[d] + 1 end
end

--- At most `most` devices, those that are most by `weight` (an array; ties to the lower id), in id order.
function facts.most(f, weight, most)
  local list = {}
  for d = 1, #f.devices do list[d] = d end
  if #list <= most then return list, 0 end
  table.sort(list, function(a, b)
    if weight[a] ~= weight[b] then return weight[a] > weight[b] end
    return a < b
  end)
  local out = {}
  for i = 1, most do out[i] = list[i] end
  table.sort(out)
  return out, #list - most
end

--- @tparam result r
-- @treturn table
function facts.of(r)
  local f = { result = r, graph = r.cost.graph, topology = r.cost.topology, makespan = r.makespan, start = r.start,
    finish = r.finish, device = r.device, transfers = r.transfers, critical = r:critical_path(), devices = {} }
  for device in f.topology:devices() do f.devices[device.id] = device end
  read_ops(f)
  rank_groups(f)
  count_ops(f)
  return f
end

return facts
