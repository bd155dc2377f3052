--- Launch files of frameworks: docs/launch.md.
local core = require "berth.core"
local options = require "berth.base.options"
local schedule = require "berth.schedule"
local write = require "berth.base.write"

local launch = {}

-- ---- reading ------------------------------------------------------------------------------------

local csv_format = { name = "csv", title = "PyTorch", reads = false, writes = true,
  text = "PyTorch's CSV of the pipeline schedule" }

--- Kinds of launch files.
-- @treturn table array of { name, title, text, reads, writes }
function launch.formats()
  local out = core.llm_formats()
  out[#out + 1] = csv_format
  return out
end

local function choices(able)
  local out = {}
  for _, f in ipairs(launch.formats()) do
    if f[able] then
      out[#out + 1] = { name = f.name, text = f.text:gsub("^%l", string.upper) .. "." }
    end
  end
  return out
end

options.declare("llm.launch", { { key = "format", type = "choice", default = "by the contents",
  choices = choices "reads", text = "what kind of file it is" } })
options.declare("llm.export", { { key = "format", type = "choice", default = "must be given",
  choices = choices "writes", text = "what is written" } })

--- What a framework is launched with: flags of Megatron-LM, as a text or in a shell script;
-- torchtitan's TOML; DeepSpeed's JSON; accelerate's JSON for FSDP.
-- @tparam string path
-- @tparam[opt] table opts format
-- @treturn[1] launch l:plan(opts, gpus, layers): options of berth.llm.fill, and a table that says
--  where each that is not in opts comes from; l:model(); format, settings, notes, gpus, shapes,
--  model_name, flavor, no_model
-- @treturn[2] nil
-- @treturn[2] string message with file, line, flag, value and reason
-- @treturn[2] string code
-- @usage plan = berth.llm.launch("train.sh"):plan({ tp = 4 }, 64)
function launch.launch(path, opts)
  opts = options.read("berth.llm.launch", "llm.launch", opts)
  options.expect(path, "string", "berth.llm.launch: path")
  local text, message, code = core.read(path, "berth.llm.launch")
  if not text then return nil, message, code end
  return core.llm_launch(path, text, opts.format)
end

-- ---- writing ------------------------------------------------------------------------------------

-- Names of pipeline schedules of plans, as berth.schedule has them.
local GENERATORS = { interleaved = "interleaved-1f1b" }
-- Those whose backward pass is one action.
local JOINED = { gpipe = true, ["1f1b"] = true, interleaved = true }

-- PyTorch's CSV of the plan's pipeline.
local function csv(m, c, plan)
  local p = core.llm_fill(m, c, plan)
  local s, message, code = schedule.make(GENERATORS[p.schedule] or p.schedule, { stages = p.pp,
    microbatches = p.global_batch / p.dp / p.micro_batch, chunks = p.vp,
    joined = JOINED[p.schedule] })
  if not s then return nil, message, code end
  return s:to_string "csv", {}
end

local Exported = { __name = "berth.llm_export" }
Exported.__index = Exported
function Exported.__tostring(e) return e.text end

--- Writes the text.
-- @tparam string path
-- @treturn[1] boolean true
-- @treturn[2] nil
-- @treturn[2] string message
function Exported:save(path) return write(path, self.text) end

--- The file that launches a plan, given model and cluster as objects.
function launch.export(m, c, plan, format)
  local text, notes, code
  options.refuse(format == nil, "berth.llm.export: format is missing")
  options.check_values("berth.llm.export", "llm.export", { format = format })
  plan = options.merge(plan)
  plan.filled = nil
  if format == "csv" then text, notes, code = csv(m, c, plan)
  else text, notes, code = core.llm_export(m, c, plan, format) end
  if not text then return nil, notes, code end
  return setmetatable({ format = format, text = text, notes = notes }, Exported)
end

return launch
