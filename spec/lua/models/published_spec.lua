-- Sizes against the published ones, from the plain descriptions.
local models = require "berth.models"
local raises = require("support.errors").raises
local merged = require "support.merged"

local function about(name, options)
  local o = merged({ batch = 1, training = false }, options)
  return select(2, models.describe(name, o))
end

-- Parameters as the released models have them.
local PARAMETERS = {
  { "resnet18", 11689512 }, { "resnet34", 21797672 }, { "resnet50", 25557032 },
  { "resnet101", 44549160 },
  { "resnet152", 60192808 }, { "vgg11", 132863336 }, { "vgg13", 133047848 }, { "vgg16", 138357544 },
  { "vgg19", 143667240 },
  { "inception_v3", 23834568 }, { "bert-base", 109482240 }, { "bert-large", 335141888 },
  { "llama-7b", 6738415616 },
  { "llama-13b", 13015864320 }, { "llama-30b", 32528943616 }, { "llama-65b", 65285660672 },
  { "llama-2-70b", 68976648192 },
  { "llama-3-8b", 8030261248 }, { "llama-3-70b", 70553706496 }, { "gnmt", 160671297 },
}

-- Multiply-adds of one image, in units of 1e9.
local GMACS = { { "resnet50", 4.09 }, { "resnet101", 7.80 }, { "vgg16", 15.47 }, { "vgg19", 19.63 },
  { "inception_v3", 5.71 } }

describe("models: published sizes", function()
  for _, row in ipairs(PARAMETERS) do
    it("has the parameters of " .. row[1], function()
      assert.equal(string.format("%.0f", row[2]), string.format("%.0f", about(row[1]).parameters))
    end)
  end

  for _, row in ipairs(GMACS) do
    it("has the multiply-adds of " .. row[1] .. " to 2 %", function()
      assert.near(row[2], about(row[1]).macs_forward / 1e9, 0.02 * row[2])
    end)
  end

  it("has the trained parameters of ResNet's version 2 as Keras counts them", function()
    for depth, parameters in pairs { [50] = 25568360, [101] = 44577896, [152] = 60236904 } do
      assert.equal(parameters, about("resnet", { depth = depth, version = 2 }).parameters)
    end
    raises("version = 2 has depth = 50, 101 or 152, not 18", about, "resnet",
      { depth = 18, version = 2 })
  end)

  it("comes within 1.5 % of the 66 M and 20 M of the LSTM language models", function()
    assert.equal(66034000, about("rnnlm-large").parameters)
    assert.equal(19780400, about("rnnlm").parameters)
    assert.near(20e6, about("rnnlm").parameters, 0.015 * 20e6)
  end)

  it("counts the auxiliary head of Inception-V3 when training", function()
    assert.equal(27161264, about("inception_v3", { training = true }).parameters)
    assert.equal(23834568, about("inception_v3", { training = true, aux = false }).parameters)
  end)

  it("comes within 3 % of the 65 M parameters of the base transformer", function()
    assert.near(65e6, about("transformer").parameters, 0.03 * 65e6)
    assert.equal(63082496, about("transformer").parameters)
    assert.near(213e6, about("transformer-big").parameters, 0.01 * 213e6)
  end)

  it("counts both heads of BERT's pre-training", function()
    assert.equal(110106428, about("bert-base", { head = "pretraining" }).parameters)
    assert.equal(336226108, about("bert-large", { head = "pretraining" }).parameters)
  end)

  it("takes the FLOP of a decoder from its matrix sizes", function()
    -- 2 x tokens x (parameters of the products) + attention: 4 x layers x tokens^2 x hidden
    local seq, hidden, layers = 128, 4096, 32
    local products = 6738415616 - 32000 * hidden - (2 * layers + 1) * hidden
    assert.near(2 * seq * products + 4 * layers * seq * seq * hidden,
      2 * about("llama-7b", { seq = seq }).macs_forward, 1)
  end)

  it("scales with the batch and not with the parameters", function()
    local one, eight = about("resnet50"), about("resnet50", { batch = 8 })
    assert.equal(8 * one.macs_forward, eight.macs_forward)
    assert.equal(one.parameters, eight.parameters)
  end)
end)
