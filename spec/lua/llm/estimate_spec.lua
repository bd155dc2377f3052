-- The time of a step: by hand on one GPU, by closed form and on the event loop, properties, errors.
local berth = require "berth"
local llm = berth.llm

local function near(expected, got, tolerance) assert.near(1, got / expected, tolerance or 1e-12) end

-- Factors that do not change when the shipped ones are fitted again.
local FACTORS = { products = 1.1, attention = 1.25, elementwise = 1.5, launch = 1e-6, inside = 1.2,
  across = 1.5 }

local function with(changes, base)
  local out = {}
  for key, x in pairs(base or FACTORS) do out[key] = x end
  for key, x in pairs(changes) do out[key] = x end
  return out
end

local function estimate(model, cluster, plan, changes)
  return assert(llm.estimate(model, cluster, plan, with(changes or {})))
end

local dense = llm.model { layers = 16, hidden = 2048, heads = 16, kv_heads = 4, ffn = 8192,
  vocab = 32000 }
local moe = llm.model { layers = 8, hidden = 1024, heads = 16, ffn = 4096, vocab = 32000,
  experts = 8, top = 2, expert_ffn = 1024 }

local function sum_of(e)
  local sum = 0
  for _, kind in ipairs(llm.time_kinds) do
    assert.is_true(e.time[kind] >= 0, kind)
    sum = sum + e.time[kind]
  end
  return sum
end

describe("a step of one layer on one GPU", function()
  local S, H = 2048, 1024
  local one = llm.model { layers = 1, hidden = H, heads = 8, kv_heads = 2, ffn = 4096,
    vocab = 1024 }
  local plan = { seq = S, micro_batch = 2, global_batch = 6 }
  local k = berth.kernels("H100", "bf16")
  local T = 2 * S -- tokens of a micro-batch

  -- forward, gradient of the inputs, gradient of the weights
  local function product(inputs, outputs)
    return k:gemm(T, outputs, inputs) + k:gemm(T, inputs, outputs) + k:gemm(inputs, outputs, T)
  end

  it("takes the sum of its kernels, by the factors", function()
    local e = estimate(one, "1xH100", plan)
    -- q with keys and values (8 + 2 x 2 heads of 128), output; gate with up, down; the head
    local products = product(H, 12 * 128) + product(H, H) + product(H, 2 * 4096)
      + product(4096, H) + product(H, 1024)
    near(3 * 1.1 * products, e.time.products)
    local shape = { batch = 2, seq = S, heads = 8, kv_heads = 2, head_size = 128 }
    local forward = k:attention(shape)
    shape.backward = true
    near(3 * 1.25 * (forward + k:attention(shape)), e.time.attention)
    near(1.25 * 3 * forward, estimate(one, "1xH100", with({ recompute = "selective" }, plan))
      .time.attention - e.time.attention, 1e-9)
    near(e.step, sum_of(e))
    assert.same({ 0, 0, 0, 0 }, { e.time.tp, e.time.dp, e.time.p2p, e.hidden })
    assert.is_true(e.time.bubble == 0)
  end)

  it("is priced by the data sheet where no constants were fitted", function()
    local e = estimate(one, "1xL40S", plan)
    assert.is_false(e.fitted)
    assert.is_false(e.kernels[1].fitted)
    assert.matches("borrowed: those of A?H?100 bf16, with the data sheet of L40S bf16",
      (tostring(e):gsub("those of %w+ bf16", "those of H100 bf16")))
    local fitted = estimate(one, "1xH100", plan)
    assert.is_true(fitted.fitted and fitted.kernels[1].fitted)
    assert.matches("\nkernel constants: fitted to H100 bf16\n", tostring(fitted))
    assert.is_true(e.high / e.step > fitted.high / fitted.step)
  end)

  it("is FP16's on a GPU without BF16", function()
    local half = berth.kernels("V100", "fp16")
    local products = 0
    for _, shape in ipairs { { H, 12 * 128 }, { H, H }, { H, 2 * 4096 }, { 4096, H },
      { H, 1024 } } do
      local rows, columns = shape[1], shape[2]
      products = products + half:gemm(T, columns, rows) + half:gemm(T, rows, columns)
        + half:gemm(rows, columns, T)
    end
    for _, dtype in ipairs { "bf16", "fp16" } do
      local e = estimate(one, "1xV100", with({ dtype = dtype }, plan))
      near(3 * 1.1 * products, e.time.products)
      assert.equal("fp16", e.kernels[1].arithmetic)
    end
  end)
end)

describe("an estimate", function()
  it("has the FLOP of the published formulas", function()
    local L, h, V, s, B = 24, 2304, 50257, 2048, 32
    local gpt = llm.model { layers = L, hidden = h, heads = 24, vocab = V, gated = false }
    local e = estimate(gpt, "8xA100", { seq = s, global_batch = B, recompute = "full" })
    near(72 * B * L * s * h * h * (1 + s / (6 * h) + V / (12 * h * L)), e.model_flop)
    near(96 * B * L * s * h * h * (1 + s / (6 * h) + V / (16 * h * L)), e.hardware_flop)
    near(e.model_flop / e.step / 8 / 312e12, e.mfu)
    near(e.hardware_flop / e.model_flop, e.hfu / e.mfu)
  end)

  it("relates tokens, step and GPUs", function()
    local e = estimate(dense, "16xH100", { tp = 2, pp = 2, seq = 4096, global_batch = 64 })
    near(64 * 4096, e.tokens_per_second * e.step)
    near(e.tokens_per_second, 16 * e.tokens_per_gpu)
    near(e.model_flop, e.model_flops * 16 * e.step)
    near(e.exposed, e.time.tp + e.time.p2p + e.time.dp)
    near(e.step, sum_of(e))
    assert.is_true(e.low < e.step and e.step < e.high)
    near((1 + e.worst) * e.low, e.step)
  end)

  it("takes factors one by one, or as a table, and an error for its range", function()
    local plan = { tp = 2, seq = 1024, global_batch = 16 }
    local a = estimate(dense, "8xH100", plan, { products = 2.2 })
    local b = llm.estimate(dense, "8xH100", plan, { factors = with { products = 2.2 } })
    assert.equal(a.step, b.step)
    near(2 * estimate(dense, "8xH100", plan).time.products, a.time.products)
    assert.equal(2.2, a.factors.products)
    local wide = estimate(dense, "8xH100", plan, { error = 0.5 })
    near(1.5 * wide.low, wide.step)
    near(1.5 * wide.step, wide.high)
  end)

  it("takes what a calibration gives, with its worst error as range", function()
    local plan = { tp = 2, seq = 1024, global_batch = 16 }
    local rows = {}
    for i, batch in ipairs { 16, 32, 64 } do
      local p = with({ global_batch = batch }, plan)
      rows[i] = { model = dense, cluster = "8xH100", plan = p,
        measured = 1.2 * llm.estimate(dense, "8xH100", p).step }
    end
    local factors = assert(llm.calibrate(rows))
    local e = assert(llm.estimate(dense, "8xH100", plan, { factors = factors }))
    assert.equal("fitted to: 3 steps of the caller", e.rows)
    near(1 + factors.worst, e.high / e.step, 1e-9)
    assert.is_true(e.step > llm.estimate(dense, "8xH100", plan).step)
  end)

  it("is as sure of few rows, or alike ones, as the framework's rows allow", function()
    local shipped = llm.estimate(dense, "8xH100", { tp = 2 })
    local row = { model = dense, cluster = "8xH100", plan = { tp = 2 },
      measured = 1.2 * shipped.step }
    local one, four = assert(llm.calibrate { row }), assert(llm.calibrate { row, row, row, row })
    assert.is_nil(one.left_out)
    assert.is_true(four.left_out < 0.01)
    near(shipped.worst, one.worst)
    near(shipped.worst / 2, four.worst)
    local unlike = assert(llm.calibrate { row, with({ measured = shipped.step / 2 }, row) })
    near(2.06 * unlike.left_out, unlike.worst)
  end)

  it("names a row with a wrong time", function()
    assert.error_matches(function()
      llm.calibrate { { model = dense, cluster = "8xH100", measured = -1 } }
    end, "row 1: measured: %-1 is negative")
  end)

  it("is text that names what it rests on", function()
    local text = tostring(estimate(dense, "16xH100", { tp = 2, pp = 2, global_batch = 64 }))
    for _, words in ipairs { "^step: [%d.]+ %a+; nine of ten measured ones would be within ",
        "\nspeed: [%d,]+ tokens/s, [%d,]+ of a GPU; ", ", MFU [%d.]+ %%, HFU ",
        "\nmemory: stage 1 of 2 has most: ", "\ntime of stage %d of 2, ", "\n  bubble ",
        "\nexposed communication: ", "\nfactors: products 1.1, attention 1.25, ", "launch 1 us",
        "\ngiven by the caller; for the range: nine of ten below " } do
      assert.matches(words, text)
    end
    text = tostring(llm.estimate(dense, "8xH100", { framework = "fsdp", global_batch = 8 }))
    assert.matches("\nfactors of fsdp: products ", text)
    assert.matches("\nfitted to: .*rows.*; for the range: mean error .*, nine of ten below ", text)
  end)

  it("is lower for adapters, for full fine-tuning as for pre-training", function()
    local function step(training)
      return estimate(dense, "8xH100", { training = training, seq = 2048, global_batch = 16 }).step
    end
    assert.equal(step "pretrain", step "finetune")
    assert.is_true(step "lora" < 0.9 * step "pretrain")
  end)

  it("does not grow with the bandwidth", function()
    local plans = { { tp = 4 }, { dp = 32 }, { pp = 4, vp = 2 }, { framework = "fsdp" },
      { tp = 2, cp = 2, pp = 2, overlap_grad = "off" } }
    local function cluster(link, nic)
      return llm.cluster { gpu = "H100", gpus = 32, link = link, nic = nic }
    end
    for _, model in ipairs { dense, moe } do
      for _, plan in ipairs(plans) do
        local opts = with({ global_batch = 64, seq = 2048, ep = model == moe and 2 or nil }, plan)
        local slow = estimate(model, cluster(200e9, 25e9), opts).step
        assert.is_true(estimate(model, cluster(400e9, 25e9), opts).step <= slow * (1 + 1e-12))
        assert.is_true(estimate(model, cluster(200e9, 50e9), opts).step <= slow * (1 + 1e-12))
      end
    end
  end)

  it("has the slowest GPU of each stage", function()
    local plan = { pp = 2, dp = 4, global_batch = 32, seq = 2048 }
    local mixed = estimate(dense, "4xA100+4xH100", plan)
    assert.is_true(mixed.step > 1.5 * estimate(dense, "8xH100", plan).step)
    assert.is_true(mixed.step < 1.01 * estimate(dense, "8xA100", plan).step)
    assert.equal(1, mixed.stage)
    assert.is_true(mixed.time.bubble < 0.2 * mixed.step)
    assert.same({ "A100", "H100" }, { mixed.kernels[1].gpu, mixed.kernels[2].gpu })
    assert.is_true(estimate(dense, "4xA100+4xH100",
      with({ stages = { 5, 11 } }, plan)).step < 0.85 * mixed.step)
  end)

  it("is of a topology, too", function()
    local c = llm.cluster { gpu = "H100", gpus = 8 }
    local t = c:topology()
    local plan = { tp = 2, global_batch = 16, seq = 1024 }
    near(estimate(dense, c, plan).step, estimate(dense, llm.cluster(t), plan).step, 0.02)
  end)

  it("refuses with the numbers", function()
    assert.error_matches(function() llm.estimate(dense, "8xH100", { tp = 3 }) end,
      "8 GPUs are no multiple of tp 3 x cp 1 x pp 1 = 3", 1, true)
    assert.error_matches(function() llm.estimate(dense, "8xH100", {}, { product = 2 }) end,
      "unknown option 'product'", 1, true)
    assert.error_matches(function() llm.estimate(dense, "8xH100", {}, { form = "close" }) end,
      "did you mean 'closed'", 1, true)
    assert.error_matches(function() llm.estimate(dense, "8xH100", { vp = 1,
      schedule = "interleaved" }) end, "schedule interleaved requires vp of 2 or more", 1, true)
    local e, message = llm.estimate(dense, "8xH100", { pp = 4, schedule = "dualpipev",
      global_batch = 8 })
    assert.is_nil(e)
    assert.matches("dual pipelines of 4 stages require 8 micro%-batches, given 4", message)
    e, message = llm.estimate("no-such.json", "8xH100")
    assert.is_nil(e)
    assert.matches("no%-such.json", message)
  end)
end)

describe("the step on the event loop", function()
  local SCHEDULES = { "gpipe", "1f1b", "interleaved", "zb-h1", "zb-v", "dualpipev" }
  local ALONE = { overlap_grad = "off", overlap_gather = "off", overlap_p2p = "off" }

  -- Random plans of a schedule: model, cluster, plan.
  local function each(n, seed, schedules, f)
    local rng, done = berth.rng(seed), 0
    local function one(list) return list[1 + math.floor(rng:uniform() * #list)] end
    while done < n do
      local schedule, model = one(schedules), one { dense, dense, moe }
      local plan = { tp = one { 1, 2, 4 }, cp = one { 1, 1, 2 }, pp = one { 1, 2, 4 }, seq = 1024,
        schedule = schedule, vp = schedule == "interleaved" and 2 or nil,
        zero = one { 0, 1, 2, 3 }, recompute = one { "none", "selective", "full" },
        framework = one { "megatron", "megatron-2022", "deepspeed", "fsdp", "torchtitan" },
        overlap_tp = one { "off", "on" }, ep = model == moe and one { 1, 2, 4 } or nil,
        training = one { "pretrain", "lora" } }
      local cluster = llm.cluster { gpu = one { "H100", "A100", "B200" }, gpus = one { 16, 32 } }
      local fine, filled = pcall(llm.fill, model, cluster, plan)
      if fine then
        plan.global_batch = filled.dp * plan.pp * one { 2, 3, 4 }
        f(model, cluster, plan)
        done = done + 1
      end
    end
  end

  it("equals the closed form where nothing overlaps, but for unlike stages", function()
    each(60, 1, { "gpipe", "zb-h1", "1f1b" }, function(m, c, plan)
      local opts = with(ALONE, plan)
      local events = estimate(m, c, opts).step
      local closed = estimate(m, c, opts, { form = "closed" }).step
      if plan.schedule == "gpipe" or plan.pp == 1 then near(events, closed, 1e-9)
      elseif plan.schedule == "1f1b" then
        assert.is_true(closed <= events * (1 + 1e-9) and closed > 0.97 * events)
      else
        assert.is_true(closed >= events * (1 - 1e-9) and closed < 1.03 * events)
      end
    end)
  end)

  it("is near the closed form else", function()
    each(60, 2, SCHEDULES, function(m, c, plan)
      local ratio = estimate(m, c, plan, { form = "closed" }).step / estimate(m, c, plan).step
      assert.is_true(ratio > 0.75 and ratio < 1.3, ("%s %s: %g"):format(plan.schedule,
        plan.framework, ratio))
    end)
  end)

  it("is what the kinds of time add up to", function()
    each(60, 3, SCHEDULES, function(m, c, plan)
      local e = estimate(m, c, plan)
      near(e.step, sum_of(e), 1e-9)
      assert.is_true(e.hidden >= 0)
      local closed = estimate(m, c, with({ offload = true }, plan), { form = "closed" })
      near(closed.step, sum_of(closed), 1e-9)
    end)
  end)

  it("ends no sooner than the slowest stage does with an offloaded optimiser", function()
    local uneven = llm.model { layers = 17, hidden = 2048, heads = 16, ffn = 8192, vocab = 32000 }
    local plan = { pp = 2, schedule = "zb-h1", offload = true, seq = 1024 }
    local closed = estimate(uneven, "2xH100", plan, { form = "closed" })
    near(closed.step, sum_of(closed), 1e-9)
    near(estimate(uneven, "2xH100", plan).step, closed.step, 2e-3)
  end)

  it("has the estimate's step, and the memory of the closed form at its peak", function()
    for _, schedule in ipairs(SCHEDULES) do
      local plan = { pp = 4, schedule = schedule, vp = schedule == "interleaved" and 2 or nil,
        global_batch = 32, seq = 1024 }
      local r = assert(llm.simulate(dense, "8xH100", plan))
      near(llm.estimate(dense, "8xH100", plan).step, r.makespan)
      for i, s in ipairs(llm.memory(dense, "8xH100", plan)) do
        near(s.total, r.peak_memory[i], 1e-9)
      end
    end
  end)

  it("holds no more of zb-v than the closed form with few micro-batches", function()
    local plan = { pp = 4, schedule = "zb-v", global_batch = 8, seq = 1024 }
    local r, memory = llm.simulate(dense, "8xH100", plan), llm.memory(dense, "8xH100", plan)
    for i, s in ipairs(memory) do assert.is_true(r.peak_memory[i] <= s.total * (1 + 1e-12)) end
    near(memory[4].total, r.peak_memory[4])
  end)

  it("gathers the next layer while it computes", function()
    -- 8 GPUs of a machine: an eighth of the weights each; gathers and reductions fit beside work
    local m = llm.model { layers = 32, hidden = 4096, heads = 32, ffn = 14336, vocab = 32000 }
    local plan = { framework = "fsdp", seq = 8192, global_batch = 8 }
    local e = estimate(m, "8xH100", plan)
    local alone = estimate(m, "8xH100", with(ALONE, plan))
    assert.is_true(e.time.dp < 0.7 * alone.time.dp)
    assert.equal(0, alone.hidden)
    near(alone.time.dp, e.time.dp + e.hidden, 0.02)
    local r = assert(llm.simulate(m, "8xH100", plan, FACTORS))
    near(e.step, r.makespan)
  end)

  it("has fewer bubbles with zero-bubble schedules", function()
    local function bubble(schedule, vp)
      local e = estimate(dense, "8xH100", { pp = 8, schedule = schedule, vp = vp, seq = 2048,
        global_batch = 16, tp = 1 })
      return e.time.bubble / e.step
    end
    assert.is_true(bubble "zb-h1" < bubble "1f1b")
    assert.is_true(bubble "zb-v" < bubble "1f1b")
    assert.is_true(bubble("interleaved", 2) < bubble "1f1b")
  end)
end)
