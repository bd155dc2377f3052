-- Why a measured step differs: the term that was changed comes first.
local berth = require "berth"
local llm = berth.llm

local FACTORS = { products = 1.1, attention = 1.25, elementwise = 1.5, launch = 1e-6, inside = 1.2,
  across = 1.2 }
local function layers(n)
  return llm.model { layers = n, hidden = 4096, heads = 32, kv_heads = 8, ffn = 14336,
    vocab = 128256 }
end
local big = llm.model { layers = 16, hidden = 8192, heads = 64, kv_heads = 8, ffn = 28672,
  vocab = 128256 }
local small = layers(32)
local tiny = llm.model { layers = 24, hidden = 512, heads = 8, ffn = 2048, vocab = 32000 }

local function with(changes, base)
  local out = {}
  for key, x in pairs(base) do out[key] = x end
  for key, x in pairs(changes) do out[key] = x end
  return out
end

local function estimate(model, cluster, plan, factors)
  return assert(llm.estimate(model, cluster, plan, with(factors or {}, FACTORS)))
end

local ALONE = { overlap_grad = "off", overlap_gather = "off", overlap_tp = "off",
  overlap_p2p = "off" }
-- Nothing but one GPU; 8 with tensor parallelism; many machines with little work each.
local ONE = { layers(8), "1xH100", { seq = 4096, global_batch = 4 } }
local TP = { big, "8xH100", with({ tp = 8, seq = 2048, global_batch = 4 }, ALONE) }
local WIDE = { small, "256xH100", { seq = 2048, global_batch = 256 } }
local PIPE = { big, "32xH100", { tp = 8, pp = 4, seq = 4096, global_batch = 8 } }

-- The term that explains a change of factors, or of options, of a case.
local function first(case, factors, plan)
  local e = estimate(case[1], case[2], case[3])
  local other = estimate(case[1], case[2], with(plan or {}, case[3]), factors)
  local x = llm.explain(e, other.step)
  return x[1], x, e
end

local function scaled(key, x) return { [key] = x * FACTORS[key] } end

describe("a measured step is explained by", function()
  it("slow matrix products", function()
    local cause = first(ONE, scaled("products", 1.15))
    assert.is_true(cause.term == "products" or cause.term == "kernels", cause.term)
    local _, x = first(ONE, scaled("products", 1.15))
    assert.is_true(x[1].term == "products" or x[2].term == "products")
  end)

  it("slow kernels of all kinds", function()
    local cause = first(ONE, { products = 1.1 * 1.15, attention = 1.25 * 1.15,
      elementwise = 1.5 * 1.15 })
    assert.equal("kernels", cause.term)
    assert.near(1.15, cause.change, 1e-6)
  end)

  it("slow attention, where sequences are long", function()
    local case = { layers(4), "1xH100", { seq = 65536, global_batch = 1 } }
    local cause = first(case, scaled("attention", 1.3))
    assert.is_true(cause.term == "attention" or cause.term == "kernels")
    local _, x = first(case, scaled("attention", 2))
    assert.equal("attention", x[1].term)
    assert.near(2, x[1].change, 1e-6)
  end)

  it("slow links of a machine, with their bandwidth", function()
    local cause = first(TP, scaled("inside", 2))
    assert.equal("inside", cause.term)
    assert.near(2, cause.change, 1e-6)
    assert.matches("as if a GPU had 225 GB/s to others of its machine, not 450 GB/s", cause.text)
  end)

  it("a slow network, with its bandwidth", function()
    local cause = first({ WIDE[1], WIDE[2], with(ALONE, WIDE[3]) }, scaled("across", 4))
    assert.equal("across", cause.term)
    assert.near(4, cause.change, 1e-6)
    assert.matches("as if a machine had 100 GB/s to others, not 400 GB/s", cause.text)
  end)

  it("slow launches of small kernels", function()
    local cause = first({ tiny, "1xH100", { seq = 512, global_batch = 8 } }, { launch = 1e-3 })
    assert.equal("launch", cause.term)
    assert.matches("takes no less than 1 ms", cause.text)
  end)

  it("data parallelism that nothing overlaps", function()
    local plan = { overlap_grad = "off", overlap_gather = "off" }
    local case = { small, "64xH100", { framework = "fsdp", seq = 4096, recompute = "full",
      global_batch = 64 } }
    local cause, _, e = first(case, {}, plan)
    assert.equal("overlap_grad+overlap_gather", cause.term)
    assert.equal("off", cause.value)
    assert.is_true(e.hidden > 0.1 * e.step)
    assert.equal("overlap_grad", first(case, {}, { overlap_grad = "off" }).term)
  end)

  it("overlap that the plan does not have, where the step is shorter", function()
    local case = { WIDE[1], WIDE[2], with({ overlap_grad = "off", overlap_gather = "off" },
      WIDE[3]) }
    local _, x = first(case, {}, { overlap_grad = "on", overlap_gather = "on" })
    assert.is_true(x.ratio < 1)
    local on
    for i = 1, 3 do on = on or x[i].value == "on" end
    assert.is_true(on)
  end)

  it("tensor parallelism that does not overlap", function()
    local case = { TP[1], TP[2], { tp = 8, seq = 2048, global_batch = 4 } }
    assert.equal("overlap_tp", first(case, {}, { overlap_tp = "off" }).term)
  end)

  it("a bubble that is longer, where stages wait for long", function()
    local e = estimate(PIPE[1], PIPE[2], with({ global_batch = 8, overlap_tp = "off" }, PIPE[3]))
    assert.is_true(e.time.bubble > 0.2 * e.step)
    local x = llm.explain(e, e.step + 0.3 * e.time.bubble)
    local causes = {}
    for i = 1, 3 do causes[x[i].term] = x[i] end
    assert.near(1.3, causes.bubble.change, 1e-9)
    assert.matches("of the step$", causes.bubble.text)
  end)

  it("memory above 90 %", function()
    local plan = { framework = "fsdp", seq = 4096, global_batch = 8, recompute = "full" }
    local e = estimate(small, "8xH100", plan)
    local s = e.memory[1]
    local tight = llm.cluster { gpu = "H100", gpus = 8, memory = s.total / 0.96 }
    local x = llm.explain(estimate(small, tight, plan), 1.12 * e.step)
    assert.equal("memory", x[1].term)
    assert.matches("stage 1 fills 96.0 % of its GPUs", x[1].text, 1, true)
    for _, cause in ipairs(llm.explain(e, 1.12 * e.step)) do
      assert.is_true(cause.term ~= "memory")
    end
  end)

  it("recomputation and arithmetic that differ from the plan", function()
    local cause = first(ONE, {}, { recompute = "full" })
    assert.same({ "recompute", "full" }, { cause.term, cause.value })
    local case = { ONE[1], ONE[2], with({ dtype = "fp8" }, ONE[3]) }
    cause = first(case, {}, { dtype = "bf16" })
    assert.same({ "dtype", "bf16" }, { cause.term, cause.value })
  end)
end)

describe("an explanation", function()
  it("finds each factor's change, whatever else might explain it", function()
    for _, case in ipairs { ONE, TP, { WIDE[1], WIDE[2], with(ALONE, WIDE[3]) } } do
      local base = estimate(case[1], case[2], case[3])
      for _, key in ipairs { "products", "attention", "elementwise", "inside", "across" } do
        for _, x in ipairs { 0.8, 1.5, 3 } do
          local step = estimate(case[1], case[2], case[3], scaled(key, x)).step
          if math.abs(step / base.step - 1) > 1e-3 then
            local found
            for _, cause in ipairs(llm.explain(base, step)) do
              if cause.term == key then found = cause.change end
            end
            assert.near(x, found, 1e-6)
          end
        end
      end
    end
  end)

  it("comes by rising score, with a step and a check for each", function()
    local e = estimate(PIPE[1], PIPE[2], PIPE[3])
    for _, ratio in ipairs { 0.7, 1.05, 1.2, 2 } do
      local x = llm.explain(e, ratio * e.step)
      assert.near(ratio, x.ratio, 1e-12)
      assert.equal(x.within, ratio * e.step >= e.low and ratio * e.step <= e.high)
      for i, cause in ipairs(x) do
        assert.is_true(i == 1 or x[i - 1].score <= cause.score)
        assert.is_true(cause.step > 0 and #cause.text > 0 and #cause.check > 0)
        assert.is_true((cause.change ~= nil) ~= (cause.value ~= nil))
      end
    end
  end)

  it("is text: where the measured step lies, then three causes", function()
    local e = estimate(PIPE[1], PIPE[2], PIPE[3])
    local text = tostring(llm.explain(e, 1.1 * e.step))
    assert.matches("^measured [%d.]+ m?s: 10.0 %% more than the estimate of ", text)
    assert.matches("within its range, ", text)
    assert.matches("\nmost likely explained by, if by one term:\n  1  .*\n  3  ", text)
    assert.matches("no single term is likely", tostring(llm.explain(e, 30 * e.step)))
    local same = tostring(llm.explain(e, e.step))
    assert.is_nil(same:find("\n", 1, true))
  end)

  it("takes a time with its unit, and refuses what is none", function()
    local e = estimate(ONE[1], ONE[2], ONE[3])
    assert.near(2, llm.explain(e, "2 s").measured, 0)
    for _, x in ipairs { 0, -1, "2", "x", 1 / 0 } do
      assert.error(function() llm.explain(e, x) end)
    end
    assert.error_matches(function() llm.explain({}, 1) end,
      "expected one of berth.llm.estimate, got table", 1, true)
  end)
end)
