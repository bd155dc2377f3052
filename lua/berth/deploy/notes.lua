--- Notes of an answer on its graph: what may be a mistake.
local notes = {}

local MOST = 3 -- names in a note

local function listed(list)
  if #list <= MOST then return table.concat(list, ", ") end
  return ("%s and %.0f more"):format(table.concat(list, ", ", 1, MOST), #list - MOST)
end

local function name_of(op)
  return op.name and op.name ~= "" and op.name or ("op %.0f"):format(op.id)
end

-- How many ops each colocation group has.
local function group_sizes(graph)
  local n = {}
  for op in graph:ops() do
    if op.group then n[op.group] = (n[op.group] or 0) + 1 end
  end
  return n
end

-- Ops that read a tensor which is neither a gradient nor a control dependency, or that other ops
-- reads.
local function tied_by_tensors(d)
  local tied, gradient = {}, d.analysis.gradient
  for t in d.graph:tensors() do
    if #t.to > 0 then tied[t.from] = true end
    for _, to in ipairs(t.to) do tied[to] = tied[to] or t.bytes > 0 and not gradient[t.id] end
  end
  return tied
end

local function untied_updates(d)
  local role, tied, size, out = d.analysis.role, tied_by_tensors(d), group_sizes(d.graph), {}
  for op in d.graph:ops() do
    local is_update = role[op.id] == "update" or role[op.id] == "scatter"
    if is_update and not tied[op.id] and (op.group == nil or size[op.group] == 1) then
      out[#out + 1] = name_of(op)
    end
  end
  return out
end

local function of_untied(d, out)
  local list = untied_updates(d)
  if #list == 0 then return end
  out[#out + 1] = #list == 1
    and ("update %s is tied to no op that holds parameters: its replicas would not get new "
      .. "weights; give both a colocation group")
      :format(list[1])
    or ("%.0f updates are tied to no op that holds parameters (%s): replicas would not get new "
      .. "weights; give each a colocation "
      .. "group with its op"):format(#list, listed(list))
end

local function of_unknown(d, out)
  local kinds, none = {}, false
  for _, kind in ipairs(d.analysis.unknown) do
    if kind == "" then none = true else kinds[#kinds + 1] = kind end
  end
  if #kinds > 0 then
    out[#out + 1] = ("%.0f kind%s no rule: %s; %s with what they read"):format(#kinds,
      #kinds == 1 and " has" or "s have",
      listed(kinds), #kinds == 1 and "its ops stay" or "they stay")
  end
  if none then out[#out + 1] = "ops without a kind have no rule; they stay with what they read" end
end

local function of_no_updates(d, out)
  local counts = d.analysis.counts
  if counts.update + counts.scatter == 0 then
    out[#out + 1] = "no op is an update: no gradient is kept in step"
  end
end

--- @tparam deploy d
-- @treturn {string,...}
function notes.of(d)
  local out = {}
  of_untied(d, out)
  of_unknown(d, out)
  of_no_updates(d, out)
  return out
end

return notes
