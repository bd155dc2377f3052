-- Accuracy of the simulator for the executor: rank correlation of simulated (after calibration) and
-- measured times over 40 placements of DOPPLER's graphs on two devices or more, and the slowdown of
-- two computing threads by each other.
-- SHOW=1 lists the placements.
-- usage: eval "$(make -s env)"; lua5.4 scripts/bench/exec.lua [MODE, default both] [REPEATS, default 7] [SECONDS, default 0.1] \
--   [DEVICES, default 2]
local berth = require "berth"

local modes = arg[1] and arg[1] ~= "both" and { arg[1] } or { "paced", "compute" }
local repeats, seconds, devices = tonumber(arg[2] or 7), tonumber(arg[3] or 0.1), tonumber(arg[4] or 2)
local data = (os.getenv("BERTH_SHARED") or "../shared") .. "/data/doppler/"
local graphs = { { "gdp_chain", "gdp_chain_mm_112nodes.txt" }, { "gdp_ffnn", "gdp_ffnn_192nodes.txt" } }

-- ---- placements ---------------------------------------------------------------------------------

-- Ops in id order, the first share of them on device 1, the rest in equal parts; or each one there with that probability.
local function split(n, share)
  local p = {}
  for i = 1, n do
    local part = math.ceil((i / n - share) / (1 - share) * (devices - 1))
    p[i] = 1 + math.max(0, math.min(devices - 1, part))
  end
  return p
end
local function drawn(n, share, seed)
  local p, rng = {}, berth.rng(seed)
  for i = 1, n do p[i] = rng:uniform() < share and 1 or 1 + rng:below(devices - 1) end
  return p
end
local function blocks(n, length, width)
  local p = {}
  for i = 1, n do p[i] = math.floor((i - 1) / length) % (width or devices) + 1 end
  return p
end

-- 40: 13 by placers, 9 regular, 18 drawn.
local function placements(g, t)
  local list, n = {}, #g
  local function add(name, p) list[#list + 1] = { name = name, p = p } end
  for _, placer in ipairs { "single", "round-robin", "metis", "m-topo", "m-etf", "m-sct", "etf", "heft", "cpop", "peft", "minmin",
    "critical-path" } do
    add(placer, assert(berth.place(g, t, placer)))
  end
  add("anneal", assert(berth.place(g, t, "anneal", { links = "duplex", seed = 1 })))
  for _, share in ipairs { 0.25, 0.5, 0.75, 0.9 } do add("first " .. share, split(n, share)) end
  for _, length in ipairs { 2, 4, 8, 16, 32 } do add("blocks of " .. length, blocks(n, length)) end
  for k = 1, 18 do
    local share = 0.5 + 0.5 * ((k - 1) % 6) / 6
    add(("drawn %.2f"):format(share), drawn(n, share, k))
  end
  return list
end

-- ---- statistics ---------------------------------------------------------------------------------

-- Ranks from 1; equal values share the mean of theirs.
local function ranks(x)
  local order, out = {}, {}
  for i = 1, #x do order[i] = i end
  table.sort(order, function(a, b) return x[a] < x[b] or x[a] == x[b] and a < b end)
  local i = 1
  while i <= #x do
    local j = i
    while j < #x and x[order[j + 1]] == x[order[i]] do j = j + 1 end
    for k = i, j do out[order[k]] = (i + j) / 2 end
    i = j + 1
  end
  return out
end

local function correlation(a, b)
  local n, ma, mb, ab, aa, bb = #a, 0, 0, 0, 0, 0
  for i = 1, n do ma, mb = ma + a[i] / n, mb + b[i] / n end
  for i = 1, n do
    ab, aa, bb = ab + (a[i] - ma) * (b[i] - mb), aa + (a[i] - ma) ^ 2, bb + (b[i] - mb) ^ 2
  end
  return ab / math.sqrt(aa * bb)
end
local function spearman(a, b) return correlation(ranks(a), ranks(b)) end

local function sorted(list)
  local out = {}
  for i, x in ipairs(list) do out[i] = x end
  table.sort(out)
  return out
end

local function median(list)
  local x = sorted(list)
  return x[math.floor((#x + 1) / 2)]
end

-- Interquartile range over the median: how much a placement's own time varies.
local function spread(list)
  local x = sorted(list)
  return (x[math.ceil(0.75 * #x)] - x[math.ceil(0.25 * #x)]) / median(list)
end

-- ---- simulated against measured -----------------------------------------------------------------

-- Times of each placement, and samples for the calibration: rounds over all of them, and some runs of the calibration in
-- each, so that other load of the machine affects all of them.
local function measure(ex, list)
  local times, samples, _ = {}, nil, nil
  for i = 1, #list do times[i] = {} end
  for round = 1, repeats do
    _, _, samples = assert(ex:calibrate { seed = 6 * round, runs = 6, repeats = 1, samples = samples })
    for i, x in ipairs(list) do
      local r = assert(ex:run(x.p))
      assert(not r.wrong, "wrong result")
      table.insert(times[i], r.makespan)
      r:close()
    end
  end
  return times, samples
end

local function simulated(ex, g, t, list)
  local out = {}
  for i, x in ipairs(list) do out[i] = assert(berth.simulate(g, t, x.p, ex.simulation)).makespan end
  return out
end

local function least(list) return sorted(list)[1] end

-- Medians against a calibration by medians, or fastest runs against one by fastest ops, which other
-- load affects less.
local function compare(name, mode, ex, g, t, list, times, samples, how)
  local calibrated, links = assert(ex:calibrate { runs = 0, samples = samples, quantile = how == "median" and 0.5 or 0 })
  local before, after = simulated(ex, g, t, list), simulated(ex, calibrated, links, list)
  local measured, errors, spreads = {}, {}, {}
  for i in ipairs(list) do
    measured[i], spreads[i] = (how == "median" and median or least)(times[i]), spread(times[i])
    errors[i] = math.abs(after[i] / measured[i] - 1)
  end
  local line = "%-9s %-7s %-7s of %d runs, %d placements on %d devices: Spearman %.3f (%.3f by the costs as given), error "
    .. "%.1f %%, spread %.1f %%"
  print(line:format(name, mode, how, repeats, #list, devices, spearman(after, measured), spearman(before, measured),
    100 * median(errors), 100 * median(spreads)))
  for i, x in ipairs(os.getenv("SHOW") and list or {}) do
    print(("  %-16s simulated %8.2f ms, measured %8.2f ms, spread %4.1f %%"):format(x.name, after[i] * 1e3, measured[i] * 1e3,
      spreads[i] * 100))
  end
end

local function judge(name, file, mode)
  local g = assert(berth.load(data .. file))
  local t = berth.topology.mesh(devices, { bandwidth = 1 })
  local ex = assert(berth.executor(g, t, { mode = mode, seconds = seconds }))
  local list = placements(g, t)
  local times, samples = measure(ex, list)
  for _, how in ipairs { "median", "fastest" } do compare(name, mode, ex, g, t, list, times, samples, how) end
  ex:close()
end

-- ---- contention ---------------------------------------------------------------------------------

-- Two chains of products: on one device, and one on each of two. Time of an op, apart over
-- together.
local function contention()
  local ops, edges = {}, {}
  for i = 1, 16 do
    ops[i] = { kind = "matmul", seconds = 1 }
    if i > 2 then edges[#edges + 1] = { i - 2, i, 8 } end
  end
  local g = berth.graph { ops = ops, edges = edges }
  local t = berth.topology.mesh(2, { bandwidth = "1 TB/s" })
  local ex = assert(berth.executor(g, t, { seconds = 0.2 }))
  local function op_time(p)
    local all = {}
    for _ = 1, repeats do
      local r = assert(ex:run(p))
      for i = 1, #ops do all[#all + 1] = r.finish[i] - r.start[i] end
    end
    return median(all), assert(ex:run(p, { repeats = repeats })).makespan
  end
  local alone, one = op_time(blocks(16, 16, 2))
  local both, two = op_time(blocks(16, 1, 2))
  local line = "contention: a product takes %.2f ms alone, %.2f ms beside another (%.2f times); 16 of them %.1f ms on one "
    .. "device, %.1f ms on two"
  print(line:format(alone * 1e3, both * 1e3, both / alone, one * 1e3, two * 1e3))
  ex:close()
end

contention()
for _, mode in ipairs(modes) do
  for _, x in ipairs(graphs) do judge(x[1], x[2], mode) end
end
