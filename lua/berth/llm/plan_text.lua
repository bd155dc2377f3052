--- Lines about the best plan and others, for the command and the page.
local core = require "berth.core"
local estimate = require "berth.llm.estimate"
local percent = require "berth.base.percent"

local text = {}

--- Fields of `kinds` of an answer, and what they are.
text.kinds = { { "no_pp", "no pipeline" }, { "no_tp", "no tensor parallelism" },
  { "zero_3", "ZeRO 3 alone" } }

function text.signed(x) return (x >= 0 and "+" or "") .. percent(x) end

--- "tp 4, pp 2, dp 8"
function text.split(p)
  local parts = {}
  for _, key in ipairs { "tp", "cp", "pp", "dp", "ep", "etp", "vp" } do
    if p[key] > 1 then parts[#parts + 1] = ("%s %d"):format(key, p[key]) end
  end
  return #parts > 0 and table.concat(parts, ", ") or "one GPU"
end

--- "tp 4, pp 2, dp 8; micro 2, zero 1, recompute full, zb-h1"
function text.short(p)
  return ("%s; micro %d, zero %d%s%s"):format(text.split(p), p.micro_batch, p.zero,
    p.recompute ~= "none" and ", recompute " .. p.recompute or "",
    p.schedule ~= "1f1b" and p.schedule ~= "interleaved" and ", " .. p.schedule or "")
end

local function bytes(x) return core.format(x, "bytes") end

-- The largest first; what is less than its `least` is left out.
local function shares(list)
  table.sort(list, function(a, b)
    if a[2] ~= b[2] then return a[2] > b[2] end
    return a[1] < b[1]
  end)
  local out = {}
  for _, x in ipairs(list) do
    if x[2] >= x.least then out[#out + 1] = ("%s %s"):format(x[1], x.show(x[2])) end
  end
  return table.concat(out, ", ")
end

--- "memory: stage 1 of 4 has most: 73.5 GB of 85.5 GB (86.0 %), fits: activations 26.7 GB, ..."
function text.memory(e)
  local m, parts = e.memory[e.memory.worst], {}
  for i, kind in ipairs(estimate.memory) do
    parts[i] = { kind, m[kind], least = 0.01 * m.total, show = bytes }
  end
  return tostring(e.memory):match "^[^\n]*" .. ": " .. shares(parts)
end

--- "bubble: 0.2 %; exposed communication: 9.1 %: tensor parallelism 8.5 %, ..."
function text.time(e)
  local parts = {}
  for i, kind in ipairs(estimate.communication) do
    parts[i] = { estimate.text[kind], e.time[kind] / e.step, least = 0.001, show = percent }
  end
  local list = shares(parts)
  return ("bubble: %s; exposed communication: %s%s"):format(percent(e.time.bubble / e.step),
    percent(e.exposed / e.step), list ~= "" and ": " .. list or "")
end

-- Layers by stage; nil: all have the same.
local function by_stage(memory)
  local out, alike = {}, true
  for i, s in ipairs(memory) do
    out[i], alike = ("%d"):format(s.layers), alike and s.layers == memory[1].layers
  end
  return not alike and table.concat(out, " ") or nil
end

--- "layers of each chunk: 5 5 6", "layers of each stage: 6 8 8", or that embedding and head count;
-- nil where stages have the same layers.
function text.layers(e)
  if e.plan.stages then return "layers of each chunk: " .. table.concat(e.plan.stages, " ") end
  local ends = e.plan.embedding_as_layer and "embedding and head count as layers" or nil
  local list = by_stage(e.memory)
  if not list then return ends end
  return ("layers of each stage: %s%s"):format(list, ends and "; " .. ends or "")
end

--- "bound: no plan of the space is faster than 102 s, ..."
function text.bound(r)
  return ("bound: no plan of the space is faster than %s, whatever its memory; this one is %s "
    .. "above"):format(core.format(r.bound, "seconds"), percent(r.gap))
end

return text
