-- Measured memory against berth.llm.memory.
local berth = require "berth"
local errors = require "llm.errors"

local memory = {}

-- ---- figures that are formulas ------------------------------------------------------------------

local function layer(model, row, changes)
  local p = {}
  for key, value in pairs(row.plan) do p[key] = value end
  for key, value in pairs(changes or {}) do p[key] = value end
  return (berth.llm.layer_memory(model, berth.llm.cluster(row.cluster), p))
end

-- Matrices of all layers, at the bytes that weights, gradients and states of one GPU have for each
-- parameter of the model; vectors and tables are left out, as in the figure.
local function states(model, row)
  local matrices, bytes = 0, 0
  for _, w in ipairs(model.kinds[1].weights) do
    if w.rows > 1 then matrices = matrices + w.parameters end
  end
  local whole = assert(berth.llm.memory(model, "1xA100", { zero = 0 }))[1]
  for _, key in ipairs { "weights", "gradients", "optimizer" } do bytes = bytes + whole[key] end
  local p = row.plan
  return bytes / model.parameters * matrices * model.layers / p.tp / p.pp
end

local function activations(model, row)
  local stage = assert(berth.llm.memory(model, row.cluster, row.plan))[1]
  return stage.in_flight * layer(model, row)
end

-- Of a layer with tensor parallelism alone.
local function share(model, row)
  return layer(model, row) / layer(model, row, { sequence_parallel = "off", recompute = "none" })
end

local FIGURES = { states = states, activations = activations, share = share }

-- ---- rows ---------------------------------------------------------------------------------------

local function of(row)
  local model = assert(berth.llm.model(row.model))
  if row.of then return FIGURES[row.of](model, row) end
  local m = assert(berth.llm.memory(model, row.cluster, row.plan))
  local worst = m[m.worst]
  local bytes = row.ends and math.max(m[1].total, m[#m].total) or worst.total
  return bytes, worst.total / worst.limit
end

--- Bytes of the GPU that the row is about, and the largest share of a GPU's memory; nil and why
-- where the plan is refused.
function memory.of(row)
  local fine, bytes, share_of_limit = pcall(of, row)
  if not fine then return nil, (tostring(bytes):gsub("^%S+:%d+: ", "")) end
  return bytes, share_of_limit
end

local function label(row)
  return ("line %d %s %s"):format(row.line, row.group.model, row.group.text or row.group.way or
    ("tp %d pp %d mbs %d"):format(row.plan.tp, row.plan.pp, row.plan.micro_batch))
end

-- Parts of a file beside the whole: suffix, and which rows.
local function plain(r) return r.group.model == "8B" and r.plan.recompute == "selective" end
local PARTS = { ["torchtitan_h100.csv"] = { { ":8B-selective", plain },
  { ":others", function(r) return not plain(r) end } } }

local function part_of(file, suffix, takes)
  local part = errors.part(file.name .. suffix .. " memory", suffix == "" and file.total or 0)
  for _, row in ipairs(file.rows) do
    if takes(row) then
      if suffix ~= "" then part.rows = part.rows + 1 end
      local bytes, why = nil, row.no_memory
      if row.memory then bytes, why = memory.of(row) end
      if bytes then errors.add(part, label(row), bytes, row.memory) else errors.leave(part, why) end
    end
  end
  for why, count in pairs(suffix == "" and file.left or {}) do errors.leave(part, why, count) end
  return part
end

--- Parts of a file; none where no row has memory.
function memory.parts(file)
  local any = false
  for _, row in ipairs(file.rows) do any = any or row.memory ~= nil end
  if not any then return {} end
  local out = { part_of(file, "", function() return true end) }
  for _, x in ipairs(PARTS[file.name] or {}) do out[#out + 1] = part_of(file, x[1], x[2]) end
  return out
end

--- Of the rows that ran, and of those that ran out of memory: how many there are, how many are said
-- to fit, and the least and largest share of a GPU's memory, %.
function memory.limits(file)
  local out = {}
  for _, what in ipairs { "ran", "out-of-memory" } do
    local x = { name = file.name, what = what, rows = 0, fit = 0, least = math.huge, most = 0 }
    for _, row in ipairs(file.rows) do
      local takes = row.measured
      if what == "out-of-memory" then takes = row.group.oom end
      local bytes, part
      if takes then bytes, part = memory.of(row) end
      if bytes then
        x.rows, x.fit = x.rows + 1, x.fit + (part <= 1 and 1 or 0)
        x.least, x.most = math.min(x.least, 100 * part), math.max(x.most, 100 * part)
      end
    end
    if x.rows > 0 then out[#out + 1] = x end
  end
  return out
end

function memory.limit_line(x)
  return ("%s %s rows %d fit %d least %.1f most %.1f"):format(x.name, x.what, x.rows, x.fit,
    x.least, x.most)
end

return memory
