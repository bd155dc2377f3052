-- Clusters and models of TAG's study: against the data file, and by what the generators may draw.
local berth = require "berth"
local runs = require "support.runs"
local shared = require "support.shared"
local errors = require "support.errors"
local raised, raises = errors.raised, errors.raises

local clusters, models = berth.deploy.clusters, berth.deploy.models

local TYPE = { v100 = "V100", ["1080ti"] = "GTX1080Ti", p100 = "P100" }
local GiB = 2 ^ 30

-- The devices of each group, which is the machine number.
local function groups_of(t)
  local groups = {}
  for d in t:devices() do
    groups[d.machine] = groups[d.machine] or {}
    table.insert(groups[d.machine], d)
  end
  return groups
end

local function bandwidth(t, a, b)
  local x, latency = t:path(a.id, b.id)
  assert.equal(12e-6, latency)
  return x
end

-- The bandwidth from group g to group h as routes have it; nil: a group of one device.
local function measured(t, groups, g, h)
  local a, b = groups[g][1], groups[h][g == h and 2 or 1]
  return b and bandwidth(t, a, b)
end

local function check(t, fact)
  local groups = groups_of(t)
  assert.equal(#fact.groups, #groups)
  for g, group in ipairs(fact.groups) do
    assert.equal(group.count, #groups[g])
    for _, d in ipairs(groups[g]) do
      assert.equal(TYPE[group.gpu], d.type)
      assert.equal(group.memory, d.memory)
      assert.equal(10e-6, d.overhead)
    end
    for h in ipairs(groups) do
      local expected = g == h and group.intra_bw or fact.inter_bw[g][h]
      local x = measured(t, groups, g, h)
      if x then assert.equal(expected * 1e6, x) end
    end
  end
end

local FACTS = {
  testbed = "testbed16", six_gpu = "six_gpu_demo", sfb_pair = "sfb_pair", sfb_trio = "sfb_trio",
  simulator_check_pair = "simulator_check_pair",
}
local KINDS_OF_LINKS = { "tag", "heterog", "nic", "tree" }

describe("clusters of the study", function()
  if shared.read("data/tag/topologies.json") then
    it("are as the data file has them, with all kinds of links", function()
      local facts = shared.json("data/tag/topologies.json")
      for _, name in ipairs(clusters.list()) do
        for _, links in ipairs(FACTS[name] and KINDS_OF_LINKS or {}) do
          check(clusters[name] { links = links }, facts[FACTS[name]])
        end
      end
    end)
  else
    it("are compared", function() pending("no " .. shared.path("data/tag/topologies.json")) end)
  end

  it("give the testbed cards for machines on demand", function()
    local t = clusters.testbed { machines = true }
    assert.equal(2 * 16 + 2 * 7, t.n_links)
    assert.equal(3000e6, (t:path(5, 6)))
    assert.equal(2810e6, (t:path(5, 7)))
    assert.has_error(function() clusters.testbed { machines = true, links = "tag" } end)
    raises("machines: expected true or false, got string", clusters.testbed, { machines = "false" })
  end)

  it("have models that say what is wrong with their options", function()
    for _, f in ipairs { "build", "describe" } do
      assert.matches("deploy.models." .. f .. ": options: expected a table, got number",
        raised(models[f], "vgg19", 5))
    end
    raises("deploy.models.points: options: expected a table, got number", models.points, "vgg19",
      { 60 }, 5)
  end)

  it("take rates from the data sheets, times an efficiency", function()
    assert.near(0.85 * 15.7e12, clusters.testbed():device(1).flops, 1)
    local d = clusters.testbed { efficiency = { 0.5, 0.25 }, overhead = "7 us" }:device(16)
    assert.same({ 5.3e12, 183e9, 7e-6 }, { d.flops, d.memory_bandwidth, d.overhead })
    raises("clusters.testbed: efficiency: 0 must be a number above 0", clusters.testbed,
      { efficiency = 0 })
    raises("unknown option 'machines'", clusters.six_gpu, { machines = true })
  end)
end)

describe("links of device groups", function()
  -- Two transfers of 1 s each, started together: finish of the later one without the 12 us.
  local function both(discipline, links, from1, to1, from2, to2)
    local t = berth.topology.groups {
      groups = { { count = 2, bandwidth = 8e9 }, { count = 2, bandwidth = 8e9 },
        { count = 2, bandwidth = 8e9 } },
      between = 1e9, links = links,
    }
    local g = berth.graph { ops = { { seconds = 0 }, { seconds = 0 }, { seconds = 0 },
      { seconds = 0 } },
      edges = { { 1, 2, 1e9 }, { 3, 4, 1e9 } } }
    local r = assert(berth.simulate(g, t, { from1, to1, from2, to2 }, { links = discipline }))
    return r.makespan - 12e-6
  end

  it("are shared as their names say", function()
    -- devices 1 2 | 3 4 | 5 6: the same pair of groups, two pairs from one group, two pairs without
    -- a common group
    local expected = {
      tag = { 2, 1, 1 }, heterog = { 2, 2, 2 }, nic = { 2, 2, 1 }, tree = { 2, 2, 1 },
    }
    for _, links in ipairs(KINDS_OF_LINKS) do
      local seconds = expected[links]
      for _, discipline in ipairs { "fair", "route" } do
        -- one after the other: latency twice
        local slack = discipline == "fair" and 1e-9 or 12e-6 + 1e-9
        assert.near(seconds[1], both(discipline, links, 1, 3, 2, 4), slack, links)
        assert.near(seconds[2], both(discipline, links, 1, 3, 2, 5), slack, links)
        assert.near(seconds[3], both(discipline, links, 1, 3, 3, 5), slack, links)
      end
    end
  end)
end)

describe("berth.topology.groups", function()
  local CASES = {
    { {}, "groups: is missing" },
    { { groups = {} }, "no groups or bandwidths given" },
    { { groups = { { count = 0 } } }, "groups%[1%].count: 0 is out of range" },
    { { groups = { { count = 2, machines = 3 } } },
      "groups%[1%].machines: 3 is out of range 1..2" },
    { { groups = { {}, { count = 2, machines = 2 } }, links = "tag" },
      "group 2: machines 2 must be 1 without ports" },
    { { groups = { {}, { rack = 2 } } }, 'groups%[2%].rack: is for links = "tree"' },
    { { groups = { {}, { rack = 3 } }, links = "tree" },
      "groups%[2%].rack: 3 is out of range 1..2" },
    { { groups = { {}, {} }, between = { { 1, 2 } } }, "between: must have 2 rows" },
    { { groups = { {}, {} }, between = { { 1, 2 }, { 1 } } },
      "between%[2%]: must have 2 bandwidths" },
    { { groups = { {}, {} }, between = { { 1, 2 }, { 1, "x" } } },
      'between%[2%]: "x" is not a number' },
    { { groups = { {}, {} }, between = 0 }, "bandwidth 0 from group 1 to group 2 must be above 0" },
    { { groups = { { name = "a" } } }, "groups%[1%]: unknown field 'name'" },
    { { groups = { {} }, links = "bus" }, "links: 'bus' is none of: tag, heterog, nic, tree" },
    { { groups = { 5 } }, "groups%[1%]: expected a table, got number" },
  }

  it("says what is wrong", function()
    for _, case in ipairs(CASES) do
      assert.matches(case[2], raised(berth.topology.groups, case[1]))
    end
  end)

  it("is written and read again with its routes", function()
    local t = clusters.six_gpu { links = "nic" }
    local path = os.tmpname()
    assert(t:save(path))
    local again = assert(berth.load_topology(path))
    os.remove(path)
    assert.equal(t:to_string(), again:to_string())
    assert.equal(2180e6, (again:path(1, 3)))
  end)
end)

local function one_of(x, ...)
  for _, y in ipairs { ... } do
    if x == y then return true end
  end
  return false
end

local MEMORY = { V100 = 14 * GiB, GTX1080Ti = 9 * GiB, P100 = 10 * GiB }

local function check_cards(groups)
  for _, group in ipairs(groups) do
    for _, d in ipairs(group) do
      assert.equal(group[1].type, d.type)
      assert.equal(MEMORY[d.type], d.memory)
    end
  end
end

describe("random clusters", function()
  it("for training: at most four groups, few above 16 GPUs, rack bandwidths", function()
    local sizes = {}
    for seed = 1, 150 do
      local t = clusters.random { seed = seed, links = KINDS_OF_LINKS[1 + seed % 4] }
      local groups = groups_of(t)
      check_cards(groups)
      assert.is_true(#groups <= 4)
      assert.is_true(#t - #groups[#groups] < 16 and (#groups == 4 or #t >= 16))
      for g, group in ipairs(groups) do
        assert.is_true(one_of(#group, 2, 3, 4, 6, 8))
        assert.is_true(one_of(measured(t, groups, g, g), 8000e6, 20000e6))
        for h = 1, g - 1 do
          local x = measured(t, groups, g, h)
          assert.is_true(one_of(x, 2810e6, 5000e6))
          assert.equal(x, measured(t, groups, h, g))
          sizes[x] = true
        end
        sizes[#group] = true
      end
    end
    for _, drawn in ipairs { 2, 3, 4, 6, 8, 2810e6, 5000e6 } do
      assert.is_true(sizes[drawn] or false, tostring(drawn))
    end
  end)

  it("for training: racks are equivalence classes", function()
    for seed = 1, 50 do
      local t = clusters.random { seed = seed }
      local groups = groups_of(t)
      local function near(g, h) return g == h or measured(t, groups, g, h) == 5000e6 end
      for a in ipairs(groups) do
        for b in ipairs(groups) do
          for c in ipairs(groups) do
            assert.is_true(not (near(a, b) and near(b, c)) or near(a, c))
          end
        end
      end
    end
  end)

  it("for tests: 8 GPUs in groups of 1 to 4, two bandwidths", function()
    local counts = {}
    for seed = 1, 150 do
      local t = clusters.random { kind = "test", seed = seed }
      local groups = groups_of(t)
      check_cards(groups)
      assert.equal(8, #t)
      local inside, outside
      for g, group in ipairs(groups) do
        assert.is_true(#group <= 4)
        counts[#group] = true
        local x = measured(t, groups, g, g)
        assert.is_true(x == nil or one_of(x, 8000e6, 20000e6) and x == (inside or x))
        inside = inside or x
        for h = 1, g - 1 do
          x = measured(t, groups, g, h)
          assert.is_true(one_of(x, 2810e6, 5000e6) and x == (outside or x))
          outside = x
        end
      end
    end
    assert.same({ true, true, true, true }, counts)
  end)

  it("of their own: 2 to 6 groups of 1 to 4, one bandwidth inside and one between", function()
    local counts = {}
    for seed = 1, 60 do
      local t = clusters.random { kind = "mixed", seed = seed }
      local groups = groups_of(t)
      local inside, outside = measured(t, groups, 1, 1), measured(t, groups, 1, 2)
      assert.is_true(#groups >= 2 and #groups <= 6 and outside >= 1.5e9 and outside <= 8e9)
      assert.is_true(inside == nil or inside >= 3e9 and inside <= 25e9)
      for _, group in ipairs(groups) do assert.is_true(#group <= 4) end
      counts[#groups] = true
    end
    assert.same({ nil, true, true, true, true, true }, counts)
  end)

  it("are the same for the same seed, and stop early for a small model", function()
    assert.equal(clusters.random { seed = 5 }:to_string(), clusters.random { seed = 5 }:to_string())
    assert.not_equal(clusters.random { seed = 5 }:to_string(),
      clusters.random { seed = 6 }:to_string())
    local fewer = 0
    for seed = 1, 30 do
      local n, early = #clusters.random { seed = seed },
        #clusters.random { seed = seed, parameter_bytes = 1e6 }
      if early < n then fewer = fewer + 1 end
    end
    assert.is_true(fewer > 5)
    -- pinned: both interpreters draw these
    local sizes = {}
    for seed = 1, 6 do sizes[seed] = #clusters.random { seed = seed } end
    assert.same({ 20, 22, 16, 13, 17, 14 }, sizes)
  end)

  it("refuse what they do not know", function()
    raises("clusters.random: kind: nice is none of: training, test, mixed", clusters.random,
      { kind = "nice" })
    assert.has_error(function() clusters.random { kind = "test", parameter_bytes = 1 } end)
    assert.has_error(function() clusters.random { parameter_bytes = -1 } end)
  end)
end)

-- ---- models ---------------------------------------------------------------------------------

-- parameters, ops, batch
local STUDY = {
  inception_v3 = { 23834568, 925, 120 }, resnet101 = { 44577896, 1031, 120 },
  vgg19 = { 143667240, 124, 120 },
  transformer = { 120988496, 715, 600 }, bert_small = { 338282498, 201, 32 },
  bert_large = { 1231671298, 1081, 32 },
}

local function bert_parameters(layers, hidden, ffn, vocab, positions)
  local embeddings = (vocab + positions + 2) * hidden + 2 * hidden
  local layer = 4 * (hidden * hidden + hidden) + 2 * hidden * ffn + ffn + hidden + 4 * hidden
  return embeddings + layers * layer + 2 * hidden + 2
end

local function transformer_parameters(layers, hidden, ffn, vocab)
  local attend, feed, norm = 4 * (hidden * hidden + hidden), 2 * hidden * ffn + ffn + hidden,
    2 * hidden
  return layers * (attend + feed + 2 * norm) + layers * (2 * attend + feed + 3 * norm)
    + 3 * vocab * hidden + vocab
end

describe("models of the study", function()
  it("have the parameters that their sizes give", function()
    assert.equal(bert_parameters(4, 1024, 1024, 305220, 512), STUDY.bert_small[1])
    assert.equal(bert_parameters(24, 2048, 2048, 305220, 1024), STUDY.bert_large[1])
    assert.equal(transformer_parameters(6, 512, 2048, 50000), STUDY.transformer[1])
    for _, name in ipairs(models.list("study")) do
      local g, about = models.build(name)
      assert.same(STUDY[name], { about.parameters, #g, about.options.batch }, name)
      assert.equal(4 * about.parameters, about.gradient_bytes, name)
    end
  end)

  it("are alike at all batch sizes but for their costs", function()
    for _, name in ipairs { "transformer", "bert_small", "vgg19" } do
      for _, rows in ipairs(name == "vgg19" and { "dense" } or { "dense", "rows" }) do
        local points = models.points(name, nil, name ~= "vgg19" and { embedding_gradients = rows }
          or nil)
        local graphs, batches, n = {}, {}, models.batch(name)
        for i, point in ipairs(points) do graphs[i], batches[i] = point.graph, point.batch end
        assert.same({ n, math.floor(n / 2), math.floor(n / 4), math.floor(n / 8) }, batches)
        for i = 2, #graphs do
          assert.equal(#graphs[1], #graphs[i])
          assert.equal(graphs[1].n_tensors, graphs[i].n_tensors)
          for op = 1, #graphs[1] do
            assert.equal(graphs[1]:op(op).name, graphs[i]:op(op).name)
            assert.is_true(graphs[1]:op(op).flop >= graphs[i]:op(op).flop)
          end
        end
      end
    end
    local points = models.points("resnet50", { 10, 3 })
    assert.same({ 2, 10, 3 }, { #points, points[1].batch, points[2].batch })
  end)

  it("take as long on one V100 as published: ResNet-101 in FP32 200 to 250 images/s", function()
    local g, about = models.build("resnet101")
    local devices = {}
    for op = 1, #g do devices[op] = 1 end
    local r = assert(berth.simulate(g, clusters.testbed(), devices))
    local rate = about.options.batch / r.makespan
    assert.is_true(rate > 200 and rate < 250, tostring(rate))
  end)

  it("have one of 2,000 ops", function()
    local g = models.build("speed")
    assert.is_true(#g >= 1900 and #g <= 2100)
  end)

  it("refuse unknown names and a batch beside the batches", function()
    raises('models.build: no model "nice" (legal: ', models.build, "nice")
    assert.has_error(function() models.points("vgg19", { 4 }, { batch = 3 }) end)
    assert.has_error(function() models.points("vgg19", 4) end)
    assert.has_error(function() models.list("nice") end)
  end)
end)

describe("gradients of embeddings", function()
  local function parts(options)
    local g = berth.models.describe("bert", options)
    local found = {}
    for id, op in ipairs(g.ops) do
      if op.name == "embeddings.word/update" then found.update = op end
      if op.name == "embeddings.word/grad_weight" then found.op, found.id = op, id end
    end
    for _, t in ipairs(g.tensors) do
      if t.from == found.id then found.tensor = t end
    end
    return found
  end

  local SIZES = { layers = 1, hidden = 8, heads = 2, ffn = 8, vocab = 1000, positions = 16, seq = 4,
    batch = 3, head = "span" }

  it("are the whole table, or a row and an index for each token", function()
    local dense = parts(SIZES)
    -- 1000 x 8 numbers; 12 FLOP each; gradient and weight twice, two moments twice
    assert.same({ 32000, true, false },
      { dense.tensor.bytes, dense.tensor.gradient, dense.tensor.batch })
    assert.same({ "adam", 96000, 7 * 32000 },
      { dense.update.kind, dense.update.flop, dense.update.bytes })
    SIZES.embedding_gradients = "rows"
    local rows = parts(SIZES)
    SIZES.embedding_gradients = nil
    -- 12 tokens, 8 numbers and an index for each
    assert.same({ 432, true, true }, { rows.tensor.bytes, rows.tensor.gradient, rows.tensor.batch })
    assert.same({ "scatter_adam", 12 * 108, 7 * 432 },
      { rows.update.kind, rows.update.flop, rows.update.bytes })
    assert.same({ "embedding_grad_weight", "embedding_grad_rows" }, { dense.op.kind, rows.op.kind })
    assert.equal(dense.update.params, rows.update.params)
    assert.equal(4 * (8000 - 108), dense.op.bytes - rows.op.bytes)
  end)

  it("cannot be rows of a table that another layer shares", function()
    raises("needs a word table of its own", berth.models.bert,
      { head = "pretraining", embedding_gradients = "rows" })
    raises("needs tied = false", berth.models.transformer, { embedding_gradients = "rows" })
    assert.has_error(function() berth.models.transformer { target_vocab = 10 } end)
  end)

  it("have tables of their own in an untied transformer", function()
    local o = { layers = 1, hidden = 8, heads = 2, ffn = 16, vocab = 100, target_vocab = 50,
      seq = 4, tied = false }
    local _, about = berth.models.describe("transformer", o)
    o.tied, o.target_vocab = true, nil
    local _, tied = berth.models.describe("transformer", o)
    assert.equal(8 * (100 + 50 + 50) + 50 - 8 * 100, about.parameters - tied.parameters)
  end)
end)

describe("random training graphs", function()
  it("are small, of all families, with flags and twins", function()
    local families = {}
    for seed = 0, runs(20, 60) do
      local d, about = berth.models.describe("random", { seed = seed })
      assert.is_true(#d.ops <= 300, about.name)
      families[about.options.family] = true
      local gradients, twins, batches = 0, 0, 0
      for _, t in ipairs(d.tensors) do
        if t.gradient then gradients = gradients + 1 end
        if t.batch then batches = batches + 1 end
      end
      for _, op in ipairs(d.ops) do if op.twin then twins = twins + 1 end end
      assert.is_true(gradients > 0 and twins > 0 and batches > 0)
      assert.is_true(about.parameters > 0 and berth.graph(d) ~= nil)
    end
    assert.same({ cnn = true, mlp = true, transformer = true }, families)
  end)

  it("are the same for the same seed, and obey", function()
    assert.equal(models.random { seed = 9 }:to_string(), models.random { seed = 9 }:to_string())
    local _, about = models.random { seed = 9, family = "mlp", layers = 5, batch = 7 }
    assert.same({ "mlp", 5, 7 },
      { about.options.family, about.options.layers, about.options.batch })
    -- pinned: both interpreters draw these
    local sizes = {}
    for seed = 1, 8 do sizes[seed] = #models.random { seed = seed } end
    assert.same({ 141, 41, 58, 119, 24, 60, 30, 45 }, sizes)
  end)
end)
