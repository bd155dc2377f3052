-- MPT models by PyTorch's FSDP: A100-40GB, A100-80GB, H100, 8 a machine.
local mosaic = { name = "mosaic_fsdp.csv" }

-- Width, heads, layers.
local SHAPES = { ["125m"] = { 768, 12, 12 }, ["350m"] = { 1024, 16, 24 },
  ["760m"] = { 1536, 12, 24 }, ["1b"] = { 2048, 16, 24 }, ["3b"] = { 2560, 20, 32 },
  ["7b"] = { 4096, 32, 32 }, ["13b"] = { 5120, 40, 40 }, ["30b"] = { 7168, 56, 48 },
  ["70b"] = { 8192, 64, 80 } }
local GPUS = { a100_40gb = "A100-40GB", a100_80gb = "A100", h100_80gb = "H100" }
local ZERO = { FULL_SHARD = 3, SHARD_GRAD_OP = 2, NO_SHARD = 0 }

-- Learned positions as long as the sequence. Counted parameters include all biases.
local function model_of(shape, seq)
  return { hidden = shape[1], heads = shape[2], layers = shape[3], vocab = 50368, positions = seq,
    gated = false, tied = true, qkv_bias = true, out_bias = true, mlp_bias = true,
    norm_bias = true }
end

-- The network is that of the data sheet, or what the section says.
local function cluster_of(r, gpu)
  local gbit = tonumber(r.section:match "([%d.]+) ?Gbps")
  return { gpu = gpu, gpus = tonumber(r["# GPUs"]), per_machine = 8, nics = gbit and 8,
    nic = gbit and ("%.17g GB/s"):format(gbit / 64) }
end

function mosaic.read(r)
  local shape, gpu, zero = SHAPES[r.Model], GPUS[r.GPU], ZERO[r["Sharding Strategy"]]
  if not shape then return nil, "model " .. r.Model end
  if not gpu then return nil, "GPU " .. r.GPU end
  if not zero then return nil, "sharding " .. r["Sharding Strategy"] end
  if r["Activation CPUOffload"] == "True" then return nil, "activations in the machine's memory" end
  local seq, gpus = tonumber(r["SeqLen (T)"]), tonumber(r["# GPUs"])
  local batch = tonumber(r.GlobalBatchSize)
  return { model = model_of(shape, seq), cluster = cluster_of(r, gpu),
    plan = { framework = "fsdp", zero = zero, seq = seq, micro_batch = tonumber(r.MicroBatchSize),
      global_batch = batch, dtype = r.Precision:find("fp8", 1, true) and "fp8" or "bf16",
      recompute = r["Activation Checkpointing"] == "True" and "full" or "none" },
    measured = batch * seq / (gpus * tonumber(r["Throughput (T/s/GPU)"])),
    group = { gpu = gpu, model = r.Model, mode = r["MP Mode"], precision = r.Precision,
      mfu = tonumber(r.MFU), hfu = tonumber(r.HFU), parameters = tonumber(r.NumParams),
      accumulation = tonumber(r.GradAccum), zero = zero } }
end

return mosaic
