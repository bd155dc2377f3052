-- Distributions of beta and sequences of jobs.
local berth = require "berth"
local errors = require "support.errors"
local raised, raises = errors.raised, errors.raises
local shell = require "support.shell"

local read = shell.read

-- One number that shows whether two arrays are the same.
local function digest(values)
  local sum = 0
  for i, x in ipairs(values) do
    sum = math.fmod(sum * 31 + math.floor(x * 1000 + 0.5) + i, 2147483647)
  end
  return sum
end

describe("a distribution of beta", function()
  it("is uniform over 91 hundredths: A", function()
    local d = berth.pacml.beta "A"
    assert.equal(91, #d.values)
    assert.equal(0.1, d.values[1])
    assert.equal(1, d.values[91])
    assert.near(0.55, d.mean, 1e-12)
    assert.near(math.sqrt((91 ^ 2 - 1) / 12) / 100, d.deviation, 1e-12)
    for _, share in ipairs(d.mass) do assert.near(1 / 91, share, 1e-15) end
  end)

  it("has the measured means, deviations and quartiles", function()
    for name, want in pairs {
      B = { 0.285, 0.12, 0.19, 0.26, 0.36 }, C = { 0.47, 0.115, 0.39, 0.47, 0.55 },
        D = { 0.72, 0.115, 0.65, 0.74, 0.81 } } do
      local d = berth.pacml.beta(name)
      assert.near(want[1], d.mean, 0.0025)
      assert.near(want[2], d.deviation, 0.005)
      for k = 1, 3 do assert.equal(want[2 + k], d:quantile(k / 4)) end
      assert.equal(0.1, d:quantile(0))
      assert.equal(1, d:quantile(1))
    end
  end)

  it("is shipped as the script prints it", function()
    local lua = os.getenv("BERTH_LUA") or arg[-1] or "lua5.4"
    local printed =
      shell.capture("ASAN_OPTIONS=detect_leaks=0 " .. lua .. " scripts/beta-tables.lua")
    assert.equal(read "lua/berth/pacml/beta_tables.lua", printed)
  end)

  it("comes out of its construction as it is shipped", function()
    assert.same(berth.pacml.beta("B").counts, berth.pacml.beta { skew = 5, seed = 82 }.counts)
    local d = berth.pacml.beta { skew = -5, seed = 5 }
    assert.equal("beta with skew -5: 0.10 to 1.00, mean 0.7208, deviation 0.1192", tostring(d))
  end)

  it("leaves strict values at the minimum as published, or draws them anew", function()
    local published = berth.pacml.beta { skew = 5, seed = 1 }
    local meant = berth.pacml.beta { skew = 5, seed = 1, redraw = true }
    assert.is_true(published.mass[1] > 2 * meant.mass[1])
    assert.is_true(meant.mean > published.mean)
    local sum = 0
    for _, share in ipairs(meant.mass) do sum = sum + share end
    assert.near(1, sum, 1e-12)
  end)

  it("keeps to other ranges", function()
    local d = berth.pacml.beta { skew = 2, seed = 3, min = 0.25, max = 0.5 }
    assert.equal(0.25, d.values[1])
    assert.equal(0.5, d.values[#d.values])
    local total = 0
    for _, n in ipairs(d.counts) do total = total + n end
    assert.equal(50000, total)
  end)

  it("draws with the frequencies of its masses", function()
    local d, rng, n = berth.pacml.beta "B", berth.rng(4), 100000
    local seen = {}
    for _ = 1, n do
      local i = math.floor(d:draw(rng) * 100 + 0.5) - 9
      seen[i] = (seen[i] or 0) + 1
    end
    local chi = 0
    for i, share in ipairs(d.mass) do
      if share == 0 then assert.is_nil(seen[i]) else chi =
        chi + ((seen[i] or 0) - n * share) ^ 2 / (n * share) end
    end
    assert.is_true(chi < 150) -- about 85 degrees of freedom
  end)

  it("says what is wrong", function()
    raises('expected "A", "B", "C", "D" or a table, got "E"', berth.pacml.beta, "E")
    raises("got nil", berth.pacml.beta)
    raises("unknown option 'sku'", berth.pacml.beta, { sku = 1 })
    raises("skew: expected a number, got nil", berth.pacml.beta, {})
    raises("min: 0.5 is not below max, 0.5", berth.pacml.beta, { skew = 1, min = 0.5, max = 0.5 })
    raises("max: 2 is out of range 0.01 to 1", berth.pacml.beta, { skew = 1, max = 2 })
    raises("skew: nan is out of range -1000000 to 1000000", berth.pacml.beta, { skew = 0 / 0 })
    raises("redraw: expected true or false, got number", berth.pacml.beta, { skew = 1, redraw = 1 })
    raises("rng: expected an rng, got number", function() berth.pacml.beta("A"):draw(1) end)
    raises("share: expected a number from 0 to 1, got 2",
      function() berth.pacml.beta("A"):quantile(2) end)
  end)
end)

describe("a trace", function()
  it("is the same for the same options, under every interpreter", function()
    local t = berth.pacml.trace { models = 5, beta = "B", seed = 7 }
    assert.equal(1001, #t.model)
    assert.equal(1001, #t.beta)
    assert.same({ 0, 1000, 2000 }, { t.arrival[1], t.arrival[2], t.arrival[3] })
    assert.equal(1e6, t.arrival[1001])
    assert.equal("trace: 1001 jobs in 1e+06 s", tostring(t))
    assert.same({ 1011274705, 1567040357 }, { digest(t.model), digest(t.beta) })
  end)

  it("draws from a pool without replacement, and fills it again", function()
    for _, shuffle in ipairs { false, true } do
      local t = berth.pacml.trace { models = 3, copies = 4, jobs = 30, shuffle = shuffle }
      local seen = { 0, 0, 0 }
      for i, model in ipairs(t.model) do
        seen[model] = seen[model] + 1
        if math.fmod(i, 12) == 0 then assert.same({ i / 3, i / 3, i / 3 }, seen) end
      end
      assert.equal(30, #t.model)
    end
  end)

  it("keeps models and arrivals when beta changes", function()
    local a = berth.pacml.trace { models = 4, beta = "A", seed = 1, interarrival = { 10, 20 } }
    local d = berth.pacml.trace { models = 4, beta = berth.pacml.beta "D", seed = 1,
      interarrival = { 10, 20 } }
    local e = berth.pacml.trace { models = 4, beta = "A", seed = 2, interarrival = { 10, 20 } }
    assert.same(a.model, d.model)
    assert.same(a.arrival, d.arrival)
    assert.are_not.same(a.beta, d.beta)
    assert.are_not.same(a.model, e.model)
  end)

  it("has uniform times between arrivals", function()
    local t = berth.pacml.trace { models = 1, jobs = 5000, interarrival = { "1 ms", 3 } }
    local sum = 0
    for i = 2, 5000 do
      local gap = t.arrival[i] - t.arrival[i - 1]
      assert.is_true(gap >= 0.001 - 1e-9 and gap <= 3 + 1e-9)
      sum = sum + gap
    end
    assert.near(1.5, sum / 4999, 0.06)
    assert.same({ 0, 0, 0 }, berth.pacml.trace { models = 1, jobs = 3, interarrival = 0 }.arrival)
    assert.same({}, berth.pacml.trace { models = 1, jobs = 0 }.model)
  end)

  it("says what is wrong", function()
    local function trace(given) return raised(berth.pacml.trace, given) end
    raises("models: expected a number, got nil", berth.pacml.trace)
    assert.matches("models: 0 is out of range 1 to 2147483647", trace { models = 0 })
    assert.matches("jobs: expected a whole number, got 1.5", trace { models = 1, jobs = 1.5 })
    assert.matches("copies: expected a number, got string", trace { models = 1, copies = "x" })
    assert.matches("copies: 1000000 of 3000 models: a pool of at most 2147483647 jobs",
      trace { models = 3000, copies = 1e6 })
    assert.matches("a pool of at most 16777216 jobs can be shuffled",
      trace { models = 17, copies = 1e6, shuffle = true })
    assert.matches("unknown option 'model'", trace { model = 1 })
    assert.matches("interarrival: expected a time of at least 0 s, got %-1",
      trace { models = 1, interarrival = -1 })
    assert.matches("interarrival: expected a time of at least 0 s, got 3 bytes",
      trace { models = 1, interarrival = "3 bytes" })
    assert.matches("expected a time or { from, to }, got 3 entries",
      trace { models = 1, interarrival = { 1, 2, 3 } })
    assert.matches("interarrival: 2 s is above 1 s", trace { models = 1, interarrival = { 2, 1 } })
    assert.matches("shuffle: expected true or false, got number", trace { models = 1, shuffle = 1 })
    assert.matches("seed: ", trace { models = 1, seed = -1 })
    assert.matches('got "Z"', trace { models = 1, beta = "Z" })
  end)
end)
