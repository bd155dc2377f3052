-- scripts/torch: one of its tests in Python, or with BERTH_TORCH_MODELS=all those of all models, as
-- scripts/bench/torch_models.
local shell = require "support.shell"

local python = shell.capture("scripts/torch/python 2>/dev/null"):match("^%S+")
local one = "BERTH_TORCH_MODELS=decode_step %s %s Equality.test_training 2>&1"

describe("models of PyTorch", function()
  it("run placed as they run unplaced", function()
    if not python then return pending("no python3 with torch") end
    local all = os.getenv "BERTH_TORCH_MODELS" ~= nil
    local out = shell.capture((all and "%s %s 2>&1" or one):format(python,
      "scripts/torch/test_berth_torch.py"))
    assert.matches("\nRan %d+ tests? in .*\nOK", out)
  end)
end)
