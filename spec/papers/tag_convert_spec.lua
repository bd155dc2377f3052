-- TAG's conversions (6.2) and shares: bytes moved by locality or position, and feedback (7).
local berth = require "berth"
local runs = require "support.runs"
local tag = require "support.tag_problem"
local checker = require "support.tag_checker"
local tag_analysis = require "support.tag_analysis"

local us = 1e-6

describe("a tensor between two op groups", function()
  -- 1 input -> 2 -> 3: the tensor between 2 and 3 has 1 MB per sample
  local sets = { { 1 }, { 2 }, { 3 }, { 1, 2 }, { 2, 3 }, { 1, 2, 3 }, { 1, 2, 3, 4 } }
  local function convert(batch, from, to, o)
    local g = assert(berth.graph { ops = { { kind = "Placeholder", seconds = 0 },
      { seconds = 2e-3 }, { seconds = 1e-3 } },
      tensors = { { from = 1, to = 2, bytes = batch, batch = true },
        { from = 2, to = 3, bytes = batch * 1e6, batch = true } } })
    local t = berth.topology.mesh(4, { bandwidth = 1e9, latency = 12 * us })
    local d = assert(berth.deploy.problem(g, t,
      { batch = batch, sets = sets, duplicates = true, positional = o.positional,
      gather = o.gather, uneven = false }))
    local s, group = { action = {} }, d:group_of()
    s.action[group[1]] = tag.action(d, from, from.whole and "duplicate" or from[2] and "allreduce"
      or "ps")
    s.action[group[2]] = s.action[group[1]]
    s.action[group[3]] = tag.action(d, to, to.whole and "duplicate" or to[2] and "allreduce"
      or "ps")
    local c = assert(d:compile(s))
    local parts = tag.parts(c)
    parts.replica = nil
    return tag.crossing(c, 2) / 1e6, parts, c, d
  end

  local one, two, three, pair, other, trio, all = sets[1], sets[2], sets[3], sets[4], sets[5],
    sets[6], sets[7]
  local whole_pair, whole_other = { 1, 2, whole = true }, { 2, 3, whole = true }
  -- batch, from, to, MB by locality, MB by position, and how the latter comes about
  local rows = {
    { "whole to whole, in place", 6, one, one, 0, 0 },
    { "whole to whole", 6, one, two, 6, 6 },
    { "whole to whole, one copy there", 6, whole_pair, whole_other, 6, 6 }, -- device 3 takes one
    { "whole to parts", 6, one, pair, 3, 3 },
    { "whole to parts on others", 6, one, other, 6, 6 },
    -- published: split on the first, although the second has it
    { "copies to parts", 6, whole_pair, pair, 0, 3 },
    { "parts to one of them", 6, pair, one, 3, 3 },
    { "parts to another", 6, pair, three, 6, 6 },
    { "parts to the same", 6, pair, pair, 0, 0 },
    { "parts to three", 6, pair, trio, 2, 3 + 4 }, -- concatenated on 1, split in three
    { "three parts to two", 6, trio, pair, 2, 4 + 3 },
    -- gcd 2: concatenations on 1 and 3, the second goes to 2
    { "four parts to two", 8, all, pair, 4, 2 + 2 + 4 },
    { "two parts to four", 8, pair, all, 4, 2 + 4 }, -- 1 to itself and 2, 2 to 3 and 4
  }
  for _, row in ipairs(rows) do
    it(row[1] .. " moves the least, or what is published by position", function()
      assert.near(row[5], (convert(row[2], row[3], row[4], {})), 1e-9)
      assert.near(row[6], (convert(row[2], row[3], row[4], { positional = true })), 1e-9)
    end)
  end

  it("parts to others that overlap keeps what is there already", function()
    local moved, _, _, d = convert(6, pair, other, {})
    local from, to, count = d:owners(4, "even"), d:owners(5, "even"), 0
    for sample = 1, 6 do count = count + (from[sample] ~= to[sample] and 1 or 0) end
    assert.near(count, moved, 1e-9)
    assert.is_true(count >= 3 and count <= 4) -- device 3 has none of its 3
    assert.near(6, (convert(6, pair, other, { positional = true })), 1e-9) -- 1 to 2 and 2 to 3
  end)

  it("reaches a device once, however many read it there", function()
    -- 2 is whole on 1 and 2; 3 reads it on 4, 4 reads it on 3 and 4: once to 3, once to 4
    local g = assert(berth.graph {
      ops = { { kind = "Placeholder", seconds = 0 }, { seconds = 2e-3 }, { seconds = 1e-3 },
        { seconds = 1e-3 } },
      tensors = { { from = 1, to = 2, bytes = 6, batch = true },
        { from = 2, to = { 3, 4 }, bytes = 6e6, batch = true } } })
    local d = assert(berth.deploy.problem(g, berth.topology.mesh(4, { bandwidth = 1e9 }),
      { batch = 6, duplicates = true,
      sets = { { 1, 2 }, { 4 }, { 3, 4 } } }))
    local s, group = { action = {} }, d:group_of()
    local both = tag.action(d, { 1, 2 }, "duplicate")
    for op, action in ipairs { both, both, tag.action(d, { 4 }, "ps"),
      tag.action(d, { 3, 4 }, "duplicate") } do
      s.action[group[op]] = action
    end
    assert.near(12, tag.crossing(assert(d:compile(s)), 2) / 1e6, 1e-9)
  end)

  it("is split where it is whole, and concatenated where it is read", function()
    assert.same({ split = 1 }, select(2, convert(6, one, pair, {})))
    assert.same({ split = 2 }, select(2, convert(6, whole_pair, pair, {}))) -- each its own
    assert.same({ split = 1 }, select(2, convert(6, whole_pair, pair, { positional = true })))
    assert.same({ concat = 1 }, select(2, convert(6, pair, one, {})))
    assert.same({ concat = 1, split = 1 }, select(2, convert(6, pair, trio, { positional = true })))
    -- a concatenation of one part is none
    assert.same({ split = 2 }, select(2, convert(8, pair, all, { positional = true })))
    assert.same({ concat = 2 }, select(2, convert(8, all, pair, { positional = true })))
  end)

  it("is gathered for all replicas that read all of it, or concatenated on the first", function()
    local moved, _, c = convert(6, pair, whole_pair, {})
    assert.equal(0, moved)
    assert.equal("allgather", c.graph:collective(1).kind)
    assert.near(3e6, c.graph:collective(1).bytes, 1e-6)
    local count
    moved, count, c = convert(6, pair, whole_pair, { positional = true, gather = false })
    assert.equal(0, c.graph.n_collectives)
    assert.same({ concat = 1 }, count)
    assert.near(3 + 6, moved, 1e-9) -- half to device 1, all of it back to device 2
  end)
end)

describe("shares of the batch", function()
  local function problem(speeds, batch)
    local devices, links = {}, {}
    for i, speed in ipairs(speeds) do
      devices[i] = { name = "g" .. i, speed = speed }
      for k = 1, i - 1 do links[#links + 1] = { "g" .. k, "g" .. i, bandwidth = 1e9 } end
    end
    local t = assert(berth.topology { devices = devices, links = links })
    local g = tag.layer { forward = 40e-3, backward = 20e-3, update = 1e-3, x = 4, y = 4,
      gradient = 4 }
    return assert(berth.deploy.problem(g, t, { batch = batch, op_groups = 1 }))
  end
  local function all(d)
    for i, set in ipairs(d:sets()) do
      if #set == #d.topology then return i end
    end
  end
  local function sorted(samples)
    table.sort(samples, function(a, b) return a > b end)
    return samples
  end

  it("go by speed", function()
    local cases = {
      { { 2, 1 }, 9, { 6, 3 } }, { { 2, 1 }, 10, { 7, 3 } }, -- 6.67 and 3.33
      { { 2, 1, 1 }, 8, { 4, 2, 2 } }, { { 1, 3 }, 8, { 2, 6 } }, { { 3, 2, 1 }, 12, { 6, 4, 2 } },
    }
    for _, case in ipairs(cases) do
      local d = problem(case[1], case[2])
      assert.same(case[3], d:samples(all(d), "speed"))
    end
  end)

  it("are even to within one sample", function()
    local cases = { { { 1, 1 }, 9, { 5, 4 } }, { { 2, 1 }, 9, { 5, 4 } },
      { { 1, 1, 1 }, 10, { 4, 3, 3 } },
      { { 1, 1, 1, 1 }, 2, { 1, 1, 0, 0 } } }
    for _, case in ipairs(cases) do
      local d = problem(case[1], case[2])
      assert.same(case[3], sorted(d:samples(all(d), "even")))
    end
  end)

  it("keep samples on a device that owns them among all devices", function()
    for _, case in ipairs { { { 1, 1, 1, 1 }, 16 }, { { 2, 1, 1, 2 }, 24 }, { { 3, 2, 1 }, 36 } } do
      local d = problem(case[1], case[2])
      local home = d:owners(all(d), "speed")
      for i, set in ipairs(d:sets()) do
        local inside, owner, kept, could = {}, d:owners(i, #set > 1 and "speed" or "even"), 0, 0
        for _, device in ipairs(set) do inside[device] = true end
        for sample = 1, case[2] do
          assert.is_true(inside[owner[sample]])
          kept = kept + (home[sample] == owner[sample] and 1 or 0)
          could = could + (inside[home[sample]] and 1 or 0)
        end
        assert.equal(could, kept)
      end
    end
  end)

  it("make unequal devices end together", function()
    -- 2 : 1 and batch 9: 6 and 3 samples: 60 * 6/9 / 2 = 20 ms and 60 * 3/9 = 20 ms; then the
    -- AllReduce and 1 ms on the slow one. Even, with 5 on either one or the other, at least 60 *
    -- 4/9 = 26.7 ms
    local d = problem({ 2, 1 }, 9)
    local by_speed = d:evaluate(tag.uniform(d, { 1, 2 }, "allreduce", "speed")).seconds
    assert.near(21e-3, by_speed, 1e-7)
    assert.is_true(d:evaluate(tag.uniform(d, { 1, 2 }, "allreduce", "even")).seconds > 27e-3)
  end)
end)

describe("every compiled graph", function()
  it("would be found out by the checker", function()
    local g = tag.two_layers { forward = 40e-3, backward = 20e-3, update = 1e-3, activation = 4e6,
      back = 4e6, gradient = 1e6,
      grouped = true }
    local t = berth.topology.mesh(3, { bandwidth = 1e9 })
    local d = assert(berth.deploy.problem(g, t, { batch = 6, sets = { { 1, 2 }, { 1, 2, 3 } } }))
    local s, group = tag.uniform(d, { 1, 2, 3 }, "allreduce"), d:group_of()
    s.action[group[3]] = tag.action(d, { 1, 2 }, "ps")
    local function spoilt(change)
      local c = assert(d:compile(s))
      assert.is_true(checker.check(d, s, c))
      change(c)
      return select(2, checker.check(d, s, c))
    end
    local function first(c, part)
      for i, p in ipairs(c.part) do
        if p == part then return i end
      end
    end
    assert.matches("samples", spoilt(function(c) c.samples[first(c, "replica") + 4] = 5 end))
    assert.matches("twice on device", spoilt(function(c) c.devices[2] = 1 end))
    assert.matches("op 4 twice", spoilt(function(c) c.part[first(c, "sum")] = "replica" end))
    assert.matches("is reduced 0 times for op",
      spoilt(function(c) c.part[first(c, "sum")] = "concat" end))
    assert.matches("reach device", spoilt(function(c)
      for k, source in ipairs(c.source) do c.source[k] = source == 2 and 3 or source end
    end))
  end)

  local function check(seed, graph, batch, o)
    o.batch, o.op_groups, o.duplicates = batch, 1 + seed % 6, o.physics ~= "published"
    o.bucket = o.physics ~= "published" and ({ "group", "none", "bytes" })[1 + seed % 3] or nil
    local rules = { { kind = "Frob", batch = "never" } }
    o.analysis = berth.deploy.analyse(graph, { rules = rules })
    local d = assert(berth.deploy.problem(graph, tag.topology(seed), o))
    for k = 1, 4 do
      local s = tag.strategy(d, seed * 10 + k, k % 2 == 0)
      local c = assert(d:compile(s))
      local fine, text = checker.check(d, s, c, rules)
      assert.is_true(fine, ("seed %d, strategy %d: %s"):format(seed, k, text or ""))
      assert.near(tag.run(c).makespan, d:evaluate(s).seconds, 1e-12)
    end
  end

  it("does all work once, reduces each gradient once, moves missing samples", function()
    for seed = 1, runs(20, 60) do
      local g, batch = tag.random(seed)
      check(seed, g, batch, {})
    end
  end)

  it("does so with sparse updates, constants, and values without the batch", function()
    for seed = 1, runs(20, 60) do
      local batch = 3 + seed % 7
      check(seed,
        assert(berth.graph(tag_analysis.describe(tag_analysis.network(seed, 3 + seed % 15),
        batch))), batch, {})
    end
  end)

  it("does so for models of the study on the testbed", function()
    for _, name in ipairs { "bert_small", "vgg19", "gnmt" } do
      local d = assert(berth.deploy.problem(berth.deploy.models.build(name),
        berth.deploy.clusters.testbed(),
        { batch = berth.deploy.models.batch(name), duplicates = true }))
      for k = 1, 3 do
        local s = tag.strategy(d, k, k % 2 == 0)
        local fine, text = checker.check(d, s, assert(d:compile(s)))
        assert.is_true(fine, ("%s, strategy %d: %s"):format(name, k, text or ""))
      end
    end
  end)

  it("does the work and reduces gradients once as published", function()
    for seed = 1, runs(20, 40) do
      local g, batch = tag.random(seed)
      check(seed, g, batch, { physics = "published" })
    end
  end)
end)
