-- berth llm: what it prints, its exit codes, and what it refuses.
local json = require "dkjson"
local shell = require "support.shell"

local config

local function run(...) return shell.run("llm", ...) end

local function lines(text)
  local out = {}
  for line in text:gmatch "[^\n]+" do out[#out + 1] = line end
  return out
end

describe("berth llm", function()
  setup(function()
    config = shell.file(".json", '{"model_type":"llama","hidden_size":64,"vocab_size":100,'
      .. '"num_hidden_layers":4,"num_attention_heads":4,"intermediate_size":128,'
      .. '"num_nextn_predict_layers":1}')
  end)
  teardown(function() shell.tidy() end)

  it("prints a model, its kinds and weights", function()
    local exit, out = run("model", config, "--weights")
    local got = lines(out)
    assert.equal(0, exit)
    assert.matches("4 layers of width 64, 4 heads x 16, MLP 128 gated, vocabulary 100$", got[1])
    assert.matches("^kind +layers +heads", got[2])
    assert.matches("^   1 +4 +4 %(4 kv%) x 16", got[3])
    assert.matches("\ndown +1 +128 +64 +1 +row +mlp\n", out)
    assert.matches("^note: modules that predict further tokens", got[#got])
  end)

  it("prints memory by stage, and what was filled", function()
    local exit, out = run("memory", config, "--gpus", "8xA100", "--tp", "2", "--pp", "2",
      "--micro-batch", "1", "--batch", "16", "--seq", "128", "--recompute", "selective")
    local got = lines(out)
    assert.equal(0, exit)
    assert.matches("^cluster: 8 x A100", got[2])
    assert.equal("plan: tp 2, pp 2, dp 2; 1 of 16 sequences x 128 tokens; 1f1b, zero 1, "
      .. "recompute selective, bf16, megatron", got[3])
    assert.matches("^not given: cp 1, dp 2,", got[4])
    assert.matches("\nmemory: stage 1 of 2 has most: .* of 85.9 GB .*, fits\n", out)
    assert.matches("\n    2 +2 ", out)
  end)

  it("ends with 1 where it does not fit, and has numbers as JSON", function()
    local exit, out = run("memory", config, "--gpus", "1xT4", "--runtime", "15 GiB", "--no-flash",
      "--json")
    local x = json.decode(out)
    assert.equal(1, exit)
    assert.is_false(x.fits)
    assert.is_false(x.plan.flash)
    assert.equal(15 * 2 ^ 30, x.plan.runtime_bytes)
    local s = x.stages[1]
    assert.equal(15360 * 2 ^ 20, s.limit_bytes)
    assert.near(s.total_bytes, s.weights_bytes + s.gradients_bytes + s.optimizer_bytes
      + s.activations_bytes + s.working_bytes + s.logits_bytes + s.buffers_bytes
      + s.runtime_bytes, 1)
  end)

  it("refuses what does not fit together", function()
    local function refused(words, ...)
      local exit, _, err = run(...)
      assert.equal(2, exit)
      assert.is_truthy(err:find(words, 1, true), err)
    end
    refused("--gpus is needed", "memory", config)
    refused('expected "memory" or "model"', "size", config)
    refused("did you mean 'H100'", "memory", config, "--gpus", "8xH10")
    refused("8 GPUs are no multiple of tp 3", "memory", config, "--gpus", "8xH100", "--tp", "3")
    refused("heads 4 is no multiple of tp = 8", "memory", config, "--gpus", "8xH100", "--tp", "8")
    refused("no-such.json", "model", "no-such.json")
  end)
end)
