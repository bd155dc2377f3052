-- Language models of berth.models as models of berth.llm, and the hint that a plan is far faster
-- than a placement.
local berth = require "berth"
local json = require "dkjson"
local shell = require "support.shell"
local llm, models, topology = berth.llm, berth.models, berth.topology

local unpack = rawget(table, "unpack") or rawget(_G, "unpack")

local STEP = { layers = 8, batch = 8, seq = 512 }
local NVLINK = { preset = "H100", bandwidth = "450 GB/s", latency = "2 us" }

local function with(a, b)
  local out = {}
  for key, x in pairs(a) do out[key] = x end
  for key, x in pairs(b or {}) do out[key] = x end
  return out
end

local function cost_of(t, changes, maker, cost)
  return assert(berth.cost(models[maker or "llama"](with(STEP, changes)), t, cost))
end

local mesh = topology.mesh(4, NVLINK)

describe("a model of a graph", function()
  it("has the parameters of the graph", function()
    for _, name in ipairs { "llama-7b", "llama-2-70b", "llama-3-8b" } do
      local g, about = models.build(name, { granularity = "block" })
      local m = assert(llm.model(g))
      assert.equal(name, m.name)
      assert.equal(about.parameters, m.parameters)
    end
    local g, about = models.bert { size = "large", granularity = "block" }
    -- BERT has segments and a pooler, GPT-2 a norm behind the last layer
    assert.near(about.parameters - 2 * 1024 - 1024 * 1024 - 1024 - 2 * 1024 + 2 * 1024,
      llm.model(g).parameters, 0.5)
  end)

  it("is that of a language model alone", function()
    for _, g in ipairs { models.resnet { depth = 18 }, models.transformer {},
        berth.graph { ops = { { seconds = 1 } } } } do
      local m, message, code = llm.model(g)
      assert.is_nil(m)
      assert.is_truthy(message:find("is no language model of berth.models (legal: bert, llama)", 1,
        true))
      assert.equal("unsupported", code)
    end
  end)

  it("comes with where the graph came from", function()
    local g = models.build("llama-7b", { layers = 2 })
    local origin = models.origin(g)
    assert.same({ "llama-7b", "llama", 2, 4096 }, { origin.name, origin.maker, origin.given.layers,
      origin.options.hidden })
    assert.is_nil(models.origin(berth.graph { ops = { { seconds = 1 } } }))
    assert.has_error(function() models.origin(3) end)
  end)
end)

describe("the hint that a plan is far faster", function()
  teardown(function() shell.tidy() end)

  -- The command of a hint as it is typed, with --json.
  local function typed(h)
    local words = {}
    for word in h.command:gmatch "%S+" do words[#words + 1] = word end
    assert.equal("berth", table.remove(words, 1))
    words[#words + 1] = "--json"
    local exit, out = shell.run(unpack(words))
    assert.equal(0, exit)
    return json.decode(out)
  end

  it("gives a command that gives the plan", function()
    local cases = {
      { mesh, {} }, { topology.two_level(2, 4, { preset = "H100" }), { optimizer = "momentum" } },
      { topology.mesh(2, { preset = "A100", bandwidth = 123456789123, memory = 3e10 }),
        { dtype = "fp16", hidden = 2048, ffn = 5504, heads = 16 } },
    }
    for _, case in ipairs(cases) do
      local h = llm.hint(cost_of(case[1], case[2]), 9)
      local x = typed(h)
      assert.equal(h.step, x.step_s)
      assert.equal(h.plan.optimizer, x.plan.optimizer)
      assert.equal(h.plan.dtype, x.plan.dtype)
      for _, key in ipairs { "tp", "cp", "pp", "dp", "vp", "micro_batch", "zero" } do
        assert.equal(h.plan[key], x.plan[key])
      end
      assert.equal(h.text, tostring(h))
      assert.equal(h.command, h.text:match "of this placement's step: (.*)$")
      assert.near(h.step / 9, h.ratio, 1e-12)
    end
  end)

  it("is there from 0.7 of the placement's step on, and where none fits", function()
    local c = cost_of(mesh)
    local any = llm.hint(c)
    assert.is_nil(any.ratio)
    assert.matches("^a training plan %(.*%) fits, and would take ", any.text)
    local best = any.answer.best
    local least = math.max(best.step / 0.7, best.high)
    assert.is_nil(llm.hint(c, 0.999 * least))
    assert.is_table(llm.hint(c, 1.001 * least))
    local r = berth.simulate(c, berth.place(c, "single"))
    assert.equal(r.makespan, any.step / llm.hint(r).ratio)
    local out = berth.simulate(cost_of(topology.mesh(4, with(NVLINK, { memory = 2e10 }))),
      berth.placement(berth.place(c, "single"):devices()))
    assert.is_table(out.oom)
    assert.matches("fits, and would take", llm.hint(out).text)
  end)

  it("is the placement's field, computed once", function()
    local c = cost_of(mesh)
    local p = assert(berth.place(c, "single"))
    assert.equal(llm.hint(c, p.estimate).text, p.hint.text)
    assert.is_true(rawequal(p.hint, p.hint))
    assert.is_nil(berth.placement({ 1, 2 }).hint)
    local cnn = models.resnet { depth = 18, dtype = "bf16" }
    assert.is_nil(berth.place(cnn, mesh, "single").hint)
  end)

  it("is not there where no plan is estimated for the same", function()
    local none = {
      inference = { mesh, { training = false } }, fp32 = { mesh, { dtype = "fp32" } },
      update = { mesh, { optimizer = "none" } }, one = { topology.mesh(1, NVLINK) },
      cpu = { topology.mesh(4, { flops = "1 TFLOP/s", memory_bandwidth = "1 TB/s",
        memory = "80 GB" }) },
      faster = { topology.mesh(4, with(NVLINK, { flops = "2000 TFLOP/s" })) },
      unlimited = { topology.mesh(4, with(NVLINK, { memory = math.huge })) },
      own_cost = { mesh, nil, nil, { op = function() return 1 end } },
      other_model = { mesh, { layers = 2 }, "transformer" },
    }
    for name, case in pairs(none) do
      assert.is_nil(llm.hint(cost_of(case[1], case[2], case[3], case[4]), 1e6), name)
    end
    assert.error_matches(function() llm.hint(3) end, "what: expected a result, got number", 1, true)
  end)

  it("calls a BERT a decoder of the same shape", function()
    local h = llm.hint(cost_of(mesh, { dtype = "bf16" }, "bert"), 9)
    assert.matches(" would take .* as a decoder of the same shape, ", h.text)
    assert.equal(h.step, typed(h).step_s)
  end)

  it("is a note of berth place", function()
    local graph = "model:llama,layers=8,batch=8,seq=512"
    local machine = "mesh:4,preset=H100,bandwidth=450GB/s,latency=2us"
    local exit, out, err = shell.run("place", graph, machine, "--placer", "single")
    assert.equal(0, exit)
    assert.is_nil(out:find("training plan", 1, true))
    assert.matches("^berth: note: a training plan %(.*: berth llm plan model:llama,layers=8 %-%-gpus 4xH100 ",
      err)
    local refused, _, why = shell.run("place", graph, machine .. ",memory=20GB", "--placer",
      "single")
    assert.equal(1, refused)
    assert.matches("^berth: note: a training plan %(.*%) fits, and would take .*\n.*no placement found", why)
    local _, _, cnn = shell.run("place", "model:resnet18,batch=2", machine, "--placer", "single")
    assert.equal("", cnn)
  end)
end)

describe("berth llm of a model by name", function()
  it("takes batch and sequence from the argument, options beat them", function()
    local function plan(...)
      local exit, out, err = shell.run("llm", "estimate", ...)
      assert.equal(0, exit, err)
      return json.decode(out).plan
    end
    local p = plan("model:llama,layers=2,batch=16,seq=256", "--gpus", "2xH100", "--json")
    assert.same({ 16, 256 }, { p.global_batch, p.seq })
    p = plan("model:llama,layers=2,batch=16,seq=256", "--gpus", "2xH100", "--batch", "4", "--json")
    assert.same({ 4, 256 }, { p.global_batch, p.seq })
    local exit, _, err = shell.run("llm", "plan", "model:llama-7b,dtype=fp16", "--gpus", "2xH100")
    assert.equal(2, exit)
    assert.is_truthy(err:find("dtype: options of a language model are size layers", 1, true), err)
    local other, _, why = shell.run("llm", "model", "model:vgg11")
    assert.equal(2, other)
    assert.is_truthy(why:find("is no language model of berth.models", 1, true), why)
  end)
end)
