-- The default answer, the best known and the bound on ten pairs of a training graph and a topology,
-- duplex links.
-- usage: eval "$(make -s env)"; lua5.4 scripts/bench/default_pairs.lua [place|bound] [PAIR...]
--   place: no thorough bound; bound: no placement (default: both). PAIR: numbers, default all
-- Columns: step time of berth.place(g, t, nil, { links = "duplex" }) with its CPU seconds; the
-- shortest step time known; the thorough bound with its CPU seconds; ratio: default over best known;
-- gap: default over the bound; known gap: best known over it.
-- The last row: the geometric mean of the ratio, the arithmetic means of the gaps, sums of seconds.
local berth = require "berth"
local topology = berth.topology

local function v100(n, bandwidth)
  return function()
    return topology.mesh(n, { preset = "V100", bandwidth = bandwidth or "25 GB/s", latency = "5 us" })
  end
end

local function a100(n)
  return function()
    return topology.mesh(n, { preset = "A100", flops = "312 TFLOP/s", bandwidth = "600 GB/s",
      latency = "5 us" })
  end
end

local function dgx1() return topology.dgx1 { preset = "V100", bandwidth = "25 GB/s", latency = "5 us" } end

-- Model, options, devices, topology, best known in ms.
local PAIRS = {
  { "llama-7b", { batch = 1 }, "4 A100", a100(4), 188.95 },
  { "llama-7b", { batch = 1 }, "8 A100", a100(8), 188.6 },
  { "bert-large", { batch = 64 }, "4 A100", a100(4), 65.9 },
  { "resnet50", { batch = 64 }, "4 V100", v100(4), 116.4 },
  { "inception_v3", { batch = 64 }, "4 V100", v100(4), 128.8 },
  { "gnmt", { batch = 64 }, "4 V100", v100(4), 81.4 },
  { "gnmt", { batch = 64 }, "8 V100, 10 GB/s", v100(8, "10 GB/s"), 91.1 },
  { "transformer", { batch = 64 }, "4 V100", v100(4), 168.5 },
  { "vgg16", { batch = 64 }, "4 V100", v100(4), 295.1 },
  { "bert-base", { batch = 32 }, "DGX-1", dgx1, 107.6 },
}

local want = { place = true, bound = true }
local chosen = {}
for _, word in ipairs(arg) do
  if word == "place" then want.bound = false
  elseif word == "bound" then want.place = false
  else chosen[#chosen + 1] = assert(PAIRS[tonumber(word)], "no pair " .. word) end
end

local function timed(f, ...)
  local from = os.clock()
  local answer = assert(f(...))
  return answer, os.clock() - from
end

local function text(format, x) return x == x and format:format(x) or "-" end

local sums = { n = 0, ratio = 0, gap = 0, known = 0, placing = 0, bounding = 0 }

local function add(row)
  sums.n = sums.n + 1
  for _, key in ipairs { "gap", "known", "placing", "bounding" } do sums[key] = sums[key] + row[key] end
  sums.ratio = sums.ratio + math.log(row.ratio)
end

local function line(name, devices, ops, row)
  print(("| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |"):format(name, devices, ops,
    text("%.2f", row.default), text("%.2f", row.placing), text("%.2f", row.best), text("%.2f", row.bound), row.by,
    text("%.2f", row.bounding), text("%.3f", row.ratio), text("%.1f %%", 100 * row.gap), text("%.1f %%", 100 * row.known)))
  io.flush()
end

local function measure(pair)
  local model, options, devices, make, best = pair[1], pair[2], pair[3], pair[4], pair[5]
  local g, t = assert(berth.models.build(model, options)), make()
  local nan = 0 / 0
  local row = { default = nan, placing = nan, best = best, bound = nan, by = "-", bounding = nan }
  if want.place then
    local p
    p, row.placing = timed(berth.place, g, t, nil, { links = "duplex" })
    row.default = 1000 * assert(berth.simulate(g, t, p, { links = "duplex", bound = false })).makespan
  end
  if want.bound then
    local b
    b, row.bounding = timed(berth.bounds, g, t, { thorough = true, links = "duplex" })
    row.bound, row.by = 1000 * b.best, b.name
  end
  row.ratio, row.gap, row.known = row.default / best, row.default / row.bound - 1, best / row.bound - 1
  add(row)
  line(model, devices, #g, row)
end

print("| model | devices | ops | default, ms | CPU s | best known, ms | bound, ms | by | CPU s | ratio | gap | known gap |")
print("|---|---|---|---|---|---|---|---|---|---|---|---|")
for _, pair in ipairs(#chosen > 0 and chosen or PAIRS) do measure(pair) end
line("mean", "", "", { default = 0 / 0, placing = sums.placing, best = 0 / 0, bound = 0 / 0, by = "", bounding = sums.bounding,
  ratio = math.exp(sums.ratio / sums.n), gap = sums.gap / sums.n, known = sums.known / sums.n })
