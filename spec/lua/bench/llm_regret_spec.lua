-- scripts/bench/llm_regret: groups of measured plans, and what rules lose to the fastest one.
package.path = "scripts/bench/?.lua;" .. package.path
local csv_files = require "support.csv_files"
local json = require "dkjson"
local regret = require "llm.regret"
local shell = require "support.shell"

local function row(layers, measured, plan)
  plan.seq, plan.global_batch = 128, 16
  return { model = { layers = layers, hidden = 64, heads = 4, vocab = 100 }, measured = measured,
    cluster = { gpu = "A100", gpus = 4 }, plan = plan }
end

describe("plan choice", function()
  local rows = { row(4, 3, { tp = 1, dp = 4 }), row(8, 1, { tp = 1, dp = 4 }),
    row(4, 2, { tp = 2, dp = 2 }), row(4, 2.5, { tp = 4, dp = 1 }),
    row(8, 1, { tp = 2, dp = 2 }), row(4, 4, { tp = 4, dp = 1, micro_batch = 2 }) }

  it("has groups of one model and batch", function()
    local groups = regret.groups(rows, 3)
    assert.equal(1, #groups)
    assert.same({ 3, 2, 2.5, 4 }, { groups[1][1].measured, groups[1][2].measured,
      groups[1][3].measured, groups[1][4].measured })
    assert.equal(2, #regret.groups(rows, 2))
  end)

  it("loses what the favourite takes longer than the fastest", function()
    local found = regret.of(regret.groups(rows, 3), regret.rules "closed")
    assert.equal("dp-first", found[2].name)
    assert.near(0.5, found[2].mean, 1e-12)  -- 3 s in place of 2 s
    assert.near(1, found[3].mean, 1e-12)    -- of the two with tp 4 the larger micro-batch: 4 s
    assert.equal(0, found[2].exact)
    local both = regret.of(regret.groups(rows, 2), regret.rules "closed")
    assert.near(0.25, both[2].mean, 1e-12)
    assert.equal(1, both[2].exact)
    assert.near(0.5, both[2].worst, 1e-12)
  end)
end)

describe("its command", function()
  local lua = os.getenv("BERTH_LUA") or arg[-1] or "lua5.4"
  local HEAD = "Parameters (billion),# GPUs,global batch,micro batch,hidden size,attention heads,"
    .. "# layers,sequence length,tensor parallelism,data parallelism,pipeline parallelism,"
    .. "iteration time (ms)\n"

  local function run(words)
    local paths = ("LUA_PATH='%s' LUA_CPATH='%s' "):format(package.path, package.cpath)
    local out = shell.capture(("%s %s scripts/bench/llm_regret.lua %s 2>&1; echo exit $?"):format(
      paths, lua, words))
    return (out:gsub("exit %d+\n$", "")), tonumber(out:match "exit (%d+)\n$")
  end

  it("prints a line for each file and rule, or an object", function()
    csv_files.with({ ["vtrain_multi_a100.csv"] = HEAD .. "3.6,16,64,1,3072,32,30,2048,1,16,1,900\n"
        .. "3.6,16,64,1,3072,32,30,2048,2,8,1,1000\n3.6,16,64,1,3072,32,30,2048,16,1,1,9000\n" },
      function(dir)
        local out, status = run(dir)
        assert.equal(0, status)
        assert.matches("^vtrain_multi_a100.csv estimate groups 1 rows 3 loss 0.00 %% worst 0.00 %% "
          .. "exact 1\n", out)
        assert.matches("tp%-first groups 1 rows 3 loss 900.00 %%", out)
        local rule = json.decode((run(dir .. " --json"))).files[1].rules[2]
        assert.same({ "dp-first", 0, 1 }, { rule.rule, rule.loss, rule.exact })
      end)
  end)

  it("refuses what it cannot read", function()
    csv_files.with({}, function(dir)
      local out, status = run(dir)
      assert.equal(2, status)
      assert.is_truthy(out:find("has none of: vtrain_multi_a100.csv", 1, true))
    end)
    assert.equal(2, select(2, run ". --least 1"))
    assert.equal(2, select(2, run ". --form open"))
  end)
end)
