-- Tables of measured kernels and collectives against berth.kernels, by class.
local berth = require "berth"
local csv = require "llm.csv"
local errors = require "llm.errors"

local kernels = {}

-- "a100_sxm_gemm.csv" -> "A100"
local function gpu_of(name)
  local chip, board = name:upper():match "^(%a+%d+)_(%a+)_"
  return board == "PCIE" and chip .. "-PCIe" or chip
end

-- ---- products -----------------------------------------------------------------------------------

local ARITHMETIC = { bfloat16 = "bf16", float16 = "fp16", fp8 = "fp8" }

local function product_class(m, n, k)
  if n < 512 or k < 512 then return "n-or-k<512" end
  return m >= 1024 and "m>=1024" or m >= 128 and "128<=m<1024" or "m<128"
end

local CLASSES = { "m>=1024", "128<=m<1024", "m<128", "n-or-k<512" }

-- The part of a class, made at its first row; order: parts in the order in which they are to be.
local function part_of(parts, name)
  if not parts[name] then
    parts[name] = errors.part(name, 0)
    parts[#parts + 1] = parts[name]
  end
  parts[name].rows = parts[name].rows + 1
  return parts[name]
end

-- Parts with these suffixes first, in their order.
local function sorted(parts, suffixes)
  local out = {}
  for _, suffix in ipairs(suffixes) do
    for _, part in ipairs(parts) do
      if part.name:sub(-#suffix - 1) == ":" .. suffix then out[#out + 1] = part end
    end
  end
  return out
end

local function gemm(name, rows)
  local by, parts, gpu = {}, {}, gpu_of(name)
  for _, r in ipairs(rows) do
    local m, n, k = tonumber(r.m), tonumber(r.n), tonumber(r.k)
    local part = part_of(parts, ("kernels/%s:%s:%s"):format(name, r.gemm_dtype,
      product_class(m, n, k)))
    local dtype = ARITHMETIC[r.gemm_dtype]
    if dtype then
      -- the FP8 rows make their activations FP8 by a kernel of their own
      by[dtype] = by[dtype] or berth.kernels(gpu, dtype, { quantise = dtype == "fp8" })
      errors.add(part, ("%d x %d x %d"):format(m, n, k), by[dtype]:gemm(m, n, k),
        tonumber(r.latency_ms) * 1e-3)
    else
      errors.leave(part, "arithmetic " .. r.gemm_dtype)
    end
  end
  return sorted(parts, CLASSES)
end

-- ---- attention ----------------------------------------------------------------------------------

-- Two rows of a shape, which differ in a setting that was dropped: the slower from 1,024 tokens on,
-- the faster below.
local function paired(rows)
  local by, list = {}, {}
  for _, r in ipairs(rows) do
    local key = table.concat({ r.batch, r.seq, r.heads, r.kv_heads, r.head_dim, r.window,
      r.attn_dtype }, " ")
    local seconds, old = tonumber(r.latency_ms) * 1e-3, by[key]
    if old then
      old.count = old.count + 1
      old.seconds = (tonumber(r.seq) >= 1024 and math.max or math.min)(old.seconds, seconds)
    else
      by[key] = { row = r, seconds = seconds, count = 1, key = key }
      list[#list + 1] = by[key]
    end
  end
  return list
end

local function add_attention(part, k, shape)
  local r = shape.row
  part.rows = part.rows + shape.count - 1
  if shape.count > 1 then errors.leave(part, "further rows of a shape", shape.count - 1) end
  if r.attn_dtype ~= "bfloat16" and r.attn_dtype ~= "float16" then
    return errors.leave(part, "arithmetic " .. r.attn_dtype)
  end
  local window = tonumber(r.window)
  errors.add(part, shape.key, k:attention { batch = tonumber(r.batch), seq = tonumber(r.seq),
    heads = tonumber(r.heads), kv_heads = tonumber(r.kv_heads), head_size = tonumber(r.head_dim),
    window = window and window > 0 and window or nil }, shape.seconds)
end

local function attention(name, rows)
  local parts, k = {}, berth.kernels(gpu_of(name))
  for _, shape in ipairs(paired(rows)) do
    local long = tonumber(shape.row.seq) >= 512
    add_attention(part_of(parts, ("kernels/%s:%s"):format(name, long and "s>=512" or "s<512")), k,
      shape)
    if long and shape.row.head_dim == "128" then
      add_attention(part_of(parts, ("kernels/%s:s>=512,head=128"):format(name)), k, shape)
    end
  end
  return sorted(parts, { "s>=512", "s>=512,head=128", "s<512" })
end

-- ---- collectives --------------------------------------------------------------------------------

local KINDS = { all_reduce = "allreduce", all_gather = "allgather",
  reduce_scatter = "reducescatter", alltoall = "alltoall" }
local BYTES = { half = 2, int8 = 1, bfloat16 = 2, float = 4 }

-- Sizes are elements of the whole buffer.
local function collectives(name, rows)
  local part, k = errors.part("kernels/" .. name, #rows), berth.kernels(gpu_of(name))
  for _, r in ipairs(rows) do
    local kind, each = KINDS[r.op_name], BYTES[r.nccl_dtype]
    if kind and each then
      local bytes, gpus = tonumber(r.message_size) * each, tonumber(r.num_gpus)
      errors.add(part, ("%s %d GPUs %.0f bytes"):format(kind, gpus, bytes),
        k:collective(kind, bytes, gpus), tonumber(r.latency) * 1e-3)
    else
      errors.leave(part, ("%s of %s"):format(r.op_name, r.nccl_dtype))
    end
  end
  return { part }
end

local function ring(name, rows)
  local part, k = errors.part("kernels/" .. name, #rows), berth.kernels "A100"
  for _, r in ipairs(rows) do
    if r.gpu == "a100" then
      local bytes, gpus = tonumber(r.bytes), tonumber(r.n_gpus)
      errors.add(part, ("allreduce %d GPUs %.0f bytes"):format(gpus, bytes),
        k:collective("allreduce", bytes, gpus), tonumber(r.allreduce_ns) * 1e-9)
    else
      errors.leave(part, r.gpu .. ": a mesh of links, for which there are no constants")
    end
  end
  return { part }
end

-- ---- across machines ----------------------------------------------------------------------------

local NIC = 388e9 -- bytes/s of a machine: 8 of 400 Gbit/s, at 48.5 GB/s each

-- Share of the bus bandwidth that a collective of machines of 8 H100 has: rings share all NICs, of
-- an all-to-all each GPU has its own.
local function share(k, kind, bytes, machines)
  local gpus = 8 * machines
  local sent = bytes * (gpus - 1) / gpus * (kind == "allreduce" and 2 or 1)
  return sent / k:collective(kind, bytes, gpus, machines, NIC)
    / (kind == "allreduce" and NIC or NIC / 8)
end

-- Columns in order of machines, then the others in order of names.
local function columns_of(rows)
  local out = {}
  for key in pairs(rows[1] or {}) do
    if key ~= "Size" and key ~= "csv_line" then out[#out + 1] = key end
  end
  table.sort(out)
  return out
end

local function shares(name, kind, rows)
  local part, k = errors.part(name, 0), berth.kernels "H100"
  for _, r in ipairs(rows) do
    for _, column in ipairs(columns_of(rows)) do
      local machines, measured = tonumber(column:match "^(%d+) ?Node"), tonumber(r[column])
      if measured then
        part.rows = part.rows + 1
        if not machines then errors.leave(part, "columns Multi: no description")
        elseif machines == 1 then errors.leave(part, "one machine: its GPU is not given")
        elseif not kind then errors.leave(part, "share of NVLink with several machines")
        else
          errors.add(part, ("%s %d machines %s bytes"):format(kind, machines, r.Size),
            share(k, kind, tonumber(r.Size), machines), measured)
        end
      end
    end
  end
  return { part }
end

-- ---- all of them --------------------------------------------------------------------------------

local FORMS = { { "_gemm%.csv$", gemm }, { "_attention%.csv$", attention },
  { "_comm%.csv$", collectives }, { "^allreduce_a100_v100%.csv$", ring } }
local SHARES = { { "simai_busbw_ratio_nic.csv", "allreduce" },
  { "simai_busbw_ratio_ata.csv", "alltoall" }, { "simai_busbw_ratio_nvlink.csv", nil } }

-- Names in `dir`/kernels, without .gz, sorted.
local function names_in(dir)
  local out = {}
  local quoted = "'" .. dir:gsub("'", "'\\''") .. "'"
  local ls = assert(io.popen(("ls %s/kernels 2> /dev/null"):format(quoted)))
  for name in ls:lines() do out[#out + 1] = (name:gsub("%.gz$", "")) end
  ls:close()
  table.sort(out)
  return out
end

local function form_of(name)
  for _, form in ipairs(FORMS) do
    if name:find(form[1]) then return form[2] end
  end
  return nil
end

-- Parts of a table; nil and why: no such table, or of a GPU that has no data sheet.
local function parts_of(dir, name)
  local form = form_of(name)
  if not form then return nil, "no known table" end
  local fine, parts = pcall(form, name, csv.read(dir .. "/kernels", name))
  if not fine then return nil, (tostring(parts):gsub("^%S+:%d+: ", "")) end
  return parts
end

--- Parts of all tables in `dir`, and names of those that are not there or cannot be read.
function kernels.parts(dir)
  local out, missing = {}, {}
  local function add(parts)
    for _, part in ipairs(parts) do out[#out + 1] = part end
  end
  for _, name in ipairs(names_in(dir)) do
    local parts, why = parts_of(dir, name)
    if parts then add(parts)
    else missing[#missing + 1] = ("kernels/%s (%s)"):format(name, why) end
  end
  if #out == 0 then missing[#missing + 1] = "kernels" end
  for _, x in ipairs(SHARES) do
    local rows = csv.read(dir, x[1])
    if rows then add(shares(x[1], x[2], rows)) else missing[#missing + 1] = x[1] end
  end
  return out, missing
end

return kernels
