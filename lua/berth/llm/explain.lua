--- Why a measured step differs from its estimate: for each term the change that would explain the
-- difference, by evaluating the closed form again, the least surprising one first.
--
-- A factor may be off by its spread, the standard deviation of its logarithm from cluster to
-- cluster; the score of a change by x is |log x| / spread. A choice that the plan may have wrong
-- has a score of its own, and what it leaves unexplained, over LEFT, adds to it as to a sum of
-- squares.
-- Spreads and scores are by hand; docs/llm.md lists them.
local align = require "berth.base.align"
local core = require "berth.core"
local estimate = require "berth.llm.estimate"
local options = require "berth.base.options"
local percent = require "berth.base.percent"

local FN = "berth.llm.explain"
local LEFT = 0.04  -- spread of what a choice leaves unexplained
local LEAST = 0.1  -- 1 / LEAST: the largest factor that is tried
local NEAR, OVER = 0.9, 1.1 -- of the memory: what slows runs down, and what cannot have run
local SHOWN = 3
local UNLIKELY = 3

local function seconds(x) return core.format(x, "seconds") end

-- s in closed form with changed options of the plan and changed factors; nil: no such plan.
local function closed(e, plan, factors)
  local opts = { form = "closed" }
  for key, x in pairs(e.factors) do opts[key] = x end
  for key, x in pairs(factors) do opts[key] = x end
  local fine, r = pcall(core.llm_estimate, e.model, e.cluster, estimate.plan_with(e, plan), opts)
  return fine and r and r.step or nil
end

-- The x in [low, high] at which f, which does not fall, is `want`; nil: it is not reached. Newton's
-- secants between bounds, in logarithms.
local function solve(f, want, low, high)
  local a, b = math.log(low), math.log(high)
  local fa, fb = f(low) - want, f(high) - want
  if fa > 0 or fb < 0 then return nil end
  for _ = 1, 60 do
    local x = fb > fa and a - fa * (b - a) / (fb - fa) or (a + b) / 2
    -- keeps off the ends, at which secants of a bent f get stuck
    x = math.max(a + 0.05 * (b - a), math.min(b - 0.05 * (b - a), x))
    local fx = f(math.exp(x)) - want
    if math.abs(fx) <= 1e-9 * want then return math.exp(x) end
    if fx < 0 then a, fa = x, fx else b, fb = x, fx end
  end
  return math.exp((a + b) / 2)
end

-- ---- factors ------------------------------------------------------------------------------------

-- The bandwidth that a slower network would have: "as if a machine had 173 GB/s to others, not 400"
local function bandwidth(key, words)
  return function(e, x)
    local g = e.cluster.groups[1]
    if x <= 1 or g[key] == math.huge then return "" end
    return words:format(core.format(g[key] / x, "bytes/s"), core.format(g[key], "bytes/s"))
  end
end

local FACTORS = {
  { term = "kernels", factors = { "products", "attention", "elementwise" }, spread = 0.1,
    text = "all kernels", check = "clocks and power limit of each GPU: one slow GPU slows all" },
  { term = "products", factors = { "products" }, spread = 0.13, text = "matrix products",
    check = "shapes and dtype in a profile; multiples of 64; versions of cuBLAS" },
  { term = "attention", factors = { "attention" }, spread = 0.25, text = "attention",
    check = "which attention kernel runs" },
  { term = "elementwise", factors = { "elementwise" }, spread = 0.35, text = "element-wise work",
    check = "whether norms, activations and the loss are fused" },
  { term = "inside", factors = { "inside" }, spread = 0.4,
    text = "communication within a machine", check = "nccl-tests on one machine",
    more = bandwidth("link", ": as if a GPU had %s to others of its machine, not %s") },
  { term = "across", factors = { "across" }, spread = 0.6,
    text = "communication across machines", check = "nccl-tests across machines: cards, rails",
    more = bandwidth("nic", ": as if a machine had %s to others, not %s") },
}

local function add_factors(out, e, base)
  local want = base * out.ratio
  for _, t in ipairs(FACTORS) do
    local function step(x)
      local factors = {}
      for _, key in ipairs(t.factors) do factors[key] = x * e.factors[key] end
      return closed(e, {}, factors)
    end
    local x = solve(step, want, LEAST, 1 / LEAST)
    if x then
      out[#out + 1] = { term = t.term, change = x, step = out.measured, check = t.check,
        score = math.abs(math.log(x)) / t.spread,
        text = ("%s: %s times as long%s"):format(t.text, core.sprintf("%.3g", x),
          t.more and t.more(e, x) or "") }
    end
  end
end

-- Launches are a least time of a pass: half a millisecond is what eager code may need.
local function add_launch(out, e, base)
  local from, usual = math.max(e.factors.launch, 1e-5), math.max(e.factors.launch, 5e-4)
  local x = out.ratio > 1 and solve(function(s) return closed(e, {}, { launch = s }) end,
    base * out.ratio, from, 1)
  if not x then return end
  out[#out + 1] = { term = "launch", change = x / from, step = out.measured,
    score = math.max(1, math.abs(math.log(x / usual)) / 0.5),
    text = ("launching kernels: a pass through a layer takes no less than %s"):format(seconds(x)),
    check = "gaps between kernels in a profile; CUDA graphs, compiled code" }
end

-- ---- the pipeline and the memory ----------------------------------------------------------------

local function add_bubble(out, e)
  local bubble = e.time.bubble
  local x = 1 + (out.measured - e.step) / bubble
  if e.plan.pp == 1 or not (x > LEAST and x < 1 / LEAST) then return end
  out[#out + 1] = { term = "bubble", change = x, step = out.measured,
    score = math.abs(math.log(x)) / 0.35,
    text = ("bubble: %s times as long, %s of the step"):format(core.sprintf("%.3g", x),
      percent(x * bubble / out.measured)),
    check = "times of the stages: one that is slower makes the others wait" }
end

local function add_memory(out, e)
  local s = e.memory[e.memory.worst]
  local share = s.total / s.limit
  if share <= NEAR or share > OVER or out.ratio <= 1 then return end
  out[#out + 1] = { term = "memory", change = out.ratio, step = out.measured,
    score = 0.5 + math.log(out.ratio) / 0.25,
    text = ("memory: stage %d fills %s of its GPUs: measured runs slow down above %s"):format(
      e.memory.worst, percent(share), percent(NEAR)),
    check = "retries of the allocator; a smaller micro-batch or more recomputation" }
end

-- ---- choices of the plan ------------------------------------------------------------------------

-- { options to flip, score, what it is about }; `when` says to which plans they apply.
local function with_dp(p) return p.dp * p.cp > 1 end
local OVERLAPS = {
  { { "overlap_grad", "overlap_gather" }, 1, "data parallelism", with_dp },
  { { "overlap_grad" }, 0.9, "reduction of gradients", with_dp },
  { { "overlap_gather" }, 0.9, "gathering of weights", with_dp },
  { { "overlap_tp" }, 0.9, "tensor parallelism", function(p) return p.tp > 1 end },
  { { "overlap_p2p" }, 0.9, "transfers between stages", function(p) return p.pp > 1 end },
}
local CHOICES = {
  { "recompute", { "none", "selective", "full" }, 1.8, "recomputation" },
  { "reshard", { "off", "on" }, 1.4, "resharding of gathered weights" },
  { "flash", { false, true }, 1.8, "flash attention" },
  { "dtype", { "bf16" }, 1.5, "arithmetic" },
  { "sequence_parallel", { "off", "on" }, 1.6, "sequence parallelism" },
}

-- A cause, if it goes into the direction of the difference and explains a tenth of it.
local function add_choice(out, e, base, cause, changes)
  local step = closed(e, changes, {})
  if not step then return end
  local gap, ratio = math.log(out.ratio), step / base
  if math.log(ratio) * gap < 0.1 * gap * gap then return end
  local left = (gap - math.log(ratio)) / LEFT
  cause.step = e.step * ratio
  cause.score = math.sqrt(cause.score * cause.score + left * left)
  cause.text = cause.text .. ("; the step would be %s"):format(seconds(cause.step))
  out[#out + 1] = cause
end

local function was_given(e, key)
  for _, filled in ipairs(e.plan.filled) do
    if filled == key then return false end
  end
  return true
end

local function add_overlaps(out, e, base)
  for _, o in ipairs(OVERLAPS) do
    local keys, score, about, when = o[1], o[2], o[3], o[4]
    local from, changes, alike = e.plan[keys[1]], {}, true
    for _, key in ipairs(keys) do
      alike = alike and e.plan[key] == from
      changes[key] = from == "on" and "off" or "on"
      if was_given(e, key) then score = score + 0.5 end
    end
    if when(e.plan) and alike then
      add_choice(out, e, base, { term = table.concat(keys, "+"), value = changes[keys[1]],
        score = score, text = ("%s %s overlap computation"):format(about,
          from == "on" and "does not" or "does"), check = "the timeline of a profile" }, changes)
    end
  end
end

local function add_choices(out, e, base)
  for _, c in ipairs(CHOICES) do
    local key, score = c[1], c[3] + (was_given(e, c[1]) and 0.3 or 0)
    for _, value in ipairs(c[2]) do
      if value ~= e.plan[key] then
        local word = value == true and "on" or value == false and "off" or value
        add_choice(out, e, base, { term = key, value = value, score = score,
          text = ("%s %s"):format(c[4], word), check = "the options of the run" },
          { [key] = value })
      end
    end
  end
end

-- ---- the whole ----------------------------------------------------------------------------------

local Explained = { __name = "berth.llm_explained" }

function Explained.__tostring(x)
  local lines = { ("measured %s: %s %s than the estimate of %s; %s its range, %s to %s"):format(
    seconds(x.measured), percent(math.abs(x.ratio - 1)), x.ratio < 1 and "less" or "more",
    seconds(x.estimate), x.within and "within" or "outside", seconds(x.low), seconds(x.high)) }
  if math.abs(x.ratio - 1) < 0.01 then return lines[1] end
  if #x == 0 or x[1].score > UNLIKELY then
    lines[2] = "no single term is likely to explain that: several may differ, or what a step has "
      .. "besides (input,"
    lines[3] = "checkpoints, evaluation)"
  else
    lines[2] = "most likely explained by, if by one term:"
  end
  local rows = {}
  for i = 1, math.min(SHOWN, #x) do
    rows[2 * i - 1] = { ("%d"):format(i), x[i].text }
    rows[2 * i] = { "", "check: " .. x[i].check }
  end
  for _, line in ipairs(align.within(96, align.lines, rows, { true, true })) do
    lines[#lines + 1] = "  " .. line
  end
  return table.concat(lines, "\n")
end

return function(e, measured)
  estimate.check(FN, e)
  local seen = options.seconds(FN .. ": measured", measured)
  options.refuse(not (seen > 0 and seen < math.huge),
    "%s: measured: a time above 0 s is needed", FN)
  local out = { measured = seen, estimate = e.step, ratio = seen / e.step, low = e.low,
    high = e.high, within = seen >= e.low and seen <= e.high }
  local base = closed(e, {}, {})
  add_factors(out, e, base)
  add_launch(out, e, base)
  add_bubble(out, e)
  add_memory(out, e)
  add_overlaps(out, e, base)
  add_choices(out, e, base)
  for i, cause in ipairs(out) do cause.order = i end
  table.sort(out, function(a, b)
    if a.score ~= b.score then return a.score < b.score end
    return a.order < b.order
  end)
  for _, cause in ipairs(out) do cause.order = nil end
  return setmetatable(out, Explained)
end
