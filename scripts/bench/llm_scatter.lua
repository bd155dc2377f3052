-- Estimated steps against measured ones by file, as SVG: docs/pictures/llm-accuracy.svg.
-- usage: llm_scatter.lua [DIR [OUT]]   DIR: default ../shared/data/measured
local berth = require "berth"
local rows = require "llm.rows"
local svg = require "berth.report.svg"

local dir = arg[1] or "../shared/data/measured"
local path = arg[2] or "docs/pictures/llm-accuracy.svg"

local FILES = {
  { "vtrain_multi_a100.csv", "vTrain, machines" },
  { "vtrain_single_a100.csv", "vTrain, one machine", every = 6 },
  { "bloom_sweeps.csv", "BLOOM's sweeps" }, { "mosaic_fsdp.csv", "MPT by FSDP" },
  { "megatron_bridge.csv", "Megatron-Bridge" }, { "torchtitan_h100.csv", "torchtitan" },
}
local SIZE, LEFT, GAP, TOP, COLUMNS = 160, 44, 56, 26, 3

-- { { measured, estimated }, ... }
local function points_of(file)
  local out = {}
  for i, r in ipairs(rows.read(dir, file[1]).rows) do
    if r.measured and i % (file.every or 1) == 0 then
      local fine, e = pcall(berth.llm.estimate, r.model, r.cluster, r.plan)
      if fine and e then out[#out + 1] = { r.measured, e.step } end
    end
  end
  return out
end

-- The decades that hold all values.
local function decades(points)
  local low, high = math.huge, -math.huge
  for _, p in ipairs(points) do
    for _, x in ipairs(p) do
      low = math.min(low, math.floor(math.log(x, 10)))
      high = math.max(high, math.ceil(math.log(x, 10)))
    end
  end
  return low, math.max(high, low + 1)
end

local function panel(out, x, y, title, points)
  local low, high = decades(points)
  local function at(value) return SIZE * (math.log(value, 10) - low) / (high - low) end
  out:print(x, y - 8, ("%s: %d rows"):format(title, #points), "small")
  out:rect(x, y, SIZE, SIZE, "lane")
  for k = low, high do
    local place, label = at(10 ^ k), ("%g s"):format(10 ^ k)
    out:line(x + place, y, x + place, y + SIZE, "rule")
    out:line(x, y + SIZE - place, x + SIZE, y + SIZE - place, "rule")
    out:print(x + place, y + SIZE + 14, label, "mid small faint")
    out:print(x - 4, y + SIZE - place + 4, label, "end small faint")
  end
  for _, factor in ipairs { 0.9, 1, 1.1 } do
    local shift = at(factor * 10 ^ low)
    out:line(x + math.max(0, -shift), y + SIZE - math.max(0, shift),
      x + SIZE - math.max(0, shift), y + math.max(0, -shift), factor == 1 and "limit" or "rule")
  end
  for _, p in ipairs(points) do out:dot(x + at(p[1]), y + SIZE - at(p[2]), "c1") end
end

local out = svg.picture { kind = "accuracy", label = "Estimated and measured steps",
  width = LEFT + COLUMNS * (SIZE + GAP),
  text = "Across: measured; up: estimated. Dashed: equal; thin beside it: 10 % off." }
for i, file in ipairs(FILES) do
  local column, row = (i - 1) % COLUMNS, math.floor((i - 1) / COLUMNS)
  panel(out, LEFT + column * (SIZE + GAP), TOP + row * (SIZE + GAP), file[2], points_of(file))
end
local bottom = TOP + math.ceil(#FILES / COLUMNS) * (SIZE + GAP) - GAP / 2
out.height = svg.notes(out, LEFT, bottom, { out.text }) + 8
local written = assert(io.open(path, "w"))
written:write(svg.document(out, true))
written:close()
