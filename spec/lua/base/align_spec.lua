-- Tables of text, and how they fit a terminal.
local align = require "berth.base.align"
local core = require "berth.core"
local shell = require "support.shell"

local LEFT = { true, [3] = true }

local function table_of(columns, rows)
  return align.within(columns, function() return align.lines(rows, LEFT) end)
end

describe("a table", function()
  after_each(shell.tidy)

  it("is as wide as its texts where nothing limits it", function()
    assert.same({ "a   12  some words", "bb   3  x" },
      align.lines({ { "a", "12", "some words" }, { "bb", "3", "x" } }, LEFT))
    assert.same({}, align.lines({}, LEFT))
    assert.equal("a    1  b\nccc     d", align.text { { "a", "1", "b" }, { "ccc", "", "d" } })
  end)

  it("has texts that are wrapped at spaces, and cut after three lines", function()
    local words = "one two three four five six seven eight nine ten eleven twelve"
    assert.same({ "a  1  one two three four", "      five six seven eight", "      nine ten eleven...",
      "b  2  x" }, table_of(26, { { "a", "1", words }, { "b", "2", "x" } }))
    -- a word that is too long is cut, but no character is
    assert.same({ "a  1  xxxxxxxxxxxx", "      \195\169\195\169\195\169\195\169\195\169\195\169",
      "      \195\169" }, table_of(18, { { "a", "1", ("x"):rep(12) .. ("\195\169"):rep(7) } }))
    assert.same({ "a  1  x\195\169\195\169\195\169\195\169\195\169", "      \195\169" },
      table_of(18, { { "a", "1", "x" .. ("\195\169"):rep(6) } }))
  end)

  it("narrows its widest texts first", function()
    assert.same({ "short text  1  a text that is as", "               long as this" },
      table_of(35, { { "short text", "1", "a text that is as long as this" } }))
  end)

  it("of many numbers is printed in parts, each with its first column", function()
    local head, row = { "name" }, { "x" }
    for i = 2, 7 do head[i], row[i] = "col" .. i, ("%d"):format(i) end
    local lines = align.within(20, function() return align.lines({ head, row }, { true }) end)
    assert.same({ "name  col2  col3", "x        2     3", "", "name  col4  col5",
      "x        4     5", "", "name  col6  col7", "x        6     7" }, lines)
  end)

  it("is limited for one call, also if that fails", function()
    assert.has_error(function() align.within(10, error, "no") end, "no")
    local long = { { "a", "1", ("word "):rep(50) .. "end" } }
    assert.equal(1, #align.lines(long, LEFT))
    assert.is_true(#table_of(20, long) > 1)
  end)

  it("of a command is at most as wide as the terminal, or 100 columns", function()
    assert.is_true(core.columns() == nil or core.columns() > 0)
    local function widest(columns)
      local out = shell.capture(("COLUMNS=%s scripts/berth deploy tag:bert_small,batch=6 tag:sfb_trio "
        .. "--calls 20 --reasons 10 --rows 9 2>&1 | cat"):format(columns))
      local most = 0
      for line in out:gmatch "[^\n]+" do
        if not line:find "^plan:" then most = math.max(most, #line) end
      end
      return most
    end
    local wide, usual, narrow = widest "500", widest "''", widest "72"
    assert.is_true(wide > 100 and usual <= 100 and usual > 72 and narrow <= 72,
      ("%d %d %d"):format(wide, usual, narrow))
  end)
end)
