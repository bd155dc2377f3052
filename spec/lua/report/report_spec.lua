-- Reports: structure, escaping, the result's numbers, sizes, the same bytes, and what is refused.
local berth = require "berth"
local main = require "berth.cli.main"
local xml = require "support.xml"
local pages = require "support.pages"
local shell = require "support.shell"
local refused = require("support.errors").refused

local ran, read = shell.ran, shell.read

local hostile = "<script>alert('x')</script> \"&\n\1 naïve"
local kinds = { "gantt", "memory", "links", "placers", "graph" }

-- a(2 s) on 1 sends 8 B at 4 B/s to b(1 s) on 2; c(1 s) on 1
local function small(name)
  local g = berth.graph { name = name,
    ops = { { name = name, seconds = 2, kind = name }, { name = "b", seconds = 1 },
      { name = "c", seconds = 1 } },
    tensors = { { from = 1, to = { 2, 3 }, bytes = 8 } } }
  local t = berth.topology.mesh(2, { bandwidth = 4, memory = 20 })
  return g, t, assert(berth.simulate(g, t, { 1, 2, 1 }, { links = "duplex" }))
end

local has, lacks = pages.has, pages.lacks

local function page_of(what) return pages.of(berth.report, what) end

-- The cells of the rows of the section's k-th table, heads first.
local function table_of(page, id, k)
  local section, rows = page:match('<section id="' .. id .. '">(.-)</section>'), {}
  for body in section:gmatch("<table>(.-)</table>") do
    k = k - 1
    if k == 0 then
      for line in body:gmatch("<tr>(.-)</tr>") do
        local cells = {}
        for cell in line:gmatch("<t[hd][^>]*>(.-)</t[hd]>") do
          cells[#cells + 1] = (cell:gsub("<.->", ""))
        end
        rows[#rows + 1] = cells
      end
    end
  end
  return rows
end

local function slice(list, from, to)
  local out = {}
  for i = from, to or #list do out[#out + 1] = list[i] end
  return out
end

local function tiles_of(page)
  local out = {}
  for name, value in page:gmatch('<div class="name">(.-)</div><div class="value">(.-)</div>') do
    out[name] = value
  end
  return out
end

-- What no page may have: anything from elsewhere, an id twice, a name that is not there.
local function check_page(page)
  local ids, count, elements = {}, 0, xml.elements(page)
  for _, one in ipairs(elements) do
    local id = one.attributes.id
    if id then
      assert.is_nil(ids[id], id)
      ids[id] = true
    end
    assert.is_nil(one.attributes.src)
    assert.is_true(one.name ~= "script" and one.name ~= "link" and one.name ~= "iframe"
      and one.name ~= "img", one.name)
    for name in pairs(one.attributes) do assert.is_nil(name:match("^on"), name) end
  end
  for _, one in ipairs(elements) do
    local a = one.attributes
    if a.href then assert.is_true(ids[a.href:match("^#(.+)$")], a.href) end
    for id in (a["aria-labelledby"] or ""):gmatch("%S+") do assert.is_true(ids[id], id) end
    if one.name == "svg" and a.role == "img" then count = count + 1 end
  end
  for target in page:gmatch("url(%b())") do
    assert.is_true(ids[target:match("^%(#(.+)%)$")], target)
  end
  lacks(page:gsub('xmlns="http://www.w3.org/2000/svg"', ""), "http:", "https:", "//www", "@import",
    "javascript:")
  return count
end

-- Adler's sum in doubles: the same in every interpreter.
local function checksum(text)
  local a, b = 1, 0
  for i = 1, #text do
    a = (a + text:byte(i)) % 65521
    b = (b + a) % 65521
  end
  return b * 65536 + a
end

describe("a report", function()
  it("has figures of well-formed SVG, whatever the names are", function()
    local g, t, r = small(hostile)
    local rows = berth.compare(g, t,
      { "single", { name = hostile, device = function() return 1 end } })
    for _, kind in ipairs(kinds) do
      local text = assert(berth.figure(kind, { result = r, compare = rows }))
      local elements = xml.elements(text)
      assert.is_true(#elements > 15, kind)
      assert.same({ "svg", "title", "desc", "style" },
        { elements[1].name, elements[2].name, elements[3].name, elements[4].name })
      assert.equal("http://www.w3.org/2000/svg", elements[1].attributes.xmlns)
      lacks(text, "<script")
      assert.equal(1, check_page(text))
    end
    local page = page_of { result = r, compare = rows, title = hostile .. "\255\192\128" }
    assert.equal(5, check_page(page))
    lacks(page, "<script")
    has(page, "naïve", "\239\191\189")
  end)

  it("has a section for each figure, with a title and a text for the blind", function()
    local g, t, r = small("a")
    local page = page_of { result = r, compare = berth.compare(g, t, { "single" }),
      bounds = berth.bounds(g, t) }
    local order = {}
    for id in page:gmatch('<section id="(.-)">') do order[#order + 1] = id end
    assert.same({ "gantt", "devices", "memory", "links", "placers", "graph", "bounds", "made" },
      order)
    for _, id in ipairs(order) do has(page, ('href="#%s"'):format(id)) end
    has(page, "The step takes 5 s, d0 runs 2 ops and is busy 60.0 % of the time, d1 runs 1 op",
      "d0 holds 8 B at most, d1 holds 8 B at most.",
      "1 link used. d0 to d1 carries 8 B, used 40.0 %.",
      "Best of 1 placer: single, 4 s",
      "3 ops in 2 layers from top to bottom, 2 lines between them.")
  end)

  it("shows the numbers of the result", function()
    local g, t, r = small("a")
    local compare = berth.compare(g, t, { "single", "round-robin" }, { links = "duplex" })
    local bounds = berth.bounds(g, t, { thorough = true })
    local page = page_of { result = r, compare = compare, bounds = bounds }
    assert.equal(5, r.makespan)
    local tiles, gap = tiles_of(page), math.max(r.bound, bounds.best)
    assert.same({ "5 s", berth.format(gap, "seconds"), ("%.1f %%"):format(100 * (5 / gap - 1)),
      "40.0 %", "8 B" },
      { tiles["step time"], tiles["lower bound"], tiles.gap, tiles.utilisation,
        tiles["peak memory"] })
    assert.same({ { "d0", "2", "3 s", "60.0 %", "0 s", "8 B", "0 B", "8 B", "20 B", "40.0 %" },
      { "d1", "1", "1 s", "20.0 %", "2 s", "0 B", "8 B", "8 B", "20 B", "40.0 %" } },
        slice(table_of(page, "devices", 1), 2))
    local longest = table_of(page, "gantt", 1)
    assert.same({ "a", "a", "d0", "2 s", "40.0 %", "yes" }, longest[2])
    assert.same({ "b", "-", "d1", "1 s", "20.0 %", "yes" }, longest[3])
    assert.same({ "c", "-", "d0", "1 s", "20.0 %", "no" }, longest[4])
    assert.same({ "a", "a", "8 B", "100.0 %" }, table_of(page, "memory", 1)[2])
    for k, row in ipairs(compare.best) do
      assert.same({ row.name, berth.format(row.makespan, "seconds") },
        slice(table_of(page, "placers", 1)[k + 1], 1, 2))
    end
    for _, line in ipairs(table_of(page, "bounds", 1)) do
      local field = ({ ["critical path"] = "critical_path", work = "work",
        ["linear program"] = "lp" })[line[1]]
      if field then assert.equal(berth.format(bounds[field], "seconds"), line[2]) end
    end
    has(page, "bound " .. berth.format(gap, "seconds"), "limit 20 B", "peak 8 B",
      "8 B, used 40.0 %", "1 at most",
      "<title>a (a) on d0: 0 s to 2 s, 2 s</title>", "<title>d0 at its peak: 8 B at 0 s</title>")
  end)

  it("shows communication and collectives", function()
    -- a and b (1 s each, on two devices) meet: ring over 4 B/s, 4 B: 1 s; c waits for that
    local g = berth.graph { ops = { { seconds = 1 }, { seconds = 1 }, { seconds = 1 } },
      collectives = { { kind = "allreduce", bytes = 4, members = { 1, 2 }, consumers = { 3 } } } }
    local t = berth.topology.mesh(2, { bandwidth = 4 })
    local r = assert(berth.simulate(g, t, { 1, 2, 1 }, { links = "fair" }))
    local page = page_of { result = r }
    assert.equal("1 s", tiles_of(page).exposed)
    assert.same({ "allreduce 1", "ring", "2", "4 B", "1 s", "1 s" }, table_of(page, "links", 1)[2])
    has(page,
      "Communication takes 1 s, 33.3 % of the step: 0 s overlapped (some device computes), 1 s "
        .. "exposed (none does).",
      "<title>allreduce of 4 B on 2 devices: 1 s to 2 s, 1 s</title>",
      "3 ops, 2 devices, 0 transfers, 1 collective", "1 at most")
    assert.equal(r.exposed, r.communication)
    check_page(page)
    lacks(page_of { result = berth.simulate(g, t, { 1, 1, 1 }) }, "Communication takes")
  end)

  it("reports how many share a link", function()
    local g = berth.graph { ops = { { seconds = 1 }, { seconds = 1 }, { seconds = 1 },
      { seconds = 1 } },
      edges = { { 1, 3, 8 }, { 2, 4, 8 } } }
    local t = berth.topology { devices = { { name = "a" }, { name = "b" }, { name = "c" } },
      switches = { "s" },
      links = { { "a", "s", bandwidth = 4 }, { "b", "s", bandwidth = 4 },
        { "c", "s", bandwidth = 4 } } }
    local page =
      page_of { result = assert(berth.simulate(g, t, { 1, 2, 3, 3 }, { links = "fair" })) }
    has(page, "16 B, used 57.1 %, 2 at once", "2 at most")
  end)

  it("reports how the run was made, and times of placers only on request", function()
    local g, t = small("a")
    local p = berth.place(g, t, "round-robin")
    local r = berth.simulate(g, t, p, { links = "duplex", noise = 0.5, seed = 7 })
    assert.same({ links = "duplex", dispatch = "fifo", send = "push", memory = "inference",
      order = "event", noise = 0.5,
      seed = 7, param_multiple = 1, quantum = 0, preempt = false, split_windows = false,
      collectives = "links", reserve = false }, r.options)
    assert.equal("duplex", r:to_table().options.links)
    local what = { result = r, placement = p, compare = berth.compare(g, t, { "single" }),
      command = "make it <again>" }
    local page = page_of(what)
    has(page, "berth " .. berth.version, "make it &lt;again&gt;", "a: 3 ops, 1 tensor",
      "2 devices, 2 links",
      "links = duplex, dispatch = fifo, memory = inference, param_multiple = 1, noise = 0.5, seed "
        .. "= 7",
      "round-robin, its own estimate", "none holds here")
    lacks(page, "time to place")
    what.times = true
    assert.equal("time to place", table_of(page_of(what), "placers", 1)[1][5])
  end)

  it("says where memory ran out", function()
    local g = small("a")
    local t = berth.topology.mesh(2, { bandwidth = 4, memory = 5 })
    local r = berth.simulate(g, t, { 1, 2, 1 })
    local page = page_of { result = r }
    has(page, "Out of memory: a needs 3 B more on d0 at 0 s.", "out of memory on d0",
      "above the limit", "memory ran out")
  end)

  it("says why placers have no answer", function()
    local g = small("a")
    local t = berth.topology.mesh(2, { bandwidth = 4, memory = 5 })
    local rows = berth.compare(g, t, { "single", "heft" })
    local page = page_of { result = berth.simulate(g, t, { 1, 2, 1 }), compare = rows }
    has(page, "Not drawn: no placer has an answer.", (rows[1].error:gsub('"', "&quot;")))
    assert.equal("infeasible", table_of(page, "placers", 1)[2][2])
    check_page(page)
  end)

  it("leaves out devices without anything to show, and says so", function()
    local ops, devices = {}, {}
    for i = 1, 3 do ops[i], devices[i] = { seconds = 1, params = 4 }, i end
    local page = page_of { graph = berth.graph { ops = ops }, topology = berth.topology.mesh(20),
      placement = devices }
    has(page, "Not drawn: 17 devices without any op.",
      "Not drawn: 17 devices without anything in memory.",
      "Not listed: 17 devices without any op.",
      "Not drawn: no link was used.")
    assert.equal(1 + 3, #table_of(page, "devices", 1))
  end)

  it("stays small when the graph is large", function()
    local ops, edges, devices, width = {}, {}, {}, 50
    for i = 1, 8000 do
      ops[i], devices[i] = { name = "block" .. i % 7 .. ".x", seconds = 1e-6 * (1 + i % 5) },
        1 + i % 4
      if i > width then edges[#edges + 1] = { i - width, i, 1e3 } end
    end
    local g = berth.graph { ops = ops, edges = edges }
    local t = berth.topology.mesh(4, { bandwidth = "10 GB/s" })
    local page = page_of { graph = g, topology = t, placement = devices }
    assert.is_true(#page < 3e5, #page)
    has(page, "8000 ops as 108 boxes", "8000 ops shorter than")
    check_page(page)
  end)

  it("scrolls what is wider than the page in a box of its own", function()
    local g, t, r = small("a")
    local page = page_of { result = r, compare = berth.compare(g, t, { "single" }) }
    has(page, ".scroll{overflow-x:auto;", "figure svg{display:block;width:100%;min-width:")
    local figures = 0
    for width, declared in page:gmatch('<div class="scroll" tabindex="0">\n<svg [^>]-'
      .. 'viewBox="0 0 (%S+) [^>]-style="%-%-w:(%S+)px">') do
      assert.equal(width, declared)
      figures = figures + 1
    end
    assert.equal(5, figures)
    local _, tables = page:gsub("<table>", "")
    local _, boxed = page:gsub('<div class="scroll" tabindex="0"><table>', "")
    assert.equal(tables, boxed)
    for _, kind in ipairs { "gantt", "graph" } do
      for _, zoom in ipairs { "whole", "z1", "z2", "z4" } do
        has(page, ('id="zoom-%s-%s"'):format(kind, zoom), ('for="zoom-%s-%s"'):format(kind, zoom),
          ("figure .%s:checked~.scroll svg{"):format(zoom))
      end
    end
  end)

  it("draws the memory of all devices in one scale", function()
    -- d0 holds 40 B, d1 10 B, d2 has a limit far above all
    local g = berth.graph { ops = { { seconds = 1, params = 40 }, { seconds = 1, params = 10 },
      { seconds = 1, params = 20 } } }
    local t = berth.topology { devices = { { memory = 80 }, { memory = 80 }, { memory = 1e4 } } }
    local text = assert(berth.figure("memory", { graph = g, topology = t,
      placement = { 1, 2, 3 } }))
    local heights = {}
    -- an area goes from the bottom of its panel up to what is held
    for bottom, top in text:gmatch('<path d="M124 ([%d.]+)H124V([%d.]+)[^"]*" class="area"') do
      heights[#heights + 1] = tonumber(bottom) - tonumber(top)
    end
    assert.equal(3, #heights)
    assert.is_true(math.abs(heights[1] - 4 * heights[2]) < 0.1)
    assert.is_true(math.abs(heights[1] - 2 * heights[3]) < 0.1)
    has(text, "All devices have the same scale.", "limit 10 kB ↑", ">50 B</text>")
  end)

  it("clusters graphs above 60 ops by where names begin, in boxes that hold text", function()
    local function chain(n, devices)
      local ops, edges, at = {}, {}, {}
      for i = 1, n do
        ops[i] = { name = ("layer%d.op%d"):format(math.ceil(i / 10), i), seconds = 1 }
        at[i] = (math.ceil(i / 10) - 1) % devices + 1
        if i > 1 then edges[i - 1] = { i - 1, i, 1 } end
      end
      return assert(berth.figure("graph", { graph = berth.graph { ops = ops, edges = edges },
        topology = berth.topology.mesh(devices), placement = at }))
    end
    local text = chain(200, 2)
    for k = 1, 20 do -- a box for each layer, since each is a twentieth of the ops
      has(text, ("<title>layer%d… on d%d, 10 ops, 10 s</title>"):format(k, (k - 1) % 2))
    end
    local wide = chain(400, 40)
    assert.equal("2896", wide:match('viewBox="0 0 (%S+) '))
    for w in wide:gmatch('width="([%d.]+)" height="34"') do assert.is_true(tonumber(w) >= 64) end
  end)

  it("leads lines over several layers beside the boxes between them", function()
    -- 1 to 7 through 2, 3, 4, through 5, 6, and at once
    local ops = {}
    for i = 1, 8 do ops[i] = { seconds = i } end
    local g = berth.graph { ops = ops, edges = { { 1, 2, 1 }, { 2, 3, 1 }, { 3, 4, 1 }, { 1, 5, 1 },
      { 5, 6, 1 }, { 4, 7, 1 }, { 6, 7, 1 }, { 1, 7, 1 }, { 7, 8, 1 } } }
    local text = assert(berth.figure("graph", { graph = g,
      topology = berth.topology.mesh(1, { bandwidth = 1 }), placement = { 1, 1, 1, 1, 1, 1, 1, 1 } }))
    local lane, boxes = tonumber(text:match 'd="M[^"V]- ([%d.]+) [%d.]+V[%d.]+C[^"]*" class="far"'), 0
    for x, w in text:gmatch '<rect x="([%d.]+)" y="[%d.]+" width="([%d.]+)" height="34"' do
      boxes = boxes + 1
      assert.is_true(lane < tonumber(x) or lane > tonumber(x) + tonumber(w))
    end
    assert.equal(8, boxes)
  end)

  it("labels the end of the step", function()
    local _, _, r = small()
    assert.equal("5 s", berth.format(r.makespan, "seconds"))
    local _, n = assert(berth.figure("gantt", { result = r })):gsub(">5 s</text>", "")
    assert.equal(1, n) -- not the label of the axis, too
  end)

  it("draws many devices: the busiest, and the rest as one column of the graph", function()
    local ops, devices, n = {}, {}, 0
    for d = 1, 70 do
      for _ = 1, d do
        n = n + 1
        ops[n], devices[n] = { seconds = 1 }, d
      end
    end
    local page = page_of { graph = berth.graph { ops = ops }, topology = berth.topology.mesh(70),
      placement = devices }
    has(page, "Not drawn: 6 devices that are less busy.",
      "Not listed: 6 devices that are less busy.",
      "One column is for the 31 devices with the fewest ops.")
  end)

  it("has the same bytes again, and draws what is selected", function()
    local g, t, r = small("a")
    assert.equal(page_of { result = r },
      page_of { graph = g, topology = t, placement = { 1, 2, 1 }, simulate = { links = "duplex" } })
    local page = page_of { result = r, figures = { "graph", "gantt" } }
    assert.is_true(page:find("<h2>Graph", 1, true) < page:find("<h2>Schedule", 1, true))
    lacks(page, "<h2>Memory")
    assert.equal(2, check_page(page))
    has(page_of { result = r, figures = {} }, "<h2>Devices")
  end)

  it("has the same bytes on every interpreter", function()
    local _, _, r = small("naïve")
    local page = page_of { result = r, figures = { "gantt", "memory", "links" } }
    assert.equal(3292656965, checksum((page:gsub(berth.version:gsub("%p", "%%%0"), "VERSION"))))
  end)

  it("rounds halves the same way on every interpreter", function()
    local scale = require "berth.report.scale"
    assert.same({ "0.13", "0.38", "158.13", "-0.12", "0", "7" },
      { scale.number(0.125), scale.number(0.375),
      scale.number(158.125),
      scale.number(-0.125), scale.number(-0.001), scale.number(7) })
    assert.equal("12.3 %", scale.percent(0.1225))
    assert.same({ 0, 2, 4, 6, 8 }, scale.ticks(9.5, 8))
    assert.same({ 0 }, scale.ticks(0, 8))
    local function labels(most, unit, n)
      local values, text_of = scale.labelled(most, unit, n)
      for i, value in ipairs(values) do values[i] = text_of(value) end
      return values
    end
    assert.same({ "0 s", "0.5 s", "1 s" }, labels(1.4, "seconds", 3))
    assert.same({ "0 s" }, labels(0, "seconds", 8))
    assert.same({ "0 us", "100 us", "200 us", "300 us", "400 us" }, labels(400e-6, "seconds", 4))
    assert.same({ "0 GB", "5 GB", "10 GB", "15 GB" }, labels(17e9, "bytes", 4))
    assert.same({ "0 min", "5 min", "10 min" }, labels(700, "seconds", 3))
    assert.same({ "0 h", "10 h", "20 h", "30 h", "40 h" }, labels(171237, "seconds", 8))
    assert.same({ "0 d", "5 d", "10 d" }, labels(86400 * 12, "seconds", 4))
    assert.same({ "20 ms", "20.6 min", "5.54 h", "7 d", "-", "none" },
      { scale.duration(0.02), scale.duration(1234), scale.duration(19928),
        scale.duration(86400 * 7), scale.duration(nil), scale.duration(math.huge) })
  end)

  it("labels an axis where there is room for the label", function()
    local svg = require "berth.report.svg"
    local function labels(width)
      local out, found = svg.picture {}, {}
      svg.axis(out, function(value) return width * value / 8 end, 8, "seconds", 0, 10)
      for text in table.concat(out):gmatch(">([^<>]+)</text>") do found[#found + 1] = text end
      return found
    end
    assert.same({ "0 s", "1 s", "2 s", "3 s", "4 s", "5 s", "6 s", "7 s", "8 s" }, labels(800))
    assert.equal("0 s", labels(60)[1])
    assert.is_true(#labels(60) >= 2 and #labels(60) <= 4)
    assert.same({ "0 s" }, labels(5))
  end)

  it("fits texts into their room by characters, not by bytes", function()
    local svg = require "berth.report.svg"
    assert.equal("abc", svg.fit("abc", 40))
    assert.equal("naï…", svg.fit("naïvely named", 40))
    assert.equal("", svg.fit("W", 5))
    assert.is_true(svg.width("WWWW") > 2 * svg.width("iiii"))
    assert.is_true(svg.width(svg.fit(("名"):rep(50), 100)) <= 100)
  end)

  it("draws a run that takes no time, and refuses what has no picture", function()
    local g = berth.graph { ops = { { name = "a", seconds = 0 } } }
    local t = berth.topology.mesh(1)
    local r = berth.simulate(g, t, { 1 }, { memory = "none" })
    for _, kind in ipairs { "gantt", "graph" } do
      xml.elements(berth.figure(kind, { result = r }))
    end
    refused("unsupported", "memory: memory was not accounted for",
      berth.figure("memory", { result = r }))
    has(page_of { result = r }, "Not drawn: no link was used.")
    lacks(page_of { result = r }, "nan", "inf ")
  end)

  it("refuses a wrong argument by name", function()
    local _, _, r = small("a")
    assert.has_error(function() berth.figure("pie", { result = r }) end)
    assert.has_error(function() berth.report("x.html", {}) end)
    assert.has_error(function() berth.report("x.html", { result = r, colour = 1 }) end)
    assert.has_error(function() berth.report("x.html", { result = r, compare = { 1 } }) end)
    assert.has_error(function() berth.report("x.html", { result = r, figures = { "pie" } }) end)
    assert.has_error(function() berth.report("x.html",
      { result = r, figures = { "gantt", "gantt" } }) end)
    assert.has_error(function() berth.report("x.html", { result = r, times = 1 }) end)
    assert.has_error(function() berth.report("x.html", { result = r, command = {} }) end)
    local ok, _, code = berth.report("/nonexistent/x.html", { result = r })
    assert.is_nil(ok)
    assert.equal("io", code)
  end)
end)

describe("berth report", function()
  local path, graph
  before_each(function()
    path, graph = os.tmpname(), os.tmpname()
    assert((small("it")):save(graph))
  end)
  after_each(function()
    os.remove(path)
    os.remove(graph)
  end)

  local function run(...)
    local out, err = {}, {}
    local exit = main.run({ "report", graph, "mesh:2,memory=20B", ... }, {
      write = function(line) out[#out + 1] = line end,
        complain = function(line) err[#err + 1] = line end })
    return exit, table.concat(out, "\n"), table.concat(err, "\n")
  end

  it("writes a page, the same for the same input, with the command that made it", function()
    local function once()
      local out = ran(run("--links", "duplex", "--placer", "round-robin", "--compare",
        "single,heft", "--thorough", "--output", path, "--title", "it's <one>"))
      has(out, "step time", "written: " .. path)
      return read(path)
    end
    local page = once()
    assert.equal(5, check_page(page))
    has(page, "<h1>it&#39;s &lt;one&gt;</h1>", "&#39;it&#39;\\&#39;&#39;s &lt;one&gt;&#39;",
      "berth report " .. graph .. " mesh:2,memory=20B --links duplex --placer round-robin",
      "--output " .. path:match("[^/]+$"), "placed by round-robin", "<h2>Lower bounds")
    assert.is_nil(page:find(path, 1, true))
    lacks(page, "time to place")
    assert.equal(page, once())
  end)

  it("shows the portfolio's rows, and times on request", function()
    assert.equal(0, run("--times", "--output=" .. path))
    assert.equal("time to place", table_of(read(path), "placers", 1)[1][5])
  end)

  it("writes each figure alone, as SVG", function()
    for _, kind in ipairs(kinds) do
      assert.equal(0, run("--placer", "round-robin", "--compare", "single,heft", "--figure", kind,
        "--output", path))
      assert.equal("svg", xml.elements(read(path))[1].name)
    end
  end)

  it("refuses by name", function()
    local exit, _, err = run("--output", path, "--figure", "pie")
    assert.equal(2, exit)
    has(err, 'no "pie" (legal: gantt, memory, links, placers, graph)')
    exit, _, err = run("--placer", "heft")
    assert.equal(2, exit)
    has(err, "--output is needed")
    exit, _, err = run("--placer", "heft", "--output", "/nonexistent/x.html")
    assert.equal(2, exit)
    has(err, "/nonexistent/x.html")
    exit, _, err = run("--placer", "heft", "--output", path, "--figure", "placers")
    assert.is_true(exit ~= 0)
    has(err, "--figure placers: nothing is compared: add --compare single,heft")
    os.remove(path)
    assert.equal(2, (main.run({ "report", "/nonexistent.json", "--output", path },
      { write = print, complain = function() end })))
    assert.is_nil(io.open(path))
  end)

  it("reports that memory ran out by its exit code, and draws it all the same", function()
    assert.equal(0, run("--placement", "single:1", "--memory", "total", "--output", path))
    local quiet = { write = function() end, complain = function() end }
    assert.equal(1, main.run({ "report", graph, "mesh:2,memory=5B", "--placement", "single:1",
      "--output", path }, quiet))
    has(read(path), "Out of memory:")
  end)
end)

describe("graph:layout", function()
  it("puts ops into layers, apart from each other", function()
    local g = berth.graph { ops = { { seconds = 1 }, { seconds = 1 }, { seconds = 1 },
      { seconds = 1 } },
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
