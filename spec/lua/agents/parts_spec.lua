-- Parts of a batch: their number, their owners, and that they come to the same as the whole.
local berth = require "berth"
local parts = require "berth.agents.parts"
local settings = require "berth.agents.settings"
local tasks = require "berth.agents.tasks"
local update = require "berth.agents.update"
local diamond = require "support.diamond"

local function policy(rows) return { rows_per_episode = rows and function() return rows end } end

local function run_of(rows, rank, size)
  return { policy = policy(rows), ranks = rank and { rank = rank, size = size }, tapes = {} }
end

local function task_of()
  local made = {}
  return { env = { episodes = function(_, n)
    made[#made + 1] = { count = n }
    return made[#made]
  end } }, made
end

describe("parts of a batch", function()
  it("are one in one process, as many as ranks in more, or as given", function()
    assert.equal(1, parts.count(run_of(), {}, {}, 100))
    assert.equal(3, parts.count(run_of(nil, 1, 3), {}, {}, 100))
    assert.equal(5, parts.count(run_of(), { parts = 5 }, {}, 100))
    assert.equal(6, parts.count(run_of(1e9, 1, 3), { parts = 6 }, {}, 100))
  end)

  it("hold 300,000 rows at most where a policy says how many there are", function()
    assert.equal(1, parts.count(run_of(37500), {}, {}, 8))
    assert.equal(2, parts.count(run_of(37501), {}, {}, 8))   -- 7 fit
    assert.equal(4, parts.count(run_of(134689), {}, {}, 8))  -- 2 fit
    assert.equal(8, parts.count(run_of(1e6), {}, {}, 8))     -- none fits: one each
    assert.equal(6, parts.count(run_of(134689, 1, 3), {}, {}, 8)) -- 4 would do
    assert.equal(1, parts.count(run_of(0), {}, {}, 8))
  end)

  it("are distributed without gaps, whatever the numbers", function()
    for _, case in ipairs { { 7, 2, 1 }, { 7, 3, 3 }, { 7, 4, 2 }, { 2, 6, 3 }, { 1, 4, 4 },
      { 12, 12, 4 }, { 100, 6, 2 } } do
      local n, cut, size = case[1], case[2], case[3]
      local at, done = 0, 0
      for rank = 1, size do
        local run = run_of(nil, rank, size)
        local batch = parts.own(run, { parts = cut }, task_of(), n)
        assert.equal(at, batch.before)
        assert.equal(done, batch.first)
        for _, part in ipairs(batch) do
          assert.equal(at, part.before)
          assert.is_true(part.count >= math.floor(n / cut) and part.count <= math.ceil(n / cut))
          for i = at + 1, at + part.count do assert.equal(rank, parts.owner(run, batch, i)) end
          at, done = at + part.count, done + 1
        end
      end
      assert.equal(n, at)
      assert.equal(cut, done)
    end
  end)

  it("keep their episodes from batch to batch", function()
    local task, made = task_of()
    local run = run_of()
    for _ = 1, 3 do parts.own(run, { parts = 2 }, task, 5) end
    assert.equal(2, #made)
    assert.same({ 3, 2 }, { made[1].count, made[2].count })
  end)
end)

local function problem() return diamond(), berth.topology.mesh(2, { bandwidth = 1 }) end

-- The gradient and the loss of one update.
local function gradient(kind, stage, count)
  local g, t = problem()
  local agent = berth.agents[kind] { seed = 2, entropy = 0.1, parts = count, clip = false }
  local network, found = agent:network(2), nil
  local run = { agent = agent, policy = network, tapes = {}, o = {},
    at = { episode = 0, episodes = 0, updates = 0, calls = 0 } }
  run.adam = { step = function() found = network.params:flat("gradients"):flat() end }
  local list = assert(tasks.read(network, { { graph = g, topology = t } }, agent.features))
  local now = settings.read(agent.preset, { { stage = stage, episodes = 5 } }, agent.settings,
    {})[1]
  update.run(run, now, list[1], 5)
  return found, run.loss
end

local function check_alike(kind, stage, count)
  local x, loss = gradient(kind, stage, nil)
  local y, other = gradient(kind, stage, count)
  local square, apart = 0, 0
  for i = 1, #x do square, apart = square + x[i] ^ 2, apart + (x[i] - y[i]) ^ 2 end
  local what = ("%s, stage %s in %d"):format(kind, stage, count)
  assert.is_true(square > 0, what)
  assert.is_true(apart < 1e-10 * square, what .. (": %g of %g"):format(apart, square))
  assert.near(loss, other, 1e-5 * math.max(1, math.abs(loss)))
end

describe("training in parts", function()
  for _, kind in ipairs { "doppler", "gdp", "placeto" } do
    it("has the gradient and loss of the whole batch, to rounding: " .. kind, function()
      for _, stage in ipairs { "I", "II" } do
        for _, count in ipairs { 2, 5, 9 } do check_alike(kind, stage, count) end
      end
    end)
  end

  it("refuses a number of parts that is none", function()
    local g, t = problem()
    for n, why in pairs { [0] = "0 is out of range 1 to 1000000",
      [1.5] = "expected a whole number, got 1.5" } do
      local ok, message = pcall(function()
        return berth.agents.gdp { seed = 1 }:train({ { graph = g, topology = t } }, { parts = n })
      end)
      assert.is_false(ok)
      assert.truthy(message:find("parts: " .. why, 1, true), message)
    end
  end)
end)
