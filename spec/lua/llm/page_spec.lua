-- The page about an estimate: its parts, numbers, figures, and what is refused.
local berth = require "berth"
local pages = require "support.pages"
local xml = require "support.xml"
local llm = berth.llm

local model = llm.model { layers = 8, hidden = 1024, heads = 8, ffn = 4096, vocab = 1000 }
local PLAN = { pp = 4, global_batch = 32, seq = 1024 }

local has = pages.has

local function page_of(e, opts) return pages.of(llm.report, e, opts) end

describe("the page about an estimate", function()
  local e = assert(llm.estimate(model, "8xH100", PLAN))

  it("has time, pipeline, memory and how it was made", function()
    local page, ids = page_of(e, { command = "berth llm estimate x" }), {}
    for id in page:gmatch '<section id="(%w+)">' do ids[#ids + 1] = id end
    assert.same({ "time", "pipeline", "memory", "made" }, ids)
    has(page, "<h1>by hand on 8 GPUs</h1>", "<code>berth llm estimate x</code>", e.rows,
      "fitted to H100 bf16", berth.format(e.step, "seconds"), "stage 4", "exposed communication")
    assert.is_nil(page:find('class="warning"', 1, true))
    for _, key in ipairs { "tp 1", "zero 1", "schedule 1f1b", "pp 4, global_batch 32, seq 1024" } do
      has(page, key)
    end
  end)

  it("compares a measured step, likeliest cause first", function()
    local x = llm.explain(e, 1.3 * e.step)
    local page = page_of(e, { measured = 1.3 * e.step })
    local section = page:match '<section id="measured">(.-)</section>'
    assert.truthy(section:find(x[1].text, 1, true))
    assert.is_true(section:find(x[1].text, 1, true) < section:find(x[2].text, 1, true))
  end)

  it("is the same each time, and for a result that is given", function()
    local r = assert(llm.simulate(model, "8xH100", PLAN))
    assert.equal(page_of(e), page_of(e))
    assert.equal(page_of(e), page_of(e, { result = r }))
  end)

  it("has each figure as a file of its own, with its kinds", function()
    for _, kind in ipairs { "time", "pipeline", "memory" } do
      local figure = page_of(e, { figure = kind })
      assert.is_true(#xml.elements(figure) > 10)
      has(figure, ('id="%s-title"'):format(kind))
    end
    local memory = page_of(e, { figure = "memory" })
    for _, stage in ipairs { 1, 2, 3, 4 } do
      has(memory, ("weights, stage %d: %s"):format(stage,
        berth.format(e.memory[stage].weights, "bytes")))
    end
    has(memory, ">limit</text>")
    local time = page_of(e, { figure = "time" })
    has(time, "matrix products: " .. berth.format(e.time.products, "seconds"))
  end)

  it("warns of memory that lacks or is nearly full", function()
    local s = e.memory[e.memory.worst]
    local function on(memory)
      return page_of(assert(llm.estimate(model, llm.cluster { gpu = "H100", gpus = 8,
        memory = memory }, PLAN)))
    end
    has(on(0.9 * s.total), ("Stage %d lacks "):format(e.memory.worst))
    has(on(s.total / 0.95), "slow down above 90 % of the memory")
  end)

  it("draws gathers and reductions below the passes beside which they run", function()
    local f = assert(llm.estimate(model, "8xH100", { framework = "fsdp", global_batch = 8,
      seq = 1024 }))
    local figure = page_of(f, { figure = "pipeline" })
    has(figure, ">gather or reduction beside a pass</text>")
    assert.matches('<path d="[^"]+" class="meet"/>', figure)
    assert.is_nil(figure:find("gather F0", 1, true))
  end)

  it("refuses what is no estimate, and unknown options", function()
    assert.error_matches(function() llm.report("x.html", {}) end,
      "expected one of berth.llm.estimate, got table", 1, true)
    assert.error_matches(function() llm.report(5, e) end, "path: expected a string", 1, true)
    assert.error_matches(function() llm.report("x.html", e, { figure = "pie" }) end,
      "'pie' is none of: time, pipeline, memory", 1, true)
    assert.error_matches(function() llm.report("x.html", e, { figure = "front" }) end,
      "the answer has no front, which requires front = true of berth.llm.plan", 1, true)
    assert.error_matches(function() llm.report("x.html", e, { changes = {} }) end,
      "changes: is for an answer of berth.llm.plan", 1, true)
    local fine, _, code = llm.report("no/such/folder/x.html", e)
    assert.is_nil(fine)
    assert.is_string(code)
  end)
end)
