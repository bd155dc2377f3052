-- Markdown within 100 columns (scripts/tools/markdown.lua).
local markdown = dofile "scripts/tools/markdown.lua"

local function lines(text)
  local out = {}
  for line in (text .. "\n"):gmatch("(.-)\n") do out[#out + 1] = line end
  return out
end

local LONG = ("word "):rep(24) .. "end"

describe("text within 100 columns", function()
  it("wraps, and keeps short code and what begins a list on its line", function()
    local out = markdown.wrap(("x"):rep(92) .. " `a b c` - d", "- ", "  ")
    assert.same({ "- " .. ("x"):rep(92), "  `a b c` - d" }, out)
    assert.equal(3, markdown.length("a\195\164b"))
  end)

  it("leaves a table that fits, also at the end", function()
    local text = "a\n\n| b | c |\n|---|---|\n| 1 | |"
    assert.equal(text, markdown.narrow(text))
    assert.equal(text .. "\nd", markdown.narrow(text .. "\nd"))
  end)

  it("splits a table of values, with the columns that tell rows apart", function()
    local name = ("n"):rep(30)
    local head, row = "| k | l |", "| 1 | %s |"
    for c = 1, 4 do
      head, row = head .. (" h%d |"):format(c), row .. (" %s%d |"):format(name, c)
    end
    local text = head .. "\n|---|---|---|---|---|---|\n" .. row:format(1) .. "\n" .. row:format(2)
    local out = markdown.narrow(text)
    assert.equal(1, out:find("| k | l | h1 | h2 |\n|---|---|---|---|\n", 1, true))
    assert.is_truthy(out:find(("\n| 1 | 2 | %s1 | %s2 |\n\n| k | l | h3 | h4 |\n"):format(name,
      name), 1, true))
    for _, line in ipairs(lines(out)) do assert.is_true(markdown.length(line) <= 100) end
  end)

  it("makes a list of a table of sentences", function()
    local out = markdown.list({ "key", "text", "use" }, { { "a", "Short.", "no" },
      { "`b`", LONG, "" } })
    assert.same({ "- **a**: Short. Use: no", "- `b`: " .. ("word "):rep(17) .. "word" },
      { out[1], out[2] })
    assert.equal(3, #out)
  end)

  it("names anchors as links do", function()
    assert.same({ "berthnn-x", "a-b", "a-b-1" }, markdown.anchors { "`berth.nn` x", "A b", "A, b" })
  end)
end)
