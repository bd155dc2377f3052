-- Kernel times from Lua: what they say of themselves, refusals, the option form, and the errors
-- that docs/kernels.md states, on the measured rows of ../shared.
local berth = require "berth"
local errors = require "support.errors"
local shared = require "support.shared"
local raises = errors.raises

local FOLDER = "data/measured/kernels/"

describe("kernels", function()
  it("name the GPU, the arithmetic and whose constants they use", function()
    local k = berth.kernels("H100", "fp8")
    assert.equal("kernels: H100 fp8, peak 1.98 PFLOP/s, constants fitted to H100 fp8", tostring(k))
    assert.equal("H100 fp8", k.constants)
    assert.is_true(k.fitted)
    assert.matches("products, m >= 1024: %d+ rows, %d%.%d %% %(held out", k.source)
    local v100 = berth.kernels("V100", "fp16")
    assert.equal("kernels: V100 fp16, peak 125 TFLOP/s, constants of A100 bf16, not fitted to it",
      tostring(v100))
    assert.equal(80, v100.sms)
    assert.equal("bf16", berth.kernels("A100", "fp8").arithmetic) -- which the A100 lacks
    assert.equal("", berth.kernels("", "bf16",
      { flops = "1 PFLOP/s", memory_bandwidth = "3 TB/s" }).gpu)
  end)

  it("give seconds", function()
    local k = berth.kernels "A100"
    local flop = 2 * 4096 * 4096 * 4096
    assert.is_true(k:gemm(4096, 4096, 4096) > flop / k.flops)
    assert.is_true(k:gemm(4096, 4096, 4096) < 1.6 * flop / k.flops)
    local s = k:attention { seq = 2048, heads = 16, head_size = 128 }
    assert.is_true(k:attention { seq = 2048, heads = 16, head_size = 128, window = 256 } < s)
    assert.is_true(k:attention { seq = 2048, heads = 16, head_size = 128, backward = true } > 2 * s)
    assert.is_true(k:elementwise("1 GB") > 1e9 / k.memory_bandwidth)
    assert.is_true(k:work(flop, "100 MB") > flop / k.flops)
    assert.is_true(k:work(flop, "100 MB", "attention") > k:work(flop, "100 MB"))
    assert.is_true(k:p2p "1 GB" < k:p2p("1 GB", "25 GB/s"))
    local inside = k:collective("allreduce", "1 GB", 8)
    assert.is_true(inside > 2 * 7 / 8 * 1e9 / k.fabric)
    assert.is_true(k:collective("allreduce", "1 GB", 16, 2, "100 GB/s") > inside)
    local half = berth.kernels("A100", "bf16", { fabric = "150 GB/s" })
    assert.is_true(half:collective("allreduce", "1 GB", 8) > 1.9 * inside)
  end)

  it("refuse what has no time", function()
    raises("no device preset", berth.kernels, "H1000")
    raises("none of fp8, bf16", berth.kernels, "H100", "int8")
    raises("unknown option 'sm'", berth.kernels, "H100", "bf16", { sm = 1 })
    raises("needs a preset, or flops", berth.kernels, "", "bf16", { flops = 1e12 })
    local k = berth.kernels "H100"
    raises("kernels:gemm: n", k.gemm, k, 8, -1, 8)
    raises("seq: is missing", k.attention, k, {})
    raises("unknown option 'mm'", k.shape, k, { mm = 8 })
    raises("have no time", k.shape, k, {})
    raises("fewer than the 16 of its shape", berth.graph,
      { ops = { { flop = 15, shape = { m = 2, n = 2, k = 2 } } } })
    raises("kernels:collective: kind", k.collective, k, "broadcast", 8, 8)
    raises("machines", k.collective, k, "allreduce", 8, 8, 9)
    raises("nic", k.collective, k, "allreduce", 8, 8, 2)
  end)
end)

describe("a cost of form kernels", function()
  local function priced(options)
    local g = berth.models.build("llama", { layers = 1, attention = "fused", training = false })
    local t = berth.topology.mesh(2, { preset = "H100", bandwidth = "400 GB/s", latency = "2 us" })
    return assert(berth.cost(g, t, options)), g
  end

  it("prices the ops of the zoo, but those that a function wants", function()
    local roofline, g = priced { form = "roofline" }
    local kernels = priced { form = "kernels" }
    local default = priced()
    local mixed = priced { form = "kernels",
      op = function(op) return g:op(op).kind == "attention" and 1 or "built-in" end }
    local k, n = berth.kernels("H100", g.dtype), 0
    for i = 1, #g do
      local op = g:op(i)
      local s = op.shape and k:shape(op.shape, op.bytes) or k:work(op.flop, op.bytes, op.kind)
      assert.equal(s, kernels:op(i, 1))
      assert.equal(s, default:op(i, 1))
      assert.equal(op.kind == "attention" and 1 or kernels:op(i, 1), mixed:op(i, 1))
      if op.kind == "linear" then
        n = n + 1
        assert.equal(k:gemm(op.shape.m, op.shape.n, op.shape.k), s)
        assert.is_true(kernels:op(i, 1) > roofline:op(i, 1)) -- no peak is reached
      end
    end
    assert.is_true(n > 6)
    assert.equal(#g .. " ops", tostring(kernels):match "%d+ ops")
    assert.matches("form kernels$", tostring(kernels))
  end)
end)

-- Steps of ResNet-50 in FP32 that were measured with input pipeline: ../shared.
describe("whole steps of a graph", function()
  local GAVEL = "data/traces/gavel/isolated_throughputs.csv"

  local graphs = {} -- by batch: both GPUs and both forms price them

  local function errors_of(form)
    local sum, n = 0, 0
    local row = '(%a100),"ResNet%-50 %(batch size (%d+)%)",1,([%d.]+)'
    for gpu, batch, rate in shared.read(GAVEL):gmatch(row) do
      local g = graphs[batch]
        or berth.models.build("resnet50", { batch = tonumber(batch), optimizer = "momentum" })
      graphs[batch] = g
      local t = berth.topology.mesh(1, { preset = gpu:upper() })
      local r = berth.simulate(g, t, berth.place(g, t, "single"), { cost = { form = form } })
      sum, n = sum + math.abs(r.makespan * rate - 1), n + 1
    end
    assert.equal(8, n)
    return 100 * sum / n
  end

  it("are 12 % off by constants of another GPU, 45 % by the roofline", function()
    if not shared.read(GAVEL) then return pending "no ../shared" end
    assert.near(12, errors_of "kernels", 0.5)
    assert.near(44.5, errors_of "roofline", 0.5)
  end)
end)

-- Mean of |estimate / measurement - 1|, %; take(row): estimate, or nil: not of the class.
local function mape(rows, take)
  local sum, n = 0, 0
  for _, row in ipairs(rows) do
    local estimate = take(row)
    if estimate then
      sum = sum + math.abs(estimate / row.seconds - 1)
      n = n + 1
    end
  end
  assert(n > 0)
  return 100 * sum / n, n
end

-- Rows of numbers of a CSV file, gzip or not; words stay. A file is read once.
local known = {}
local function read(name)
  if known[name] then return known[name] end
  local path = shared.path(FOLDER .. name)
  local pipe = assert(io.popen(("gzip -dcf '%s'"):format(path)))
  local rows, names = {}, nil
  for line in pipe:lines() do
    local cells = {}
    for cell in (line .. ","):gmatch "(.-)," do cells[#cells + 1] = cell end
    if names then
      local row = {}
      for i, key in ipairs(names) do row[key] = tonumber(cells[i]) or cells[i] end
      row.seconds = (row.latency_ms or row.latency) * 1e-3
      rows[#rows + 1] = row
    else
      names = cells
    end
  end
  pipe:close()
  known[name] = rows
  return rows
end

local function present() return shared.read(FOLDER .. "a100_sxm_comm.csv") ~= nil end

describe("errors on measured rows", function()
  local function products(file, gpu, dtype, low, high)
    local k = berth.kernels(gpu, dtype, { quantise = dtype == "fp8" })
    return mape(read(file), function(r)
      local class = r.m >= low and r.m < high and r.n >= 512 and r.k >= 512
      return class and r.gemm_dtype == (dtype == "fp8" and "fp8" or "bfloat16")
        and k:gemm(r.m, r.n, r.k) or nil
    end)
  end

  it("of products are at most 4.5 % from m = 1024 on, 8 % from 128 on", function()
    if not present() then return pending "no ../shared" end
    local files = { { "a100_sxm_gemm.csv.gz", "A100", "bf16" },
      { "h100_sxm_gemm.csv.gz", "H100", "bf16" }, { "h100_sxm_gemm.csv.gz", "H100", "fp8" } }
    for _, f in ipairs(files) do
      assert.is_true(products(f[1], f[2], f[3], 1024, math.huge) <= 4.5)
      assert.is_true(products(f[1], f[2], f[3], 128, 1024) <= 8)
    end
  end)

  -- Two rows of a shape: the slower from 1,024 on, the faster below.
  local function shapes(file)
    local by, list = {}, {}
    for _, r in ipairs(read(file)) do
      local key = table.concat({ r.batch, r.seq, r.heads, r.kv_heads, r.head_dim }, " ")
      local old = by[key]
      if old then
        old.seconds = (r.seq >= 1024 and math.max or math.min)(old.seconds, r.seconds)
      else
        by[key], list[#list + 1] = r, r
      end
    end
    return list
  end

  local function attention(rows, gpu, head)
    local k = berth.kernels(gpu)
    return mape(rows, function(r)
      return r.seq >= 512 and (not head or head == r.head_dim)
        and k:attention { batch = r.batch, seq = r.seq, heads = r.heads, kv_heads = r.kv_heads,
          head_size = r.head_dim } or nil
    end)
  end

  it("of attention are at most 3 % on the A100, 6 % on the H100, 5 % at head 128", function()
    if not present() then return pending "no ../shared" end
    assert.is_true(attention(shapes "a100_sxm_attention.csv.gz", "A100") <= 3)
    local h100 = shapes "h100_sxm_attention.csv.gz"
    assert.is_true(attention(h100, "H100", 128) <= 5)
    assert.is_true(attention(h100, "H100") <= 6)
  end)

  it("of collectives are at most 6.5 %, also on a cluster that no constant has seen", function()
    if not present() then return pending "no ../shared" end
    local kinds = { all_reduce = "allreduce", all_gather = "allgather",
      reduce_scatter = "reducescatter", alltoall = "alltoall" }
    for gpu, file in pairs { A100 = "a100_sxm_comm.csv", H100 = "h100_sxm_comm.csv" } do
      local k = berth.kernels(gpu)
      assert.is_true(mape(read(file), function(r)
        local bytes = r.message_size * (r.nccl_dtype == "half" and 2 or 1)
        return k:collective(kinds[r.op_name], bytes, r.num_gpus)
      end) <= 6.5)
    end
    local k, rows = berth.kernels "A100", {}
    for _, r in ipairs(shared.csv(FOLDER .. "allreduce_a100_v100.csv")) do
      if r.gpu == "a100" then
        rows[#rows + 1] = { bytes = tonumber(r.bytes), n = tonumber(r.n_gpus),
          seconds = tonumber(r.allreduce_ns) * 1e-9 }
      end
    end
    assert.is_true(mape(rows, function(r) return k:collective("allreduce", r.bytes, r.n) end) <= 4)
  end)
end)
