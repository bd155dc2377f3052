--- Estimates of a step as text: the answer in a block that one reads in ten seconds.
local align = require "berth.base.align"
local core = require "berth.core"
local options = require "berth.base.options"
local percent = require "berth.base.percent"

local estimate = {}

--- Kinds of time in the order in which they are shown.
estimate.kinds = { "products", "attention", "elementwise", "launch", "tp", "cp", "ep", "p2p", "dp",
  "optimizer", "bubble" }

--- Those of them that are communication.
estimate.communication = { "tp", "cp", "ep", "p2p", "dp" }

--- Kinds of memory, likewise.
estimate.memory = { "weights", "gradients", "optimizer", "activations", "working", "logits",
  "buffers", "runtime" }

estimate.text = {
  products = "matrix products", attention = "attention", elementwise = "element-wise",
  launch = "launching kernels", tp = "tensor parallelism", cp = "context parallelism",
  ep = "expert parallelism", p2p = "between stages", dp = "data parallelism",
  optimizer = "optimiser", bubble = "bubble",
}

--- Factors in the order in which they are shown.
estimate.factors = { "products", "attention", "elementwise", "launch", "inside", "across" }

--- Options of the core: those of `factors` among the others.
function estimate.options(opts)
  if not opts or not opts.factors then return opts end
  local out = {}
  for key, x in pairs(opts) do out[key] = x end
  for _, key in ipairs(estimate.factors) do out[key] = out[key] or opts.factors[key] end
  out.error = out.error or opts.factors.worst
  out.factors = nil
  return out
end

--- Options of the plan that was estimated, some changed.
function estimate.plan_with(e, changes)
  local out = {}
  for key, x in pairs(e.plan) do out[key] = x end
  out.filled = nil
  for key, x in pairs(changes) do out[key] = x end
  return out
end

--- The step on the event loop: result; nil, message, code.
function estimate.simulate(model, cluster, plan, opts)
  local g, t, p = core.llm_graph(model, cluster, plan, estimate.options(opts))
  if not g then return nil, t, p end
  return core.simulate(g, t, p, { dispatch = "planned", memory = "inference" })
end

local function seconds(x) return core.format(x, "seconds") end

--- "12,345": groups of three digits.
local function grouped(x)
  local digits = core.sprintf("%.0f", x)
  local head = #digits % 3
  local text = digits:sub(head + 1):gsub("%d%d%d", ",%0")
  return head > 0 and digits:sub(1, head) .. text or text:sub(2)
end

estimate.grouped = grouped

-- What is at least 0.05 % of the step, a line each.
local function shares(e)
  local rows = {}
  for _, kind in ipairs(estimate.kinds) do
    local share = e.time[kind] / e.step
    if share >= 5e-4 then
      rows[#rows + 1] = { "  " .. estimate.text[kind], seconds(e.time[kind]), percent(share) }
    end
  end
  return table.concat(align.lines(rows, { true }), "\n")
end

--- "1.2 s, 9.0 % of the step; 2 s hidden beside computation"
function estimate.communication_text(e)
  return ("%s, %s of the step; %s hidden beside computation"):format(seconds(e.exposed),
    percent(e.exposed / e.step), seconds(e.hidden))
end

--- "products 1.1, attention 1.25, ..., launch 600 us, ..."
function estimate.factors_text(e)
  local parts = {}
  for i, key in ipairs(estimate.factors) do
    parts[i] = key .. " " .. (key == "launch" and seconds(e.factors[key])
      or core.sprintf("%.3g", e.factors[key]))
  end
  return table.concat(parts, ", ")
end

--- "fitted to H100 bf16", "of H100 bf16 with the data sheet of L40S bf16: borrowed"
function estimate.kernels_text(k)
  return k.fitted and "fitted to " .. k.constants
    or ("borrowed: those of %s, with the data sheet of %s %s"):format(k.constants,
      k.gpu ~= "" and k.gpu or "the device", k.arithmetic)
end

local function constants(e)
  local parts = {}
  for i, k in ipairs(e.kernels) do parts[i] = estimate.kernels_text(k) end
  return table.concat(parts, "; ")
end

--- "fitted to: ROWS; for the range: mean error 4.1 %, nine of ten below 9.0 %"
function estimate.rows_text(e)
  if e.own then
    return ("%s; for the range: nine of ten below %s"):format(e.rows, percent(e.worst))
  end
  return ("fitted to: %s; for the range: mean error %s, nine of ten below %s"):format(e.rows,
    percent(e.error), percent(e.worst))
end

--- "factors of megatron", or the caller's own.
function estimate.factors_name(e)
  return e.own and "factors" or "factors of " .. e.plan.framework
end

local Estimate = { __name = "berth.llm_estimate" }

function Estimate.__tostring(e)
  return table.concat({
    ("step: %s; nine of ten measured ones would be within %s to %s"):format(
      seconds(e.step), seconds(e.low), seconds(e.high)),
    ("speed: %s tokens/s, %s of a GPU; %s of a GPU, MFU %s, HFU %s"):format(
      grouped(e.tokens_per_second), grouped(e.tokens_per_gpu), core.format(e.model_flops, "flop/s"),
      percent(e.mfu), percent(e.hfu)),
    (tostring(e.memory):match "^[^\n]*"),
    ("time of stage %d of %d, which has most work:"):format(e.stage, e.plan.pp), shares(e),
    "exposed communication: " .. estimate.communication_text(e),
    "kernel constants: " .. constants(e),
    ("%s: %s"):format(estimate.factors_name(e), estimate.factors_text(e)),
    estimate.rows_text(e),
  }, "\n")
end

--- Raises unless e is of berth.llm.estimate.
function estimate.check(fn, e)
  options.refuse(getmetatable(e) ~= Estimate,
    "%s: estimate: expected one of berth.llm.estimate, got %s", fn, core.kind(e))
end

-- Constants of the kernels of each group of GPUs, as the core takes them.
local function kernels_of(cluster, plan)
  local out = {}
  for i, g in ipairs(cluster.groups) do
    local sheet, dtype = core.device_sheet(g.name), plan.dtype
    if sheet and dtype ~= "fp8" and not (sheet.bf16 and sheet.bf16 > 0) then dtype = "fp16" end
    local k = sheet and core.kernels(g.name, dtype)
      or core.kernels("", plan.dtype, { flops = g.flops, memory_bandwidth = g.memory_bandwidth })
    out[i] = { gpu = k.gpu ~= "" and k.gpu or g.name, arithmetic = k.arithmetic,
      constants = k.constants, fitted = k.fitted, source = k.source }
  end
  return out
end

-- What the factors of the options rest on; nil: they are the framework's.
local function rows_of(opts)
  local own = opts.factors ~= nil
  for _, key in ipairs(estimate.factors) do own = own or opts[key] ~= nil end
  if not own then return nil end
  local rows = opts.factors and opts.factors.rows
  return rows and ("fitted to: %.0f steps of the caller"):format(rows) or "given by the caller"
end

local Calibration = { __name = "berth.llm_calibration" }

function Calibration.__tostring(c)
  local lines = { ("calibration on %.0f %s: %s off as shipped, %s calibrated%s"):format(c.rows,
    c.rows == 1 and "step" or "steps", percent(c.before), percent(c.error),
    c.left_out and (", %s each by the others"):format(percent(c.left_out)) or "") }
  for _, key in ipairs(estimate.factors) do
    local function text(x) return key == "launch" and seconds(x) or core.sprintf("%.3g", x) end
    lines[#lines + 1] = ("  %-11s %s, between %s and %s"):format(key, text(c[key]),
      text(c.low[key]), text(c.high[key]))
  end
  return table.concat(lines, "\n")
end

--- The core's calibration, with its text.
function estimate.calibration(c) return setmetatable(c, Calibration) end

--- The core's answer with what it was asked for, rates of one GPU, and its text.
-- @tparam table e of the core
-- @tparam llm model
-- @tparam llm_cluster cluster
-- @tparam table memory of berth.llm.memory
-- @tparam ?table opts as for berth.llm.estimate
function estimate.of(e, model, cluster, memory, opts)
  e.model, e.cluster, e.memory, e.plan, e.options = model, cluster, memory, memory.plan, opts or {}
  e.own = rows_of(e.options) ~= nil
  e.rows = rows_of(e.options) or e.rows
  e.kernels = kernels_of(cluster, e.plan)
  e.tokens_per_gpu = e.tokens_per_second / cluster.gpus
  e.model_flops = e.model_flop / e.step / cluster.gpus
  e.exposed = 0
  for _, kind in ipairs(estimate.communication) do e.exposed = e.exposed + e.time[kind] end
  return setmetatable(e, Estimate)
end

return estimate
