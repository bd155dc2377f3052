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

--- A cluster of GPUs.
-- @tparam string|table|topology what "64xH100"; "2x8xA100-80GB": machines of 8; "8xA100+8xH100";
--  or options: gpu, gpus and further ones of docs/llm.md; or a topology
-- @treturn[1] cluster name, gpus, groups (array: name, count, per_machine, memory, link, nic, ...);
--  c:topology()
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code
-- @usage print(berth.llm.cluster "64xH100")
function llm.cluster(what)
  if type(what) == "string" then return core.llm_cluster_parse(what) end
  if core.kind(what) == "topology" then return core.llm_cluster_of(what) end
  options.expect(what, "table", "berth.llm.cluster: cluster")
  return core.llm_cluster_new(what)
end

return llm
