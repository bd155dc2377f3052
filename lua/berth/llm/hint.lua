--- Whether a plan of training is far faster than a placement of the same model on the same GPUs.
--
-- A placement splits ops over devices, each once; a plan also splits the batch and the ops
-- themselves. Both are priced by the same kernels; the plan's step also has the factors by which
-- measured steps are longer than the kernels' sum, so that the comparison favours the placement.
local core = require "berth.core"
local options = require "berth.base.options"
local texts = require "berth.llm.plan_text"
local zoo = require "berth.llm.zoo"

local FAR = 0.7 -- of the placement's step

local OPTIMIZERS = { adam = "adam", momentum = "sgd", sgd = "sgd" }

-- ---- the same problem ---------------------------------------------------------------------------

-- A quantity as a word of the command line that is read back as the same number.
local function quantity(x, unit, base)
  local text = core.format(x, unit):gsub(" ", "")
  return core.quantity(text, unit) == x and text or core.sprintf("%.17g", x) .. base
end

-- Whether a cost prices ops and transfers by the data sheets of the devices alone.
local function is_plain(model)
  for _, key in ipairs { "op", "transfer", "collective", "op_factor", "transfer_factor" } do
    if model and model[key] ~= nil then return false end
  end
  return true
end

-- Whether a device is as its preset is, but for memory and links.
local function is_preset(device)
  local sheet = core.device_sheet(device.type)
  return sheet and math.max(sheet.bf16, sheet.fp16) > 0 and device.speed == 1
    and device.flops == sheet.flops and device.memory_bandwidth == sheet.memory_bandwidth
end

-- The topology as a cluster that the options of the command make: the cluster, and words of these
-- options. nil: its GPUs are unlike, or there is no data sheet.
local function cluster_of(topology)
  for device in topology:devices() do
    if not is_preset(device) then return nil end
  end
  local fine, seen = pcall(core.llm_cluster_of, topology)
  if not fine or not seen or #seen.groups > 1 then return nil end
  local g = seen.groups[1]
  local base = core.llm_cluster_new({ gpu = g.name, gpus = g.count }).groups[1]
  local opts = { gpu = g.name, gpus = g.count }
  local words = { ("--gpus %dx%s"):format(g.count, g.name) }
  local function add(key, word, value, text)
    opts[key] = value
    words[#words + 1] = ("--%s %s"):format(word, text)
  end
  local function differs(key, word, unit, suffix)
    if g[key] ~= base[key] then add(key, word, g[key], quantity(g[key], unit, suffix)) end
  end
  if g.per_machine ~= base.per_machine then
    add("per_machine", "per-machine", g.per_machine, ("%d"):format(g.per_machine))
  end
  differs("memory", "memory", "bytes", "B")
  if g.per_machine > 1 then
    differs("link", "link", "bytes/s", "B/s")
    differs("link_latency", "link-latency", "seconds", "s")
  end
  if g.count > g.per_machine then
    if g.nic ~= base.nic then
      add("nics", "nics", 1, "1")
      add("nic", "nic", g.nic, quantity(g.nic, "bytes/s", "B/s"))
    end
    differs("nic_latency", "nic-latency", "seconds", "s")
  end
  return core.llm_cluster_new(opts), words
end

-- Options of the plan, and their words; nil: no training step that plans are estimated for.
local function step_of(o)
  local optimizer = OPTIMIZERS[o.optimizer]
  local half = o.arithmetic == "bf16" or o.arithmetic == "fp16"
  if not (o.training and optimizer and half) then return nil end
  local opts = { global_batch = o.batch, seq = o.seq }
  local words = { ("--batch %.0f --seq %.0f"):format(o.batch, o.seq) }
  if o.arithmetic == "fp16" then opts.dtype, words[#words + 1] = "fp16", "--dtype fp16" end
  if optimizer ~= "adam" then
    opts.optimizer, words[#words + 1] = optimizer, "--optimizer " .. optimizer
  end
  return opts, words
end

-- ---- the answer ---------------------------------------------------------------------------------

local Hint = { __name = "berth.llm_hint" }

function Hint.__tostring(h) return h.text end

local function text_of(h, origin, seconds)
  local as = origin.maker == "bert" and " as a decoder of the same shape" or ""
  local plan, step = texts.short(h.plan), core.format(h.step, "seconds")
  if not seconds then
    return ("a training plan (%s) fits, and would take %s%s: %s"):format(plan, step, as, h.command)
  end
  return ("a training plan (%s) would take %s%s, %s of this placement's step: %s"):format(plan,
    step, as, core.sprintf("%.2g", h.ratio), h.command)
end

--- @tparam cost cost
-- @tparam ?number seconds the placement's step; nil: it does not fit, or none does
-- @tparam function plan berth.llm.plan
-- @treturn ?table text, command, plan, step, ratio (to the placement's; nil without one), answer
return function(cost, seconds, plan)
  local origin = zoo.origin(cost.graph)
  if not origin or #cost.topology < 2 or not is_plain(cost.model) then return nil end
  local opts, step_words = step_of(origin.options)
  if not opts then return nil end
  local cluster, words = cluster_of(cost.topology)
  if not cluster then return nil end
  local answer = plan(zoo.model(cost.graph), cluster, opts)
  if not answer or not answer.fits then return nil end
  local best = answer.best
  if seconds and not (best.step <= FAR * seconds and best.high < seconds) then return nil end
  local command = options.join({ "berth llm plan " .. zoo.spec(origin) }, words, step_words)
  local h = setmetatable({ plan = best.plan, step = best.step, answer = answer,
    ratio = seconds and best.step / seconds, command = table.concat(command, " ") }, Hint)
  h.text = text_of(h, origin, seconds)
  return h
end
