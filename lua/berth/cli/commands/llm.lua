--- berth llm memory: bytes of a GPU by pipeline stage, and whether training fits.
local args = require "berth.cli.args"
local berth = require "berth"
local base = require "berth.base.options"
local fail = require "berth.cli.fail"
local json = require "berth.base.json_writer"
local model = require "berth.cli.commands.llm_model"
local options = require "berth.cli.options"
local schema = require "berth.base.schema"

-- Options of berth.llm.plan under their own names; --batch is global_batch.
local KEYS = "tp cp pp dp ep etp vp schedule micro_batch seq stages embedding_as_layer "
  .. "sequence_parallel zero reshard recompute recompute_layers offload dropout fused_loss dtype "
  .. "optimizer gradients training lora_rank framework runtime"

local command = {
  name = "llm", use = "llm memory CONFIG --gpus CLUSTER [options]", least = 2, most = 2,
  text = "What training a language model needs on a GPU, by pipeline stage and kind.",
  notes = [[
CONFIG is the config.json of a Hugging Face model, or its folder; berth llm model CONFIG shows what
the model consists of.
CLUSTER is 64xH100, 2x8xA100-80GB (machines of 8) or 8xA100+8xH100; docs/devices.md names the GPUs.
What is not given is filled by what a practitioner would choose, and printed. docs/llm.md says what
each number means and how good it is. Exit code 1: it does not fit.]],
  options = options.join({
    { name = "gpus", kind = "string", value = "CLUSTER", text = "the GPUs: 64xH100; needed" },
    options.changed("llm.plan", "global_batch", { name = "batch" }),
  }, options.of("llm.plan", KEYS), {
    options.flag("no-flash", "attention stores its scores"), options.json,
  }),
}

--- The command that these words ask for: model has options of its own.
function command.choose(words)
  return words[1] == "model" and model or command
end

local function plan_of(given)
  local plan = { global_batch = given.batch }
  for _, o in ipairs(base.rows("llm.plan", KEYS)) do plan[o.key] = given[o.key:gsub("_", "-")] end
  if given["no-flash"] then plan.flash = false end
  return plan
end

local STAGE = "layers in_flight weights_bytes=weights gradients_bytes=gradients "
  .. "optimizer_bytes=optimizer activations_bytes=activations working_bytes=working "
  .. "logits_bytes=logits buffers_bytes=buffers runtime_bytes=runtime total_bytes=total "
  .. "limit_bytes=limit"

local function write_json(write, m, r)
  local stages, plan = {}, {}
  for i, s in ipairs(r) do stages[i] = json.object(json.fields(s, STAGE)) end
  for _, o in ipairs(base.described "llm.plan") do
    local key = o.key == "runtime" and "runtime_bytes" or o.key
    if r.plan[o.key] ~= nil then plan[#plan + 1] = { key, r.plan[o.key] } end
  end
  local members = model.members(m)
  for _, member in ipairs { { "plan", json.object(plan) }, { "filled", r.plan.filled },
      { "fits", r.fits }, { "worst_stage", r.worst }, { "stages", stages } } do
    members[#members + 1] = member
  end
  write(json.encode(schema.document "llm memory" (members)))
end

-- "not given: dp 2, zero 1, ..."; what is off or 0 is left out.
local function filled_lines(p)
  local parts = {}
  for _, key in ipairs(p.filled) do
    local x = p[key]
    if key ~= "runtime" and not key:find "^overlap" and x ~= false and x ~= 0 and x ~= "off" then
      parts[#parts + 1] = ("%s %s"):format(key, type(x) == "number" and ("%.0f"):format(x)
        or tostring(x))
    end
  end
  return args.wrap("not given: " .. table.concat(parts, ", "), 100)
end

--- @return exit code: 0, or 1 if a stage does not fit
function command.run(positional, given, write)
  fail.refuse(positional[1] ~= "memory", "llm: expected \"memory\" or \"model\", got %q",
    positional[1])
  fail.refuse(not given.gpus, "llm memory: --gpus is needed: 64xH100, 2x8xA100-80GB")
  local m = fail.need(berth.llm.model(model.path(positional[2])))
  local c = fail.need(berth.llm.cluster(given.gpus))
  local r = fail.need(berth.llm.memory(m, c, plan_of(given)))
  if given.json then
    write_json(write, m, r)
  else
    write(tostring(m))
    write("cluster: " .. tostring(c))
    write(tostring(r.plan))
    for _, line in ipairs(filled_lines(r.plan)) do write(line) end
    write(tostring(r))
    for _, note in ipairs(m.notes) do write("note: " .. note) end
  end
  return r.fits and 0 or fail.INFEASIBLE
end

return command
