-- The line of progress: when it is shown, and when it goes.
local core = require "berth.core"
local progress = require "berth.cli.progress"

-- What is put and written by a command that takes a second per step.
local function seen(command)
  local now, out = 0, {}
  local function clock() return now end
  local function log(kind) return function(text) out[#out + 1] = kind .. text end end
  local ok, result = pcall(progress.shown, log "> ", clock, function(...)
    return command(function(what, done)
      core.hooks().progress(what, done)
      now = now + 1
    end, ...)
  end, {}, {}, log "out ", log "err ", "words")
  return out, ok, result
end

describe("progress on a terminal", function()
  it("is one line, shown after half a second, gone before the command writes", function()
    local out, ok, result = seen(function(step, _, _, write, complain, words)
      step("portfolio", 0.1) -- at once: not shown
      step("portfolio", 0.501)
      step("portfolio", 0.504) -- the same text
      step("search", 0.25)
      write "a line"
      write "another"
      step("search", 0.5)
      complain "interrupted"
      return words
    end)
    assert.is_true(ok)
    assert.equal("words", result)
    assert.same({ "> portfolio 50 %", "> search 25 %", "> ", "out a line", "out another",
      "> search 50 %", "> ", "err interrupted" }, out)
  end)

  it("goes when all is done, at the end and after an error; hooks are as they were", function()
    local before = core.hooks()
    local out = seen(function(step)
      step("search", 0)
      step("search", 0.5)
      step("search", 1)
      step("search", 0.2)
    end)
    assert.same({ "> search 50 %", "> ", "> search 20 %", "> " }, out)
    local _, ok, why = seen(function(step)
      step("search", 0)
      step("search", 0.5)
      error({ "mine" }, 0)
    end)
    assert.is_false(ok)
    assert.same({ "mine" }, why)
    assert.same(before, core.hooks())
  end)
end)
