-- TAG's prices of collectives and transfers, and lines fitted to AllReduce times.
local berth = require "berth"
local shared = require "support.shared"

local BASE = berth.deploy.tag_lines("2.81 GB/s")

-- n ops on n devices with an all-reduce, and a chain of two ops with a tensor.
local function graph(n, bytes)
  local ops, members = {}, {}
  for i = 1, n do ops[i], members[i] = { seconds = 0.0000019 * i }, i end
  return assert(berth.graph { ops = ops, tensors = { { from = 1, to = { 2 }, bytes = bytes } },
                              collectives =
                                { { kind = "allreduce", bytes = bytes, members = members } } })
end

-- Two groups of two devices, joined more slowly.
local function groups()
  local links = {}
  local function join(a, b, bandwidth)
    links[#links + 1] = { a, b, bandwidth = bandwidth, latency = 12e-6 }
  end
  for a = 1, 4 do
    for b = a + 1, 4 do join("d" .. a, "d" .. b, (a <= 2) == (b <= 2) and 8000e6 or 2810e6) end
  end
  local devices = {}
  for a = 1, 4 do devices[a] = { name = "d" .. a } end
  return assert(berth.topology { devices = devices, links = links })
end

local function us(cost, devices) return (cost:collective(1, devices)) * 1e6 end

describe("costs as TAG needs them", function()
  it("scale lines to the slowest pair of the devices that take part", function()
    local two = assert(berth.cost(graph(2, 2 ^ 20), groups(),
      { collective_algorithm = "lines", collective_lines = BASE,
                                                                 lines_bandwidth = "2.81 GB/s" }))
    assert.near(174, us(two, { 1, 2 }), 1e-6) -- 8000 MB/s
    assert.near(496, us(two, { 1, 3 }), 1e-6) -- 2810 MB/s
    local four = assert(berth.cost(graph(4, 2 ^ 22), groups(),
      { collective_algorithm = "lines", collective_lines = BASE,
                                                                  lines_bandwidth = 2810e6 }))
    assert.near(1349, us(four, { 1, 2, 3, 4 }), 1e-6)
    assert.near(473, us(four, { 1, 2, 2, 1 }), 1e-6)
    local plain = assert(berth.cost(graph(2, 2 ^ 20), groups(),
      { collective_algorithm = "lines", collective_lines = BASE }))
    assert.near(496, us(plain, { 1, 2 }), 1e-6)
  end)

  it("give all times of the reference data from the base numbers", function()
    if not shared.present() then return pending("needs ../shared/data/tag, which is not here") end
    local data = shared.json("data/tag/golden_allreduce.json")
    for bandwidth, times in pairs(data.allreduce_us) do
      local t = berth.topology.mesh(2, { bandwidth = tonumber(bandwidth) * 1e6 })
      for bytes, want in pairs(times) do
        local c = assert(berth.cost(graph(2, tonumber(bytes)), t, { collective_algorithm = "lines",
          collective_lines = data.allreduce_base_model_at_2810, lines_bandwidth = 2810e6 }))
        assert.near(want, us(c, { 1, 2 }), 1e-6)
      end
    end
  end)

  it("make collectives faster than single transfers", function()
    for n = 2, 4 do
      local c = assert(berth.cost(graph(n, 1e7),
        berth.topology.mesh(n, { bandwidth = 2810e6, latency = 12e-6 }),
                                  { collective_bandwidth = 1.9 }))
      local devices = {}
      for i = 1, n do devices[i] = i end
      assert.near(2 * (n - 1) / n * 1e7 / (1.9 * 2810e6) + 2 * (n - 1) * 12e-6,
        (c:collective(1, devices)), 1e-12)
      assert.near(1e7 / 2810e6 + 12e-6, c:transfer(1, 1, 2), 1e-12)
    end
    local f = function() return 1 end
    local c, message = berth.cost(graph(2, 1), groups(),
      { collective = f, collective_bandwidth = 2 })
    assert.is_nil(c)
    assert.matches("collective_bandwidth 2: collectives are priced by a function", message, 1, true)
  end)

  it("share links fairly at the faster rate, alone as priced", function()
    local g, t = graph(3, 1e7), berth.topology.mesh(3, { bandwidth = 2810e6, latency = 12e-6 })
    local c = assert(berth.cost(g, t, { collective_bandwidth = 1.9 }))
    local r = assert(berth.simulate(c, { 1, 2, 3 }, { links = "fair" }))
    assert.near((c:collective(1, { 1, 2, 3 })), r.collectives[1].finish - r.collectives[1].start,
      1e-12)
  end)

  it("cut times off to whole microseconds", function()
    local c = assert(berth.cost(graph(4, 4e6),
      berth.topology.mesh(4, { bandwidth = 2810e6, latency = 12e-6 }),
                                { whole_us = true }))
    -- 1.9, 3.8, 5.7, 7.6
    for op, want in ipairs { 1, 3, 5, 7 } do assert.near(want * 1e-6, c:op(op, 1), 1e-15) end
    -- 1423.48 + 12
    assert.near(1435e-6, c:transfer(1, 1, 2), 1e-15)
    assert.near(1435e-6, c:mean_transfers("textbook")[1], 1e-15)
    local exact = assert(berth.cost(graph(2, 4e6), berth.topology.mesh(2, { bandwidth = 8000e6 }),
      { whole_us = true }))
    assert.near(500e-6, exact:transfer(1, 1, 2), 1e-15)
    for k = 1, 3000 do -- what is whole but for rounding stays
      local g = assert(berth.graph { ops = { { seconds = k * 1e-6 } } })
      assert.near(k * 1e-6, assert(berth.cost(g, berth.topology.mesh(1), { whole_us = true })):op(1,
        1), 1e-12)
    end
    local r, message = berth.simulate(c, { 1, 2, 3, 4 }, { links = "fair" })
    assert.is_nil(r)
    assert.matches("it does not support a cost in whole microseconds", message, 1, true)
  end)

  it("keep lower bounds below what is simulated in whole microseconds", function()
    local ops, tensors = {}, {}
    for i = 1, 12 do ops[i] = { seconds = 1.7e-6 } end
    for i = 1, 11 do tensors[i] = { from = i, to = { i + 1 }, bytes = 5000 } end
    local c = assert(berth.cost(assert(berth.graph { ops = ops, tensors = tensors }), groups(),
      { whole_us = true }))
    local r = assert(berth.simulate(c, { 1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4 }, {}))
    assert.is_true(berth.bounds(c).best <= r.makespan * (1 + 1e-9))
  end)
end)

describe("fitting all-reduces", function()
  it("gives a ring back", function()
    local bytes, devices, seconds = {}, {}, {}
    for _, n in ipairs { 2, 4, 8 } do
      for e = 10, 26, 4 do
        bytes[#bytes + 1], devices[#devices + 1] = 2 ^ e, n
        seconds[#seconds + 1] = 2 * (n - 1) * 7e-6 + 2 * (n - 1) / n * 2 ^ e / 4e9
      end
    end
    for _, relative in ipairs { true, false } do
      local f = assert(berth.fit_collective(bytes, devices, seconds, { relative = relative }))
      assert.near(7e-6, f.latency, 1e-12)
      assert.near(4e9, f.bandwidth, 1)
      assert.near(1, f.r2, 1e-9)
    end
    local f, message = berth.fit_collective({ 1, 1 }, { 2, 2 }, { 1, 1 })
    assert.is_nil(f)
    assert.matches("differ in size or in devices", message, 1, true)
    f, message = berth.fit_collective({ 1, 2 }, { 2, 1 }, { 1, 1 })
    assert.is_nil(f)
    assert.matches("measurement 2: 1 devices", message, 1, true)
  end)

  it("gives lines back, whatever a few outliers say", function()
    local bytes, seconds = {}, {}
    for k = 1, 200 do
      bytes[k], seconds[k] = 1024 * k, (0.5 * k + 100) * 1e-6
      bytes[200 + k], seconds[200 + k] = 1024 * (1000 + 40 * k),
        (0.25 * (1000 + 40 * k) + 80) * 1e-6
    end
    for _, want in ipairs { 0, 1 } do
      local got = assert(berth.fit_lines(bytes, seconds))
      for i, x in ipairs { 0.5, 100, 0.25, 80 } do
        assert.near(x, got[i], want == 0 and 1e-9 or 0.02 * x)
      end
      for k = 10, 190, 20 do seconds[k], seconds[200 + k] = 0.9, 0.5 end
    end
    local f, message = berth.fit_lines({ 1024, 2 ^ 21, 2 ^ 22 }, { 1, 2, 3 })
    assert.is_nil(f)
    assert.matches("two sizes at least", message, 1, true)
  end)

  it("finds 5340 MB/s and the lines in the shipped table", function()
    if not shared.present() then return pending("needs ../shared/data/tag, which is not here") end
    local bytes, devices, seconds = {}, {}, {}
    for line in io.lines(shared.path("data/tag/nccl_allreduce.tsv")) do
      local kib, _, across = line:match("^(%d+)%s+(%d+)%s+(%d+)")
      if kib then
        bytes[#bytes + 1], devices[#devices + 1], seconds[#seconds + 1] = kib * 1024, 4,
          across * 1e-6
      end
    end
    local ring = assert(berth.fit_collective(bytes, devices, seconds))
    assert.near(5340e6, ring.bandwidth, 0.04 * 5340e6) -- 1.9 x 2810
    local lines = assert(berth.fit_lines(bytes, seconds))
    assert.near(BASE[3], lines[3], 0.01 * BASE[3])
    assert.near(BASE[4], lines[4], 0.25 * BASE[4])
    assert.near(BASE[2], lines[2], 0.15 * BASE[2])
  end)
end)
