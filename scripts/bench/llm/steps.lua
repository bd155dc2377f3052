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

local function usual(row) return not (row.group.contended or row.group.unusual) end

-- Rows in a drawn order; those that are known to be far off only where there are no others.
local function drawn(rows, seed)
  local order, all, out = {}, {}, {}
  for i = 1, #rows do order[i] = i end
  for k, i in ipairs(berth.rng(seed):shuffle(order)) do
    all[k] = rows[i]
    if usual(rows[i]) then out[#out + 1] = rows[i] end
  end
  return #out > 0 and out or all
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

-- Dense models and those with experts are apart, as the parts of their file.
local KEYS = {
  gpu = function(row) return ("%s %s"):format(row.group.gpu, row.group.kind) end,
  model = function(row) return ("%s %s"):format(row.group.gpu, row.group.model) end,
}
local FROM = 2 -- rows that a factor is from

-- Months of a release "26.04.01", with tenths for its third number; 0: none.
local function months(row)
  local year, month, patch = (row.group.release or ""):match "^(%d+)%.(%d+)%.?(%d*)"
  return year and 12 * year + month + (tonumber(patch) or 0) / 10 or 0
end

-- The other rows of a list, those of the nearest releases of the software first, then those of the
-- same arithmetic, then in the order of the list.
local function nearest(row, list)
  local out = {}
  for i, x in ipairs(list) do
    if x ~= row then
      out[#out + 1] = { row = x, far = math.abs(months(x) - months(row)), place = i,
        other = x.plan.dtype == row.plan.dtype and 0 or 1 }
    end
  end
  table.sort(out, function(a, b)
    if a.far ~= b.far then return a.far < b.far end
    if a.other ~= b.other then return a.other < b.other end
    return a.place < b.place
  end)
  return out
end

-- Geometric mean of measured / estimated of the two nearest other rows; nil without another row.
local function factor_of(row, list, seconds)
  local sum, n = 0, 0
  for i, x in ipairs(nearest(row, list)) do
    if i > FROM then break end
    sum, n = sum + math.log(x.row.measured / seconds[x.row]), n + 1
  end
  return n > 0 and math.exp(sum / n) or nil
end

-- Each row by a factor from one or two others of its group; the others then have none.
local function scaled(rows, seconds, by, seed)
  local out = {}
  for _, group in ipairs(grouped(rows, KEYS[by])) do
    local list = drawn(group, seed)
    for _, row in ipairs(group) do
      local factor = factor_of(row, list, seconds)
      out[row] = factor and seconds[row] * factor
    end
  end
  return out
end

-- The user's factors from `count` rows, at most half; the rows that they were fitted to.
local function calibrated(rows, how)
  local list, chosen, taken = drawn(rows, how.seed), {}, {}
  for i = 1, math.min(how.calibrate, math.floor(#rows / 2), #list) do
    chosen[i], taken[list[i]] = list[i], true
  end
  local opts, out = { form = how.form, factors = berth.llm.calibrate(chosen) }, {}
  for _, row in ipairs(rows) do out[row] = assert(estimate(row, opts)) end
  return out, taken
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
  ["bloom_sweeps.csv"] = { { ":A100", function() return true end } }, -- without the V100 cluster
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
    if row.measured and row.measured > 0 and row.measured < math.huge then
      s, why = estimate(row, opts)
    elseif row.measured then
      why = "a time that is not above 0"
    end
    if s then
      rows[#rows + 1], seconds[row] = row, s
    else
      left[row] = why
    end
  end
  return rows, seconds, left
end

-- What the options fit: sets seconds and left.
local function fit(rows, figures, how)
  if how.scale then
    figures.seconds = scaled(rows, figures.seconds, how.scale, how.seed)
    for _, row in ipairs(rows) do
      if not figures.seconds[row] then figures.left[row] = "no other row to scale by" end
    end
    return how.scale == "gpu" and "each by a factor from 2 other rows of its GPU, seed %d"
      or "each by a factor from 2 other rows of its model and GPU, seed %d"
  end
  local taken
  figures.seconds, taken = calibrated(rows, how)
  for row in pairs(taken) do figures.left[row] = "calibrated on" end
  return "calibrated, seed %d"
end

local function part_of(file, suffix, takes, figures)
  local part = errors.part(file.name .. suffix, suffix == "" and file.total or 0)
  for _, row in ipairs(file.rows) do
    if takes(row) then
      if suffix ~= "" then part.rows = part.rows + 1 end
      if figures.left[row] then errors.leave(part, figures.left[row])
      else errors.add(part, label(row), figures.seconds[row], row.measured) end
    end
  end
  for why, n in pairs(suffix == "" and file.left or {}) do errors.leave(part, why, n) end
  part.note = figures.note
  return part
end

--- Parts of a file. how: form, seed, and calibrate (rows) or scale ("gpu", "model").
function steps.parts(file, how)
  local rows, seconds, left = estimated(file, { form = how.form })
  if #rows == 0 and not next(left) then return {} end
  local figures = { seconds = seconds, left = left }
  if #rows > 1 and (how.scale or how.calibrate) then
    figures.note = fit(rows, figures, how):format(how.seed)
  end
  local out = { part_of(file, "", function() return true end, figures) }
  for _, x in ipairs(PARTS[file.name] or {}) do
    out[#out + 1] = part_of(file, x[1], x[2], figures)
  end
  return out
end

return steps
