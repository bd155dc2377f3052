--- berth llm plan: how to split the training of a model over GPUs.
local align = require "berth.base.align"
local base = require "berth.base.options"
local berth = require "berth"
local core = require "berth.core"
local estimate = require "berth.llm.estimate"
local fail = require "berth.cli.fail"
local inputs = require "berth.cli.llm_inputs"
local json = require "berth.base.json_writer"
local options = require "berth.cli.options"
local schema = require "berth.base.schema"
local search = require "berth.llm.search"
local texts = require "berth.llm.plan_text"
local typed = require "berth.cli.typed"
require "berth.llm.launch" -- these two declare options
require "berth.llm.page"

local PARTS = "tp cp pp dp ep etp vp micro_batch zero"
local NAMED = "schedule recompute sequence_parallel"
local LIMITS = "inside objective time price fill finalists calls seconds"
local REST = "reshard recompute_layers offload dropout fused_loss dtype optimizer gradients "
  .. "training lora_rank framework runtime overlap_grad overlap_gather overlap_tp overlap_p2p"

-- Names with commas between them.
local function named()
  local out = {}
  for i, o in ipairs(base.rows("llm.plan", NAMED)) do
    out[i] = { name = o.key:gsub("_", "-"), kind = "string", value = "NAME,...",
      text = o.text .. "; default " .. o.default }
  end
  return out
end

local command = {
  name = "llm plan", use = "llm plan CONFIG --gpus CLUSTER --batch N [options]", least = 2,
  most = 2,
  text = "How to split the training of a model: the fastest plan that fits, by search over all "
    .. "splits,\nwhy others are slower, and what to change next.",
  notes = [[
CONFIG is the config.json of a Hugging Face model, its folder, or model:NAME[,option=value...] of
berth models: model:llama-7b,batch=8,seq=512.
CLUSTER is 64xH100, 2x8xA100-80GB (machines of 8) or 8xA100+8xH100; docs/devices.md names the GPUs.
A part that is given is fixed (--tp 8) or limited (--tp 4,8); the others are searched. docs/plans.md
names the space and says what each number means. Exit code 1: no plan fits.]],
  options = options.join({
    { name = "gpus", kind = "string", value = "CLUSTER", text = "the GPUs: 64xH100; needed" },
    options.changed("llm.fill", "global_batch", { name = "batch",
      text = "sequences of a step; needed" }),
  }, options.of("llm.fill", "seq"), options.of("llm.plan", PARTS), named(),
    options.of("llm.plan", LIMITS), options.of("llm.fill", REST),
    options.prefixed("of the cluster: ", options.of("llm.cluster", inputs.cluster)),
    { options.flag("no-flash", "attention stores its scores"),
      options.flag("quick", "without the front of step and memory and what to change next"),
      options.changed("llm.export", "format", { text = "with --output: what is written; "
        .. "torchtitan, deepspeed, fsdp are the framework, too" }),
      options.output("output", "writes the file that launches the plan"),
      options.output("report", "writes a page: the plan, its pipeline and memory, time by kind of "
        .. "others, what to change next", "html") },
    options.of("llm.report", "figure title"), { options.json }),
}

-- Formats of one framework.
local OF_FRAMEWORK = { torchtitan = true, deepspeed = true, fsdp = true }

-- Options of berth.llm.plan; batch and sequence are those of the plan.
local function request(given, plan)
  if OF_FRAMEWORK[given.format] then given.framework = given.framework or given.format end
  local opts = inputs.given(given, "llm.fill", REST, { global_batch = plan.global_batch,
    seq = plan.seq })
  inputs.given(given, "llm.plan", PARTS .. " " .. LIMITS, opts)
  for key in NAMED:gmatch "%S+" do
    local text = given[(key:gsub("_", "-"))]
    if text then
      opts[key] = {}
      for name in text:gmatch "[^,]+" do table.insert(opts[key], name) end
    end
  end
  if given["no-flash"] then opts.flash = false end
  opts.front = not given.quick
  return opts
end

-- ---- text ---------------------------------------------------------------------------------------

local function seconds(x) return core.format(x, "seconds") end
local function bytes(x) return core.format(x, "bytes") end
local short, signed = texts.short, texts.signed

local function plan_text(e)
  local layers = texts.layers(e)
  return tostring(e.plan) .. (layers and (layers:find "^layers" and "\n" or "; ") .. layers or "")
end

local function print_best(write, r)
  local e = r.best
  inputs.print(write, plan_text(e))
  for line in tostring(e):gmatch "[^\n]+" do
    if line:find "^step:" or line:find "^speed:" then inputs.print(write, line) end
  end
  inputs.print(write, texts.memory(e))
  inputs.print(write, texts.time(e))
  inputs.print(write, texts.bound(r))
  if r.cost then
    write(("cost: %s for a million tokens"):format(core.sprintf("%.3g", r.cost)))
  end
  inputs.print(write, estimate.rows_text(e))
  inputs.print(write, search.counts_text(r))
end

local function print_rows(write, title, rows, left)
  if #rows == 0 then return end
  write("")
  write(title)
  for _, row in ipairs(rows) do row[1] = "  " .. row[1] end
  for _, line in ipairs(align.lines(rows, left)) do write(line) end
end

local MOST_FRONT = 6

-- At most so many points of the front, the ends among them.
local function some(list)
  if #list <= MOST_FRONT then return list end
  local out = {}
  for i = 1, MOST_FRONT do
    out[i] = list[1 + math.floor((i - 1) * (#list - 1) / (MOST_FRONT - 1) + 0.5)]
  end
  return out
end

-- One line for all kinds that have the same best plan.
local function kind_rows(r)
  local rows, of = {}, {}
  for _, kind in ipairs(texts.kinds) do
    local x = r.kinds[kind[1]]
    local text = x and x ~= r.plans[1] and short(x.plan)
    if text and of[text] then
      of[text][1] = of[text][1] .. ", " .. kind[2]
    elseif text then
      of[text] = { kind[2], seconds(x.step), signed(x.loss) }
      rows[#rows + 1] = of[text]
      rows[#rows + 1], rows[#rows + 2] = { "  " .. text }, { "  " .. x.reason }
    end
  end
  return rows
end

local function print_others(write, r)
  local rows = {}
  for _, x in ipairs(r.others) do
    rows[#rows + 1] = { short(x.plan), seconds(x.step), signed(x.loss) }
    rows[#rows + 1] = { "  " .. x.reason }
  end
  print_rows(write, r.options.objective == "memory" and "splits with more memory:"
    or "slower splits, and why:", rows, { true })
  print_rows(write, "best of each kind:", kind_rows(r), { true })
end

local function print_changes(write, changes)
  local rows = {}
  for i, x in ipairs(changes) do
    rows[i] = { x.text, seconds(x.step), x.change and signed(x.change) }
  end
  print_rows(write, "what to change next:", rows, { true })
end

-- Plans with more memory than the answer are left out.
local function print_front(write, r)
  local rows, less = {}, {}
  for _, x in ipairs(r.front) do
    if x.memory <= r.plans[1].memory or r.options.objective == "memory" then less[#less + 1] = x end
  end
  for i, x in ipairs(some(less)) do
    rows[i] = { bytes(x.memory), seconds(x.closed), short(x.plan) }
  end
  print_rows(write, "less memory costs time (closed form):", rows, { false, false, true })
end

local function print_text(write, r, changes)
  inputs.print(write, tostring(r.model) .. "\ncluster: " .. tostring(r.cluster))
  if r.best then
    print_best(write, r)
    print_others(write, r)
    print_front(write, r)
  else
    inputs.print(write, search.lack_text(r))
    inputs.print(write, search.counts_text(r))
  end
  print_changes(write, changes)
  for _, note in ipairs(r.model.notes) do write("note: " .. note) end
end

-- ---- JSON ---------------------------------------------------------------------------------------

local FOUND = "step_s=step closed_s=closed memory_bytes=memory loss reason"
local POINT = "closed_s=closed memory_bytes=memory"
local COUNTS = "total refused excluded unfit bounded valued failed left"

local function found_object(x, fields)
  local members = json.fields(x, fields)
  table.insert(members, 1, { "plan", inputs.plan_object(x.plan) })
  return json.object(members)
end

local function objects(list, fields)
  local out = {}
  for i, x in ipairs(list) do out[i] = found_object(x, fields) end
  return out
end

local ANSWER = "step_s=step low_s=low high_s=high tokens_per_s=tokens_per_second "
  .. "tokens_per_s_of_gpu=tokens_per_gpu mfu hfu stage exposed_s=exposed hidden_s=hidden"

-- What stops the model, without the table.
local function reason(r) return search.lack_text(r):match "^[^\n]+" end

local function write_json(write, r, changes, gpus)
  local memory = r.best and r.best.memory or r.least and base.merge(r.least, { fits = false })
  local next_list = {}
  local members = options.join(inputs.members(r.model, memory), { { "cluster", gpus },
    { "gpus", r.cluster.gpus }, { "reason", not r.best and reason(r) or nil } })
  if r.best then
    local times, kinds = {}, {}
    for i, kind in ipairs(berth.llm.time_kinds) do times[i] = { kind, r.best.time[kind] } end
    for _, kind in ipairs(texts.kinds) do
      if r.kinds[kind[1]] then
        kinds[#kinds + 1] = { kind[1], found_object(r.kinds[kind[1]], FOUND) }
      end
    end
    members = options.join(members, json.fields(r.best, ANSWER), {
      { "time_s", json.object(times) }, { "bound_s", r.bound }, { "gap", r.gap },
      { "cost_of_million_tokens", r.cost } }, json.fields(r.best, "rows error worst"), {
      { "others", objects(r.others, FOUND) }, { "kinds", json.object(kinds) },
      { "front", objects(r.front, POINT) } })
  end
  for i, x in ipairs(changes) do
    next_list[i] = json.object(json.fields(x, "text step_s=step change"))
  end
  members[#members + 1] = { "changes", next_list }
  members[#members + 1] = { "plans", json.object(json.fields(r, COUNTS)) }
  write(json.encode(schema.document "llm plan" (members)))
end

-- The file that launches the best plan, and its notes.
local function export(write, r, given)
  if not r.best then
    if not given.json then write("not written, since no plan fits: " .. given.output) end
    return
  end
  local e = fail.need(berth.llm.export(r.model, r.cluster, r.best.plan, given.format))
  fail.need(e:save(given.output))
  if given.json then return end
  for _, note in ipairs(e.notes) do inputs.print(write, "note: " .. note) end
  write("written: " .. given.output)
end

-- The page, or one figure.
local function report(r, changes, given, words)
  fail.need(berth.llm.report(given.report, r, { changes = changes, title = given.title,
    figure = given.figure, command = typed.command("llm", words, "report") }))
end

--- @return exit code: 0, or 1 if no plan fits
function command.run(positional, given, write, _, words)
  for _, key in ipairs { "title", "figure" } do
    fail.refuse(given[key] and not given.report, "--%s requires --report", key)
  end
  fail.refuse((given.output == nil) ~= (given.format == nil),
    "llm plan: --format and --output require one another")
  local m, c, plan = inputs.read("llm plan", positional, given)
  fail.refuse(not plan.global_batch, "llm plan: --batch is needed: sequences of a step")
  local r = fail.need(berth.llm.plan(m, c, request(given, plan)))
  local changes = not given.quick and berth.llm.changes(r) or {}
  if given.report then report(r, changes, given, words) end
  if given.json then write_json(write, r, changes, given.gpus)
  else print_text(write, r, changes) end
  if given.output then export(write, r, given) end
  if given.report and not given.json then write("written: " .. given.report) end
  return r.fits and 0 or fail.INFEASIBLE
end

return command
