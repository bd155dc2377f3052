-- The command line of the placers that search.
local shell = require "support.shell"

local ran, run = shell.ran, shell.run

local unpack = table.unpack or unpack -- luacheck: ignore

local GRAPH, TOPOLOGY = "model:resnet18,batch=4,granularity=layer",
  "mesh:2,preset=V100,bandwidth=10GB/s,latency=5us"

local function makespan(...)
  local out = ran(run("place", GRAPH, TOPOLOGY, "--json", ...))
  return tonumber(out:match('"makespan_s":([%d%.e+-]+)'))
end

describe("berth place --placer", function()
  it("searches under the rules that it will be simulated with", function()
    local single = makespan("--placer", "single", "--links", "duplex")
    assert.is_number(single)
    for _, more in ipairs { { "anneal", "--restarts", "2" }, { "local", "--steepest" },
      { "brkga", "--population", "20", "--elite", "0.25", "--mutants", "0.2", "--bias", "0.6" } } do
      local found = makespan("--links", "duplex", "--calls", "60", "--seed", "3", "--threads", "1",
        "--placer", unpack(more))
      assert.is_true(found <= single * (1 + 1e-9))
    end
  end)

  it("refuses what means nothing", function()
    local exit, _, err = run("place", GRAPH, TOPOLOGY, "--placer", "anneal", "--elite", "0.2")
    assert.is_true(exit ~= 0)
    assert.is_truthy(err:find("means nothing to anneal", 1, true), err)
    exit, _, err = run("place", GRAPH, TOPOLOGY, "--placer", "brkga", "--bias", "0.2")
    assert.is_true(exit ~= 0)
    assert.is_truthy(err:find("bias", 1, true), err)
  end)
end)
