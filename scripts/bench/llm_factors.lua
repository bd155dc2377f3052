-- Fits the factors of frameworks (core/llm/step/factors.c) to measured steps, and states the errors.
-- usage: llm_factors.lua [DIR] [--write DATE]   DIR: default ../shared/data/measured
-- Each set of rows by berth.llm.calibrate with all six factors, from the start below, which rows
-- that say nothing about a factor leave as it is. Some two CPU minutes.
local berth = require "berth"
local rows = require "llm.rows"

local dir, date = "../shared/data/measured", nil
do
  local i = 1
  while arg[i] do
    if arg[i] == "--write" then date, i = assert(arg[i + 1], "--write DATE"), i + 1
    else dir = arg[i] end
    i = i + 1
  end
end

local KEYS = { "products", "attention", "elementwise", "launch", "inside", "across" }
local START = { products = 1.1, attention = 1.3, elementwise = 1.3, launch = 5e-4, inside = 1.2,
  across = 1.2 }

local function clean(r) return not r.group.contended end

local function dense(r) return r.group.kind == "dense" end

-- In the order of berth_llm_framework. every: one row of so many. shrink: more where the rows say
-- little about some factors.
local SETS = {
  { framework = "megatron", shrink = 0.1, { "megatron_bridge.csv", keep = dense,
      text = "dense models of Megatron-Bridge" } },
  { framework = "megatron-2022", shrink = 0.3, { "vtrain_multi_a100.csv", keep = clean,
      text = "GPT on A100 (vTrain), several machines, uncontended" },
    { "vtrain_single_a100.csv", every = 22, text = "one machine" } },
  { framework = "deepspeed", shrink = 0.1, { "bloom_sweeps.csv", text = "BLOOM's sweeps on A100" } },
  { framework = "fsdp", shrink = 0.1, { "mosaic_fsdp.csv", text = "MPT by FSDP on A100 and H100" } },
  { framework = "torchtitan", shrink = 0.3, start = "fsdp", { "torchtitan_h100.csv",
      text = "Llama 3.1 by torchtitan on H100" } },
}

-- Rows that can be estimated.
local function read(part)
  local out = {}
  for i, r in ipairs(rows.read(dir, part[1]).rows) do
    local wanted = r.measured and (not part.keep or part.keep(r)) and i % (part.every or 1) == 0
    if wanted and pcall(berth.llm.fill, r.model, r.cluster, r.plan) then out[#out + 1] = r end
  end
  return out
end

local function errors(list, factors)
  local out, sum = {}, 0
  for i, r in ipairs(list) do
    local e = assert(berth.llm.estimate(r.model, r.cluster, r.plan,
      { form = "closed", factors = factors }))
    out[i] = math.abs(e.step / r.measured - 1)
    sum = sum + out[i]
  end
  table.sort(out)
  return sum / #out, out[math.max(1, math.ceil(0.9 * #out))]
end

local fitted = {}

local function fit(set)
  local all, texts = {}, {}
  for _, part in ipairs(set) do
    local list = read(part)
    for _, r in ipairs(list) do all[#all + 1] = r end
    texts[#texts + 1] = ("%d rows: %s"):format(#list, part.text)
  end
  local opts = { terms = "six", calls = 900, shrink = set.shrink }
  local start = fitted[set.start] or START
  for _, key in ipairs(KEYS) do opts[key] = start[key] end
  local c = assert(berth.llm.calibrate(all, opts))
  fitted[set.framework] = c
  local mean, worst = errors(all, c)
  texts[#texts + 1] = ("%.1f %% (left out %.1f %%)"):format(100 * mean, 100 * c.left_out)
  -- errors of rows that were not fitted are more than those of the few that were
  worst = math.max(worst, 2 * c.left_out)
  return { c = c, mean = c.left_out, worst = worst, text = table.concat(texts, "; ") }
end

local lines = {}
for _, set in ipairs(SETS) do
  local f = fit(set)
  local numbers = {}
  for i, key in ipairs(KEYS) do
    numbers[i] = ("%.4g"):format(f.c[key])
    print(("%-14s %-12s %-9s between %.4g and %.4g"):format(set.framework, key, numbers[i],
      f.c.low[key], f.c.high[key]))
  end
  print(("%-14s %s; nine of ten taken to be below %.1f %%"):format(set.framework, f.text, 100 * f.worst))
  local text = f.text:gsub("; ", ";\"\n      \" ")
  lines[#lines + 1] = ("  { { %s }, /* %s */\n    { \"%s\",\n      %.3g, %.3g } },\n"):format(
    table.concat(numbers, ", "), set.framework, text, f.mean, f.worst)
end

if date then
  local path = "core/llm/step/factors.c"
  local file = assert(io.open(path, "r"))
  local text = file:read "*a"
  file:close()
  local head, tail = text:match "^(.-static const row rows%[%] = {\n).-(};\n.*)$"
  head = head:gsub("on %d+%-%d+%-%d+", "on " .. date)
  file = assert(io.open(path, "w"))
  file:write(head, table.concat(lines), tail)
  file:close()
end
