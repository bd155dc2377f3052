--- What the commands on plans of language models share: options, the head of their text, JSON.
local args = require "berth.cli.args"
local base = require "berth.base.options"
local berth = require "berth"
local core = require "berth.core"
local fail = require "berth.cli.fail"
local json = require "berth.base.json_writer"
local launch = require "berth.cli.llm.launch"
local model = require "berth.cli.commands.llm_model"
local options = require "berth.cli.options"
local typed = require "berth.cli.typed"

local inputs = {}

-- Options of berth.llm.fill under their own names; --batch is global_batch.
local KEYS = "tp cp pp dp ep etp vp schedule micro_batch seq stages embedding_as_layer "
  .. "sequence_parallel zero reshard recompute recompute_layers offload dropout fused_loss dtype "
  .. "optimizer gradients training lora_rank framework runtime"
local CLUSTER = "per_machine memory link link_latency nics nic nic_latency oversubscription"
inputs.cluster = CLUSTER
local OVERLAPS = "overlap_grad overlap_gather overlap_tp overlap_p2p"

inputs.notes = [[
CONFIG is the config.json of a Hugging Face model, its folder, or model:NAME[,option=value...] of
berth models: model:llama-7b,batch=8,seq=512; berth llm model CONFIG shows what it consists of.
CLUSTER is 64xH100, 2x8xA100-80GB (machines of 8) or 8xA100+8xH100; docs/devices.md names the GPUs.
--launch FILE reads what a framework is launched with (flags or a script of Megatron-LM, TOML of
torchtitan, JSON of DeepSpeed) as a plan; where it has the model's shapes, CONFIG may be left out.
What is not given is filled by what a practitioner would choose, and printed. docs/llm.md says what
each number means and how good it is. Exit code 1: it does not fit.]]

inputs.options = options.join({
  { name = "gpus", kind = "string", value = "CLUSTER", text = "the GPUs: 64xH100; needed" },
  options.changed("llm.fill", "global_batch", { name = "batch" }), launch.option,
}, options.of("llm.fill", KEYS), options.prefixed("of the cluster: ", options.of("llm.cluster",
  CLUSTER)), { options.flag("no-flash", "attention stores its scores") })

--- Those on which the time depends, but not the memory.
inputs.overlaps = options.of("llm.fill", OVERLAPS)

--- The given options among `keys`, as the library has them.
function inputs.given(given, name, keys, out)
  for _, o in ipairs(base.rows(name, keys)) do out[o.key] = given[o.key:gsub("_", "-")] end
  return out
end

-- Options of berth.llm.fill.
local function plan_of(given)
  local plan = inputs.given(given, "llm.fill", KEYS .. " " .. OVERLAPS,
    { global_batch = given.batch })
  if given["no-flash"] then plan.flash = false end
  return plan
end

-- The cluster of --gpus, with what other options say of it.
local function cluster(given)
  local changes = inputs.given(given, "llm.cluster", CLUSTER, {})
  local key = next(changes)
  if not key then return berth.llm.cluster(given.gpus) end
  changes.gpus, changes.gpu = given.gpus:match "^(%d+)x(%a.*)$"
  fail.refuse(not changes.gpu or changes.gpu:find("+", 1, true),
    "--%s requires --gpus of one kind: 64xH100", (key:gsub("_", "-")))
  changes.gpus = tonumber(changes.gpus)
  return berth.llm.cluster(changes)
end

--- Model, cluster, and options of the plan; and what a launch file says, if there is one.
function inputs.read(command, positional, given)
  fail.refuse(not given.gpus, "%s: --gpus is needed: 64xH100, 2x8xA100-80GB", command)
  return launch.read(command, positional[2], given.launch, fail.need(cluster(given)),
    plan_of(given))
end

--- Lines of at most 100 columns; those that are short enough stay as they are.
function inputs.print(write, text)
  for line in (text .. "\n"):gmatch "(.-)\n" do
    for _, part in ipairs(#line > 100 and args.wrap(line, 100) or { line }) do write(part) end
  end
end

-- "not given: dp 2, zero 1, ..."; what is off or 0 is left out.
local function filled_text(p, overlaps)
  local parts = {}
  for _, key in ipairs(p.filled) do
    local x = p[key]
    local told = key ~= "runtime" and (overlaps or not key:find "^overlap")
    if told and x ~= false and x ~= 0 and x ~= "off" then
      parts[#parts + 1] = ("%s %s"):format(key, type(x) == "number" and ("%.0f"):format(x)
        or tostring(x))
    end
  end
  return "not given: " .. table.concat(parts, ", ")
end

--- Model, cluster, what a launch file says, plan, and what was filled.
function inputs.print_head(write, m, c, p, found, overlaps)
  local head = { tostring(m), "cluster: " .. tostring(c) }
  inputs.print(write, table.concat(base.join(head, launch.lines(found, p),
    { tostring(p), filled_text(p, overlaps) }), "\n"))
end

--- The notes on a model and a launch file.
function inputs.print_notes(write, m, found)
  for _, note in ipairs(base.join(m.notes, found and found.notes or {})) do
    write("note: " .. note)
  end
end

--- Where memory lacks: the command that finds plans that fit.
function inputs.print_lack(write, memory, path, gpus)
  if memory.fits or not path then return end
  local p = memory.plan
  local framework = p.framework ~= "megatron" and " --framework " .. p.framework or ""
  write(core.sprintf("note: berth llm plan %s --gpus %s --batch %d --seq %d%s finds what fits",
    typed.quoted(path), typed.quoted(gpus), p.global_batch, p.seq, framework))
end

local STAGE = "layers in_flight weights_bytes=weights gradients_bytes=gradients "
  .. "optimizer_bytes=optimizer activations_bytes=activations working_bytes=working "
  .. "logits_bytes=logits buffers_bytes=buffers runtime_bytes=runtime total_bytes=total "
  .. "limit_bytes=limit"

--- All options of a filled plan; stages that are even are null.
function inputs.plan_object(p)
  local out = {}
  for _, o in ipairs(base.described "llm.fill") do
    local key = o.key == "runtime" and "runtime_bytes" or o.key
    if o.key == "stages" or p[o.key] ~= nil then out[#out + 1] = { key, p[o.key] } end
  end
  return json.object(out)
end

--- Members of a JSON document: model, plan, memory, launch file.
function inputs.members(m, r, found)
  if not r then return base.join(model.members(m), { { "fits", false } }) end
  local stages = {}
  for i, s in ipairs(r) do stages[i] = json.object(json.fields(s, STAGE)) end
  return base.join(model.members(m), { { "plan", inputs.plan_object(r.plan) },
    { "filled", r.plan.filled }, { "fits", r.fits }, { "worst_stage", r.worst },
    { "stages", stages } }, launch.members(found))
end

return inputs
