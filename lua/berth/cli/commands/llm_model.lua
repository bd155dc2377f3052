--- berth llm model: what a language model consists of.
local align = require "berth.base.align"
local base = require "berth.base.options"
local berth = require "berth"
local core = require "berth.core"
local fail = require "berth.cli.fail"
local json = require "berth.base.json_writer"
local notes = require "berth.cli.notes"
local options = require "berth.cli.options"
local schema = require "berth.base.schema"
local sources = require "berth.cli.sources"
local zoo = require "berth.llm.zoo"

local NOTES = [[
CONFIG is the config.json of a Hugging Face model, its folder, or model:NAME[,option=value...] of
berth models: model:llama-7b, model:llama,layers=16.
A field that changes shapes and is not understood is refused by its name; docs/llm.md lists the
fields that are read.]]

local command = {
  name = "llm model", use = "llm model CONFIG [options]", least = 2, most = 2,
  text = "A language model by its config.json: parameters, layers by kind, the shape of each "
    .. "weight.",
  notes = NOTES, options = { options.flag("weights", "also prints every weight"), options.json },
}

-- The path of the config.json that an argument names.
local function path_of(argument)
  local folder = io.open(argument .. "/config.json", "rb")
  if not folder then return argument end
  folder:close()
  return argument .. "/config.json"
end

-- The model of a path, which may be a launch file by mistake.
local function model_at(argument)
  local path = path_of(argument)
  local m, message, code = berth.llm.model(path)
  if not m and message:find("JSON", 1, true) and berth.llm.launch(path) then
    message = ("%s is a launch file, no config.json; berth llm estimate --launch %s reads it")
      :format(path, path)
  end
  return fail.need(m, message, code)
end

local STEP = { batch = true, seq = true }

-- Refuses options that are not of the shape of a model, or of its step.
local function check_settings(spec, settings)
  local legal = base.join(zoo.shape, base.sorted_keys(STEP))
  for _, key in ipairs(base.sorted_keys(settings)) do
    local known = STEP[key]
    for _, each in ipairs(zoo.shape) do known = known or each == key end
    fail.refuse(not known, "%s: %s: options of a language model are %s; others are options of the "
      .. "command", spec, key, table.concat(legal, " "))
  end
end

--- The model that an argument names: a config.json, its folder, or "model:llama-7b".
-- @treturn llm
-- @treturn table batch and seq of "model:llama-7b,batch=8,seq=512"
function command.read(argument)
  if not argument:find "^model:" then return model_at(argument), {} end
  local name, settings = sources.model(argument)
  check_settings(argument, settings)
  local graph = fail.need(berth.models.build(name, base.merge(settings,
    { granularity = "block" })))
  local m = fail.need(berth.llm.model(graph))
  if zoo.origin(graph).maker == "bert" then
    notes.add "a BERT is estimated as a decoder of the same shape"
  end
  return m, { batch = settings.batch, seq = settings.seq }
end

local function whole(x) return core.sprintf("%.0f", x) end

-- "8 (2 kv) x 128", "128 (latent 512) x 192"
local function heads(k)
  local kv = k.kv_rank > 0 and ("latent %d"):format(k.kv_rank) or ("%d kv"):format(k.kv_heads)
  return ("%d (%s) x %d"):format(k.heads, kv, k.head_dim)
end

local function experts(k)
  if k.experts == 0 then return "-" end
  local shared = k.shared_ffn > 0 and (" + %d"):format(k.shared_ffn) or ""
  return ("%d of %d x %d%s"):format(k.top, k.experts, k.expert_ffn, shared)
end

local function kind_rows(m)
  local rows = { { "kind", "layers", "heads", "window", "MLP", "experts", "parameters", "active" } }
  for i, k in ipairs(m.kinds) do
    rows[i + 1] = { whole(i), whole(k.layers), heads(k), k.window > 0 and whole(k.window) or "-",
      k.ffn > 0 and whole(k.ffn) or "-", experts(k), whole(k.parameters), whole(k.active) }
  end
  return rows
end

local function weight_rows(m)
  local rows = { { "weight", "kind", "inputs", "outputs", "copies", "split", "part" } }
  local function add(list, kind)
    for _, w in ipairs(list) do
      rows[#rows + 1] = { w.name, kind, whole(w.rows), whole(w.columns), whole(w.copies), w.shard,
        w.part }
    end
  end
  add(m.weights, "-")
  for i, k in ipairs(m.kinds) do add(k.weights, whole(i)) end
  return rows
end

local KIND = "layers heads kv_heads head_dim value_dim window q_rank kv_rank rope_dim index_heads "
  .. "index_dim index_top ffn gated experts top expert_ffn shared_ffn parameters active"

local function weight_objects(list)
  local out = {}
  for i, w in ipairs(list) do
    out[i] = json.object(json.fields(w, "name rows columns copies part shard"))
  end
  return out
end

--- Members of a model for JSON documents.
function command.members(m)
  return json.fields(m, "model=name model_type=type parameters active layers hidden vocab tied "
    .. "notes")
end

local function write_json(write, m)
  local kinds, members = {}, command.members(m)
  for i, k in ipairs(m.kinds) do
    kinds[i] = json.fields(k, KIND)
    table.insert(kinds[i], { "weights", weight_objects(k.weights) })
    kinds[i] = json.object(kinds[i])
  end
  members[#members + 1] = { "kinds", kinds }
  members[#members + 1] = { "kind_of", m.kind_of }
  members[#members + 1] = { "weights", weight_objects(m.weights) }
  write(json.encode(schema.document "llm model" (members)))
end

--- @return exit code 0
function command.run(positional, given, write)
  local m = command.read(positional[2])
  if given.json then
    write_json(write, m)
    return 0
  end
  write(tostring(m))
  for _, line in ipairs(align.lines(kind_rows(m), {})) do write(line) end
  if given.weights then
    for _, line in ipairs(align.lines(weight_rows(m), { true })) do write(line) end
  end
  for _, note in ipairs(m.notes) do write("note: " .. note) end
  return 0
end

return command
