-- Measured step times against berth.llm.estimate.
local berth = require "berth"
local errors = require "llm.errors"

local steps = {}

-- ---- estimates ----------------------------------------------------------------------------------

-- Seconds, or nil and why there are none.
local function estimate(row, opts)
  local fine, e, message = pcall(berth.llm.estimate, row.model, row.cluster, row.plan, opts)
  if not fine then return nil, (tostring(e):gsub("^%S+:%d+: ", "")) end
  if not e then return nil, message end
  return e.step
end

local function label(row)
  local p, g = row.plan, row.group
  local out = { ("line %d %s %s"):format(row.line, g.model, g.gpu) }
  for _, key in ipairs { "tp", "cp", "pp", "vp", "ep" } do
    if (p[key] or 1) > 1 then out[#out + 1] = ("%s %d"):format(key, p[key]) end
  end
  out[#out + 1] = ("mbs %d of %d"):format(p.micro_batch, p.global_batch)
  for _, key in ipairs { "text", "precision", "release" } do out[#out + 1] = g[key] end
  return table.concat(out, " ")
end

-- ---- what is fitted -----------------------------------------------------------------------------

-- A drawn order of 1 .. n.
local function drawn(n, seed)
  local order = {}
  for i = 1, n do order[i] = i end
  return berth.rng(seed):shuffle(order)
end

-- Sets `used_up` of rows that a fit takes: `count` of them, at most half.
local function draw(rows, count, seed)
  local out = {}
  for i, at in ipairs(drawn(#rows, seed)) do
    if i <= math.min(count, math.floor(#rows / 2)) then out[#out + 1] = rows[at] end
  end
  return out
end

-- Rows by a key, in order of the first of each.
local function grouped(rows, key_of)
  local groups = {}
  for _, row in ipairs(rows) do
    local key = key_of(row)
    if not groups[key] then
      groups[key] = {}
      groups[#groups + 1] = groups[key]
    end
    table.insert(groups[key], row)
  end
  return groups
end

local KEYS = {
  gpu = function(row) return row.group.gpu end,
  model = function(row) return row.group.gpu .. " " .. row.group.model end,
}
local FROM = { gpu = 2, model = 1 }

-- One factor a group, from one or two of its rows (geometric mean), which then count no more.
local function scale(rows, by, seconds, seed)
  local factors, taken = {}, {}
  for _, group in ipairs(grouped(rows, KEYS[by])) do
    local count = #group > FROM[by] and FROM[by] or 1
    local sum = 0
    for i, at in ipairs(drawn(#group, seed)) do
      if i <= count then
        sum = sum + math.log(group[at].measured / seconds[group[at]])
        taken[group[at]] = true
      end
    end
    for _, row in ipairs(group) do factors[row] = math.exp(sum / count) end
  end
  return factors, taken
end

-- ---- parts --------------------------------------------------------------------------------------

local function by_gpu(gpu, fp8)
  return function(row)
    return row.group.gpu == gpu and (fp8 == nil or fp8 == (row.plan.dtype == "fp8"))
  end
end
local function dense(row) return row.group.kind == "dense" end

-- Parts of a file beside the whole: suffix, and which rows.
local PARTS = {
  ["vtrain_multi_a100.csv"] = {
    { ":uncontended", function(row) return not row.group.contended end } },
  ["mosaic_fsdp.csv"] = { { ":A100-80GB", by_gpu "A100" }, { ":A100-40GB", by_gpu "A100-40GB" },
    { ":H100-bf16", by_gpu("H100", false) }, { ":H100-fp8", by_gpu("H100", true) } },
  ["megatron_bridge.csv"] = {
    { ":dense-H100", function(row) return dense(row) and row.group.gpu == "H100" end },
    { ":dense", dense }, { ":moe", function(row) return not dense(row) end } },
}

-- Rows with a time and an estimate; seconds by row; the others counted.
local function estimated(file, opts)
  local rows, seconds, left = {}, {}, {}
  for _, row in ipairs(file.rows) do
    local s, why = nil, row.no_time
    if row.measured then s, why = estimate(row, opts) end
    if s then
      rows[#rows + 1], seconds[row] = row, s
    else
      left[row] = why
    end
  end
  return rows, seconds, left
end

-- What the options fit: seconds changed, rows that it took, and a note.
local function fitted(rows, seconds, how)
  local taken = {}
  if how.scale then
    local factors
    factors, taken = scale(rows, how.scale, seconds, how.seed)
    for _, row in ipairs(rows) do seconds[row] = seconds[row] * factors[row] end
    return taken, how.scale == "gpu" and "a factor per GPU from %d rows, seed %d"
      or "a factor per model and GPU from %d rows, seed %d"
  end
  local chosen = draw(rows, how.calibrate, how.seed)
  for _, row in ipairs(chosen) do taken[row] = true end
  local opts = { form = how.form, factors = berth.llm.calibrate(chosen) }
  for _, row in ipairs(rows) do seconds[row] = assert(estimate(row, opts)) end
  return taken, "calibrated on %d rows, seed %d"
end

local function part_of(file, suffix, takes, figures)
  local part = errors.part(file.name .. suffix, suffix == "" and file.total or 0)
  local count = 0
  for _, row in ipairs(file.rows) do
    if takes(row) then
      if suffix ~= "" then part.rows = part.rows + 1 end
      if figures.left[row] then errors.leave(part, figures.left[row])
      elseif figures.taken[row] then count = count + 1
      else errors.add(part, label(row), figures.seconds[row], row.measured) end
    end
  end
  if count > 0 then errors.leave(part, "fitted to", count) end
  for why, n in pairs(suffix == "" and file.left or {}) do errors.leave(part, why, n) end
  part.note = figures.note and figures.note:format(count, figures.seed)
  return part
end

--- Parts of a file. how: form, seed, and calibrate (rows) or scale ("gpu", "model").
function steps.parts(file, how)
  local rows, seconds, left = estimated(file, { form = how.form })
  if #rows == 0 and not next(left) then return {} end
  local figures = { seconds = seconds, left = left, taken = {}, seed = how.seed }
  if #rows > 1 and (how.scale or how.calibrate) then
    figures.taken, figures.note = fitted(rows, seconds, how)
  end
  local out = { part_of(file, "", function() return true end, figures) }
  for _, x in ipairs(PARTS[file.name] or {}) do
    out[#out + 1] = part_of(file, x[1], x[2], figures)
  end
  return out
end

return steps
