-- berth llm: what it prints, its exit codes, and what it refuses.
local berth = require "berth"
local json = require "dkjson"
local shell = require "support.shell"

local unpack = rawget(table, "unpack") or rawget(_G, "unpack")
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
      .. "recompute selective, bf16, megatron", got[3] .. " " .. got[4])
    assert.matches("^not given: cp 1, dp 2,", got[5])
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

  local PLAN = { "--gpus", "8xA100", "--tp", "2", "--pp", "2", "--batch", "16", "--seq", "128" }

  local function estimate(...)
    local words = { "estimate", config }
    for _, word in ipairs(PLAN) do words[#words + 1] = word end
    for _, word in ipairs { ... } do words[#words + 1] = word end
    return run(unpack(words))
  end

  it("prints an estimate below model, cluster, plan and what was filled", function()
    local exit, out = estimate("--overlap-tp", "off")
    local got = lines(out)
    assert.equal(0, exit)
    assert.matches("^plan: tp 2, pp 2, dp 2; ", got[3])
    assert.matches("^not given: cp 1, dp 2,", got[4])
    assert.matches("overlap_grad on", out)
    assert.is_nil(out:find("overlap_tp", 1, true))
    assert.matches("\nstep: [%d.]+ ms; nine of ten measured ones would be within ", out)
    assert.matches("\nmemory: stage 1 of 2 has most: .*, fits\ntime of stage %d of 2, ", out)
    assert.matches("\nkernel constants: fitted to A100 bf16\nfactors of megatron: ", out)
    for _, line in ipairs(got) do assert.is_true(#line <= 100, line) end
  end)

  it("takes factors and the form of an estimate", function()
    local function with(products)
      return select(2, estimate("--json", "--products", products, "--form", "closed",
        "--launch-time", "1ns"))
    end
    local slow, usual = with "3", with "1.5"
    local x, y = json.decode(slow), json.decode(usual)
    assert.same({ "closed", 3 }, { x.form, x.factors.products })
    assert.near(2, x.time_s.products / y.time_s.products, 1e-9)
    assert.is_nil(x.explained)
    assert.same({ "8xA100", 8 }, { x.cluster, x.gpus })
    local sum = 0
    for _, t in pairs(x.time_s) do sum = sum + t end
    assert.near(1, sum / x.step_s, 1e-9)
    assert.equal("given by the caller", x.rows)
    assert.is_true(x.kernels[1].fitted)
  end)

  it("takes figures of the cluster in the place of the data sheet's", function()
    local _, usual = estimate()
    local _, slow = estimate("--per-machine", "2", "--nics", "1", "--nic", "1GB/s", "--memory",
      "70GB")
    assert.matches("\ncluster: 8 x A100 in 4 machines, 70 GB each, .*, 1 GB/s of a machine to others",
      slow)
    assert.matches("of 70 GB", slow)
    local function dp(text) return text:match "data parallelism +([%d.]+ %a+)" end
    assert.is_true(berth.quantity(dp(slow), "seconds") > 2 * berth.quantity(dp(usual), "seconds"))
    local exit, _, err = run("memory", config, "--gpus", "8xA100+8xH100", "--nic", "1GB/s")
    assert.equal(2, exit)
    assert.is_truthy(err:find("--nic requires --gpus of one kind: 64xH100", 1, true), err)
  end)

  it("says what explains a measured step", function()
    local exit, out = estimate("--measured", "50ms")
    assert.equal(0, exit)
    assert.matches("\n\nmeasured 50 ms: [%d.]+ %% %a+ than the estimate of ", out)
    local _, text = estimate("--measured", "50ms", "--json")
    local x = json.decode(text).explained
    assert.equal(0.05, x.measured_s)
    for i = 2, #x.causes do assert.is_true(x.causes[i - 1].score <= x.causes[i].score) end
    exit = estimate("--measured", "0s")
    assert.equal(2, exit)
  end)

  it("writes a timeline, a page and figures of an estimate", function()
    local page, trace = shell.path ".html", shell.path ".json"
    assert.equal(0, (estimate("--report", page, "--trace", trace, "--title", "a <b>",
      "--measured", "50ms")))
    local text = shell.read(page)
    for _, words in ipairs { "<h1>a &lt;b&gt;</h1>", 'id="measured"', 'id="time"', 'id="pipeline"',
        'id="memory"', "<code>berth llm estimate " } do
      assert.is_truthy(text:find(words, 1, true), words)
    end
    local events = json.decode(shell.read(trace))
    assert.is_true(#(events.traceEvents or events) > 60)
    for _, kind in ipairs { "time", "pipeline", "memory" } do
      local figure = shell.path ".svg"
      assert.equal(0, (estimate("--report", figure, "--figure", kind)))
      assert.matches('^<svg .*id="' .. kind .. "%-title", shell.read(figure))
    end
  end)

  it("ends with 1 where an estimate does not fit", function()
    local exit, out = run("estimate", config, "--gpus", "1xT4", "--runtime", "15 GiB")
    assert.equal(1, exit)
    assert.matches("\nmemory: .* lacks ", out)
    assert.is_truthy(out:find(("\nnote: berth llm plan %s --gpus 1xT4 --batch "):format(config), 1,
      true))
    assert.matches("\nkernel constants: borrowed: those of ", out)
  end)

  it("searches plans: the best, why others are slower, what to change", function()
    local exit, out = run("plan", config, "--gpus", "8xA100", "--batch", "16", "--seq", "128")
    assert.equal(0, exit)
    for _, words in ipairs { "\nplan: ", "\nstep: ", "\nspeed: ", "\nmemory: stage ",
        "\nbubble: ", "\nbound: no plan of the space is faster than ", "\nfitted to: ",
        "\nsearched: ", "\nslower splits, and why:\n", "\nwhat to change next:\n",
        " within a machine in place of " } do
      assert.is_truthy(out:find(words, 1, true), words)
    end
    local fixed, text = run("plan", config, "--gpus", "8xA100", "--batch", "16", "--seq", "128",
      "--tp", "2,4", "--schedule", "1f1b,gpipe", "--price", "2", "--json")
    local x = json.decode(text)
    assert.equal(0, fixed)
    assert.is_true(x.plan.tp == 2 or x.plan.tp == 4)
    local p = x.plans
    assert.equal(p.total, p.refused + p.unfit + p.bounded + p.valued + p.failed + p.left)
    assert.is_true(x.step_s >= x.bound_s and #x.front > 0 and #x.changes > 0)
    assert.is_true(x.cost_of_million_tokens > 0 and #x.others > 0 and x.others[1].reason ~= "")
  end)

  it("writes a page and figures of a plan search", function()
    local page, figure = shell.path ".html", shell.path ".svg"
    local function plan(...)
      return run("plan", config, "--gpus", "8xA100", "--batch", "16", "--seq", "128", ...)
    end
    local exit, out = plan("--report", page, "--title", "a <b>")
    assert.equal(0, exit)
    assert.is_truthy(out:find("\nwritten: " .. page, 1, true))
    local text = shell.read(page)
    for _, words in ipairs { "<h1>a &lt;b&gt;</h1>", 'id="pipeline"', 'id="front"', 'id="changes"',
        'id="launch"', "<code>berth llm plan " } do
      assert.is_truthy(text:find(words, 1, true), words)
    end
    assert.equal(0, (plan("--report", figure, "--figure", "front")))
    assert.matches('^<svg .*id="front%-title', shell.read(figure))
  end)

  it("ends with 1 where no plan fits, with what is missing", function()
    local exit, out = run("plan", config, "--gpus", "2xT4", "--batch", "8", "--runtime", "15 GiB",
      "--quick")
    assert.equal(1, exit)
    assert.matches("\nno plan fits: the least memory is ", out)
    local path = shell.path ".sh"
    local _, text = run("plan", config, "--gpus", "2xT4", "--batch", "8", "--quick", "--fill",
      "0.1", "--format", "slurm", "--output", path)
    assert.is_truthy(text:find("\nnot written, since no plan fits: " .. path, 1, true), text)
    _, text = run("plan", config, "--gpus", "2xT4", "--batch", "8", "--quick", "--fill", "0.1",
      "--json")
    local x = json.decode(text)
    assert.is_false(x.fits)
    assert.is_true(x.stages[1].total_bytes < x.stages[1].limit_bytes)
  end)

  it("refuses what does not fit together", function()
    local function refused(words, ...)
      local exit, _, err = run(...)
      assert.equal(2, exit)
      assert.is_truthy(err:find(words, 1, true), err)
    end
    refused("--gpus is needed", "memory", config)
    refused('expected "plan", "estimate", "export", "memory" or "model"', "size", config)
    refused("llm plan: --batch is needed", "plan", config, "--gpus", "8xA100")
    refused("schedule: 'zb' is none of", "plan", config, "--gpus", "8xA100", "--batch", "8",
      "--schedule", "1f1b,zb")
    refused("llm estimate: --gpus is needed", "estimate", config)
    refused("--figure requires --report", "estimate", config, "--gpus", "8xA100", "--figure",
      "time")
    refused("schedule interleaved requires vp of 2 or more", "estimate", config, "--gpus",
      "8xA100", "--schedule", "interleaved")
    refused("out of range", "estimate", config, "--gpus", "8xA100", "--products", "1e9")
    refused("did you mean 'H100'", "memory", config, "--gpus", "8xH10")
    refused("8 GPUs are no multiple of tp 3", "memory", config, "--gpus", "8xH100", "--tp", "3")
    refused("heads 4 is no multiple of tp = 8", "memory", config, "--gpus", "8xH100", "--tp", "8")
    refused("no-such.json", "model", "no-such.json")
  end)
end)
