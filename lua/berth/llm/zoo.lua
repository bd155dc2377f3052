--- Language models of berth.models as models of berth.llm.
local core = require "berth.core"
local json = require "berth.base.json"
local models = require "berth.models"
local options = require "berth.base.options"

local zoo = {}

--- Options of these models that change their shape, in the order in which they are written.
zoo.shape = { "size", "layers", "hidden", "heads", "kv_heads", "ffn", "vocab", "positions" }

-- Fields of a config.json, by maker. A BERT is a decoder of the same shape: norms, biases, the
-- tied head and learned positions are those of GPT-2.
local CONFIGS = {
  llama = function(o)
    return { model_type = "llama", num_hidden_layers = o.layers, hidden_size = o.hidden,
      num_attention_heads = o.heads, num_key_value_heads = o.kv_heads, intermediate_size = o.ffn,
      vocab_size = o.vocab, tie_word_embeddings = false }
  end,
  bert = function(o)
    return { model_type = "gpt2", n_layer = o.layers, n_embd = o.hidden, n_head = o.heads,
      n_inner = o.ffn, vocab_size = o.vocab, n_positions = o.positions }
  end,
}

--- What a graph was made from, if that is a language model; nil: it is none.
function zoo.origin(graph)
  local origin = models.origin(graph)
  return origin and CONFIGS[origin.maker] and origin or nil
end

--- "model:llama,layers=4": the argument of the command line.
function zoo.spec(origin)
  local parts = { "model:" .. origin.name }
  for _, key in ipairs(zoo.shape) do
    local x = origin.given[key]
    if x ~= nil then
      parts[#parts + 1] = ("%s=%s"):format(key, type(x) == "number" and ("%.0f"):format(x) or x)
    end
  end
  return table.concat(parts, ",")
end

--- The model of a graph.
-- @tparam graph graph
-- @treturn[1] llm
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code
function zoo.model(graph)
  local origin = zoo.origin(graph)
  if not origin then
    return nil, ("berth.llm.model: graph %q is no language model of berth.models (legal: %s)")
      :format(graph.name or "", table.concat(options.sorted_keys(CONFIGS), ", ")), "unsupported"
  end
  return core.llm_parse(origin.name, json.encode(CONFIGS[origin.maker](origin.options)))
end

return zoo
