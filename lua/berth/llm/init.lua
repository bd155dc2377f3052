--- Language models: docs/llm.md.
-- @module berth.llm
local align = require "berth.base.align"
local core = require "berth.core"
local estimate = require "berth.llm.estimate"
local json = require "berth.base.json"
local launch = require "berth.llm.launch"
local options = require "berth.base.options"
local search = require "berth.llm.search"
local percent = require "berth.base.percent"
local zoo = require "berth.llm.zoo"

local llm = {}

--- A model from a config.json, of a graph, or by hand.
-- @tparam string|table|graph what path of a config.json; or what such a file holds, with model_type
--  or hidden_size; or shapes: layers, hidden, heads, vocab and further options of docs/llm.md; or a
--  graph of berth.models.llama or bert
-- @treturn[1] llm name, type, layers, hidden, vocab, tied, parameters, active, kinds (array: heads,
--  ffn, experts, weights, ...), kind_of (of each layer), weights (outside the layers), notes
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code
-- @usage print(berth.llm.model { layers = 32, hidden = 4096, heads = 32, vocab = 32000 })
function llm.model(what)
  if type(what) == "string" then
    local text, message, code = core.read(what, "berth.llm.model")
    if not text then return nil, message, code end
    return core.llm_parse(what, text)
  end
  if core.kind(what) == "graph" then return zoo.model(what) end
  options.expect(what, "table", "berth.llm.model: model")
  if what.model_type or what.hidden_size then
    return core.llm_parse("config", json.encode(what))
  end
  return core.llm_new(what)
end

--- A cluster of GPUs.
-- @tparam string|table|topology what "64xH100"; "2x8xA100-80GB": machines of 8; "8xA100+8xH100";
--  or options: gpu, gpus and further ones of docs/llm.md; or a topology
-- @treturn[1] cluster name, gpus, groups (array: name, count, per_machine, memory, link, nic, ...);
--  c:topology()
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code
-- @usage print(berth.llm.cluster "64xH100")
function llm.cluster(what)
  if type(what) == "string" then return core.llm_cluster_parse(what) end
  if core.kind(what) == "topology" then return core.llm_cluster_of(what) end
  options.expect(what, "table", "berth.llm.cluster: cluster")
  return core.llm_cluster_new(what)
end

-- ---- plans --------------------------------------------------------------------------------------

local Plan = { __name = "berth.llm_plan" }

function Plan.__tostring(p)
  local degrees = {}
  for _, key in ipairs { "tp", "cp", "pp", "dp", "ep", "etp", "vp" } do
    if p[key] > 1 then degrees[#degrees + 1] = ("%s %d"):format(key, p[key]) end
  end
  local split = #degrees > 0 and table.concat(degrees, ", ") or "one GPU"
  return ("plan: %s; %d of %d sequences x %d tokens; %s, zero %d, recompute %s, %s, %s"):format(
    split, p.micro_batch, p.global_batch, p.seq, p.schedule, p.zero, p.recompute, p.dtype,
    p.framework)
end

-- A model or cluster as it is, or from what describes it.
local function model_of(x)
  if core.kind(x) == "llm" then return x end
  return llm.model(x)
end
local function cluster_of(x)
  if core.kind(x) == "llm cluster" then return x end
  return llm.cluster(x)
end

-- Both; nil, message, code.
local function both_of(model, cluster)
  local m, message, code = model_of(model)
  if not m then return nil, message, code end
  local c
  c, message, code = cluster_of(cluster)
  if not c then return nil, message, code end
  return m, c
end

-- The plan filled, with the keys that were not given, in order of the options.
local function filled(m, c, opts)
  local p = core.llm_fill(m, c, opts)
  p.filled = {}
  for _, o in ipairs(options.described "llm.fill") do
    if p[o.key] ~= nil and (opts or {})[o.key] == nil then p.filled[#p.filled + 1] = o.key end
  end
  return setmetatable(p, Plan)
end

--- A plan with all of its options, those not given filled by what a practitioner would choose.
-- Raises with the numbers for what does not fit together.
-- @tparam llm|string|table model
-- @tparam llm_cluster|string|table cluster
-- @tparam[opt] table opts
-- @treturn[1] table the options, and `filled`: keys of those that were not given
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code
-- @usage print(berth.llm.fill("config.json", "64xH100", { tp = 8, pp = 4 }))
function llm.fill(model, cluster, opts)
  local m, c, code = both_of(model, cluster)
  if not m then return nil, c, code end
  return filled(m, c, opts)
end

-- What the search takes from here. Its plans print like filled ones.
local parts = { printed = function(plan) return setmetatable(plan, Plan) end,
  estimate = function(...) return llm.estimate(...) end,
  memory = function(...) return llm.memory(...) end }

--- The best plan of training: searches all splits that `opts` leave open.
-- @tparam llm|string|table model
-- @tparam llm_cluster|string|table cluster
-- @tparam table opts global_batch (required), seq and what else of a plan is not searched; of the
--  parts that are searched (tp, cp, pp, dp, ep, etp, vp, micro_batch, zero, schedule, recompute,
--  sequence_parallel) one value, or a list of those allowed; objective, time, fill, finalists,
--  front, calls, seconds, price, factors
-- @treturn[1] table best (of berth.llm.estimate), plans (array: plan, step, closed, memory, roles),
--  others, kinds (no_pp, no_tp, zero_3; each with step, loss, reason), front, bound, gap, closed
--  (least of the objective over the space in closed form, layers even), counts:
--  total, refused, unfit, bounded, valued, failed, left; fits; least (of berth.llm.memory) where
--  none fits
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code
-- @usage print(berth.llm.plan("config.json", "64xH100", { global_batch = 1024, seq = 8192 }))
function llm.plan(model, cluster, opts)
  local m, c, code = both_of(model, cluster)
  if not m then return nil, c, code end
  return search.run(m, c, opts, parts)
end

--- What to change next: the best plan on other links, the best one with more memory.
-- @tparam table answer of berth.llm.plan
-- @treturn table array of text, step (s), change (of the step), plan
-- @usage for _, x in ipairs(berth.llm.changes(r)) do print(x.text, x.change) end
function llm.changes(answer) return search.changes(answer, parts) end

--- Whether a plan of training is far faster than a placement of the same model: at most 0.7 of its
-- step, or where memory ran out a plan that fits. Only for graphs of berth.models.llama and bert
-- that train in bf16 or fp16, on several alike GPUs of a preset. `hint` of what berth.place returns
-- is that of its estimate.
-- @tparam result|cost what of berth.simulate; or a cost
-- @tparam[opt] number seconds of a cost: the step of a placement; nil: none fits
-- @treturn ?table text, command (of the shell, which gives that plan), plan, step (s), ratio (of it
--  to the placement's), answer (of berth.llm.plan); nil: no plan is
-- @usage print(berth.llm.hint(berth.simulate(g, t, berth.place(g, t))))
function llm.hint(what, seconds)
  local hint = require "berth.llm.hint"
  if core.kind(what) == "cost" then return hint(what, seconds, llm.plan) end
  options.expect(what, "result", "berth.llm.hint: what")
  return hint(what.cost, not what.oom and what.makespan or nil, llm.plan)
end

-- ---- memory -------------------------------------------------------------------------------------

llm.memory_kinds, llm.time_kinds = estimate.memory, estimate.kinds
llm.factor_names = estimate.factors

local NEAR = 0.9 -- measured runs slow down above it

local function bytes(x) return core.format(x, "bytes") end

-- "largest stage 1 of 4: 61.2 GB of 85.5 GB (72 %), fits"
local function summary(r)
  local s = r[r.worst]
  local verdict = s.total > s.limit and ("lacks %s"):format(bytes(s.total - s.limit))
    or s.total > NEAR * s.limit and "fits, but measured runs slow down above 90 %" or "fits"
  return ("memory: stage %d of %d has most: %s of %s (%s), %s"):format(r.worst, #r,
    bytes(s.total), bytes(s.limit), percent(s.total / s.limit), verdict)
end

local Memory = { __name = "berth.llm_memory" }

-- Kinds that some stage has.
local function kinds_of(r)
  local out = {}
  for _, kind in ipairs(llm.memory_kinds) do
    local most = 0
    for _, s in ipairs(r) do most = math.max(most, s[kind]) end
    if most > 0 then out[#out + 1] = kind end
  end
  return out
end

function Memory.__tostring(r)
  local kinds = kinds_of(r)
  local rows = { options.join({ "stage", "layers", "total" }, kinds) }
  for i, s in ipairs(r) do
    local row = { ("%d"):format(i), ("%d"):format(s.layers), bytes(s.total) }
    for _, kind in ipairs(kinds) do row[#row + 1] = bytes(s[kind]) end
    rows[#rows + 1] = row
  end
  return summary(r) .. "\n" .. table.concat(align.lines(rows, {}), "\n")
end

--- Bytes of a GPU by pipeline stage and kind.
-- @tparam llm|string|table model
-- @tparam llm_cluster|string|table cluster
-- @tparam[opt] table opts of the plan
-- @treturn[1] table array by stage: layers, in_flight, weights, gradients, optimizer, activations,
--  working, logits, buffers, runtime, total, limit; worst (stage), fits, plan
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code
-- @usage print(berth.llm.memory("config.json", "64xH100", { tp = 8, pp = 4 }))
function llm.memory(model, cluster, opts)
  local m, c, code = both_of(model, cluster)
  if not m then return nil, c, code end
  local r = core.llm_memory(m, c, opts)
  r.plan, r.worst, r.fits = filled(m, c, opts), 1, true
  for i, s in ipairs(r) do
    if s.total / s.limit > r[r.worst].total / r[r.worst].limit then r.worst = i end
    r.fits = r.fits and s.total <= s.limit
  end
  return setmetatable(r, Memory)
end

--- The time of a step, by kind, with the error that such estimates had.
-- @tparam llm|string|table model
-- @tparam llm_cluster|string|table cluster
-- @tparam[opt] table plan options of the plan
-- @tparam[opt] table opts form ("events" or "closed"); products, attention, elementwise, launch,
--  inside, across: factors in place of the framework's; factors: a table of these, as
--  berth.llm.calibrate gives it
-- @treturn[1] table step, low, high (s), tokens_per_second, mfu, hfu, model_flop, hardware_flop,
--  time (s by kind), exposed, hidden, stage, factors, rows, error, worst, fitted, kernels (array:
--  gpu, arithmetic, constants, fitted, source); memory, plan, model, cluster
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code
-- @usage print(berth.llm.estimate("config.json", "64xH100", { tp = 8, pp = 4 }))
function llm.estimate(model, cluster, plan, opts)
  local m, c, code = both_of(model, cluster)
  if not m then return nil, c, code end
  local e, message
  e, message, code = core.llm_estimate(m, c, plan, estimate.options(opts))
  if not e then return nil, message, code end
  return estimate.of(e, m, c, llm.memory(m, c, plan), opts)
end

--- Which term most likely explains that a measured step took longer, or less, than estimated.
-- @tparam table e of berth.llm.estimate
-- @tparam number|string measured s, or "12.3 s"
-- @treturn table array of causes, the likeliest first: term, text, check, step (s, with that
--  change), score (0: as expected; above 3: unlikely), and change (a factor) or value (of an option
--  of the plan); measured, estimate, ratio, within (the range)
-- @usage print(berth.llm.explain(e, "12.3 s"))
function llm.explain(e, measured)
  return require "berth.llm.explain"(e, measured)
end

--- A page about an estimate or a plan search: pipeline, memory by stage and kind, time by kind; of
-- a search also why other plans are slower, the front, what to change next, the launch script.
-- @tparam string path of the HTML file
-- @tparam table what of berth.llm.estimate, or of berth.llm.plan
-- @tparam[opt] table opts title, figure, measured, result (of berth.llm.simulate), changes (of
--  berth.llm.changes), command
-- @treturn[1] boolean true
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code
-- @usage assert(berth.llm.report("step.html", e))
function llm.report(path, what, opts)
  return require "berth.llm.page"(path, what, opts)
end

--- Factors that fit measured steps of one framework on one cluster; few rows stay near the shipped
-- ones.
-- @tparam {table,...} rows each { model =, cluster =, plan =, measured = seconds }
-- @tparam[opt] table opts terms ("four" or "six"), shrink, calls; products, ...: to stay near
-- @treturn[1] table products, attention, elementwise, launch, inside, across: `factors` of
--  berth.llm.estimate; rows, before, error, left_out (mean errors: as shipped, calibrated, of each
--  row by the others), low, high (factors as far as they move when a row is left out)
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code
-- @usage factors = berth.llm.calibrate { { model = m, cluster = c, plan = p, measured = 12.3 } }
function llm.calibrate(rows, opts)
  options.expect(rows, "table", "berth.llm.calibrate: rows")
  options.refuse(rows.measured ~= nil, "berth.llm.calibrate: one row is a list of it: { row }")
  options.refuse(#rows == 0, "berth.llm.calibrate: no rows")
  local list = {}
  for i, row in ipairs(rows) do
    local where = ("berth.llm.calibrate: row %d"):format(i)
    options.expect(row, "table", where)
    options.refuse(row.cluster == nil, "%s: cluster is missing: \"64xH100\"", where)
    local m, message, code = model_of(row.model)
    if not m then return nil, ("row %d: %s"):format(i, message), code end
    local c = cluster_of(row.cluster)
    local fine, why = pcall(llm.fill, m, c, row.plan)
    options.refuse(not fine, "%s: %s", where, tostring(why):gsub("^.-berth%.llm%.fill: ", ""))
    list[i] = { m, c, row.plan or {}, options.seconds(where .. ": measured", row.measured) }
  end
  local c, message, code = core.llm_calibrate(list, opts)
  if not c then return nil, message, code end
  return estimate.calibration(c)
end

--- The step as a graph on one GPU of each stage, for berth.simulate.
-- @tparam llm|string|table model
-- @tparam llm_cluster|string|table cluster
-- @tparam[opt] table plan
-- @tparam[opt] table opts as for berth.llm.estimate
-- @treturn[1] result of the event loop: its makespan is the step; graph, placement, timeline
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code
-- @usage berth.llm.simulate("config.json", "64xH100", { tp = 8 }):save_trace("step.json")
function llm.simulate(model, cluster, plan, opts)
  local m, c, code = both_of(model, cluster)
  if not m then return nil, c, code end
  return estimate.simulate(m, c, plan, opts)
end

--- Bytes of one layer for one micro-batch on a GPU.
-- @tparam llm model
-- @tparam llm_cluster cluster
-- @tparam table opts of the plan
-- @tparam[opt=1] int kind of the layer
-- @treturn number stored from the forward to the backward pass
-- @treturn number all activations at once
function llm.layer_memory(model, cluster, opts, kind)
  return core.llm_layer_memory(model, cluster, opts, kind or 1)
end

-- ---- launch files -------------------------------------------------------------------------------

llm.launch, llm.formats = launch.launch, launch.formats

--- The file that launches a plan.
-- @tparam llm|string|table model
-- @tparam llm_cluster|string|table cluster
-- @tparam table opts of the plan
-- @tparam string format of berth.llm.formats: megatron bridge torchtitan deepspeed fsdp slurm csv
-- @treturn[1] table text, notes (array: what the file does not have), format; e:save(path)
-- @treturn[2] nil
-- @treturn[2] string message: what the framework does not have
-- @treturn[2] string code
-- @usage print(berth.llm.export("config.json", "64xH100", { tp = 8, pp = 4 }, "megatron"))
function llm.export(model, cluster, opts, format)
  local m, message, code = model_of(model)
  if not m then return nil, message, code end
  return launch.export(m, cluster_of(cluster), opts, format)
end

return llm
