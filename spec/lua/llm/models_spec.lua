-- Every config.json of the measured data: parameters to the unit where they are published so, near
-- the size of its name otherwise, or refused by the field that stands against it.
local berth = require "berth"
local shared = require "support.shared"

local DIR = shared.path "data/measured/hf_configs/"

-- Published sizes by a part of the file's name, in billions of parameters of the text part. Names
-- round: a size has the digits that are published.
local SIZES = {
  { "Qwen3%-0%.6B", "0.6" }, { "Qwen3%-1%.7B", "1.7" }, { "Qwen3%-8B", "8.2" },
  { "Qwen3%-32B", "32.8" }, { "Qwen3%-235B", "235" }, { "Qwen3%-30B", "30.5" },
  { "Coder%-480B", "480" }, { "VL%-2B", "1.7" }, { "VL%-4B", "4.0" }, { "VL%-8B", "8.2" },
  { "VL%-30B", "30.5" }, { "VL%-32B", "32.8" }, { "VL%-235B", "235" },
  { "DeepSeek%-V3", "671" }, { "DeepSeek%-R1", "671" }, { "Kimi%-K2", "1026" },
  { "GLM%-5", "744" }, { "gpt%-oss%-120b", "116.8" }, { "gpt%-oss%-20b", "20.9" },
  { "emma%-4%-26B", "25.2" }, { "emma%-4%-31B", "30.7" }, { "Maverick", "400" },
  { "Scout", "107.8" }, { "MiniMax%-M2", "229" }, { "MiMo%-7B", "7.6" },
  { "MiMo%-V2%-Flash", "309" }, { "Step%-3%.7", "196" }, { "3%.1%-8B", "8.03" },
  { "3%.1%-70B", "70.6" }, { "3%.1%-405B", "405.9" }, { "8x7B", "46.7" }, { "8x22B", "140.6" },
}

-- The field that each refusal names.
local REFUSED = {
  { "Qwen3%.5", "linear_" }, { "Nemotron%-3%-Nano", "hybrid_override_pattern" },
  { "Nemotron%-3%-Super", "hybrid_override_pattern" },
  { "Nemotron%-3%-Ultra", "layers_block_type" },
  { "Nemotron%-3%.5", "layers_block_type" }, { "Nemotron%-H", "hybrid_override_pattern" },
  { "Kimi%-K3", "linear_attn_config" }, { "DeepSeek%-V4", "compress_ratios" },
  { "MiniMax%-M3", "sparse_attention_config" },
}

-- Active parameters as published, in billions; embeddings count.
local ACTIVE = {
  { "Qwen3%-30B%-A3B_", 3.3, 0.02 }, { "Qwen3%-235B%-A22B_", 22, 0.01 },
  { "DeepSeek%-V3_", 37, 0.02 }, { "Kimi%-K2%-I", 32.6, 0.01 }, { "Maverick", 17, 0.02 },
  { "Scout", 17, 0.02 }, { "gemma%-4%-26B", 3.8, 0.01 }, { "8x7B", 12.9, 0.005 },
}

local function entry(list, name)
  for _, e in ipairs(list) do
    if name:find(e[1]) then return e end
  end
  return nil
end

local function files()
  local out, list = {}, assert(io.popen("ls " .. DIR))
  for name in list:lines() do out[#out + 1] = name end
  list:close()
  return out
end

describe("models of the measured data", function()
  if not shared.present() then
    return pending "needs the test data, which is not here"
  end

  it("have the published number of parameters to the unit", function()
    local n = 0
    for line in io.lines(shared.path "data/measured/hf_params.csv") do
      local name, count = line:match "^([^,]+),(%d+),"
      if count then
        local m = assert(berth.llm.model(DIR .. name))
        assert.equal(tonumber(count), m.parameters, name)
        n = n + 1
      end
    end
    assert.equal(7, n)
  end)

  it("are read near the size that is published, or refused by the field", function()
    local read, refused = 0, 0
    for _, name in ipairs(files()) do
      local m, message, code = berth.llm.model(DIR .. name)
      if m then
        local text = assert(entry(SIZES, name), name)[2]
        local rounded = ("%." .. #(text:match "%.(%d+)" or "") .. "f"):format(m.parameters / 1e9)
        assert.is_true(rounded == text or math.abs(m.parameters / 1e9 / text - 1) <= 0.005,
          name .. ": " .. m.parameters)
        read = read + 1
      else
        assert.equal("unsupported", code, message)
        assert.is_truthy(message:find(assert(entry(REFUSED, name), message)[2], 1, true), message)
        refused = refused + 1
      end
    end
    assert.equal(56, read)
    assert.equal(23, refused)
  end)

  it("have the published number of active parameters", function()
    local n = 0
    for _, name in ipairs(files()) do
      local e = entry(ACTIVE, name)
      if e then
        local m = assert(berth.llm.model(DIR .. name))
        assert.is_true(math.abs(m.active / 1e9 / e[2] - 1) <= e[3], name .. ": " .. m.active)
        n = n + 1
      end
    end
    assert.is_true(n >= #ACTIVE)
  end)
end)
