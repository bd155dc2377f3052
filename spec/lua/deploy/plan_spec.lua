-- berth.deploy.plan: what an answer says, that it holds, and what each option does.
local berth = require "berth"
local json = require "dkjson"
local layers = require "support.layers"
local shell = require "support.shell"
local xml = require "support.xml"
local errors = require "support.errors"
local merged = require "support.merged"
local refused, raises = errors.refused, errors.raises

local BATCH = 12

-- Three layers with a weight each, forward, backward and updates; a P100 takes twice as long as a
-- V100.
local function chain(scale, batch, params)
  local ops, tensors = { { name = "input", kind = "input", seconds = { 0, 0 } } }, {}
  local function op(name, kind, seconds, more)
    local time = seconds * (scale or 1)
    local o = merged({ name = name, kind = kind, seconds = { time, 2 * time } }, more)
    ops[#ops + 1] = o
    return #ops
  end
  local size = 1e5 * (batch or BATCH)
  local forward, last = {}, 1
  for k = 1, 3 do
    forward[k] = op("layer" .. k, "linear", 2e-3, { params = params or 4e6 })
    tensors[#tensors + 1] = { from = last, to = { forward[k] }, bytes = size, batch = true }
    last = forward[k]
  end
  for k = 3, 1, -1 do
    local back = op("layer" .. k .. "/grad", "linear_grad", 4e-3,
      { backward = true, twin = "layer" .. k })
    tensors[#tensors + 1] = { from = last, to = { back }, bytes = size, batch = true }
    local update = op("layer" .. k .. "/update", "adam", 1e-4, { update = true, group = k })
    ops[forward[k]].group = k
    tensors[#tensors + 1] = { from = back, to = { update }, bytes = params or 4e6, gradient = true }
    last = back
  end
  return berth.graph { name = "chain", types = { "V100", "P100" }, ops = ops, tensors = tensors }
end

local function cluster(memory)
  return berth.topology.groups {
    groups = { { preset = "V100", count = 2, memory = memory or "16 GB", bandwidth = "8 GB/s" },
      { preset = "P100", count = 2, memory = memory or "16 GB", bandwidth = "3 GB/s" } },
    between = "2.81 GB/s",
  }
end

local function planned(opts, graph, topology)
  local given = merged({ batch = BATCH, calls = 60, reasons = 40 }, opts)
  return assert(berth.deploy.plan(graph or chain(), topology or cluster(), given))
end

local function failing(opts, graph)
  local ok, message = pcall(berth.deploy.plan, graph or chain(), cluster(), opts)
  assert.is_false(ok)
  return tostring(message)
end

describe("a plan", function()
  it("is no worse than any baseline that fits", function()
    local a = planned()
    assert.is_true(#a.baselines >= 7)
    for _, row in ipairs(a.baselines) do
      if row.fits then assert.is_true(a.seconds <= row.seconds, row.name) end
    end
    assert.near(a:baseline("dp").seconds / a.seconds, a.speedup, 1e-12)
    assert.near(a:baseline("uniform").seconds / a.seconds, a.speedup_uniform, 1e-12)
    assert.is_true(a.bound <= a.seconds)
    assert.near(a.seconds / a.bound - 1, a.gap, 1e-12)
  end)

  it("reports every op once, the longest op groups first", function()
    local a, seen, last = planned(), {}, math.huge
    for _, g in ipairs(a.groups) do
      assert.is_true(g.seconds <= last + 1e-12)
      last = g.seconds
      for _, op in ipairs(g.ops) do
        assert.is_nil(seen[op])
        seen[op] = true
      end
    end
    assert.equal(a.n_ops, #seen)
    local parameters, gradients = 0, 0
    for _, g in ipairs(a.groups) do
      parameters, gradients = parameters + g.parameters, gradients + g.gradient_bytes
    end
    assert.equal(12e6, parameters)
    assert.equal(12e6, gradients)
  end)

  it("deals out the whole batch", function()
    local a = planned()
    for _, g in ipairs(a.groups) do
      local sum = 0
      for _, n in ipairs(g.samples) do sum = sum + n end
      if g.option == "ps" or g.option == "allreduce" then assert.equal(BATCH, sum, g.what) end
      assert.equal(#g.devices, #g.samples)
    end
  end)

  it("compiles to a graph that takes as long", function()
    local a = planned()
    local c = assert(a:compile())
    assert.near(a.seconds, a:simulate().makespan, 1e-12)
    assert.equal(#c.graph, #c.placement)
    assert.near(a.seconds, a.problem:evaluate(a:strategy()).seconds, 1e-12)
  end)

  it("has memory below what there is", function()
    local a = planned()
    for d, peak in ipairs(a.peaks) do assert.is_true(peak > 0 and peak <= a.limits[d]) end
  end)

  it("gives reasons that hold: one op group done in another way", function()
    local a, n = planned { sfb = "none" }, 0
    for g, group in ipairs(a.groups) do
      for _, r in ipairs(group.reasons) do
        local s = a:strategy()
        assert.is_true(s.action[g] ~= r.action)
        s.action[g] = r.action
        local value = a.problem:evaluate { action = s.action }
        if r.change then assert.near(value.seconds / a.seconds - 1, r.change, 1e-12)
        else assert.equal(value.shortfall, r.missing) end
        n = n + 1
      end
    end
    assert.is_true(n > 5)
  end)

  -- The ops that one op group repeats are replaced by `list`'s.
  local function repeated_with(a, g, list)
    local out, group = {}, a.problem:group_of()
    for _, op in ipairs(a:strategy().duplicate) do
      if group[op] ~= g then out[#out + 1] = op end
    end
    for _, op in ipairs(list) do
      if group[op] == g then out[#out + 1] = op end
    end
    return out
  end

  local function check_reasons(a, rule, seen)
    for g, group in ipairs(a.groups) do
      for _, r in ipairs(group.reasons) do
        local s, none = a:strategy(), r.what == "no op repeated instead"
        s.action[g] = r.action
        s.duplicate = repeated_with(a, g,
          none and {} or a.problem:repeated({ action = s.action }, rule))
        local value = a.problem:evaluate(s)
        if r.change then assert.near(value.seconds / a.seconds - 1, r.change, 1e-12)
        else assert.equal(value.shortfall, r.missing) end
        if none then assert.is_true(#group.repeated > 0) end
        seen[r.what] = (seen[r.what] or 0) + 1
      end
    end
  end

  it("gives reasons that hold where ops are repeated", function()
    local seen = {}
    check_reasons(assert(berth.deploy.plan(layers.graph(), layers.topology(),
      layers.options { calls = 200, reasons = 100 })), "local", seen)
    assert.same({ 1, 1 }, { seen["ops repeated instead"], seen["no op repeated instead"] })
    for _, rule in ipairs { "local", "cut" } do
      for op_groups = 3, 12, 3 do
        local g = berth.deploy.models.build("vgg19", { batch = 6 })
        check_reasons(assert(berth.deploy.plan(g, berth.deploy.clusters.sfb_trio(),
          { batch = 6, calls = 60, op_groups = op_groups, reasons = 100, sfb = rule })), rule, seen)
      end
    end
    assert.is_true(seen["no op repeated instead"] > 2)
  end)

  it("never has a trace that rises", function()
    local a = planned()
    for i = 2, #a.trace do
      assert.is_true(a.trace[i].seconds < a.trace[i - 1].seconds)
      assert.is_true(a.trace[i].evaluations >= a.trace[i - 1].evaluations)
    end
    assert.is_true(a.trace[#a.trace].evaluations <= a.evaluations + a.reason_evaluations)
  end)

  it("prints one line, and tables", function()
    local a = planned()
    assert.matches(
      "^plan: 10 ops on 4 devices, batch 12, physical: step time %S+ %S+; "
      .. "%d+%.%d+ x DP%-NCCL, %d+%.%d+ x the best uniform "
      .. "strategy; bound [^\n]+, gap %S+ %%; memory [^\n]+$", tostring(a))
    assert.matches("^group  what", a:table())
    assert.matches("and %d+ lighter ones$", a:table(1))
    assert.equal(a:table(), a:table(math.huge))
    raises("deploy answer:table: most: expected how many op groups, got -1", a.table, a, -1)
    assert.matches("\nDP%-NCCL", a:baseline_table())
    assert.matches("\nd0 ", a:memory_table())
    assert.has_error(function() return a.second end)
  end)

  it("takes a cost instead of graph and topology", function()
    local a = assert(berth.deploy.plan(berth.cost(chain(), cluster()),
      { batch = BATCH, calls = 40, reasons = false }))
    assert.is_true(a.seconds <= a:baseline("uniform").seconds)
  end)

  it("is the same for the same seed", function()
    assert.equal(planned({ seed = 4 }):to_json(), planned({ seed = 4 }):to_json())
  end)
end)

describe("an option of a plan", function()
  local base
  setup(function() base = planned() end)

  local function options_of(a)
    local out = {}
    for _, x in ipairs(a.problem:actions()) do out[x.option], out[x.shares] = true, true end
    return out
  end

  it("batch: is of the costs", function()
    assert.equal(24, planned({ batch = 24 }).batch)
    local sum = 0
    for _, n in ipairs(planned({ batch = 24 }).groups[1].samples) do sum = sum + n end
    assert.is_true(sum >= 24)
  end)

  it("physics: prices otherwise", function()
    local a = planned { physics = "compat" }
    assert.equal("compat", a.physics)
    assert.is_true(a:baseline("dp").seconds ~= base:baseline("dp").seconds)
    -- The published code counts 1/n of a gradient.
    local published = planned { physics = "published", uneven = true }
    assert.is_true(published:baseline("dp").seconds < a:baseline("dp").seconds)
  end)

  it("op_groups: at most so many", function()
    assert.is_true(#planned({ op_groups = 2 }).groups <= 2)
    assert.is_true(#base.groups > 2)
  end)

  it("uneven: shares by speed", function()
    assert.is_true(options_of(base).speed)
    assert.is_nil(options_of(planned { uneven = false }).speed)
  end)

  it("duplicates: the whole on each", function()
    assert.is_nil(options_of(base).duplicate)
    assert.is_true(options_of(planned { duplicates = true }).duplicate)
  end)

  it("strict: no replicas where the batch does not divide", function()
    local a = planned { strict = true, batch = 3 }
    for _, g in ipairs(a.groups) do
      if #g.devices > 1 and g.option ~= "split" then assert.equal(0, 3 % #g.devices) end
    end
  end)

  it("device_groups and sets: where an op group may be", function()
    assert.is_true(
      #planned({ device_groups = { 1, 1, 1, 1 } }).problem:sets() < #base.problem:sets())
    local a = planned { sets = { { 1, 2 }, { 3 } } }
    assert.same({ { 1, 2 }, { 3 } }, a.problem:sets())
    for _, g in ipairs(a.groups) do assert.is_true(g.devices[1] == 3 or #g.devices == 2) end
  end)

  it("points: times at other batch sizes", function()
    -- a quarter of the batch takes all the time: replicas gain nothing
    local a = planned { points = { { batch = 3, graph = chain(1, 3) } } }
    assert.is_true(a:baseline("dp").seconds > 1.5 * base:baseline("dp").seconds)
  end)

  it("method, evaluations and seed: the search", function()
    for _, method in ipairs { "mcts", "tree", "anneal", "refine", "published" } do
      local a = planned { method = method, calls = 80 }
      assert.is_true(a.evaluations <= 120, method)
      assert.is_true(a.seconds <= a:baseline("uniform").seconds, method)
    end
    assert.is_true(planned({ calls = 200 }).evaluations > base.evaluations)
  end)

  it("seconds: ends the search early", function()
    local a = planned { calls = 1000000, seconds = 0.05 }
    assert.is_true(a.evaluations < 1000000)
  end)

  it("prior: is called", function()
    local n_calls = 0
    planned { prior = function(leaves)
      n_calls = n_calls + #leaves
      local out = {}
      for i in ipairs(leaves) do
        out[i] = {}
        for k = 1, #base.problem:actions() do out[i][k] = 1 end
      end
      return out
    end }
    assert.is_true(n_calls > 0)
    local agent = berth.agents.tag { size = "tiny", seed = 3 }
    assert.is_true(planned({ prior = agent }).seconds <= base:baseline("uniform").seconds)
    assert.is_true(planned({ prior = "uniform" }).seconds <= base:baseline("uniform").seconds)
  end)

  it("sfb: repeats ops, or does not", function()
    for _, rule in ipairs { "local", "cut", "none" } do
      local a = planned { sfb = rule }
      if rule == "none" then assert.same({}, a:strategy().duplicate) end
      assert.is_true(a.seconds <= a:baseline("dp").seconds)
    end
  end)

  it("reasons: a number, or none", function()
    local a = planned { reasons = false }
    for _, g in ipairs(a.groups) do assert.same({}, g.reasons) end
    assert.equal(0, a.reason_evaluations)
    assert.is_true(planned({ reasons = 7 }).reason_evaluations <= 7 + 64)
  end)

  it("is refused where it makes no sense", function()
    for _, case in ipairs {
      { { }, "batch: is missing: samples in a step" },
      { { batch = 12, method = "magic" },
        "method: 'magic' is none of: mcts, tree, anneal, refine, published" },
      { { batch = 12, sfb = "yes" }, "sfb: 'yes' is none of: none, local, cut" },
      { { batch = 12, calls = 0 }, "calls: 0 is out of range 1 to 2147483647" },
      { { batch = 12, calls = 1.5 }, "calls: expected a whole number, got 1.5" },
      { { batch = 12, reasons = -1 }, "reasons: %-1 is out of range 0 to 2147483647" },
      { { batch = 12, seconds = "3 m" }, "seconds: " },
      { { batch = 12, prior = "best" },
        "prior: expected one of: local, uniform, trained; a function or an agent of kind" },
      { { batch = 12, colour = 1 }, "unknown option 'colour' %(legal: " },
      { { batch = 12, sets = {} }, "sets: is empty" },
      { { batch = 12, points = { { batch = 6, graph = chain(1, 6) }, { batch = 3 } } },
        "points%[2%]%.graph: expected a graph, got nil" },
    } do assert.matches(case[2], failing(case[1])) end
    raises("berth.deploy.plan: topology: expected a topology, got nil", berth.deploy.plan, chain(),
      nil, { batch = 12 })
  end)
end)

-- x -> y, its gradient, an update; kinds of TensorFlow where no tensor has a flag.
local function layer(o)
  local flagged = o.flags ~= false
  return berth.graph {
    ops = { { name = "x", kind = "Placeholder", seconds = 0 },
      { name = "w", kind = o.variable and "VariableV2" or "Mine", params = 64e6, group = o.group,
        seconds = 0 },
      { name = "y", kind = o.kind or "MatMul", seconds = 4e-3 },
      { name = "dw", kind = "MatMul:transpose_a", seconds = 4e-3 },
      { name = "up", kind = o.update or "ApplyAdam", seconds = 1e-4, group = o.group } },
    tensors = { { from = 1, to = { 3, 4 }, bytes = 6e5, batch = flagged },
      { from = 2, to = o.variable and { 3, 5 } or { 3 }, bytes = 64e6 },
      { from = 3, to = { 4 }, bytes = 6e5, batch = flagged },
      { from = 4, to = { 5 }, bytes = 64e6, gradient = flagged } },
  }
end

describe("notes of a plan", function()
  local function notes(o) return planned({ reasons = false, calls = 20 }, layer(o)).notes end
  local TIED =
    "update up is tied to no op that holds parameters: its replicas would not get new weights; "
      .. "give both a "
    .. "colocation group"

  it("tell of updates that are tied to nothing", function()
    assert.same({ TIED }, notes {})
    assert.same({}, notes { group = 1 })
    assert.same({}, notes { variable = true })
    local a = planned({ reasons = false, calls = 20 }, layer {})
    assert.matches("\nnote: update up is tied", tostring(a))
    assert.same({ TIED }, json.decode(a:to_json()).notes)
    local path = shell.path ".html"
    assert(a:report(path))
    assert.truthy(shell.read(path):find("update up is tied to no op", 1, true))
  end)

  it("tell of kinds without a rule", function()
    assert.same({ "1 kind has no rule: MyGelu; its ops stay with what they read" },
      notes { flags = false, kind = "MyGelu", variable = true })
  end)

  it("tell of a graph without updates", function()
    assert.same({ "no op is an update: no gradient is kept in step" }, notes { update = "Relu" })
  end)
end)

describe("op groups of an answer", function()
  it("have the gradients that the analysis finds, without flags", function()
    local a, sum = planned({ reasons = false, calls = 20 },
      layer { flags = false, variable = true }), 0
    for _, g in ipairs(a.groups) do sum = sum + g.gradient_bytes end
    assert.equal("64000000", tostring(sum))
    assert.matches("64 MB", a:table())
  end)

  it("are distinguished by their passes", function()
    local a, forward, backward, update = planned { op_groups = 4 }, 0, 0, 0
    for i, g in ipairs(a.groups) do
      forward, backward, update = forward + g.passes.forward, backward + g.passes.backward,
        update + g.passes.update
      assert.equal(g.passes.backward > 0, g.what:find("%d backward") ~= nil)
      assert.same(g.passes, json.decode(a:to_json()).groups[i].passes)
    end
    assert.same({ 4, 3, 3 }, { forward, backward, update })
  end)

  it("are replicas where there is no gradient to sum", function()
    local a = planned({ sets = { { 1, 2, 3, 4 } }, uneven = false, op_groups = 20 },
      layer { group = 1 })
    local input
    for _, g in ipairs(a.groups) do
      if g.ops[1] == 1 then input = g end
    end
    assert.equal("replicas, samples 4 x 3", require("berth.deploy.answer_words").how(input))
    for _, r in ipairs(input.reasons) do assert.is_nil(r.what:find "server") end
  end)

  it("may be on islands: what cannot reach its tensors is passed over", function()
    local islands = berth.topology {
      devices = { { name = "a", type = "V100" }, { name = "b", type = "V100" },
        { name = "c", type = "P100" } },
      links = { { "a", "b", bandwidth = "8 GB/s" } },
    }
    for _, physics in ipairs { "physical", "compat", "published" } do
      local a = planned({ physics = physics }, nil, islands)
      for _, g in ipairs(a.groups) do assert.is_true(g.devices[#g.devices] < 3) end
      assert.is_nil(a:baseline "dp")
      assert.truthy(a:baseline "heterog")
    end
    for _, o in ipairs { { sfb = "cut" }, { sfb = "cut", method = "anneal" }, { prior = "trained" },
      { method = "published" } } do
      for _, g in ipairs(planned(o, nil, islands).groups) do
        assert.is_true(g.devices[#g.devices] < 3)
      end
    end
    local apart = berth.graph { types = { "V100", "P100" },
      tensors = { { from = 1, to = { 2 }, bytes = 1 } },
      ops = { { kind = "input", seconds = { 1, math.huge } }, { seconds = { math.huge, 1 } },
        { seconds = { math.huge, 1 } } } }
    refused("unreachable", "^no baseline can be simulated: no route from device",
      berth.deploy.plan(apart, islands, { batch = 4 }))
  end)

  it("may take no time", function()
    local path = shell.path ".html"
    local a = planned({},
      berth.graph { types = { "V100", "P100" }, ops = { { seconds = { 0, 0 } } } })
    assert.same({ 0, 1, 1 }, { a.seconds, a.speedup, a.speedup_uniform })
    assert.matches("1%.00 x DP%-NCCL.*bound 0 s %(%w+%); memory", tostring(a))
    for _, r in ipairs(a.groups[1].reasons) do assert.equal(0, r.change) end
    assert(a:report(path))
    assert.is_nil(shell.read(path):find "[^%a]nan[^%a]")
  end)

  it("are decided where no baseline is legal", function()
    local graph = berth.graph { types = { "V100", "P100" },
      ops = { { kind = "input", seconds = { 0, 0 } }, { seconds = { 1, math.huge }, params = 8 },
        { seconds = { math.huge, 1 } } },
      tensors = { { from = 1, to = { 2 }, bytes = 8, batch = true },
        { from = 2, to = { 3 }, bytes = 8, batch = true } } }
    local sets = { { 1, 2 }, { 3, 4 } }
    for _, method in ipairs { "mcts", "published" } do
      local a = planned({ sets = sets, method = method }, graph)
      assert.same({}, a.baselines)
      assert.is_nil(a.speedup)
      for _, g in ipairs(a.groups) do assert.equal(2, #g.devices) end
      local none, message, code, why = berth.deploy.plan(graph, cluster(12),
        { batch = BATCH, sets = sets, method = method })
      -- parameters, half of both tensors
      assert.same({ "nil", "infeasible", 8 + 4 + 4 - 12 }, { tostring(none), code, why.missing })
      assert.matches("^none of %d+ strategies fits: in the best of them device %S+ needs 4 B more$",
        message)
    end
  end)

  it("tell numbers without end shortly, and pass over what the clock cannot count", function()
    local words = require "berth.deploy.answer_words"
    assert.same({ "1.85", "0.13", "3e+12", "-", "-" },
      { words.times(1.85), words.times(0.125), words.times(3e12), words.times(math.huge),
        words.times(0 / 0) })
    local slow = berth.graph { types = { "V100", "P100" },
      ops = { { kind = "input", seconds = { 0, 0 } },
        { seconds = { 1e-3, 1e300 }, params = 4e6, group = 1 },
        { seconds = { 1e-3, 1e300 }, backward = true },
        { seconds = { 0, 0 }, update = true, group = 1 } },
      tensors = { { from = 1, to = { 2, 3 }, bytes = 100, batch = true },
        { from = 2, to = { 3 }, bytes = 100, batch = true },
        { from = 3, to = { 4 }, bytes = 4e6, gradient = true } } }
    for _, physics in ipairs { "physical", "compat", "published" } do
      local path = shell.path ".html"
      local a = planned({ physics = physics }, slow)
      local text = table.concat({ tostring(a), a:table(), a:baseline_table() }, "\n")
      assert.is_nil(text:find(("%d"):rep(20)))
      assert(a:report(path))
      assert.is_nil(shell.read(path):find(("%d"):rep(40)))
      if physics ~= "published" then assert.truthy(a:baseline "dp-speed") end
      for _, g in ipairs(a.groups) do -- from one device to several: the way is recorded
        for _, r in ipairs(g.reasons) do
          local set = a.problem:sets()[a.problem:actions()[r.action].set]
          assert.is_true(#g.devices > 1 or #set == 1 or r.what:find(", %u?%l") ~= nil, r.what)
        end
      end
      assert.equal(physics == "physical", a:baseline "dp" ~= nil)
    end
  end)

  it("have no reason that comes to the same graph, and replicas in the legend", function()
    local path = shell.path ".html"
    local a = planned({ sets = { { 1, 2, 3, 4 }, { 1, 2 }, { 1 } }, physics = "published",
      op_groups = 20, reasons = 400 },
      layer { group = 1 })
    local actions, some = a.problem:actions(), false
    local function does(action, g) -- on which devices, how
      local x = actions[action]
      return x.set .. (not g.reduces and x.option == "ps" and "allreduce" or x.option)
    end
    for _, g in ipairs(a.groups) do
      some = some or not g.reduces
      for _, r in ipairs(g.reasons) do
        if not g.reduces then assert.not_equal(does(g.action, g), does(r.action, g)) end
        assert.falsy(not g.reduces and (r.what:find "server" or r.what:find "AllReduce"), r.what)
      end
    end
    assert.is_true(some)
    assert(a:report(path))
    local map = shell.read(path):match '<section id="map">.-</section>'
    assert.truthy(map:find("replicas, no gradient", 1, true))
  end)

  it("have one reason for devices that are alike", function()
    local a = planned { reasons = 200 }
    for _, g in ipairs(a.groups) do
      local seen = {}
      for _, r in ipairs(g.reasons) do
        local alone = r.what:match "^d(%d) instead$"
        local kind = alone and math.floor(tonumber(alone) / 2)
        assert.is_nil(alone and #g.devices > 1 and seen[kind], r.what)
        if kind then seen[kind] = true end
      end
    end
  end)

  it("never have two reasons that read alike", function()
    for _, seed in ipairs { 1, 2, 3 } do
      local a = planned({ reasons = 200 },
        (berth.deploy.models.random { seed = seed, family = "mlp", layers = 3 }))
      for _, g in ipairs(a.groups) do
        local seen = {}
        for _, r in ipairs(g.reasons) do
          assert.is_nil(seen[r.what], r.what)
          seen[r.what] = true
        end
      end
    end
  end)

  it("say how many of their ops are repeated", function()
    local g = berth.deploy.models.build("bert_small", { batch = 6 })
    local a = assert(berth.deploy.plan(g, berth.deploy.clusters.sfb_trio(),
      { batch = 6, calls = 30, reasons = false, physics = "calibrated" }))
    local n, saved = 0, json.decode(a:to_json())
    for i, group in ipairs(a.groups) do
      n = n + #group.repeated
      assert.same(group.repeated, saved.groups[i].repeated)
    end
    assert.is_true(n > 0)
    assert.equal(#a:strategy().duplicate, n)
    assert.matches("1 op repeated %(SFB%)", a:table())
    local path = shell.path ".html"
    assert(a:report(path))
    assert.truthy(shell.read(path):find(">ops repeated<", 1, true))
  end)
end)

describe("numbers of an answer", function()
  it("are whole where they can be, and name the physics", function()
    local a = planned()
    for _, x in ipairs { a.evaluations, a.reason_evaluations, a.groups[1].gradient_bytes,
      a.groups[1].parameters, a.limits[1],
      a.trace[1].evaluations } do assert.is_nil(tostring(x):find(".", 1, true)) end
    assert.matches(", batch 12, compat: ", tostring(planned { physics = "compat" }))
    assert.matches(", batch 12, calibrated, collectives at 1%.9 x bandwidth: ",
      tostring(planned { physics = "calibrated" }))
    assert.matches(", batch 12, calibrated: ",
      tostring(planned { physics = "calibrated", cost = { collective_bandwidth = 1 } }))
    assert.equal("13 B", require("berth.deploy.answer_words").bytes(12.5))
    local path = shell.path ".html"
    assert(a:report(path))
    local page = shell.read(path)
    assert.truthy(page:find("<dd>4 devices</dd>", 1, true))
    assert.truthy(page:find("<dd>batch 12, calls 60</dd>", 1, true))
  end)
end)

describe("a plan, executed", function()
  it("runs on threads, and its results are right", function()
    local g, t = berth.deploy.models.random { seed = 1, family = "mlp", layers = 3 }, cluster()
    local d, s = assert(berth.deploy.problem(g, t, { batch = 32, op_groups = 4 })), { action = {} }
    for i = 1, #d:groups() do
      for _, k in ipairs(d:legal(i)) do
        local x = d:actions()[k]
        if #d:sets()[x.set] == 4 and x.option == "allreduce" and x.shares == "even" then
          s.action[i] = k
        end
      end
    end
    local c = assert(d:compile(s))
    assert.is_true(c.graph.n_collectives > 0)
    local wide, devices = berth.expand(c.graph, t, c.placement, { algorithm = "ring" })
    local ex = assert(berth.executor(wide, t, { mode = "paced", seconds = 0.02, check = true }))
    local r = assert(ex:run(devices))
    assert.is_true(r.checked)
    assert.is_nil(r.wrong)
    -- pinned ops have times on their device alone
    local measured, links = assert(ex:calibrate { runs = 1, repeats = 1 })
    assert.is_true(berth.simulate(measured, links, devices, ex.simulation).makespan > 0)
    ex:close()
  end)
end)

describe("where nothing fits", function()
  it("says which device stops it, and by how much", function()
    -- a weight of 350 MB fits, once a device; activations of 1.2 MB a sample do not fit beside it
    local why = refused("infeasible", "^no strategy found with 4 op groups: the best %(.+%) is "
      .. "%S+ %S+ short on d%d; that nothing fits is not proved$",
      berth.deploy.plan(chain(1, 6000, 350e6), cluster "400 MB", { batch = 6000, calls = 40 }))
    assert.is_true(why.device >= 1 and why.device <= 4 and why.missing > 0)
    assert.is_false(why.proved)
  end)

  it("is not said where single op groups on single devices fit, at any number of op groups",
    function()
      local g = assert(berth.models.build("llama-2-70b",
        { batch = 4, attention = "fused", granularity = "block" }))
      local t = berth.topology.two_level(2, 8, { preset = "H100" })
      for _, groups in ipairs { 60, 10, 246 } do
        local a = assert(berth.deploy.plan(g, t,
          { batch = 4, calls = 20, reasons = false, op_groups = groups }))
        for d, peak in ipairs(a.peaks) do assert.is_true(peak <= a.limits[d]) end
        assert.is_true(a.seconds < 7.6)
        assert.is_false(a.speedup_runs)
        assert.matches("x DP%-NCCL as if it fitted, %S+ x the best uniform strategy as if it fitted;",
          tostring(a))
        assert.matches("\nDP%-NCCL +%S+ s +%(%d+%.%d+%)  as if it fitted", a:baseline_table())
        assert.is_true(a:baseline("placement").fits)
        assert.equal(groups == 10, a.notes[1] ~= nil and a.notes[1]:find(
          "^%d+ op groups of at most %S+ GB: with 10 no baseline fits$") ~= nil)
        local path = shell.path ".json"
        assert(a:save(path))
        assert.equal(a.seconds, assert(berth.deploy.load(path, g, t)).seconds)
        assert.is_false(json.decode(shell.read(path)).speedup_dp_runs)
      end
    end)

  it("proves it by the parameters of an op with its colocation group", function()
    local why = refused("infeasible", '^nothing fits: parameters of op 2 "layer1" and its '
      .. "colocation group need 4 GB, no device that can run it has more than 1 GB: 3 GB are "
      .. "missing$",
      berth.deploy.plan(chain(1, BATCH, 4e9), cluster "1 GB", { batch = BATCH, calls = 40 }))
    assert.same({ op = 2, device = 1, missing = 3e9, proved = true }, why)
  end)

  it("proves it by all parameters together", function()
    local g = chain(1, BATCH, 500e6)
    local why = refused("infeasible", "^nothing fits: all parameters need 1%.5 GB, all devices "
      .. "have 1%.2 GB: 300 MB are missing$",
      berth.deploy.plan(g, berth.topology.mesh(2, { preset = "V100", memory = "600 MB" }),
        { batch = BATCH, calls = 40 }))
    assert.is_true(why.proved)
    assert.near(300e6, why.missing, 1)
  end)

  it("reports baselines as if they fitted", function()
    -- 3 x 400 MB fit on no device, but the chain does on several
    local a = planned({}, chain(1, BATCH, 4e8), cluster "1 GB")
    local dp = a:baseline "dp"
    assert.is_false(dp.fits)
    assert.is_true(dp.missing > 0 and dp.seconds > 0)
    assert.matches("as if it fitted", tostring(a))
    assert.matches("DP%-NCCL[^\n]+as if it fitted: %S+ %S+ short on d%d", a:baseline_table())
  end)
end)

describe("a saved plan", function()
  local a, path, text
  setup(function()
    a, path = planned({ seed = 2 }), shell.path ".json"
    assert(a:save(path))
    text = shell.read(path)
  end)
  teardown(function() shell.tidy() end)

  it("comes back", function()
    local b = assert(berth.deploy.load(path, chain(), cluster()))
    assert.equal(a.seconds, b.seconds)
    assert.same(a:strategy(), b:strategy())
    assert.same(a.peaks, b.peaks)
    assert.equal(0, b.reason_evaluations)
    assert.is_true(#assert(berth.deploy.load(path, chain(), cluster(),
      { reasons = 20 })).groups[1].reasons > 0)
  end)

  it("is JSON with units in its names", function()
    local x = assert(json.decode(text))
    assert.equal("berth deploy plan", x.format)
    assert.equal(a.seconds, x.step_s)
    assert.equal(#a.groups, #x.groups)
    assert.equal(BATCH, x.batch)
    assert.equal(a.groups[1].gradient_bytes, x.groups[1].gradient_bytes)
  end)

  it("reports which prior it was searched with, as that was given", function()
    local file = shell.path ".json"
    assert(planned({ prior = "trained" }):save(file))
    assert.same({ prior = "trained", calls = 60 }, json.decode(shell.read(file)).options)
    assert.truthy(berth.deploy.load(file, chain(), cluster()))
  end)

  local function changed_plan(pattern, replacement, graph, topology)
    local changed, n = text:gsub(pattern, replacement, 1)
    assert.is_true(n == 1 or pattern == "$")
    local file = shell.file(".json", changed)
    local found, message, code = berth.deploy.load(file, graph or chain(), topology or cluster())
    assert.is_nil(found)
    assert.equal(file, message:sub(1, #file))
    return message:sub(#file + 3), code
  end

  it("is refused where it does not fit, with place and value", function()
    for _, case in ipairs {
      { '"berth deploy plan"', '"shopping list"',
        '^format: "shopping list", not "berth deploy plan"' },
      { '"schema":1', '"schema":7', "^schema: 7, this reads 1" },
      { '"schema":1', '"version":7', "^schema: 7, this reads 1" },
      { '"schema":1', '"scheme":1', "^schema: 0, this reads 1" },
      { '"ops":10,', '"ops":11,', "^graph%.ops: 11, but the graph has 10" },
      { '"layer1"', '"layer9"', '^op_names%[2%]: "layer9", but the graph has "layer1"' },
      { '"devices":%["d0"', '"devices":["e0"',
        '^topology%.devices%[1%]: "e0", but the topology has "d0"' },
      { '"option":"%a+"', '"option":"magic"', '^groups%[1%]%.option: no "magic" %(legal there: ' },
      { '"devices":%[%d[^%]]*%]', '"devices":[4,1]',
        "^groups%[1%]%.devices: these 2 devices are no set of this problem" },
      { '"repeated_ops":%[[^%]]*%]', '"repeated_ops":[99]',
        "^repeated_ops%[1%]: 99 is no op %(1 to 10%)" },
      { '"repeated_ops":%[[^%]]*%]', '"repeated_ops":[3,2]',
        "^repeated_ops%[2%]: 2 is not above the one before it" },
      { '"batch":12', '"batch":"many"', '^batch: expected a number, not "many"' },
    } do
      local message, code = changed_plan(case[1], case[2])
      assert.matches(case[3], message)
      assert.equal("invalid", code)
    end
    local two = berth.topology.mesh(2, { preset = "V100" })
    assert.matches("^topology%.devices: 4 devices, but the topology has 2",
      (changed_plan("$", "", nil, two)))
  end)

  it("is read from files whose schema number is called version", function()
    local file = shell.file(".json", (shell.read(path):gsub('"schema":1', '"version":1')))
    assert.equal(a.seconds, assert(berth.deploy.load(file, chain(), cluster())).seconds)
  end)

  it("is for one batch, and reads shares by speed", function()
    local found, message, code = berth.deploy.load(path, chain(), cluster(), { batch = 24 })
    assert.same({ nil, "invalid" }, { found, code })
    assert.equal(path .. ": batch: the plan is for a batch of 12, this is 24", message)
    local alike =
      berth.topology.groups { groups = { { preset = "V100", count = 2, bandwidth = "8 GB/s" },
      { preset = "V100", count = 2, bandwidth = "3 GB/s", memory = "15 GB" } },
        between = "2.81 GB/s" }
    local only = { { 1, 2, 3, 4 } }
    local changed = planned({ sets = only }):to_json()
    changed = changed:gsub('"option":"%a+","shares":"%a+"', '"option":"allreduce","shares":"speed"')
    local file = shell.file(".json", changed)
    found, message = berth.deploy.load(file, chain(), alike)
    assert.is_nil(found)
    assert.matches(
      "groups%[1%]%.shares: the plan has shares by speed on all 4 devices: these devices are alike "
        .. "here", message)
  end)

  it("is judged at the prices that are given", function()
    local slow = assert(berth.deploy.load(path, chain(), cluster(), { cost = { op_factor = 2 } }))
    assert.is_true(slow.seconds > a.seconds)
    assert.matches("physical: ", tostring(slow))
  end)

  it("is refused where it does not fit into memory", function()
    local found, message, code, why = berth.deploy.load(path, chain(), cluster "2 MB")
    assert.is_nil(found)
    assert.equal("infeasible", code)
    assert.equal(path, message:sub(1, #path))
    assert.matches("^ does not fit: it is %S+ %S+ short on d%d$", message:sub(#path + 1))
    assert.is_true(why.missing > 0)
  end)

  it("is no file, or no JSON", function()
    local none, message, code = berth.deploy.load(path .. ".none", chain(), cluster())
    assert.same({ nil, "io" }, { none, code })
    assert.matches("none", message)
    local file = shell.file(".json", "{ nothing")
    none, message, code = berth.deploy.load(file, chain(), cluster())
    assert.is_nil(none)
    assert.equal("parse", code)
    assert.equal(file .. ":1: not valid JSON here (nothing)", message)
  end)

  it("wants the points that it was made with", function()
    local points = { { batch = 6, graph = chain(0.6, 6) } }
    local b, other = planned { points = points }, shell.path ".json"
    assert(b:save(other))
    local found, message = berth.deploy.load(other, chain(), cluster())
    assert.is_nil(found)
    assert.matches(
      "options%.points%[1%]: batch 6, but none is given: give the points that the plan was made "
        .. "with", message)
    assert.equal(b.seconds,
      assert(berth.deploy.load(other, chain(), cluster(), { points = points })).seconds)
  end)
end)

describe("the page of a plan", function()
  teardown(function() shell.tidy() end)

  it("has one row for op groups of the same sizes that are done in the same way", function()
    local words = require "berth.deploy.answer_words"
    local a, path = planned(), shell.path ".html"
    local expected, at = {}, {}
    for i, g in ipairs(a.groups) do
      local key = table.concat({ words.seconds(g.seconds), words.bytes(g.parameters),
        words.bytes(g.gradient_bytes), g.where, words.how(g) }, "|")
      if at[key] then expected[at[key]][2] = expected[at[key]][2] + 1
      else
        expected[#expected + 1], at[key] = { i, 1 }, #expected + 1
      end
    end
    assert(a:report(path))
    local section, rows = shell.read(path):match '<section id="groups">(.-)</section>', {}
    for first, n in section:gmatch '<tr><td class="n">(%d+)([^<]*)</td>' do
      rows[#rows + 1] = { tonumber(first), tonumber(n:match "^ x (%d+)$" or 1) }
    end
    assert.same(expected, rows)
  end)

  it("has the range of each reason of such op groups", function()
    local words = require "berth.deploy.answer_words"
    local one = { reasons = { { what = "PS instead", change = 0.01 },
      { what = "d0 instead", missing = 2e9, device_name = "d0" } } }
    local two = { reasons = { { what = "PS instead", change = 0.035 },
      { what = "d0 instead", missing = 3e9, device_name = "d0" },
      { what = "split instead", change = 0.5 } } }
    assert.equal("PS instead: +1.0 % to +3.5 %; d0 instead: 2 GB to 3 GB short; "
      .. "split instead: +50.0 % (1 of them)", words.reasons_of { one, two })
    assert.equal("PS instead: +1.0 %; d0 instead: 2 GB short", words.reasons_of { one, one })
    assert.equal(words.reasons(two), words.reasons_of { two })
  end)

  it("is well-formed, self-contained, and says what the answer says", function()
    local a, path = planned(), shell.path ".html"
    assert(a:report(path, { title = "a <plan>", command = "berth deploy x" }))
    local page, n = shell.read(path), 0
    for figure in page:gmatch "(<svg.-</svg>)" do
      assert.is_true(#xml.elements(figure) > 0)
      n = n + 1
    end
    assert.is_true(n >= 5)
    local ids = {}
    for _, one in ipairs(xml.elements((page:gsub("^<!DOCTYPE html>", "")))) do
      local id = one.attributes.id
      assert.is_nil(id and ids[id], id)
      if id then ids[id] = true end
    end
    for target in page:gmatch 'href="#([^"]+)"' do assert.is_true(ids[target], target) end
    for _, id in ipairs { "steps", "map", "groups", "timeline", "memory", "search", "made" } do
      assert.truthy(page:find(('<section id="%s">'):format(id), 1, true), id)
    end
    assert.truthy(page:find("a &lt;plan&gt;", 1, true))
    assert.is_nil(page:gsub('xmlns="http://www.w3.org/2000/svg"', ""):find("https?:"))
    assert.truthy(page:find(berth.format(a.seconds, "seconds"), 1, true))
    local none, _, code = a:report("/nowhere/at/all.html")
    assert.same({ nil, "io" }, { none, code })
  end)
end)
