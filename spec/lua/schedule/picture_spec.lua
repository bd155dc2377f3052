-- The picture of a schedule and the page about it: boxes, numbers, bubbles, memory.
local berth = require "berth"
local shell = require "support.shell"
local xml = require "support.xml"
local schedule = berth.schedule

after_each(shell.tidy)

local function count(text, pattern)
  local n = 0
  for _ in text:gmatch(pattern) do n = n + 1 end
  return n
end

describe("the picture of a schedule", function()
  it("has a box for each action, a grey lane and a strip of memory for each stage", function()
    local s = assert(schedule.make("zb-h1", { stages = 2, microbatches = 3, memory = 2 }))
    local text = s:figure()
    xml.elements(text)
    for _, class in ipairs { "c1", "c2", "c3" } do -- F, W, B; one each in the legend
      assert.equal(2 * 3 + 1, count(text, ('class="%s"'):format(class)) )
    end
    assert.equal(2 + 1, count(text, 'class="c8"'))
    assert.equal(2, count(text, '<path d="[^"]*" class="area"'))
    assert.equal(2, count(text, 'class="limit"'))
    assert.truthy(text:find("F0.2: 5 s to 6 s", 1, true))
    assert.truthy(text:find("peak 2 of 2", 1, true))
    assert.equal(2 * 3, count(text, ">2</text>") ) -- micro-batch 2
  end)

  it("marks later chunks, slots and memory over the limit", function()
    local s = assert(schedule.make("dualpipev", { stages = 4, microbatches = 8, memory = 2 }))
    local text = s:figure()
    xml.elements(text)
    assert.truthy(text:find('class="over"', 1, true))
    assert.truthy(text:find("of a later chunk", 1, true))
    assert.truthy(text:find("B and W as one", 1, true))
    assert.is_nil(s:figure({ memory = false }):find('class="area"', 1, true))
  end)

  it("shows a deadlock up to where it stops", function()
    local s = schedule.make(function(_, stage)
      return stage == 1 and { "F", "B", "W", "F", "B", "W" } or { "F", "F", "B", "W", "B", "W" }
    end, { stages = 2, microbatches = 2 })
    local text = s:figure()
    xml.elements(text)
    assert.equal(2 + 1, count(text, 'class="c1"'))
  end)

  it("of many actions has a bounded size", function()
    local s = assert(schedule.make("1f1b", { stages = 16, microbatches = 512 }))
    local text = s:figure()
    xml.elements(text)
    assert.truthy(#text < 1e6)
  end)
end)

describe("the page about a schedule", function()
  it("has the picture, the stages, the comparison and how it was made", function()
    local opts = { stages = 2, microbatches = 4, memory = 2 }
    local s, path = assert(schedule.make("zb-h1", opts)), shell.path ".html"
    assert(s:report(path, { rows = schedule.compare({ "1f1b", "zb-h1" }, opts),
      title = "Two <stages>", command = "berth schedule x" }))
    local text = shell.read(path)
    xml.elements(text)
    for _, part in ipairs { "Two &lt;stages&gt;", 'id="schedule"', 'id="stages"', 'id="generators"',
      "berth schedule x", "1f1b", "2 of 2" } do
      assert.truthy(text:find(part, 1, true), part)
    end
  end)

  it("warns where the schedule does not run", function()
    local path = shell.path ".html"
    assert(schedule.make("gpipe", { stages = 2, microbatches = 4, memory = 2 }):report(path))
    assert.truthy(shell.read(path):find('class="warning"', 1, true))
  end)
end)
