-- Layers, their splits and Megatron layouts; costs from files and from graphs that berth.split cut.
local berth = require "berth"
local layout = require "berth.schedule.layout"
local runs = require "support.runs"
local shell = require "support.shell"
local schedule = berth.schedule

after_each(shell.tidy)

describe("a Megatron layout", function()
  it("has layers, repetition, groups; commas and spaces mean nothing", function()
    local chunks = assert(layout.parse "Et*3|(tt|)*2, m | L")
    assert.same({ "Ettt", "tt", "tt", "m", "L" }, chunks)
    assert.same({ "t", "", "tt" }, layout.parse "t||t*2")
    assert.same({ "tmtmtm" }, layout.parse "((tm))*3")
    assert.equal(32, #layout.parse "Et*3|(tt|)*29,m|L")
  end)

  it("is written with repetition, and read back", function()
    local chunks = { "Ettt", "t", "", "ttL" }
    assert.equal("Et*3|t||t*2L", layout.text(chunks))
    assert.same(chunks, layout.parse(layout.text(chunks)))
  end)

  it("has mistakes named by character", function()
    local cases = { { "Ex", "character 2: 'x' is none of E t m L | ( ) * ," },
      { "(t|", "character 1: '(' without ')'" }, { "t)", "character 2: ')' without '('" },
      { "t*", "character 2: a number is needed behind *" },
      { "t*99999999", "character 1: more than 65536 layers" } }
    for _, case in ipairs(cases) do
      local found, message = layout.parse(case[1])
      assert.is_nil(found)
      assert.equal(case[2], message)
    end
  end)
end)

-- An embedding, six layers, a loss as heavy as two of them.
local LAYERS = { { kind = "E" }, { count = 6, forward = 1, backward = 1, weight = 1 },
  { kind = "L", forward = 2, backward = 2, weight = 2 } }

local function make(more)
  local opts = { stages = 4, microbatches = 4, layers = LAYERS }
  for key, value in pairs(more or {}) do opts[key] = value end
  return schedule.make("1f1b", opts)
end

describe("layers", function()
  it("are split with the least largest chunk", function()
    -- 8 units of a layer on 4 stages: 2 each, the loss alone
    local p = make().problem
    assert.same({ 6, 6, 6, 6 }, { p.forward[1] * 3, p.forward[2] * 3, p.forward[3] * 3,
      p.forward[4] * 3 })
    assert.equal("Et*2|t*2|t*2|L", p.layout)
  end)

  it("are split by a layout, by counts, or evenly", function()
    assert.equal("Et|t|t|t*3L", make({ split = "Et|t|(t)|t*3L" }).problem.layout)
    assert.equal("Et*3|t|t|tL", make({ split = { 4, 1, 1, 2 } }).problem.layout)
    assert.equal("Et*2|t*2|t|tL", make({ split = "even" }).problem.layout)
    assert.error_matches(function() make { split = "Et|t|t|tL" } end, "layer 6 of the layout is L")
    assert.error_matches(function() make { split = { 4, 4 } } end, "2 chunks, expected 4")
    assert.error_matches(function() make { split = { 4, 4, 4, 4 } } end, "16 layers in all")
  end)

  it("of one chunk have one split", function()
    local opts = { stages = 1, microbatches = 4, layers = LAYERS, calls = 100 }
    local s = assert(schedule.search(opts))
    assert.equal("Et*6L", s.problem.layout)
    assert.is_true(s.proven)
    opts.calls, opts.split = nil, "even"
    assert.equal("Et*6L", schedule.make("1f1b", opts).problem.layout)
  end)

  it("hold `stages` in all, evenly by layer", function()
    local s = make { split = "even" }
    assert.near(4 * 2 / 6, s.problem.activations[1], 1e-12)
    assert.near(4 * 1 / 6, s.problem.activations[4], 1e-12)
    local own = schedule.make("1f1b", { stages = 2, microbatches = 2,
      layers = { { count = 2, forward = 1, activations = 5 } } })
    assert.same({ 10, 5 }, own.peak)
  end)

  it("have the p2p behind them", function()
    local s = schedule.make("1f1b", { stages = 2, microbatches = 1, layers = {
      { forward = 1, p2p = 7 }, { forward = 1, p2p = 3 }, { forward = 1 } }, split = { 2, 1 } })
    assert.same({ 3 }, s.problem.p2p)
  end)

  it("are exported as a layout, read back as a split", function()
    local path = shell.path ".layout"
    assert(make { split = "even" }:save(path))
    assert.equal("Et*2|t*2|t|tL\n", shell.read(path))
    assert.equal("Et*2|t*2|t|tL", make({ split = schedule.load(path) }).problem.layout)
    local v = schedule.make("zb-v", { stages = 2, microbatches = 4, layers = LAYERS })
    local text, message, code = v:to_string "layout"
    assert.same({ nil, "schedule: a layout is interleaved, the map is zigzag", "unsupported" },
      { text, message, code })
  end)

  it("and their split are searched together, within memory", function()
    local opts = { stages = 4, microbatches = 8, layers = LAYERS, memory = 4, calls = 400 }
    local s = assert(schedule.search(opts))
    assert.equal("runs", s.outcome)
    opts.calls = nil
    assert.truthy(s.step < schedule.make("1f1b", opts).step)
    opts.calls = 400
    assert.equal(s:to_string "json", schedule.search(opts):to_string "json")
    assert.equal("runs", schedule.search({ stages = 4, microbatches = 8, layers = LAYERS,
      memory = 8, calls = 100, chunks = 2, map = "bidirectional" }).outcome)
    opts.memory = 0.01
    local none, _, code = schedule.search(opts)
    assert.is_nil(none)
    assert.equal("infeasible", code)
  end)
end)

-- All splits of n layers into k chunks, empty ones too.
local function splits(n, k)
  if k == 1 then return { { n } } end
  local out = {}
  for first = 0, n do
    for _, rest in ipairs(splits(n - first, k - 1)) do
      table.insert(rest, 1, first)
      out[#out + 1] = rest
    end
  end
  return out
end

-- The least step over all splits, each with proof.
local function least_step(opts, n, parts)
  local best = math.huge
  for _, split in ipairs(splits(n, parts)) do
    opts.split = split
    local s = schedule.exact(opts)
    if s then
      assert.is_true(s.proven)
      best = math.min(best, s.step)
    end
  end
  opts.split = nil
  return best
end

describe("the bound over all splits", function()
  local SHAPES = { { 2, 1 }, { 3, 1 }, { 2, 2, "zigzag" }, { 2, 2, "interleaved" },
    { 2, 3, "zigzag" }, { 2, 2, "bidirectional" } }
  local function layer(rng)
    return { forward = 1 + rng:below(4), backward = 1 + rng:below(4), weight = rng:below(4),
      activations = 0.5 + rng:below(3) / 2, p2p = rng:below(3) / 4 }
  end

  for i, shape in ipairs(SHAPES) do
    it(("is below the best of each split: %d stages, %d chunks %s"):format(shape[1], shape[2],
      shape[3] or ""), function()
      local rng, gap, n = berth.rng(i), 0, runs(3, 6)
      -- every other case of a shape, all of them in full runs
      for k = runs(1 + i % 2, 1), 6, runs(2, 1) do
        local list = { layer(rng), layer(rng), layer(rng) }
        if shape[2] < 2 then list[4] = layer(rng) end
        list[#list].backward = 6
        local opts = { stages = shape[1], chunks = shape[2], map = shape[3], microbatches = 2,
          layers = list, memory = k % 2 == 0 and 6 * shape[2] or nil, objective = k % 3 == 0 and "span" or nil,
          extra = k == 5 and 1 or nil, joined = k == 4 }
        local best = shape[3] == "bidirectional" and math.huge
          or least_step(opts, #list, shape[1] * shape[2])
        opts.calls = 200
        local s = assert(schedule.search(opts))
        assert.truthy(s.bound <= best + 1e-9 and s.bound <= s.step, ("%g %g"):format(s.bound, best))
        gap = gap + math.min(best, s.step) / s.bound - 1
      end
      assert.truthy(gap / n < (shape[2] == 3 and 0.4 or 0.15), gap / n)
    end)
  end
end)

describe("Llama-3-70B by FLOP, with its heavy last stage", function()
  local LLAMA = { { kind = "E", forward = 20, weight = 40 },
    { count = 80, forward = 1845, backward = 2046, weight = 1711 },
    { kind = "L", forward = 2206, backward = 2206, weight = 2101 } }

  for _, size in ipairs(runs({ { 8, 16 } }, { { 8, 16 }, { 16, 32 } })) do
    it(("is 22 %% shorter than an even split with 1F1B: %d stages, %d micro-batches")
      :format(size[1], size[2]), function()
      local opts = { stages = size[1], microbatches = size[2], layers = LLAMA, p2p = 130,
        memory = size[1], split = "even" }
      local even = assert(schedule.make("1f1b", opts))
      assert.equal("runs", even.outcome)
      opts.split, opts.calls = nil, 4000
      local both = assert(schedule.search(opts))
      assert.truthy(both.step <= 0.78 * even.step, both.step / even.step)
      opts.chunks, opts.map = 2, "zigzag"
      assert.truthy(schedule.search(opts).step < both.step)
    end)
  end
end)

describe("costs", function()
  it("from a file of stages", function()
    local path = shell.file(".csv", "forward_ms,backward_ms,weight_us,p2p_s,activations\n"
      .. "1,2,3000,0.5,2\n# a remark\n2,2,0,,3\n")
    local c = assert(schedule.costs(path))
    assert.same({ 0.001, 0.002 }, c.forward)
    assert.near(0.003, c.weight[1], 1e-15)
    local s = assert(schedule.make("1f1b", { microbatches = 2, costs = c }))
    assert.same({ 2, 0.5, 4 }, { s.problem.stages, s.problem.p2p[1], s.peak[1] })
  end)

  it("from a file of layers", function()
    local path = shell.file(".csv", "kind,count,forward_s,backward_s,weight_s\nE,1,0,0,0\n"
      .. "t,6,1,1,1\nL,1,2,2,2\n")
    local s = assert(schedule.make("1f1b", { stages = 4, microbatches = 4,
      costs = assert(schedule.costs(path)) }))
    assert.equal("Et*2|t*2|t*2|L", s.problem.layout)
  end)

  it("from a file with a mistake: line and cell", function()
    local function message(text)
      local found, why = schedule.costs(shell.file(".csv", text))
      assert.is_nil(found)
      return why:gsub("^[^:]*: ", "")
    end
    assert.matches("^line 1: column 1: 'forward' is none of", message "forward\n1\n")
    assert.equal("line 3: cell 1: 'x': expected a number from 0 (forward)",
      (message "forward_s\n1\nx\n"))
    assert.equal("line 2: 2 cells, the head has 1", (message "forward_s\n1,2\n"))
    assert.equal("has no rows", (message "forward_s\n"))
  end)

  it("from a graph that berth.split cut", function()
    -- a(1 s) -> b(2 s) -> c(3 s), 8 bytes each on 4 B/s: stages a b | c
    local g = berth.graph { ops = { { name = "a", seconds = 1 }, { name = "b", seconds = 2 },
      { name = "c", seconds = 3 } }, edges = { { 1, 2, 8 }, { 2, 3, 8 } } }
    local t = berth.topology.mesh(2, { bandwidth = 4 })
    local c = assert(schedule.costs(g, t, assert(berth.split(g, t)), { backward = 1, weight = 0.5 }))
    assert.same({ 3, 3 }, c.forward)
    assert.same({ 1.5, 1.5 }, c.weight)
    assert.same({ 2 }, c.p2p)
    local s = assert(schedule.make("1f1b", { microbatches = 1, costs = c }))
    assert.near(3 + 2 + 3 + 4.5 + 2 + 4.5, s.step, 1e-12)
  end)

  it("from a training graph: what is backward is B and W", function()
    local g = assert(berth.models.bert { size = "base", layers = 4, batch = 2, seq = 64 })
    local t = berth.topology.mesh(2, { preset = "V100", bandwidth = "10 GB/s", latency = "5 us" })
    local c = assert(schedule.costs(g, t, assert(berth.split(g, t))))
    local cost, sum = berth.cost(g, t), 0
    for op in g:ops() do sum = sum + (op.update and 0 or cost:op(op.id, 1)) end
    local all = 0
    for s = 1, 2 do all = all + c.forward[s] + c.backward[s] + c.weight[s] end
    assert.near(sum, all, 1e-9)
    assert.truthy(schedule.make("zb-h1", { microbatches = 4, costs = c }).step > sum / 2 * 4)
  end)
end)
