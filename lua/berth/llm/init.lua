--- Language models: docs/llm.md.
-- @module berth.llm
local core = require "berth.core"
local json = require "berth.base.json"
local options = require "berth.base.options"

local llm = {}

--- A model from a config.json, or by hand.
-- @tparam string|table what path of a config.json; or what such a file holds, with model_type or
--  hidden_size; or shapes: layers, hidden, heads, vocab and further options of docs/llm.md
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
  options.expect(what, "table", "berth.llm.model: model")
  if what.model_type or what.hidden_size then
    return core.llm_parse("config", json.encode(what))
  end
  return core.llm_new(what)
end

return llm
