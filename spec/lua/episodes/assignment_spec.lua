-- Episodes of assignment: choices, rewards, and the reference answers on DOPPLER graphs.
local berth = require "berth"
local shared = require "support.shared"
local splitmix = require "support.splitmix"
local errors = require "support.errors"

local raised, refused = errors.raised, errors.refused

describe("assignment", function()
  -- a (2 s) --8 B--> b (1 s), a --4 B--> c (3 s); 4 B/s: 2 s and 1 s on the way
  local function fork()
    return berth.graph{
      ops = { { name = "a", seconds = 2 }, { name = "b", seconds = 1 },
        { name = "c", seconds = 3 } },
      tensors = { { from = 1, to = { 2 }, bytes = 8 }, { from = 1, to = { 3 }, bytes = 4 } },
    }
  end
  local function two() return berth.topology.mesh(2, { bandwidth = "4 B/s" }) end
  local function env(options) return assert(berth.assignment(fork(), two(), options)) end

  it("reports what a device has to offer, estimated exactly or by load", function()
    for _, mode in ipairs{ "exact", "load" } do
      local e = env{ estimates = mode }:episodes(1)
      e:start(1, 0)
      assert.same({ 1 }, (e:candidates()):totable())
      e:assign({ 1 }, { 1 })
      assert.same({ 2, 3 }, (e:candidates()):totable())
      assert.same({ { 2, 2, 0, 2, 2 }, { 0, 0, 0, 0, 3 } }, e:devices({ 3 }):totable())
      e:assign({ 3 }, { 2 })
      -- c runs from 3 to 6 on the second device; by load from 0 to 3
      assert.same({ { 2, 2, 0, 2, 2 }, { 3, 0, 0, 0, mode == "exact" and 6 or 4 } },
        e:devices({ 2 }):totable())
    end
  end)

  it("gives the graph: features, paths, edges, units", function()
    local x = env()
    assert.same({ 3, 3, 2, 5 }, { x.ops, x.steps, x.devices, x.device_features })
    assert.equal(6, env{ partners = true }.device_features)
    -- a's output takes 3 s in all: two tensors
    assert.same({ { 2, 8, 2, 0, 6 }, { 1, 1, 3, 3, 0 }, { 3, 3, 5, 3, 0 } },
      x:op_features():totable())
    assert.same({ 3, 0, 0 }, x:b_next():totable())
    assert.same({ 0, 1, 1 }, x:t_next():totable())
    local src, dst, seconds, by_dst = x:edges()
    assert.same({ { 2, 3, 1, 1 }, { 1, 1, 2, 3 }, { 3, 3, 3, 3 }, { 2, 1, 1 } },
      { src:totable(), dst:totable(), seconds:flat(), by_dst:lengths() })
    local order, groups, values = env{ edge_costs = "code" }:edge_groups()
    assert.same({ { 1, 2, 3, 4 }, { 2, 2 }, { 0, 3 } },
      { order:totable(), groups:lengths(), values:flat() })
    src, dst = x:graph_edges()
    assert.same({ { 1, 1 }, { 2, 3 } }, { src:totable(), dst:totable() })
    assert.same({ 1, 2, 1 }, env{ unit = { 7, 5, 7 } }:units())
    assert.equal("assignment: 3 ops on 2 devices in 3 steps", tostring(x))
  end)

  it("steps, reports what was done, and simulates it", function()
    local x = env()
    local e = x:episodes(2)
    assert.equal("episodes: 2 side by side, 0 of 3 steps taken", tostring(e))
    assert.equal(e, e:start(1, 0))
    assert.equal(e, e:assign({ 1, 1 }, { 1, 2 }))
    local ops, segments = e:candidates()
    assert.same({ { 2, 3, 2, 3 }, { 2, 2 } }, { ops:totable(), segments:lengths() })
    assert.same({ 0, 1, 0, 1 }, e:teacher_ops("textbook"):totable())
    assert.same({ { 1, 1 }, { 1, 1 } }, e:allowed{ 2, 2 }:totable())
    assert.same({ { 1, 0 }, { 0, 1 } }, e:teacher_devices{ 3, 3 }:totable())
    assert.same({ 3, 2 }, e:select(ops, segments, { 2, 1 }):totable())
    e:assign({ 3, 2 }, { 1, 1 })
    assert.is_false(e.done)
    e:assign({ 2, 3 }, { 2, 2 })
    assert.is_true(e.done)
    assert.same({ { 1, 2, 1 }, { 2, 1, 2 } }, e:placements())
    assert.same({ 2, 1, 2 }, e:placement(2))
    assert.same({ 5, 5 }, e:simulate())
    local log = e:log()
    assert.same({ 1, 3, 2, 1, 2, 3 }, log.op:totable())
    assert.same({ 1, 1, 2, 2, 1, 2 }, log.device:totable())
    assert.same({ 1, 2, 1, 1, 1, 1 }, log.chosen:totable())
    assert.same({ 1, 2, 3, 2, 1, 2, 3, 3 }, log.candidates:totable())
    assert.same({ { 1, 2, 1, 1, 2, 1 }, { 3, 3 } }, { log.steps:lengths(), log.episodes:lengths() })
    assert.is_nil(log.devices)
    assert.same({ 2, 3, x }, { e.count, e.step, e.assignment })
  end)

  local function refuses(text, f, ...)
    assert.matches(text, raised(f, ...), 1, true)
  end

  it("says what is wrong, with ids from 1", function()
    local e = env():episodes(1)
    refuses("op 2 is no candidate of episode 1", e.assign, e, { 2 }, { 1 })
    refuses("device 3 of episode 1 is not among devices 1..2", e.assign, e, { 1 }, { 3 })
    refuses("2 ids for 1 episodes", e.devices, e, { 1, 1 })
    refuses("only 0 of 3 steps are taken", e.log, e)
    refuses("only 0 of 3 steps are taken", e.simulate, e)
    refuses("'best' is none of: textbook, code", e.teacher_ops, e, "best")
    refuses("a score of segment 1 is NaN", e.choose, e, berth.nn.array{ { 0 / 0 } })
    refuses("segment 1 has no row 2", e.select, e, { 1 }, { 1 }, { 2 })
    refuses("has 2 entries, expected 3 (one per op)", berth.assignment, fork(), two(),
      { unit = { 1, 1 } })
    refuses("estimate", berth.assignment, fork(), two(), { estimate = "load" })
    local g = berth.graph{
      ops = { { seconds = 1, pin = 1 }, { seconds = 1, pin = 2 } } }
    refused("infeasible", "assignment: no device can run all of the unit of op 1",
      berth.assignment(g, two(), { unit = { 1, 1 } }))
  end)

  it("has the consumers of a collective wait for all members", function()
    -- 1 (2 s) and 2 (3 s) meet; 3 starts when both have ended, 3 s
    local g = berth.graph{ ops = { { seconds = 2 }, { seconds = 3 }, { seconds = 1 } },
      collectives = { { kind = "allreduce", bytes = 1, members = { 1, 2 }, consumers = { 3 } } } }
    local e = assert(berth.assignment(g, two())):episodes(1):start(1, 0)
    assert.same({ 1, 2 }, e:candidates():totable())
    e:assign({ 1 }, { 1 })
    assert.same({ 2 }, e:candidates():totable())
    e:assign({ 2 }, { 2 })
    local ops = e:candidates()
    assert.same({ 3 }, ops:totable())
    assert.equal(3, e:devices(ops):get(1, 5))
  end)

  -- Devices 1 and 2 reach one another; 3 is alone.
  it("rules out devices that cannot be reached", function()
    local t = berth.topology{ devices = { {}, {}, {} }, links = { { 1, 2, bandwidth = 4 } } }
    local x = assert(berth.assignment(fork(), t))
    assert.is_true(x.restricted)
    assert.is_false(assert(berth.assignment(fork(), two())).restricted)
    local e = x:episodes(2):start(0, 0)
    assert.same({ { 1, 1, 1 }, { 1, 1, 1 } }, e:allowed{ 1, 1 }:totable())
    e:assign({ 1, 1 }, { 1, 3 })
    assert.same({ { 1, 1, 0 }, { 0, 0, 1 } }, e:allowed{ 2, 2 }:totable())
    assert.same({ { 1, 0, 0 }, { 0, 0, 1 } }, e:teacher_devices{ 3, 3 }:totable())
  end)

  it("counts a placement without a route as infinitely long, and the others as ever", function()
    local t = berth.topology{ devices = { {}, {}, {} }, links = { { 1, 2, bandwidth = 4 } } }
    local e = assert(berth.assignment(fork(), t)):episodes(3):start(0, 0)
    e:assign({ 1, 1, 1 }, { 1, 1, 3 })
    e:assign({ 2, 2, 2 }, { 2, 3, 3 })
    e:assign({ 3, 3, 3 }, { 1, 1, 3 })
    assert.same({ { 1, 1, 1 }, { 1, 1, 0 }, { 1, 1, 0 } }, e:log().allowed:slice(1, 1, 3):totable())
    for _, noise in ipairs{ 0, 0.1 } do
      local got = e:simulate(nil, { noise = noise, seed = 5 })
      assert.equal(math.huge, got[2])
      for i = 1, 3, 2 do
        local alone =
          assert(berth.simulate(fork(), t, e:placement(i), { noise = noise, seed = 5 + i - 1 }))
        assert.equal(alone.makespan, got[i])
      end
    end
  end)

  describe("on the DOPPLER graphs", function()
    if not shared.present() then return pending("needs the test data, which is not here") end

    -- Costs are perturbed: no two b-levels are equal. Devices can be, when an op waits for its
    -- inputs on all of them: the placer draws one of those that the teacher marks.
    it("has a teacher that agrees with the critical-path placer, estimates included", function()
      for _, name in ipairs{ "gdp_chain_mm_112nodes", "8gpu_transformer_block" } do
        local g =
          assert(berth.graph(
          splitmix.perturb(assert(berth.load(shared.path("data/doppler/" .. name .. ".txt"))))))
        local t = berth.topology.mesh(4, { bandwidth = 1 })
        local e = assert(berth.assignment(g, t)):episodes(1)
        local p = assert(berth.place(g, t, "critical-path"))
        while not e.done do
          local ops, segments = e:candidates()
          local marks = e:teacher_ops()
          assert.equal(1, marks:sum():item())
          local op = e:select(ops, segments, e:choose(marks, segments, { how = "greedy" }))
          local d = p[op[1]]
          assert.equal(1, e:teacher_devices(op):get(1, d))
          assert.near(p.start[op[1]], e:devices(op):get(d, 5), 1e-6 * p.estimate)
          e:assign(op, { d })
        end
        assert.equal(#g, e.step)
      end
    end)
  end)
end)
