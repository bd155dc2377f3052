-- Memory of figures 1 and 7 of Korthikanti et al. 2022, which are formulas, not measurements.
local figures = {}

-- Heads, width, layers, tp, pp, chunks of a stage, micro-batch.
local GPT = {
  ["22B"] = { 64, 6144, 48, 8, 1, 1, 4 }, ["175B"] = { 96, 12288, 96, 8, 8, 3, 1 },
  ["530B"] = { 128, 20480, 105, 8, 35, 3, 1 }, ["1T"] = { 160, 25600, 128, 8, 64, 1, 1 },
}
local SEQ, GIB = 2048, 2 ^ 30
-- none: as with tensor parallelism alone
local WAYS = { none = {}, seqpar = { sequence_parallel = "on" },
  selective = { recompute = "selective" }, full = { recompute = "full" },
  seqpar_selective = { sequence_parallel = "on", recompute = "selective" } }

local function shape_of(name)
  local key = name:upper():match "([%d.]+[BT])"
  return key and GPT[key] or GPT[key == "1000B" and "1T" or ""]
end

local function row(r, shape, way, measured, of)
  local g, changes = shape, WAYS[way]
  return { cluster = { gpu = "A100", gpus = g[4] * g[5] }, memory = measured, of = of,
    model = { layers = g[3], hidden = g[2], heads = g[1], vocab = 51200, positions = SEQ,
      gated = false, tied = true, qkv_bias = true, out_bias = true, mlp_bias = true,
      norm_bias = true },
    plan = { framework = "megatron", tp = g[4], pp = g[5], vp = g[6], dp = 1, micro_batch = g[7],
      global_batch = 8 * g[5] * g[7], seq = SEQ, zero = 0, flash = false, dropout = true,
      sequence_parallel = changes.sequence_parallel or "off",
      recompute = changes.recompute or "none" },
    no_time = "memory alone", group = { gpu = "A100", model = r.model, way = way } }
end

-- A row for each column that the figure has; of: what the memory is of.
local function expander(columns)
  return function(r)
    local out = {}
    for _, c in ipairs(columns) do
      if tonumber(r[c[1]]) then
        out[#out + 1] = { model = r.model, way = c[2], of = c[3], value = r[c[1]],
          csv_line = r.csv_line }
      end
    end
    return out
  end
end

local function reader(unit)
  return function(r)
    local shape = shape_of(r.model)
    if not shape then return nil, "model " .. r.model end
    return row(r, shape, r.way, tonumber(r.value) * unit, r.of)
  end
end

figures.bytes = { formulas = true, name = "korthikanti2022_memory_fig1_GiB.csv", read = reader(GIB),
  expand = expander { { "params_and_optimizer_GiB", "none", "states" },
    { "activations_none_GiB", "none", "activations" },
    { "activations_seqpar_selective_GiB", "seqpar_selective", "activations" } } }

figures.shares = { formulas = true, name = "korthikanti2022_activation_memory_fig7_percent.csv",
  read = reader(0.01), expand = expander { { "seqpar", "seqpar", "share" },
    { "selective", "selective", "share" }, { "seqpar_selective", "seqpar_selective", "share" },
    { "full", "full", "share" } } }

return figures
