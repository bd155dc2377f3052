-- Numbers at their limits, and calls back from functions of the user: answers or refusals.
local berth = require "berth"
local raised = require("support.errors").raised
local shell = require "support.shell"

local function refusal(value, text)
  assert.is_nil(value)
  return text
end

-- Two devices; all goes from x to y over one link of 1 B/s.
local function narrow()
  local function link(from, to, bandwidth)
    return { from, to, bandwidth = bandwidth, directed = true }
  end
  return berth.topology {
    devices = { { name = "a" }, { name = "b" } }, switches = { "x", "y" },
    links = {
      link("a", "x", math.huge), link("b", "x", math.huge), link("x", "y", 1),
      link("y", "a", math.huge), link("y", "b", math.huge),
    },
  }
end

local function meeting(bytes)
  return berth.graph { ops = { { seconds = 1 }, { seconds = 1 }, { seconds = 1 } },
    collectives = { { kind = "allreduce", bytes = bytes, members = { 1, 2 }, consumers = { 3 } } } }
end

describe("extremes:", function()
  it("flows that never end are said to be late", function()
    local _, text = berth.simulate(meeting(1e308), narrow(), { 1, 2, 1 },
      { links = "fair", memory = "none" })
    assert.is_truthy(text:find("collective 1 would end at inf s", 1, true), text)
  end)

  it("the step figure of a step of no length to speak of has no NaN", function()
    local g = berth.graph { ops = { { seconds = 5e-324 }, { seconds = 5e-324 } } }
    local path = os.tmpname()
    assert(berth.report(path, { result = berth.simulate(g, berth.topology.mesh(2), { 1, 2 }) }))
    local text = shell.take(path)
    assert.is_nil(text:find "[^%a]nan[^%a]")
    assert.is_nil(text:find "[^%a]inf[^%a]")
  end)

  it("gaps beyond a million per cent are short", function()
    local g = berth.graph { ops = { { seconds = 1 }, { seconds = 1 } },
      edges = { { 1, 2, 1e300 } } }
    local r = assert(berth.simulate(g, berth.topology.mesh(2, { bandwidth = 1 }), { 1, 2 },
      { memory = "none" }))
    assert.matches("%(gap 5e%+301 %%%)$", tostring(r))
    local percent = require "berth.base.percent"
    assert.same({ "12.5 %", "999999.0 %", "1e+06 %", "inf %" },
      { percent(0.125), percent(9999.99), percent(1e4), percent(math.huge) })
  end)

  it("messages speak of the function that was called", function()
    local g, t = meeting(8), berth.topology.mesh(2)
    assert.is_truthy(raised(berth.gaps, g, t,
      { 1 }):find("berth.gaps: placement: places 1 ops, but the graph has 3", 1, true))
    local text = raised(berth.place, g, t, "anneal",
      { objective = function() return -math.huge end })
    assert.is_truthy(text:find("objective: the objective gave -inf", 1, true), text)
    text = raised(berth.place, g, t, "anneal", { objective = function() return 0 / 0 end })
    assert.is_truthy(text:find("objective: the objective gave NaN", 1, true), text)
  end)
end)

describe("expand", function()
  it("lets what it adds run on types that the graph does not name", function()
    local g = berth.graph { types = { "cpu" },
      ops = { { flop = 1e9 }, { flop = 1e9 }, { flop = 1e9 } },
      collectives = { { kind = "allreduce", bytes = 8, members = { 1, 2 }, consumers = { 3 } } } }
    local t = berth.topology.mesh(2, { type = "gpu", flops = 1e9, bandwidth = 4 })
    local h, devices = berth.expand(g, t, { 1, 2, 1 }, { reduce_rate = 4 })
    -- send, add, send back
    assert.near(1 + (1 + 1) + 1 + 1, assert(berth.simulate(h, t, devices)).makespan, 1e-9)
  end)

  local function broadcast()
    return berth.graph { ops = { { seconds = 1 }, { seconds = 1 } },
      collectives = { { kind = "broadcast", bytes = 8, members = { 1, 2 } } } }
  end

  it("refuses more segments than there is room for, before it makes them", function()
    local text = refusal(berth.expand(broadcast(), berth.topology.mesh(2), { 1, 2 },
      { segments = 2147483647 }))
    assert.is_truthy(text:find(
      "2147483647 segments to 1 devices make 2147483647 ops, more than 67108864", 1, true), text)
  end)

  it("calls the interrupt hook within one collective", function()
    local n_calls = 0
    local before = berth.hooks { interrupt = function()
      n_calls = n_calls + 1
      return n_calls > 3
    end }
    local h, _, code = berth.expand(broadcast(), berth.topology.mesh(2), { 1, 2 },
      { segments = 20000 })
    berth.hooks(before or {})
    assert.is_nil(h)
    assert.equal("interrupted", code)
    assert.equal(4, n_calls)
  end)
end)
