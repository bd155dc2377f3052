-- Clusters: from text, options and topologies.
local berth = require "berth"

local function line(what) return tostring(assert(berth.llm.cluster(what))) end

describe("a cluster", function()
  it("is GPUs times a name", function()
    local g = assert(berth.llm.cluster "64xH100").groups[1]
    assert.same({ 64, 8, "H100" }, { g.count, g.per_machine, g.name })
    assert.equal(989.4e12, g.flops)
    assert.equal(81559 * 2 ^ 20, g.memory)
    assert.equal(8 * 50e9, g.nic)
    assert.equal(4, assert(berth.llm.cluster "3x4xA100-80GB").groups[1].per_machine)
    assert.equal(12, assert(berth.llm.cluster "3x4xA100-80GB").gpus)
    assert.equal(65e12, assert(berth.llm.cluster "4xT4").groups[1].flops) -- fp16: it has no bf16
  end)

  it("may have unlike groups", function()
    local c = assert(berth.llm.cluster "8xA100 + 16xH100")
    assert.equal(24, c.gpus)
    assert.same({ "A100", "H100" }, { c.groups[1].name, c.groups[2].name })
  end)

  it("takes the place of data sheets by options", function()
    local g = assert(berth.llm.cluster { gpu = "A100-40GB", gpus = 6, per_machine = 4,
      memory = "39 GiB", link = "250 GB/s", nics = 2, nic = "100 Gbit/s",
      oversubscription = 2 }).groups[1]
    assert.equal(39 * 2 ^ 30, g.memory)
    assert.equal(250e9, g.link)
    assert.equal(2 * 12.5e9 / 2, g.nic)
  end)

  it("is a topology underneath, and may be made from any", function()
    local c = assert(berth.llm.cluster "2x4xH100")
    local t = assert(c:topology())
    assert.equal(8, #t)
    local inside, between = t:path(1, 2), t:path(1, 5)
    assert.equal(450e9, inside)
    assert.equal(400e9, between)
    assert.equal(tostring(c), line(t))
    assert.matches("^16 x H100 in 2 machines, 80 GB each",
      line(berth.topology.two_level(2, 8, { preset = "H100" })))
  end)

  it("made from a topology has the network between unlike machines", function()
    local c = assert(berth.llm.cluster(berth.llm.cluster("8xA100+8xH100"):topology()))
    assert.same({ 200e9, 200e9 }, { c.groups[1].nic, c.groups[2].nic }) -- that of the slower one
    assert.equal(math.huge, berth.llm.cluster(berth.llm.cluster("8xA100"):topology()).groups[1].nic)
  end)

  it("joins by fast links what stands in one machine, or more where boards are made so", function()
    local function domain(what) return berth.llm.cluster(what).groups[1].domain end
    assert.same({ 8, 4, 2 }, { domain "16xH100", domain "2x4xH100", domain "4x2xA100" })
    assert.same({ 72, 1 }, { domain "64xGB200", domain "16xL40S" })
    assert.equal(2, domain(berth.llm.cluster("4x2xA100"):topology()))
  end)

  it("is refused with what is legal", function()
    local function refused(what, words)
      assert.error_matches(function() berth.llm.cluster(what) end, words)
    end
    refused("8xA100,8xH100", "unlike GPUs are joined by \"%+\": 8xA100%+8xH100")
    refused("64xH101", "no GPU \"H101\".*did you mean 'H100'")
    refused("H100", "is no cluster; write 64xH100")
    refused("0xH100", "is no cluster")
    refused("1.5xH100", "is no cluster")
    refused("8xA100+", "is no cluster")
    refused({ gpus = 8 }, "gpu: is missing")
    refused(berth.topology.mesh(2), "device 1 has no limit of memory")
  end)
end)

describe("a data sheet", function()
  it("is found by other names, and is complete", function()
    for _, name in ipairs(berth.device_presets()) do
      local s = assert(berth.device_sheet(name))
      assert.is_true(s.source ~= "" and s.link > 0 and s.nic > 0 and s.sms > 0 and s.gpus > 0)
      assert.is_true(s.usable > 0.9 * s.memory and s.usable < 1.08 * s.memory, name)
    end
    assert.equal("H100", berth.device_sheet("h100_sxm").name)
    assert.is_nil(berth.device_sheet "H1")
    assert.near(1978.9e12, berth.device_sheet("H200").fp8, 1)
  end)
end)
