--- berth llm estimate: how long a training step takes, whether it fits, and how sure that is.
local base = require "berth.base.options"
local berth = require "berth"
local fail = require "berth.cli.fail"
local inputs = require "berth.cli.llm_inputs"
local json = require "berth.base.json_writer"
local options = require "berth.cli.options"
local schema = require "berth.base.schema"
local typed = require "berth.cli.typed"
require "berth.llm.page" -- declares its options

-- Options of berth.llm.estimate under their own names; --launch is a file.
local KEYS = {}
for _, o in ipairs(base.described "llm.estimate") do
  if o.key ~= "launch" then KEYS[#KEYS + 1] = o.key end
end
KEYS = table.concat(KEYS, " ")

local command = {
  name = "llm estimate", use = "llm estimate [CONFIG] --gpus CLUSTER [options]",
  least = 1, most = 2,
  text = "How long a step of training takes, where the time goes, whether it fits, and how sure "
    .. "that is.",
  notes = inputs.notes,
  options = options.join(inputs.options, inputs.overlaps, options.of("llm.estimate", KEYS), {
    options.changed("llm.estimate", "launch", { name = "launch-time" }),
    { name = "measured", kind = "seconds", value = "TIME",
      text = "a measured step: says which term most likely explains the difference" },
    options.output("trace", "writes a timeline of the step that opens in Perfetto", "json"),
    options.output("report", "writes a page: time by kind, pipeline, memory by stage", "html"),
  }, options.of("llm.report", "figure title"), { options.json }),
}

-- ---- JSON ---------------------------------------------------------------------------------------

local function by_key(t, keys, unit)
  local out = {}
  for i, key in ipairs(keys) do out[i] = { key .. (unit or ""), t[key] } end
  return json.object(out)
end

local ANSWER = "step_s=step low_s=low high_s=high tokens_per_s=tokens_per_second "
  .. "tokens_per_s_of_gpu=tokens_per_gpu model_flop hardware_flop flops_of_gpu=model_flops mfu hfu "
  .. "stage exposed_s=exposed hidden_s=hidden"

local function cause_object(cause)
  return json.object(json.fields(cause, "term text check change value step_s=step score"))
end

local function explained(x)
  local causes = {}
  for i, cause in ipairs(x) do causes[i] = cause_object(cause) end
  return json.object { { "measured_s", x.measured }, { "ratio", x.ratio }, { "within", x.within },
    { "causes", causes } }
end

local function write_json(write, e, x, gpus, found)
  local kernels = {}
  for i, k in ipairs(e.kernels) do
    kernels[i] = json.object(json.fields(k, "gpu arithmetic constants fitted source"))
  end
  local asked = { { "cluster", gpus }, { "gpus", e.cluster.gpus },
    { "form", e.options.form or "events" } }
  local parts = { { "time_s", by_key(e.time, berth.llm.time_kinds) }, { "kernels", kernels },
    { "factors", by_key(e.factors, berth.llm.factor_names) } }
  write(json.encode(schema.document "llm estimate" (options.join(
    inputs.members(e.model, e.memory, found), asked, json.fields(e, ANSWER), parts,
    json.fields(e, "rows error worst"), { { "explained", x and explained(x) } }))))
end

-- ---- files and text -----------------------------------------------------------------------------

local function save(e, given, plan, words)
  if not (given.trace or given.report) then return end
  local result = fail.need(berth.llm.simulate(e.model, e.cluster, plan, e.options))
  if given.trace then fail.need(result:save_trace(given.trace)) end
  if given.report then
    fail.need(berth.llm.report(given.report, e, { result = result, measured = given.measured,
      title = given.title, figure = given.figure,
      command = typed.command("llm", words, "report") }))
  end
end

local function print_text(write, e, x, found, path, gpus)
  inputs.print_head(write, e.model, e.cluster, e.plan, found, true)
  inputs.print(write, tostring(e))
  inputs.print_notes(write, e.model, found)
  inputs.print_lack(write, e.memory, path, gpus)
  if x then inputs.print(write, "\n" .. tostring(x)) end
end

--- @return exit code: 0, or 1 if a stage does not fit
function command.run(positional, given, write, _, words)
  for _, key in ipairs { "title", "figure" } do
    fail.refuse(given[key] and not given.report, "--%s requires --report", key)
  end
  local m, c, plan, found = inputs.read("llm estimate", positional, given)
  local e = fail.need(berth.llm.estimate(m, c, plan,
    inputs.given(given, "llm.estimate", KEYS, { launch = given["launch-time"] })))
  local x = given.measured and berth.llm.explain(e, given.measured)
  save(e, given, plan, words)
  if given.json then write_json(write, e, x, given.gpus, found)
  else print_text(write, e, x, found, positional[2], given.gpus) end
  return e.memory.fits and 0 or fail.INFEASIBLE
end

return command
