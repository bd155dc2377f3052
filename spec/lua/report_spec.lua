-- Reports: structure, escaping, sizes, the same bytes, and what is refused.
local berth = require "berth"

local hostile = "<script>alert('x')</script> \"&\n\1 naïve"
local kinds = { "gantt", "memory", "links", "placers", "graph" }

-- a(2 s) on 1 sends 8 B at 4 B/s to b(1 s) on 2; c(1 s) on 1
local function small(name)
  local g = berth.graph { name = name,
    ops = { { name = name, seconds = 2, kind = name }, { name = "b", seconds = 1 }, { name = "c", seconds = 1 } },
    tensors = { { from = 1, to = { 2, 3 }, bytes = 8 } } }
  local t = berth.topology.mesh(2, { bandwidth = 4, memory = 20 })
  return g, t, assert(berth.simulate(g, t, { 1, 2, 1 }, { links = "duplex" }))
end

local function read(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read("*a")
  file:close()
  return text
end

local function page_of(what)
  local path = os.tmpname()
  assert(berth.report(path, what))
  local text = read(path)
  os.remove(path)
  return text
end

-- Every element is closed in order, every attribute quoted; the tags of the text.
local function check_xml(text)
  local open, count = {}, 0
  for close, name, rest, single in text:gmatch("<(/?)([%a][%w]*)([^<>]-)(/?)>") do
    count = count + 1
    if close == "/" then assert.equal(table.remove(open), name)
    elseif single == "" then open[#open + 1] = name end
    assert.equal("", (rest:gsub('%s+[%w:%-]+="[^"<]*"', "")))
  end
  assert.equal(0, #open)
  local bare = text:gsub("<(/?)([%a][%w]*)([^<>]-)(/?)>", ""):gsub("<style>.-</style>", "")
  assert.is_nil(bare:find("<", 1, true))
  assert.is_nil(text:gsub("&%a+;", ""):gsub("&#%d+;", ""):find("&", 1, true))
  assert.is_nil(text:find("[%z\1-\8\11-\31]"))
  return count
end

describe("a report", function()
  it("has figures of well-formed SVG, whatever the names are", function()
    local g, t, r = small(hostile)
    local rows = berth.compare(g, t, { "single", { name = hostile, device = function() return 1 end } })
    for _, kind in ipairs(kinds) do
      local text = assert(berth.figure(kind, { result = r, compare = rows }))
      assert.is_true(check_xml(text) > 5, kind)
      assert.is_nil(text:find("<script", 1, true))
    end
    local page = page_of { result = r, compare = rows, title = hostile .. "\255\192\128" }
    assert.is_nil(page:find("<script", 1, true))
    assert.truthy(page:find("naïve", 1, true))
    assert.truthy(page:find("\239\191\189", 1, true))
  end)

  it("shows times, bound, gap, memory and the path that sets the makespan", function()
    local _, _, r = small("a")
    local page = page_of { result = r }
    assert.equal(5, r.makespan)
    for _, text in ipairs { "5 s", "critical path", "bound " .. berth.format(r.bound, "seconds"),
      ("%.1f %%"):format(100 * r.gap), "limit 20 B", "peak 8 B",
      "8 B, busy 40.0 %", "<title>a (a) on d0: 0 s to 2 s, 2 s</title>" } do
      assert.truthy(page:find(text, 1, true), text)
    end
    assert.is_nil(page:find("src=", 1, true))
    assert.is_nil(page:find("url(", 1, true))
    assert.is_nil(page:find("<h2>Placers", 1, true))
  end)

  it("says where memory ran out", function()
    local g = small("a")
    local t = berth.topology.mesh(2, { bandwidth = 4, memory = 5 })
    local r = berth.simulate(g, t, { 1, 2, 1 })
    local page = page_of { result = r }
    assert.truthy(page:find('Out of memory: a needs', 1, true))
    assert.truthy(page:find("out of memory on d0", 1, true))
  end)

  it("stays small when the graph is large", function()
    local ops, edges, devices, width = {}, {}, {}, 50
    for i = 1, 20000 do
      ops[i], devices[i] = { name = "block" .. i % 7 .. ".x", seconds = 1e-6 * (1 + i % 5) }, 1 + i % 4
      if i > width then edges[#edges + 1] = { i - width, i, 1e3 } end
    end
    local g = berth.graph { ops = ops, edges = edges }
    local t = berth.topology.mesh(4, { bandwidth = "10 GB/s" })
    local page = page_of { graph = g, topology = t, placement = devices }
    assert.is_true(#page < 4e5, #page)
    assert.truthy(page:find("20000 ops as ", 1, true))
  end)

  it("has the same bytes again, and draws what is asked for", function()
    local g, t, r = small("a")
    assert.equal(page_of { result = r },
      page_of { graph = g, topology = t, placement = { 1, 2, 1 }, simulate = { links = "duplex" } })
    local page = page_of { result = r, figures = { "graph", "gantt" } }
    assert.is_true(page:find("<h2>Graph", 1, true) < page:find("<h2>Schedule", 1, true))
    assert.is_nil(page:find("<h2>Memory", 1, true))
  end)

  it("rounds halves the same way on every interpreter", function()
    local scale = require "berth.report.scale"
    assert.same({ "0.13", "0.38", "158.13", "-0.12", "0", "7" }, { scale.number(0.125), scale.number(0.375),
      scale.number(158.125),
      scale.number(-0.125), scale.number(-0.001), scale.number(7) })
    assert.equal("12.3 %", scale.percent(0.1225))
    assert.same({ 0, 2, 4, 6, 8 }, scale.ticks(9.5, 8))
    assert.same({ 0 }, scale.ticks(0, 8))
  end)

  it("draws a run that takes no time, and refuses what has no picture", function()
    local g = berth.graph { ops = { { name = "a", seconds = 0 } } }
    local t = berth.topology.mesh(1)
    local r = berth.simulate(g, t, { 1 }, { memory = "none" })
    check_xml(berth.figure("gantt", { result = r }))
    local text, message, code = berth.figure("memory", { result = r })
    assert.is_nil(text)
    assert.equal("memory: memory was not accounted for", message)
    assert.equal("unsupported", code)
    assert.truthy(page_of { result = r }:find("Not drawn: no link was used.", 1, true))
  end)

  it("refuses a wrong argument by name", function()
    local _, _, r = small("a")
    assert.has_error(function() berth.figure("pie", { result = r }) end)
    assert.has_error(function() berth.report("x.html", {}) end)
    assert.has_error(function() berth.report("x.html", { result = r, colour = 1 }) end)
    assert.has_error(function() berth.report("x.html", { result = r, compare = { 1 } }) end)
    assert.has_error(function() berth.report("x.html", { result = r, figures = { "pie" } }) end)
    local ok, _, code = berth.report("/nonexistent/x.html", { result = r })
    assert.is_nil(ok)
    assert.equal("io", code)
  end)
end)

describe("graph:layout", function()
  it("puts ops into layers, apart from each other", function()
    local g = berth.graph { ops = { { seconds = 1 }, { seconds = 1 }, { seconds = 1 }, { seconds = 1 } },
      edges = { { 1, 2, 1 }, { 1, 3, 1 }, { 2, 4, 1 }, { 3, 4, 1 } } }
    local x, y = g:layout()
    assert.same({ 0, 1, 1, 2 }, y)
    assert.is_true(math.abs(x[2] - x[3]) >= 1)
    local _, far = g:layout { layer = { 0, 3, 4, 7 } }
    assert.same({ 0, 3, 4, 7 }, far)
    assert.has_error(function() g:layout { layer = { 0, 1, 1, 1 } } end)
    assert.has_error(function() g:layout { layer = { 0, 0.5, 1, 2 } } end)
    local none, _, code = g:layout { layer = { 0, 1, 1, 200000 } }
    assert.is_nil(none)
    assert.equal("unsupported", code)
  end)
end)
