-- Names in files cannot control the terminal: what commands print, messages, and what objects print.
local berth = require "berth"
local core = require "berth.core"
local errors = require "support.errors"
local json = require "berth.base.json"
local shell = require "support.shell"

-- A title of the window, a line end, a C1 control, DEL, and a mark that reverses the text.
local EVIL = "a\27]0;title\7\nnext\r\194\155\127\226\128\174"
local SHOWN = [[a\u001b]0;title\u0007\u000anext\u000d\u009b\u007f\u202e]]

-- Raises for characters that a terminal carries out; line ends and tabs are legal.
local function check(text)
  assert.is_nil(text:find "[%z\1-\8\11-\31\127]", text)
  assert.is_nil(text:find "\194[\128-\159]", text)
  assert.is_nil(text:find("\226\128\174", 1, true), text)
  return text
end

describe("text for a terminal", function()
  after_each(shell.tidy)

  it("has escapes for controls and marks of direction, and the rest as it is", function()
    for text, shown in pairs {
      [EVIL] = SHOWN, ["caf\195\169 \226\130\172 \240\159\152\128"] =
        "caf\195\169 \226\130\172 \240\159\152\128", ["a\tb"] = [[a\u0009b]], [""] = "", ["\200x"] =
        [[\u00c8x]], ["a\0b\0"] = [[a\u0000b\u0000]],
    } do
      assert.equal(shown, core.escape(text))
    end
    assert.equal("a\tb\n\\u000d", core.escape("a\tb\n\r", true))
  end)

  it("is what commands print of names in files, as text and in messages", function()
    local graph = berth.graph { name = EVIL, ops = { { name = EVIL, kind = EVIL, seconds = 1,
      params = 100 }, { name = "b", seconds = 1 } }, edges = { { 1, 2, 1 } } }
    local path = shell.path ".json"
    assert(graph:save(path))
    for _, words in ipairs {
      { "place", path, "mesh:2,bandwidth=1B/s" }, { "convert", path, "-" },
      { "place", path, "mesh:2,bandwidth=1B/s,memory=50B", "--memory", "total" },
      { "simulate", path, "mesh:2,bandwidth=1B/s", "--placement", "single:1", "--critical", "3" },
      { "simulate", path, "mesh:2,bandwidth=1B/s,memory=50B", "--memory", "total", "--placement",
        "single:1" },
      { "convert", path, "-", "--to", "dot" }, { "convert", path, "-", "--to", "graphml" },
      { "compare", path, "mesh:2,bandwidth=1B/s", "--placers", "heft" },
      { "place", path, "mesh:2,bandwidth=1B/s", "--json" },
    } do
      local _, out, err = shell.run_all(words)
      assert.is_true(#check(out) + #check(err) > 20)
      if words[#words] == "--json" then assert.equal(EVIL, assert(json.decode(out, "out")).graph) end
      if words[1] == "place" and not words[4] then assert.matches(SHOWN, out .. err, 1, true) end
    end
    local again = assert(berth.parse(shell.ran(shell.run("convert", path, "-"))))
    assert.equal(EVIL, again:op(1).name)
    local odd = shell.file(".json", '{"berth": 1, "graph": {"ops": [{"na\\u001b[2Jme": 1}]}}')
    local _, _, err = shell.run("place", odd, "mesh:2,bandwidth=1B/s")
    assert.matches([[ops[0].na\u001b[2Jme is an unknown key]], check(err), 1, true)
    check((select(3, shell.run("place", EVIL))))
    check((select(3, shell.run(EVIL))))
  end)

  it("is what objects print and messages of the library say", function()
    local g = berth.graph { name = EVIL, ops = { { name = EVIL, seconds = 1, params = 9 } } }
    local t = berth.topology { name = EVIL, devices = { { name = EVIL, memory = 1 } } }
    check(tostring(g))
    check(tostring(t))
    check(tostring(assert(berth.simulate(g, t, { 1 }, { memory = "total" }))))
    local refusal = { berth.place(g, t, "heft", { memory = "total" }) }
    errors.refused("infeasible", "cannot fit", refusal[1], refusal[2], refusal[3])
    check(refusal[2])
    check(assert(berth.graph { ops = { { name = EVIL } } }).note)
  end)

  it("keeps GraphML as it was", function()
    local name = "a\194\155b\226\128\174\127"
    local g = berth.graph { ops = { { name = name, seconds = 1 } } }
    local text = check(g:to_string "graphml")
    assert.matches("a&#x009b;b&#x202e;&#x007f;", text, 1, true)
    assert.equal(name, assert(berth.parse(text)):op(1).name)
  end)
end)
