--- The option --launch of berth llm: a plan, and often a model, from a launch file.
local berth = require "berth"
local base = require "berth.base.options"
local core = require "berth.core"
local fail = require "berth.cli.fail"
local json = require "berth.base.json_writer"
local model = require "berth.cli.commands.llm_model"

local launch = {}

launch.option = { name = "launch", kind = "string", value = "FILE",
  text = "a launch file of a framework, as a plan: docs/launch.md; other options beat it" }

--- Model and options of the plan, with those of a file.
-- @tparam string command for messages
-- @tparam string|nil path of the config.json, or "model:llama-7b"
-- @tparam string|nil file of --launch
-- @tparam llm_cluster c
-- @tparam table plan options that are given
-- @treturn llm m
-- @treturn llm_cluster c
-- @treturn table plan
-- @treturn table|nil found: file (berth.llm.launch), source (by option), notes
function launch.read(command, path, file, c, plan)
  local l = file and fail.need(berth.llm.launch(file))
  fail.refuse(not path and not l, "%s: a config.json, or its folder, is needed", command)
  fail.refuse(not path and l.no_model, "%s: has no model (%s): give its config.json", file,
    l and l.no_model)
  local m, step
  if path then m, step = model.read(path) else m, step = fail.need(l:model()), {} end
  plan = base.merge({ global_batch = step.batch, seq = step.seq }, plan)
  if not l then return m, c, plan end
  local merged, source = l:plan(plan, c.gpus, m.layers)
  fail.need(merged, source)
  local notes = l.notes
  if l.gpus and l.gpus ~= c.gpus then
    notes[#notes + 1] = core.sprintf("the file starts %d GPUs, and --gpus has %d", l.gpus, c.gpus)
  end
  local layers = l.shapes.layers
  if path and layers > 0 and layers ~= m.layers then
    notes[#notes + 1] = core.sprintf("the file has %d layers, and the model %d", layers, m.layers)
  end
  return m, c, merged, { file = l, source = source, notes = notes }
end

local function text_of(x)
  if type(x) == "table" then
    local out = {}
    for i, n in ipairs(x) do out[i] = core.sprintf("%d", n) end
    return table.concat(out, ",")
  end
  return type(x) == "number" and core.sprintf("%.15g", x) or tostring(x)
end

-- Options of the plan that the file sets, by whether a framework's default does.
local function parts(found, plan, by_default)
  local out = {}
  for _, o in ipairs(base.described "llm.fill") do
    local source = found.source[o.key]
    if source and (source:find "^default" ~= nil) == by_default then
      out[#out + 1] = ("%s %s"):format(o.key, text_of(plan[o.key]))
    end
  end
  return table.concat(out, ", ")
end

--- Lines of text.
function launch.lines(found, plan)
  if not found then return {} end
  local out = { ("launch: %s: %s"):format(tostring(found.file), parts(found, plan, false)) }
  local defaults = parts(found, plan, true)
  if defaults ~= "" then
    out[2] = ("by default of %s: %s"):format(found.file.format, defaults)
  end
  return out
end

--- Members of JSON documents.
function launch.members(found)
  if not found then return {} end
  local source = {}
  for _, o in ipairs(base.described "llm.fill") do
    local from = found.source[o.key]
    if from then
      source[#source + 1] = json.object { { "option", o.key }, { "source", from } }
    end
  end
  local l = found.file
  return { { "launch", json.object { { "file", l.name }, { "format", l.format },
    { "settings", l.settings }, { "sources", source }, { "notes", found.notes } } } }
end

return launch
