-- The plan search against brute force, its counts, bound, options and answers.
local berth = require "berth"
local llm = berth.llm

local dense = llm.model { layers = 6, hidden = 1024, heads = 8, kv_heads = 4, ffn = 4096,
  vocab = 32000 }
local moe = llm.model { layers = 4, hidden = 512, heads = 8, ffn = 2048, vocab = 16000,
  experts = 8, top = 2, expert_ffn = 1024, dense_layers = 1 }

local function divisors(n)
  local out = {}
  for d = 1, n do
    if n % d == 0 then out[#out + 1] = d end
  end
  return out
end

local function with(a, b)
  local out = {}
  for key, x in pairs(a) do out[key] = x end
  for key, x in pairs(b) do out[key] = x end
  return out
end

local SCHEDULES = { megatron = { "1f1b", "interleaved" }, deepspeed = { "1f1b" },
  torchtitan = { "1f1b", "interleaved", "zb-v", "dualpipev" } }
local ZEROS = { megatron = { 0, 1, 3 }, deepspeed = { 0, 1, 3 }, torchtitan = { 0, 2, 3 } }

local function zeros(framework, cp, shared)
  if shared == 1 then return { 0 } end
  return framework == "torchtitan" and cp > 1 and { 2, 3 } or ZEROS[framework]
end

local function sequences(framework, tp, ep)
  if tp == 1 or framework == "deepspeed" then return { "off" } end
  return (ep > 1 or framework == "torchtitan") and { "on" } or { "off", "on" }
end

-- Whether the even split and that with embedding and head as layers are the same.
local function same_split(layers, n, framework)
  for place = 0, n - 1 do
    local order = place == 0 and n - 1 or place == n - 1 and n - 2 or place - 1
    if framework == "deepspeed" then order = place end
    local ends = (place == 0 and 1 or 0) + (place == n - 1 and 1 or 0)
    local even = math.floor(layers / n) + (order < layers % n and 1 or 0)
    if even ~= (layers + 2) / n - ends then return false end
  end
  return true
end

-- Chunks and split of a schedule, as docs/plans.md names the space.
local function each_split(p, layers, f)
  local looped, v = p.schedule == "interleaved", p.schedule == "zb-v" or p.schedule == "dualpipev"
  if p.pp == 1 and (looped or v) then return end
  for vp = looped and 2 or v and 2 or 1, looped and math.floor(layers / p.pp) or v and 2 or 1 do
    local n = p.pp * vp
    local alike, layered = layers % n == 0, (layers + 2) % n == 0 and n > 1
    local even = not looped or alike
    if even then f(with(p, { vp = vp })) end
    if layered and not (even and same_split(layers, n, p.framework)) then
      f(with(p, { vp = vp, embedding_as_layer = true }))
    end
  end
end

-- PyTorch's single-chunk schedules have a micro-batch for each stage.
local function too_few(p, gpus)
  local batches = p.global_batch * p.tp * p.cp * p.pp / gpus / p.micro_batch
  return p.framework == "torchtitan" and p.vp == 1 and batches < p.pp
end

-- Every plan of the space that llm.fill takes.
local function each_plan(m, cluster, base, f)
  local experts, framework, gpus = m == moe, base.framework or "megatron", cluster.gpus
  for _, tp in ipairs(divisors(gpus)) do
    for _, cp in ipairs(framework == "deepspeed" and { 1 } or divisors(gpus / tp)) do
      for _, pp in ipairs(divisors(gpus / tp / cp)) do
        for _, ep in ipairs(experts and divisors(gpus) or { 1 }) do
          for _, etp in ipairs(experts and tp > 1 and { 1, tp } or { 1 }) do
            for _, micro_batch in ipairs(divisors(base.global_batch)) do
              for _, sp in ipairs(sequences(framework, tp, ep)) do
                for _, recompute in ipairs { "none", "selective", "full" } do
                  for _, zero in ipairs(zeros(framework, cp, gpus / tp / pp)) do
                    for _, schedule in ipairs(SCHEDULES[framework]) do
                      each_split(with(base, { tp = tp, cp = cp, pp = pp, ep = ep, etp = etp,
                        micro_batch = micro_batch, sequence_parallel = sp, recompute = recompute,
                        zero = zero, schedule = schedule }), m.layers, function(p)
                          if not too_few(p, gpus) and pcall(llm.fill, m, cluster, p) then f(p) end
                        end)
                    end
                  end
                end
              end
            end
          end
        end
      end
    end
  end
end

-- Fastest plan in closed form and least memory among those that fit; how many plans there are.
local function brute(m, cluster, base, fill)
  local best, least, n = math.huge, math.huge, 0
  each_plan(m, cluster, base, function(p)
    n = n + 1
    local memory = llm.memory(m, cluster, p)
    local most, fits = 0, true
    for _, s in ipairs(memory) do
      most = math.max(most, s.total)
      fits = fits and s.total <= fill * s.limit
    end
    if not fits then return end
    local e = llm.estimate(m, cluster, p, { form = "closed" })
    if not e then return end
    best, least = math.min(best, e.step), math.min(least, most)
  end)
  return best, least, n
end

local CASES = {
  { dense, "8xA100", { global_batch = 16, seq = 1024 }, 0.9 },
  { dense, llm.cluster { gpu = "H100", gpus = 8, per_machine = 4, memory = 8e9 },
    { global_batch = 8, seq = 2048 }, 1 },
  { moe, llm.cluster { gpu = "H100", gpus = 4, per_machine = 2 },
    { global_batch = 8, seq = 512 }, 0.9 },
  { dense, "4xA100+4xH100", { global_batch = 8, seq = 1024 }, 0.9 },
  { dense, "4xA100", { global_batch = 16, seq = 1024, framework = "deepspeed" }, 0.9 },
  { dense, "4xH100", { global_batch = 16, seq = 1024, framework = "torchtitan" }, 0.9 },
}

describe("the plan search", function()
  for i, case in ipairs(CASES) do
    local m, base, fill = case[1], case[3], case[4]
    it(("finds what brute force over the whole space finds (case %d)"):format(i), function()
      local cluster = type(case[2]) == "string" and llm.cluster(case[2]) or case[2]
      local best, least, n = brute(m, cluster, base, fill)
      local r = assert(llm.plan(m, cluster, with(base, { fill = fill })))
      assert.equal(best, r.closed)
      assert.equal(n, r.excluded + r.unfit + r.bounded + r.valued + r.failed)
      assert.is_true(r.bound <= best and r.valued < n)
      local small = assert(llm.plan(m, cluster, with(base, { fill = fill, objective = "memory" })))
      assert.equal(least, small.closed)
      assert.is_true(small.plans[1].memory <= least) -- less by another split of layers
    end)
  end

  it("bounds every plan of the space, on the event loop, too", function()
    local cluster, base = llm.cluster "8xA100", { global_batch = 16, seq = 1024 }
    local bound, k = assert(llm.plan(dense, cluster, base)).bound, 0
    each_plan(dense, cluster, base, function(p)
      k = k + 1
      if k % 29 == 0 then assert.is_true(llm.estimate(dense, cluster, p).step >= bound) end
    end)
    assert.is_true(k > 1000)
  end)

  it("gives the best by the event loop, with the best split of layers", function()
    local r = assert(llm.plan(dense, "8xA100", { global_batch = 16, seq = 1024, pp = 4 }))
    local p = r.best.plan
    assert.equal(4, p.pp)
    for _, x in ipairs(r.plans) do
      if x.step then assert.is_true(x.step >= r.best.step) end
    end
    assert.equal(r.plans[1].step, r.best.step)
    -- embedding and head weigh: the last stage has no more layers than those between
    if p.stages then assert.is_true(p.stages[#p.stages] <= p.stages[2]) end
  end)

  it("runs as many finalists as closed forms below the best step require", function()
    local function same(shape, cluster, opts)
      local m = llm.model(with({ layers = 6, hidden = 2048, heads = 8, ffn = 4096,
        vocab = 128256 }, shape))
      local few = assert(llm.plan(m, cluster, opts))
      local many = assert(llm.plan(m, cluster, with(opts, { finalists = 400 })))
      assert.equal(many.best.step, few.best.step)
      assert.is_true(#few.plans < #many.plans)
    end
    same({}, "4xA100+4xH100", { global_batch = 16, seq = 2048, tp = { 1, 4, 8 }, cp = { 1, 8 } })
    same({ kv_heads = 4, experts = 8, top = 2, expert_ffn = 512, dense_layers = 1 },
      llm.cluster { gpu = "A100", gpus = 6, memory = 80e9 },
      { framework = "torchtitan", global_batch = 16, seq = 4096, sequence_parallel = "off" })
  end)

  it("keeps to what is fixed, listed and limited", function()
    local base = { global_batch = 16, seq = 1024 }
    local function plans(opts)
      local r = assert(llm.plan(dense, "8xA100", with(base, opts)))
      return r.plans, r
    end
    for _, x in ipairs(plans { tp = 2, recompute = "full", sequence_parallel = "off" }) do
      assert.same({ 2, "full", "off" }, { x.plan.tp, x.plan.recompute, x.plan.sequence_parallel })
    end
    for _, x in ipairs(plans { tp = { 2, 4 }, micro_batch = { 1, 2 }, schedule = "gpipe" }) do
      assert.is_true(x.plan.tp == 2 or x.plan.tp == 4)
      assert.is_true(x.plan.micro_batch <= 2 and x.plan.schedule == "gpipe")
    end
    local wide = llm.cluster { gpu = "A100", gpus = 8, per_machine = 2 }
    for _, x in ipairs(assert(llm.plan(dense, wide, with(base, { inside = true }))).plans) do
      assert.is_true(x.plan.tp <= 2)
    end
    local listed = plans { stages = { 1, 2, 2, 1 }, pp = 4, vp = 1, tp = 1 }
    assert.same({ 1, 2, 2, 1 }, listed[1].plan.stages)
  end)

  it("has the front: less memory costs time", function()
    local r = assert(llm.plan(dense, "8xA100", { global_batch = 16, seq = 1024, front = true }))
    assert.is_true(#r.front > 1)
    for i = 2, #r.front do
      assert.is_true(r.front[i].closed > r.front[i - 1].closed)
      assert.is_true(r.front[i].memory < r.front[i - 1].memory)
    end
  end)

  it("says what is missing where nothing fits", function()
    local small = llm.cluster { gpu = "A100", gpus = 8, memory = 6e9 }
    local r = assert(llm.plan(dense, small, { global_batch = 16, seq = 1024 }))
    assert.is_false(r.fits)
    assert.is_nil(r.best)
    assert.is_true(r.least[r.least.worst].total > 0.9 * 6e9)
    assert.matches("^no plan fits: the least memory is [^\n]+\nplan: ", tostring(r))
    assert.is_nil(tostring(r):find(", fits", 1, true))
    assert.equal(0, r.valued + r.bounded)
    local changes = llm.changes(r)
    assert.equal("fill 0.99 in place of 0.90", changes[1].text)
    assert.equal("12 GB of memory a GPU in place of 6 GB", changes[#changes].text)
  end)

  it("says how many GPUs would do", function()
    local big = llm.model { layers = 16, hidden = 4096, heads = 32, vocab = 32000 }
    local base = { global_batch = 16, seq = 1024 }
    local first = llm.changes(assert(llm.plan(big, "1xA100", base)))[1]
    local gpus = tonumber(first.text:match "^(%d+) GPUs in place of 1$")
    assert.is_true(assert(llm.plan(big, gpus .. "xA100", base)).fits)
    assert.is_false(assert(llm.plan(big, ("%d"):format(gpus / 2) .. "xA100", base)).fits)
    assert.is_nil(first.change)
  end)

  it("counts a value that is listed twice once", function()
    local base = { global_batch = 16, seq = 1024 }
    local once = assert(llm.plan(dense, "8xA100", with(base, { tp = 2, recompute = "none" })))
    local twice = assert(llm.plan(dense, "8xA100", with(base, { tp = { 2, 2 },
      recompute = { "none", "none" } })))
    assert.equal(once.total, twice.total)
    assert.equal(once.valued, twice.valued)
  end)

  it("stops by calls, and keeps what it has", function()
    local r = assert(llm.plan(dense, "8xA100", { global_batch = 16, seq = 1024, calls = 5 }))
    assert.equal(5, r.valued)
    assert.is_true(r.left > 0 and r.best ~= nil)
    local part = 0
    berth.hooks {
      progress = function(what, done) part = what == "plans" and done or part end,
      interrupt = function() return part > 0.2 end,
    }
    r = assert(llm.plan(dense, "8xA100", { global_batch = 16, seq = 1024, front = true }))
    berth.hooks {}
    assert.is_true(r.left > 0 and #r.plans > 0)
  end)

  it("keeps to a time, and finds the fewest GPUs that reach it", function()
    local base = { global_batch = 16, seq = 1024 }
    local r = assert(llm.plan(dense, "8xA100", base))
    local slow = assert(llm.plan(dense, "8xA100", with(base, { objective = "gpus",
      time = ("%.17g s"):format(3 * r.best.step) })))
    assert.is_true(slow.cluster.gpus < 8 and slow.best.step <= 3 * r.best.step)
    local all = assert(llm.plan(dense, "8xA100", with(base, { time = 1e-6 })))
    assert.is_false(all.fits)
    assert.matches("^no plan takes at most 1 us: none is faster than", tostring(all))
    local none = assert(llm.plan(dense, "8xA100", with(base, { time = 1.0001 * r.bound })))
    assert.matches("^no plan that fits takes at most", tostring(none))
    local cheap = assert(llm.plan(dense, "8xA100", with(base, { objective = "cost", price = 2 })))
    assert.is_true(cheap.cost <= 2 / 3600 * 8 / r.best.tokens_per_second * 1e6)
  end)

  it("has a bound for every split of the layers", function()
    local heavy = llm.model { layers = 8, hidden = 1024, heads = 8, ffn = 4096, vocab = 256000 }
    for _, schedule in ipairs { "1f1b", "gpipe", "interleaved", "zb-h1" } do
      local r = assert(llm.plan(heavy, "8xH100", { global_batch = 64, seq = 1024, pp = 4, tp = 1,
        dp = 2, schedule = schedule, finalists = 4 }))
      for _, x in ipairs(r.plans) do assert.is_true(x.step == nil or x.step >= r.bound) end
    end
  end)

  it("takes an objective of one's own", function()
    local base = { global_batch = 16, seq = 1024 }
    local calls, events = 0, 0
    local function product(x)
      calls, events = calls + 1, events + (x.step and 1 or 0)
      return (x.step or x.closed) * x.memory
    end
    local r = assert(llm.plan(dense, "8xA100", with(base, { objective = product })))
    assert.equal(0, r.bounded)
    assert.is_true(calls > r.valued + events and events >= 16) -- and other splits of layers
    local best = math.huge
    each_plan(dense, llm.cluster "8xA100", base, function(p)
      local memory, most = llm.memory(dense, "8xA100", p), 0
      if not memory.fits then return end
      for _, s in ipairs(memory) do most = math.max(most, s.total / s.limit) end
      local e = most <= 0.9 and llm.estimate(dense, "8xA100", p, { form = "closed" })
      if e then best = math.min(best, e.step * memory[memory.worst].total) end
    end)
    assert.equal(best, r.closed)
    for i, x in ipairs(r.plans) do
      if x.step then
        assert.equal(x.step * x.memory, x.value)
        assert.is_true(x.value >= r.plans[1].value, i)
      end
    end
    local none = assert(llm.plan(dense, "8xA100", with(base, { objective = function() end })))
    assert.is_true(not none.fits and none.excluded > 0)
    assert.matches("^no plan fits: the objective allows none", tostring(none))
  end)

  it("visits by a prior, which also forbids plans", function()
    local base = { global_batch = 16, seq = 1024 }
    local all = assert(llm.plan(dense, "8xA100", base))
    local same = assert(llm.plan(dense, "8xA100", with(base, { prior = function(p)
      return p.tp + p.pp
    end })))
    assert.equal(all.best.step, same.best.step)
    assert.equal(all.total, same.total)
    local first = assert(llm.plan(dense, "8xA100", with(base, { calls = 3, prior = function(p)
      return p.pp == 2 and 2 or 1
    end })))
    for _, x in ipairs(first.plans) do assert.equal(2, x.plan.pp) end
    local odd = assert(llm.plan(dense, "8xA100", with(base, { prior = function(p)
      return (p.tp == 2 or p.pp == 4) and 1 or nil
    end })))
    assert.is_true(odd.excluded > 0)
    for _, x in ipairs(odd.plans) do assert.is_true(x.plan.tp == 2 or x.plan.pp == 4) end
  end)

  it("passes on what is wrong with a function", function()
    local base = { global_batch = 16, seq = 1024 }
    local function refused(opts, words)
      assert.error_matches(function() llm.plan(dense, "8xA100", with(base, opts)) end, words, 1,
        true)
    end
    refused({ prior = function() return "x" end }, "the prior gave string, expected a number or nil")
    refused({ prior = function() return 0 / 0 end }, "the prior gave NaN for tp 1, pp 1")
    refused({ prior = function() error "own" end }, "own")
    refused({ prior = 3 }, "prior: expected a function, got number")
    refused({ objective = function() return -math.huge end }, "the objective gave -inf")
    refused({ objective = function() return {} end }, "the objective gave table")
    refused({ objective = "fast" }, "objective: 'fast' is none of: step, memory, gpus, cost")
    refused({ prior = function() return 0 end }, "the prior allows none of 1407 plans")
  end)

  it("gives plans that the framework's file has", function()
    local formats = { torchtitan = "torchtitan", deepspeed = "deepspeed", fsdp = "fsdp",
      megatron = "bridge" }
    for framework, format in pairs(formats) do
      for _, m in ipairs { dense, moe } do
        local r = assert(llm.plan(m, "8xH100", { global_batch = 16, seq = 1024,
          framework = framework, finalists = 4 }))
        for _, x in ipairs(r.plans) do
          x.plan.filled = nil
          assert(llm.export(m, "8xH100", x.plan, format))
        end
      end
    end
    assert.error_matches(function() -- tp 8 of 4 kv heads
      llm.plan(dense, "8xH100", { global_batch = 16, seq = 1024, framework = "torchtitan", tp = 8 })
    end, "none of %d+ combinations")
  end)

  it("says how the layers are split where stages differ", function()
    local texts = require "berth.llm.plan_text"
    local function layers(opts) return texts.layers(llm.estimate(dense, "4xA100", opts)) end
    assert.is_nil(layers { pp = 2 })
    assert.equal("layers of each stage: 1 2 2 1", layers { pp = 4 })
    assert.equal("layers of each stage: 1 2 2 1; embedding and head count as layers",
      layers { pp = 4, embedding_as_layer = true })
    assert.equal("layers of each chunk: 2 4", layers { pp = 2, stages = { 2, 4 } })
  end)

  it("says why other splits are slower", function()
    local wide = llm.cluster { gpu = "A100", gpus = 8, per_machine = 2, nic = "5 GB/s", nics = 1 }
    local r = assert(llm.plan(dense, wide, { global_batch = 16, seq = 1024 }))
    local found = false
    for _, x in ipairs(r.others) do
      assert.is_true(x.loss >= 0)
      found = found or x.reason:find("%+[%d.]+ %%") ~= nil
    end
    assert.is_true(found)
    assert.is_true(#llm.changes(r) >= 2)
  end)

  it("says what others are worse in, where the objective is not the step", function()
    local base = { global_batch = 16, seq = 1024 }
    local small = assert(llm.plan(dense, "8xA100", with(base, { objective = "memory" })))
    for _, x in ipairs(small.others) do assert.matches("^%+[%d.]+ %% memory$", x.reason) end
    for _, x in ipairs(llm.changes(small)) do assert.is_nil(x.text:find "memory") end
    local own = assert(llm.plan(dense, "8xA100", with(base, { objective = function(x)
      return x.plan.tp == 8 and 1 or x.plan.tp == 4 and 2 or nil
    end })))
    assert.equal(8, own.best.plan.tp)
    for _, x in ipairs(own.others) do
      assert.equal(x.loss < 0, x.reason == "faster, but worse by the objective")
    end
    local unlike = assert(llm.plan(dense, "1xA100+1xH100", { global_batch = 64, seq = 4096 }))
    assert.matches("^slow GPUs have as much work as fast ones: ", unlike.kinds.no_pp.reason)
  end)

  it("has context parallelism where each of its GPUs has two parts of the sequence", function()
    local r = llm.plan(dense, "8xA100", { global_batch = 8, seq = 4, objective = "memory",
      finalists = 64 })
    for _, x in ipairs(r.plans) do assert.is_true(x.plan.cp <= 2) end
    assert.has_error(function() llm.fill(dense, "8xA100", { cp = 4, seq = 4 }) end,
      "berth.llm.fill: seq 4 is no multiple of 2 x cp = 8")
  end)

  it("refuses what it cannot search", function()
    local function refused(opts, words)
      assert.error_matches(function() assert(llm.plan(dense, "8xA100", opts)) end, words, 1, true)
    end
    refused({}, "a search requires global_batch")
    refused({ global_batch = 16, tp = 3 }, "divides the GPUs, the model and the batch")
    refused({ global_batch = 16, tp = 3 }, "8 GPUs, 6 layers, global_batch 16, seq 4096")
    refused({ global_batch = 16, schedule = "2f2b" }, "schedule: '2f2b' is none of")
    refused({ global_batch = 16, schedule = "auto" }, "schedule: 'auto' is none of: gpipe, 1f1b")
    refused({ global_batch = 16, tp = {} }, "tp: the list is empty")
    assert.error_matches(function() llm.changes {} end,
      "berth.llm.changes: expected an answer of berth.llm.plan, got table", 1, true)
    refused({ global_batch = 16, objective = "gpus" }, "objective gpus requires time")
    refused({ global_batch = 16, tpp = 8 }, "unknown option 'tpp'")
  end)
end)
