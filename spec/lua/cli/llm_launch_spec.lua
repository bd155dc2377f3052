-- berth llm with launch files: --launch of memory and estimate, and berth llm export.
local json = require "dkjson"
local shell = require "support.shell"

local script, config

local function run(...) return shell.run("llm", ...) end

local function contains(text, words)
  assert.is_truthy(text:find(words, 1, true), text)
end

describe("berth llm, launch files", function()
  setup(function()
    script = shell.file(".sh", [[
ARGS="--num-layers 4 --hidden-size 64 --num-attention-heads 4 --vocab-size 100 --swiglu \
  --bf16 --seq-length 128 --global-batch-size 16 --micro-batch-size 1 --new-flag 1"
torchrun --nproc_per_node 4 x.py $ARGS --tensor-model-parallel-size 2
]])
    config = shell.file(".json", '{"model_type":"llama","hidden_size":64,"vocab_size":100,'
      .. '"num_hidden_layers":8,"num_attention_heads":4,"intermediate_size":128}')
  end)
  teardown(function() shell.tidy() end)

  it("are plan and model of memory and estimate", function()
    for _, word in ipairs { "memory", "estimate" } do
      local exit, out = run(word, "--launch", script, "--gpus", "8xH100")
      assert.equal(0, exit)
      contains(out, "4 layers of width 64, 4 heads x 16")
      contains(out, "tp 2, micro_batch 1,")
      contains(out:gsub("\n", " "), "by default of megatron: sequence_parallel off, zero 0,")
      contains(out, "plan: tp 2, dp 4; 1 of 16 sequences x 128 tokens; 1f1b, zero 0,")
      contains(out, "note: not known, and passed over: --new-flag")
      contains(out, "note: the file starts 4 GPUs, and --gpus has 8")
    end
  end)

  it("are beaten by other options, and by a config.json", function()
    local exit, out = run("memory", config, "--launch", script, "--gpus", "8xH100", "--tp", "4",
      "--seq", "64", "--json")
    local x = json.decode(out)
    assert.equal(0, exit)
    assert.same({ 4, 64, 2, 16 }, { x.plan.tp, x.plan.seq, x.plan.dp, x.plan.global_batch })
    assert.equal(8, x.layers)
    assert.equal("megatron", x.launch.format)
    assert.equal("micro_batch", x.launch.sources[1].option)
    assert.equal("--micro-batch-size, line 2", x.launch.sources[1].source)
    contains(table.concat(x.launch.notes, "; "), "the file has 4 layers, and the model 8")
  end)

  it("in place of a config.json are named", function()
    for _, word in ipairs { "memory", "plan" } do
      shell.failed(2, script .. " is a launch file, no config.json; berth llm estimate --launch",
        run(word, script, "--gpus", "8xH100", "--batch", "8"))
    end
  end)

  it("that are wrong end the command with file, line, flag and reason", function()
    local bad = shell.file(".txt", "--bf16\n--seq-length none\n")
    shell.failed(2, bad .. ":2: --seq-length none: is not a whole number",
      run("memory", "--launch", bad, "--gpus", "8xH100"))
    local plan = shell.file(".json", '{ "bf16": { "enabled": true } }')
    shell.failed(2, "give its config.json", run("memory", "--launch", plan, "--gpus", "8xH100"))
    shell.failed(2, "a config.json, or its folder, is needed", run("memory", "--gpus", "8xH100"))
    assert.equal(0, (run("memory", config, "--launch", plan, "--gpus", "8xH100")))
  end)

  it("are written by export", function()
    local exit, out, err = run("export", config, "--gpus", "8xH100", "--tp", "2", "--pp", "2",
      "--format", "megatron")
    assert.equal(0, exit)
    contains(out, "\n--pipeline-model-parallel-size 2\n")
    assert.equal("", err)
    local path = shell.path ".toml"
    exit, out = run("export", config, "--gpus", "8xH100", "--zero", "3", "--format", "torchtitan",
      "--output", path)
    assert.equal(0, exit)
    contains(out, "note: name and flavor under [model] are for you to set")
    contains(out, "written: " .. path)
    exit, out = run("memory", config, "--launch", path, "--gpus", "8xH100")
    assert.equal(0, exit)
    contains(out, "zero 3")
  end)

  it("say what a framework does not have", function()
    shell.failed(2, "torchtitan has no dtype fp16", run("export", config, "--gpus", "8xH100",
      "--zero", "3", "--dtype", "fp16", "--format", "torchtitan"))
    shell.failed(2, "--format is needed", run("export", config, "--gpus", "8xH100"))
    local exit, _, err = run("export", config, "--gpus", "8xH100", "--framework", "fsdp",
      "--format", "fsdp")
    assert.equal(0, exit)
    contains(err, "note: micro-batch 1, accumulation 1 and sequence 4096 are the training script's")
    exit, err = run("export", config, "--gpus", "8xH100", "--format", "slurm", "--json")
    assert.equal(0, exit)
    contains(json.decode(err).text, "#SBATCH --nodes=1\n")
  end)
end)
