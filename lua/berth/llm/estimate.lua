--- Estimates of a step as text: the answer in a block that one reads in ten seconds.
local align = require "berth.base.align"
local core = require "berth.core"
local percent = require "berth.base.percent"

local estimate = {}

--- Kinds of time in the order in which they are shown.
estimate.kinds = { "products", "attention", "elementwise", "launch", "tp", "cp", "ep", "p2p", "dp",
  "optimizer", "bubble" }

local TEXT = {
  products = "matrix products", attention = "attention", elementwise = "element-wise",
  launch = "launching kernels", tp = "tensor parallelism", cp = "context parallelism",
  ep = "expert parallelism", p2p = "between stages", dp = "data parallelism",
  optimizer = "optimiser", bubble = "waiting for stages",
}

--- Options of the core: those of `factors` among the others.
function estimate.options(opts)
  if not opts or not opts.factors then return opts end
  local out = {}
  for key, x in pairs(opts) do out[key] = x end
  for _, key in ipairs { "products", "attention", "elementwise", "launch", "inside", "across",
      "error" } do
    out[key] = out[key] or opts.factors[key]
  end
  out.factors = nil
  return out
end

local function seconds(x) return core.format(x, "seconds") end
local function rate(x, unit) return core.format(x, unit) end

-- "products 61.2 %, attention 9 %, ...": what is at least 0.05 %.
local function shares(e)
  local rows = {}
  for _, kind in ipairs(estimate.kinds) do
    local share = e.time[kind] / e.step
    if share >= 5e-4 then
      rows[#rows + 1] = { "  " .. TEXT[kind], seconds(e.time[kind]), percent(share) }
    end
  end
  return table.concat(align.lines(rows, {}), "\n")
end

local Estimate = { __name = "berth.llm_estimate" }

function Estimate.__tostring(e)
  local lines = {
    ("step: %s, measured ones are within %s and %s (error of such estimates %s)"):format(
      seconds(e.step), seconds(e.low), seconds(e.high), percent(e.error)),
    ("speed: %.0f tokens/s, %.0f of a GPU; %s of a GPU, MFU %s, HFU %s"):format(
      e.tokens_per_second, e.tokens_per_gpu, rate(e.model_flops, "flop/s"), percent(e.mfu),
      percent(e.hfu)),
    ("time of stage %d, which has most work:"):format(e.stage), shares(e),
  }
  if e.hidden > 0 then
    lines[#lines + 1] = ("  and %s of communication beside it"):format(seconds(e.hidden))
  end
  lines[#lines + 1] = "factors: " .. e.rows
  return table.concat(lines, "\n")
end

--- The core's answer with rates of one GPU, and its text.
function estimate.of(e, cluster)
  e.tokens_per_gpu = e.tokens_per_second / cluster.gpus
  e.model_flops = e.model_flop / e.step / cluster.gpus
  return setmetatable(e, Estimate)
end

return estimate
