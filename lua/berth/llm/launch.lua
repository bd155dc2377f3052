--- Launch files of frameworks: docs/launch.md.
local core = require "berth.core"
local options = require "berth.base.options"

local launch = {}

options.declare("llm.launch", {
  { key = "format", type = "choice", default = "by the contents", choices = (function()
    local out = {}
    for _, f in ipairs(core.llm_formats()) do
      if f.reads then out[#out + 1] = { name = f.name, text = f.text .. "." } end
    end
    return out
  end)(), text = "what kind of file it is" },
})

--- What a framework is launched with: flags of Megatron-LM, as a text or in a shell script;
-- torchtitan's TOML; DeepSpeed's JSON; accelerate's JSON for FSDP.
-- @tparam string path
-- @tparam[opt] table opts format
-- @treturn[1] launch l:plan(opts, gpus, layers): options of berth.llm.plan, and a table that says
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

return launch
