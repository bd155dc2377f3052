--- Files of schedules: PyTorch's CSV, berth JSON, Megatron's layout of the layers.
local core = require "berth.core"
local csv = require "berth.schedule.csv"
local json = require "berth.base.json"
local layout = require "berth.schedule.layout"
local object = require "berth.schedule.object"
local options = require "berth.base.options"
local problem = require "berth.schedule.problem"
local schema = require "berth.base.schema"
local write = require "berth.base.write"
local writer = require "berth.base.json_writer"

local files = {}

local LOAD, SAVE = "berth.schedule.load", "berth.schedule.save"

options.declare("schedule.save", {
  { key = "format", type = "choice", default = "by the path's ending",
    choices = { { name = "csv", text = "As PyTorch reads it." },
      { name = "json", text = "berth JSON, with the problem." },
      { name = "layout", text = "The split of the layers, a Megatron layout." } },
    text = "what is written" },
})

-- ---- writing ------------------------------------------------------------------------------------

local writers = { csv = csv.text }

--- Members of the JSON document of a schedule, without its order.
function files.members(s)
  local p = s.problem
  return options.join({ { "name", s.name } },
    writer.fields(p, "stages microbatches chunks map objective joined forward_s=forward "
      .. "backward_s=backward weight_s=weight p2p_s=p2p activations freed memory extra_s=extra "
      .. "overlap layout"),
    writer.fields(s, "outcome step_s=step makespan_s=makespan span_s=span bubble bound_s=bound "
      .. "peak"))
end

function writers.json(s)
  local order = {}
  for stage, actions in ipairs(s.list) do
    order[stage] = table.concat(csv.cells(actions, s.problem.joined), " ")
  end
  return writer.encode(schema.document "schedule file" (options.join(files.members(s),
    { { "order", order } }))) .. "\n"
end

function writers.layout(s)
  local p = s.problem
  if not p.layout then return nil, "the problem has no layers: a layout is a split of layers" end
  if p.chunks > 1 and p.map ~= "interleaved" then
    return nil, ("a layout is interleaved, the map is %s"):format(p.map)
  end
  return p.layout .. "\n"
end

local function format_of(fn, path, given)
  local name = given or path:match "%.(%w+)$"
  if writers[name] then return name end
  return options.fail("%s: format '%s' is none of: csv, json, layout", fn, tostring(name))
end

--- @treturn[1] string
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code
function files.text(s, format)
  local text, message = writers[format_of("schedule:to_string", "", format)](s)
  if not text then return nil, "schedule: " .. message, "unsupported" end
  return text
end

--- @tparam schedule s
-- @tparam string path
-- @tparam[opt] table opts as declared above
function files.save(s, path, opts)
  object.check(SAVE, s)
  options.expect(path, "string", "%s: path", SAVE)
  local format = format_of(SAVE, path, options.read(SAVE, "schedule.save", opts).format)
  local text, message, code = files.text(s, format)
  if not text then return nil, message, code end
  return write(path, text)
end

-- ---- reading ------------------------------------------------------------------------------------

local function bad(name, message) return nil, ("%s: %s"):format(name, message), "parse" end

-- The schedule, or which cell of the file stops it.
local function running(name, s, rows)
  if not s.stopped then return s end
  local a = rows[s.stopped.stage][s.stopped.index]
  return nil, object.stop(("%s: %s"):format(name, csv.place(a)), s)
end

-- A schedule of rows of actions.
local function made(name, opts, rows)
  local p, message, code = problem.of(LOAD, opts)
  if not p then return nil, message, code end
  for _, actions in ipairs(p.joined and rows or {}) do
    for _, a in ipairs(actions) do a.kind = a.kind == "BW" and "B" or a.kind end
  end
  local lists = {}
  for stage, actions in ipairs(rows) do
    lists[stage] = {}
    for i, a in ipairs(actions) do
      lists[stage][i] = { kind = a.kind, chunk = a.chunk, microbatch = a.microbatch,
        overlapped = a.overlapped }
    end
  end
  local handle
  handle, message, code = core.schedule_new(p.handle, lists, name)
  if not handle then return nil, message, code end
  return object.of(handle, p)
end

local readers = {}

local function refuse_options(name, opts, why)
  local key = options.sorted_keys(opts)[1]
  options.refuse(key, "%s: %s: option '%s': %s", LOAD, name, tostring(key), why)
end

function readers.csv(text, name, opts)
  local found, why = csv.read(text)
  if not found then return bad(name, why) end
  for _, key in ipairs { "stages", "microbatches", "chunks", "map" } do
    options.refuse(opts[key] ~= nil and opts[key] ~= found.shape[key], "%s: %s: the file has %s",
      LOAD, key, tostring(found.shape[key]))
  end
  local s, message, code = made(name:match "([^/]*)$", options.merge(opts, found.shape), found.rows)
  if not s then return nil, message, code end
  return running(name, s, found.rows)
end

local KEYS = { "stages", "microbatches", "chunks", "map", "objective", "joined", "activations",
  "freed", "memory", "overlap", "layout" }
local TIMES = { "forward", "backward", "weight", "p2p", "extra" }

-- null, which is nil in arrays, is no limit.
local function limits(found)
  local out = {}
  for i = 1, found.stages do out[i] = found.memory and found.memory[i] or math.huge end
  return out
end

function readers.json(text, name)
  local found, why = json.decode(text, name)
  if type(found) ~= "table" then return nil, why or name .. ": expected an object", "parse" end
  if not schema.reads("schedule file", found.schema) or type(found.order) ~= "table" then
    return bad(name, "is no schedule of berth JSON")
  end
  local o = {}
  for _, key in ipairs(KEYS) do o[key] = found[key] end
  for _, key in ipairs(TIMES) do o[key] = found[key .. "_s"] end
  o.memory, o.layout = limits(found), nil
  if #(o.p2p or {}) == 0 then o.p2p = nil end
  local lines = {}
  for i, line in ipairs(found.order) do lines[i] = tostring(line):gsub(" ", ",") end
  local rows
  rows, why = csv.read(table.concat(lines, "\n"))
  if not rows then return bad(name, "order: " .. why) end
  local s, message, code = made(found.name or "", o, rows.rows)
  if s then s.problem.layout = found.layout end
  return s, message, code
end

-- What the options of a file's problem raise is a mistake of the file.
local function from_json(text, name, opts)
  refuse_options(name, opts, "berth JSON has the problem")
  local fine, s, message, code = pcall(readers.json, text, name)
  if fine then return s, message, code end
  return bad(name, (tostring(s):gsub("^.*berth%.schedule%.%w+: ", "")))
end

function readers.layout(text, name, opts)
  refuse_options(name, opts, "a layout has no problem")
  local fine, why = layout.parse((text:gsub("%s+$", "")))
  if not fine then return bad(name, why) end
  return (text:gsub("%s+$", ""))
end

local function sniffed(text)
  if text:find "^%s*{" then return "json" end
  if text:find "^[%s,(]*[Etm]" or text:find "^%s*|" then return "layout" end
  return "csv"
end

--- Reads a file: PyTorch's CSV (opts: the problem's costs, memory and so on; stages and
-- micro-batches are those of the file), berth JSON, or a layout (a text, for the option split).
-- @tparam string path
-- @tparam[opt] table opts options of berth.schedule.make, and format ("csv", "json", "layout";
--  default: by content)
-- @treturn[1] schedule
-- @treturn[2] nil
-- @treturn[2] string message with file, row, cell, value and reason
-- @treturn[2] string code
function files.load(path, opts)
  options.expect(path, "string", "%s: path", LOAD)
  local text, message, code = core.read(path)
  if not text then return nil, message, code end
  local given = options.merge(opts)
  local format = given.format or sniffed(text)
  given.format = nil
  options.refuse(not readers[format], "%s: format '%s' is none of: csv, json, layout", LOAD,
    tostring(format))
  return (format == "json" and from_json or readers[format])(text, path, given)
end

return files
