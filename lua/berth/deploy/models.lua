--- Models of the study of TAG, by their names there, at its batch sizes: docs/deploy.md. Graphs of
-- berth.models, op by op, Adam.
-- @module berth.deploy.models
local core = require "berth.core"
local models = require "berth.models"
local options = require "berth.base.options"

local study = {}

local BERT = { head = "span", seq = 128, heads = 16, batch = 32 }
local SMALL = options.merge(BERT, { layers = 4, hidden = 1024, ffn = 1024, positions = 512 })
local LARGE = options.merge(BERT, { layers = 24, hidden = 2048, ffn = 2048, positions = 1024 })

-- Vocabulary as the published configuration has it, probably a slip for 30,522.
local WORDS, USUAL_WORDS = 305220, 30522

-- name, model of berth.models, its options
local KNOWN = {
  { "inception_v3", "inception_v3", { batch = 120, image = 224, aux = false } },
  { "resnet101", "resnet", { batch = 120, depth = 101, version = 2 } },
  { "vgg19", "vgg", { batch = 120, depth = 19 } },
  { "transformer", "transformer", { batch = 600, layers = 6, hidden = 512, heads = 8, ffn = 2048,
    vocab = 50000, seq = 10, tied = false } },
  { "bert_small", "bert", options.merge(SMALL, { vocab = WORDS }) },
  { "bert_large", "bert", options.merge(LARGE, { vocab = WORDS }) },
  { "bert_small_30522", "bert", options.merge(SMALL, { vocab = USUAL_WORDS }) },
  { "bert_large_30522", "bert", options.merge(LARGE, { vocab = USUAL_WORDS }) },
  -- not of the study: models that a learned prior has not seen, and one of 2,000 ops to time things
  -- with
  { "resnet50", "resnet", { batch = 120, depth = 50 } },
  { "gnmt", "gnmt", { batch = 120, steps_per_op = 10 } },
  { "rnnlm", "rnnlm", { batch = 120, size = "large", seq = 20, steps_per_op = 5 } },
  { "speed", "bert", { batch = 64, layers = 45, hidden = 512, heads = 8, vocab = USUAL_WORDS,
    head = "span" } },
}

local SETS = {
  study = { "inception_v3", "resnet101", "vgg19", "transformer", "bert_small", "bert_large" },
  unseen = { "resnet50", "gnmt" },
}

--- Names, in a fixed order.
-- @tparam[opt] string set "study" (the six), "unseen" (two to test a learned prior on); nil: all
-- @treturn table array of strings
function study.list(set)
  local names = {}
  if set ~= nil then
    options.refuse(not SETS[set], "berth.deploy.models.list: %s is none of: study, unseen",
      tostring(set))
    for i, name in ipairs(SETS[set]) do names[i] = name end
    return names
  end
  for i, entry in ipairs(KNOWN) do names[i] = entry[1] end
  return names
end

local function entry_of(fn, name)
  for _, entry in ipairs(KNOWN) do
    if entry[1] == name then return entry end
  end
  return options.fail("%s: no model %q (legal: %s)", fn, tostring(name),
    options.names_text(name, study.list()))
end

local function with_options(fn, own, given)
  if given ~= nil then options.expect(given, "table", "%s: options", fn) end
  return options.merge(own, given)
end

--- Samples in a step of the study.
function study.batch(name) return entry_of("berth.deploy.models.batch", name)[3].batch end

--- Plain description and table about it, as berth.models.describe gives them.
function study.describe(name, given)
  local fn = "berth.deploy.models.describe"
  local entry = entry_of(fn, name)
  local graph, about = models.describe(entry[2], with_options(fn, entry[3], given))
  graph.name, about.name = name, name
  return graph, about
end

--- Graph of a model, and the table about it.
-- @tparam string name
-- @tparam[opt] table given options of the model of berth.models; they override those of the study
-- @treturn graph
-- @treturn table as berth.models has it, and gradient_bytes: what an AllReduce of all gradients has
--  to sum
-- @usage g, about = berth.deploy.models.build("bert_small", { batch = 6, embedding_gradients =
--  "rows" })
function study.build(name, given)
  local fn = "berth.deploy.models.build"
  local entry = entry_of(fn, name)
  local description, about = models.describe(entry[2], with_options(fn, entry[3], given))
  description.name, about.name = name, name
  about.gradient_bytes = 0
  for _, t in ipairs(description.tensors) do
    if t.gradient then about.gradient_bytes = about.gradient_bytes + t.bytes end
  end
  local graph, message, code = core.graph(description)
  if not graph then return nil, message, code end
  return graph, about
end

-- B, B / 2, B / 4, B / 8, as long as there is a sample.
local function halves(batch)
  local out = {}
  for i = 0, 3 do
    local b = math.floor(batch / 2 ^ i)
    if b >= 1 then out[#out + 1] = b end
  end
  return out
end

--- Graphs of a model at several batch sizes, alike but for their costs: points of a batch profile.
-- @tparam string name
-- @tparam[opt] table batches; nil: the model's, a half, a quarter and an eighth of it
-- @tparam[opt] table given as for build, without batch
-- @treturn table array of { batch, graph }, as the option points of a deployment takes it
function study.points(name, batches, given)
  local fn = "berth.deploy.models.points"
  local entry = entry_of(fn, name)
  given = with_options(fn, nil, given)
  if given.batch ~= nil then options.fail("%s: batch: follows from the batches", fn) end
  if batches ~= nil then options.expect(batches, "table", "%s: batches", fn) end
  local points = {}
  for i, batch in ipairs(batches or halves(entry[3].batch)) do
    local graph, message, code = study.build(name, options.merge(given, { batch = batch }))
    if not graph then return nil, message, code end
    points[i] = { batch = batch, graph = graph }
  end
  return points
end

--- A small random training graph: berth.models.random.
-- @tparam[opt] table given seed, family, layers, batch, ...
-- @treturn graph
-- @treturn table about it
-- @usage g = berth.deploy.models.random { seed = 3, family = "cnn" }
function study.random(given) return models.random(given) end

return study
