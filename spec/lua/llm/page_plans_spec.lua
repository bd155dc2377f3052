-- The page about a plan search, and the picture of a pipeline.
local berth = require "berth"
local pipeline = require "berth.llm.pipeline"
local pages = require "support.pages"
local shell = require "support.shell"
local svg = require "berth.report.svg"
local xml = require "support.xml"
local llm = berth.llm

local model = llm.model { layers = 8, hidden = 1024, heads = 8, ffn = 4096, vocab = 1000 }

local has, lacks = pages.has, pages.lacks

local function page_of(r, opts) return pages.of(llm.report, r, opts) end

local function format(x, unit) return berth.format(x, unit) end

-- The rectangles of a figure that have a tip: x, y, width, class, tip.
local function boxes(figure)
  local out = {}
  for x, y, w, class, tip in figure:gmatch(
      '<rect x="([%d.]+)" y="([%d.]+)" width="([%d.]+)" height="[%d.]+" class="(%w+)"><title>(.-)<') do
    out[#out + 1] = { x = tonumber(x), y = tonumber(y), w = tonumber(w), class = class, tip = tip }
  end
  return out
end

-- Sums of widths by row.
local function widths(figure)
  local out, order = {}, {}
  for _, b in ipairs(boxes(figure)) do
    if not out[b.y] then order[#order + 1] = b.y end
    out[b.y] = (out[b.y] or 0) + b.w
  end
  table.sort(order)
  for i, y in ipairs(order) do order[i] = out[y] end
  return order
end

local function is_there(path)
  local file = io.open(path)
  if file then file:close() end
  return file ~= nil
end

describe("the page about a plan search", function()
  teardown(function() shell.tidy() end)

  local r = assert(llm.plan(model, "8xH100", { global_batch = 32, seq = 1024, front = true }))
  local changes = llm.changes(r)
  local page = page_of(r, { command = "berth llm plan x" })

  it("has the answer, times, pipeline, memory, front, changes, launch script", function()
    local ids = {}
    for id in page:gmatch '<section id="(%w+)">' do ids[#ids + 1] = id end
    assert.same({ "answer", "time", "pipeline", "memory", "front", "changes", "launch", "made" },
      ids)
    assert.is_true(#xml.elements(page) > 200)
    has(page, "<h1>by hand on 8 GPUs</h1>", "<code>berth llm plan x</code>",
      format(r.best.step, "seconds"), format(r.bound, "seconds"), changes[1].text,
      "srun torchrun", "front true, global_batch 32, seq 1024", "fitted to H100 bf16")
    lacks(page:lower(), ">nan", "-nan", ">inf<", 'nan"', 'inf"')
    for _, x in ipairs(r.others) do
      has(page, svg.escape(x.reason), format(x.step, "seconds"))
    end
    assert.equal(page, page_of(r, { command = "berth llm plan x", changes = changes }))
  end)

  it("has bars whose parts sum to the steps, and each kind in its tip", function()
    local figure = page_of(r, { figure = "time" })
    local list = { { step = r.best.step } }
    for _, x in ipairs(r.others) do list[#list + 1] = x end
    for _, kind in ipairs { "no_pp", "no_tp", "zero_3" } do
      if r.kinds[kind] and r.kinds[kind].loss > 0 then list[#list + 1] = r.kinds[kind] end
    end
    local sums, most = widths(figure), 0
    assert.equal(#list, #sums)
    for _, x in ipairs(list) do most = math.max(most, x.step) end
    for i, x in ipairs(list) do assert.near(x.step / most * 370, sums[i], 0.1) end
    local t = r.best.time
    has(figure, "computation: " .. format(t.products + t.attention + t.elementwise + t.launch,
      "seconds"), "optimiser: " .. format(t.optimizer, "seconds"))
  end)

  it("has the front as points within memory and time", function()
    local figure, seen = page_of(r, { figure = "front" }), {}
    for x, y in figure:gmatch '<circle cx="([%d.]+)" cy="([%d.]+)" r="2.5" class="c1"><' do
      seen[#seen + 1] = { tonumber(x), tonumber(y) }
    end
    local drawn = 0
    for _, x in ipairs(r.front) do
      if x.closed <= 3 * r.front[1].closed then drawn = drawn + 1 end
    end
    assert.equal(drawn, #seen)
    for i, p in ipairs(seen) do
      local extent = 1.2 * r.front[1].memory -- the GPU has far more
      assert.near(124 + 682 * r.front[i].memory / extent, p[1], 0.02)
      assert.is_true(i == 1 or p[1] <= seen[i - 1][1] and p[2] <= seen[i - 1][2])
    end
    has(figure, "the best, ")
  end)

  it("has memory by stage, and the pipeline of the best plan", function()
    local memory = page_of(r, { figure = "memory" })
    for i, s in ipairs(r.best.memory) do
      has(memory, ("weights, stage %d: %s"):format(i, format(s.weights, "bytes")))
    end
    has(page_of(r, { figure = "pipeline" }), ">stage 1</text>", ">optimiser</text>")
  end)

  it("leaves out what there is not: front, changes", function()
    local short = page_of(assert(llm.plan(model, "8xH100", { global_batch = 32, seq = 1024 })),
      { changes = {} })
    lacks(short, 'id="front"', 'id="changes"')
  end)

  it("says what is missing where no plan fits", function()
    local none = assert(llm.plan(model, llm.cluster { gpu = "H100", gpus = 2, memory = 6e9 },
      { global_batch = 4, seq = 1024 }))
    local text = page_of(none)
    has(text, "no plan fits: the least memory is ", "<p>least memory: tp 2; 1 of 4 sequences ",
      'id="memory"', 'id="made"')
    lacks(text, 'id="time"')
    assert.is_true(#xml.elements(text) > 30)
    assert.error_matches(function() llm.report("x.html", none, { figure = "time" }) end,
      "the answer has no time", 1, true)
    assert.error_matches(function() llm.report("x.html", r, { measured = 3 }) end,
      "measured: is for an estimate", 1, true)
  end)

  shell.try(it, pending)("has the same bytes under both interpreters", function()
    if not (is_there(shell.build .. "/lua54/berth/core.so")
      and is_there(shell.build .. "/lua51/berth/core.so")) then
      return pending "only one of the two modules is built"
    end
    local texts = {}
    for i, lua in ipairs { "lua5.4", "luajit" } do
      local path = shell.path ".html"
      local exit = shell.process(lua, "llm plan model:llama,layers=8,hidden=1024,heads=8 --gpus "
        .. "8xH100 --batch 32 --seq 1024 --title x --report " .. path)
      if exit == 127 then return pending("no " .. lua) end
      assert.equal(0, exit)
      texts[i] = shell.read(path):gsub("<code>berth llm plan .-</code>", "")
    end
    assert.is_true(texts[1] == texts[2])
  end)
end)

describe("the picture of a pipeline", function()
  local function drawn(plan, gpus, m)
    local r = assert(llm.simulate(m or model, gpus, plan))
    return svg.document(pipeline(r), true), r
  end

  it("has a box for each pass, as wide as it is long", function()
    local figure, r = drawn({ pp = 4, global_batch = 8, schedule = "zb-h1" }, "4xH100")
    local list, sums = boxes(figure), widths(figure)
    assert.equal(4 * (3 * 8 + 1), #list)
    local n = 0
    for _, b in ipairs(list) do
      if b.class == "c2" then n = n + 1 end
    end
    assert.equal(4 * 8, n)
    -- a gap of 0.8 px, or a tenth, ends each box
    for d, w in ipairs(sums) do
      local px = 682 * r.busy[d] / r.makespan
      assert.is_true(w <= px and w >= 0.9 * px - 0.2)
    end
    has(figure, ">backward, inputs</text>", ">backward, weights</text>", ">7</text>",
      "F0.0 (forward): 0 s to ")
  end)

  it("halves a box for passes that overlap, and marks later chunks", function()
    local figure = drawn({ pp = 4, vp = 2, schedule = "dualpipev", framework = "torchtitan",
      global_batch = 8 }, "4xH100")
    assert.matches("F%d%.%d B%d%.%d %(overlapped%)", figure)
    has(figure, ">of a later chunk</text>", 'class="peak"')
  end)

  it("shows the beginning and the end where the whole has too many passes", function()
    local deep = llm.model { layers = 64, hidden = 1024, heads = 8, ffn = 4096, vocab = 1000 }
    local figure, r = drawn({ pp = 64, global_batch = 512, seq = 1024 }, "64xH100", deep)
    assert.is_true(#figure < 4e5)
    has(figure, ">the first ", ">stage 61</text>", "Not drawn: ")
    assert.is_nil(figure:lower():find("nan", 1, true))
    local from = berth.quantity(figure:match "counted from ([%d.]+ %a+) on", "seconds")
    local span = berth.quantity(figure:match "the last ([%d.]+ %a+),", "seconds")
    assert.near(r.makespan, from + span, 0.01 * r.makespan)
  end)
end)
