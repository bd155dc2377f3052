-- Ctrl-C in processes that send themselves the signal, and at the prompt on a terminal.
local terminal = require "support.terminal"
local raises = require("support.errors").raises
local shell = require "support.shell"

local function quote(s) return "'" .. s:gsub("'", "'\\''") .. "'" end

local lua = os.getenv("BERTH_LUA") or arg[-1] or "lua5.4"

-- Tests may run where SIGINT is ignored, and that is inherited.
local function has(command)
  local ok = os.execute(command .. " > /dev/null 2>&1")
  return ok == true or ok == 0
end
local default = has("env --default-signal=INT true") and "env --default-signal=INT "

local function environment()
  local paths = ("LUA_PATH=%s LUA_CPATH=%s "):format(quote(package.path), quote(package.cpath))
  return ("%sBERTH_LUA=%s BERTH_BUILD=%s BERTH_HISTORY=/dev/null TERM=dumb "):format(paths,
    quote(lua), quote(shell.build or ""))
end

local function capture(command)
  local out = shell.capture(command)
  return out
end

local paths = {}
local function file(text)
  local path = os.tmpname()
  paths[#paths + 1] = path
  shell.write(path, text)
  return path
end

-- now(): the signal has come when it returns. later(): it comes when the process has been busy for
-- a while.
local PRELUDE = [[
if jit then jit.off() end -- compiled loops do not look
local berth = require "berth"
function now() io.popen("kill -INT $PPID"):close() end
function later()
  return io.popen(". spec/support/until_busy.sh; until_busy $PPID 10; kill -INT $PPID")
end
local ops = {}
for i = 1, 2000 do ops[i] = { seconds = i % 7 + 1 } end
big, t = assert(berth.graph { ops = ops }), berth.topology.mesh(4)
endless = { tries = 2 ^ 30 }
]]

-- What a program prints, and how it ends.
local function run(program)
  local command = environment() .. default .. lua .. " " .. file(PRELUDE .. program)
    .. " 2>&1; echo exit $?"
  return capture(command)
end

local function it_does(name, f)
  it(name, function()
    if not default then return pending("env cannot reset SIGINT here") end
    f()
  end)
end

describe("an interrupt that is caught", function()
  it("differs from other errors by its text", function()
    local interrupt = require "berth.base.interrupt"
    for _, err in ipairs { "interrupted", "a.lua:12: interrupted", "a.lua:12: interrupted!" } do
      assert.is_true(interrupt.is(err), err)
    end
    for _, err in ipairs { "a.lua:12: no file", "interrupted twice", "a:1: interrupted twice" } do
      assert.is_false(interrupt.is(err), err)
    end
    assert.is_false(interrupt.is {})
  end)

  after_each(function()
    for _, path in ipairs(paths) do os.remove(path) end
    paths = {}
  end)

  it_does("stops Lua code", function()
    local out = run [[
      print(berth.catch_interrupts(true), berth.catch_interrupts(true))
      local kept = later()
      print(pcall(function() while true do end end))
      print(pcall(now))
      print(pcall(now))
      print("alive")]]
    local stopped = "false\t[^\n]*interrupted\n"
    assert.matches("^false\ttrue\nfalse\t[^\n]*:%d+: interrupted\n" .. stopped .. stopped
      .. "alive\nexit 0\n$", out)
  end)

  it_does("stops the library", function()
    local out = run [[
      berth.catch_interrupts(true)
      local kept = later()
      print(berth.place(big, t, "critical-path", endless))
      print(berth.place(big, t, "single"))]]
    assert.matches("^nil\tinterrupted\tinterrupted\nplacement: 2000 ops .-\nexit 0\n$", out)
  end)

  it_does("stops long games of PAC-ML", function()
    local out = run [[
      local small = require "support.small_jobs"
      local planner = assert(small.env():planner {
        gap = 1, beta = { 1 }, mass = { 1 }, hidden = 1024,
      })
      local trace = planner:draw(berth.rng(1), 1000000) -- minutes
      berth.catch_interrupts(true)
      local kept = later()
      print(select(2, pcall(planner.simulate, planner, trace)))]]
    -- Raised if it comes while the trace is read.
    assert.matches("^[^\n]*interrupted\nexit 0\n$", out)
  end)

  it_does("stops the library in a coroutine", function()
    local out = run [[
      berth.catch_interrupts(true)
      local kept = later()
      print(coroutine.wrap(function() return berth.place(big, t, "critical-path", endless) end)())
      print(1 + 1)]]
    assert.matches("^nil\tinterrupted\tinterrupted\n2\nexit 0\n$", out)
  end)

  it_does("stops a policy, whose error comes out", function()
    local out = run [[
      berth.catch_interrupts(true)
      local function device(op)
        if op == 10 then now() end
        return 1
      end
      print(pcall(berth.place, big, t, { device = device }))
      print(#berth.place(big, t, "single"))]]
    assert.matches("^false\t[^\n]*interrupted\n2000\nexit 0\n$", out)
  end)

  it_does("stops a batch on threads", function()
    local out = run [[
      berth.catch_interrupts(true)
      local rows, p = {}, berth.place(big, t, "random")
      for i = 1, 2000 do rows[i] = p end
      local kept, r, text, code = later(), nil, nil, nil
      repeat
        r, text, code = berth.simulate_batch(big, t, rows, { threads = 3, links = "channel" })
      until not r
      print(r, text, code)]]
    assert.is_truthy(out == "nil\tinterrupted\tinterrupted\nexit 0\n"
      or out:find(":%d+: interrupted\n"), out)
  end)

  it_does("leaves somebody else's debug hook as it was", function()
    local out = run [[
      local lines = 0
      local function count() lines = lines + 1 end
      debug.sethook(count, "l")
      berth.catch_interrupts(true)
      pcall(now)
      local hook, mask = debug.gethook()
      debug.sethook()
      print(hook == count, mask)]]
    assert.equal("true\tl\nexit 0\n", out)
  end)

  it_does("goes to the former handler afterwards", function()
    -- that of the stand-alone interpreter, which raises "interrupted!"
    local out = run [[
      berth.catch_interrupts(true)
      print(berth.catch_interrupts(false), berth.catch_interrupts(false))
      print(pcall(now))]]
    assert.matches("^true\tfalse\nfalse\t[^\n]*interrupted!\nexit 0\n$", out)
  end)

  it_does("goes to the former handler the third time that no hook takes it", function()
    local out = run [[
      berth.catch_interrupts(true)
      -- The first signal is sent when closing has begun: no hook takes it until that is over.
      local shell = io.popen("read line; . spec/support/until_busy.sh; "
        .. "for i in 1 2 3; do kill -INT $PPID; until_handled $PPID; done", "w")
      print(pcall(function() shell:close() end))]]
    assert.matches("^false\t[^\n]*interrupted!\n", out)
  end)

  it_does("is given back when the state is closed", function()
    local out = run [[
      berth.catch_interrupts(true)
      os.exit(0, true)]]
    assert.equal("exit 0\n", out)
  end)

  it("wants true or false", function()
    local berth = require "berth"
    raises("berth.catch_interrupts: yes: expected true or false, got number",
      berth.catch_interrupts, 1)
  end)
end)

describe("the command line", function()
  after_each(function()
    for _, path in ipairs(paths) do os.remove(path) end
    paths = {}
  end)

  it_does("ends with 130 when it is interrupted", function()
    local out = run [[
      local kept = later()
      local main = require "berth.cli.main"
      os.exit(main.run { "place", "model:resnet18,batch=1", "mesh:2,preset=V100", "--placer",
        "critical-path", "--tries", "1000000000" })]]
    assert.equal("berth: interrupted\nexit 130\n", out)
  end)

  it_does("ends a prompt that reads a pipe", function()
    local input = file(PRELUDE:gsub("local ", "") .. 'print("ready")\nlater()\n'
      .. 'berth.place(big, t, "critical-path", endless)\nprint("too far")\n')
    local out =
      capture(environment() .. default .. "scripts/berth repl < " .. input .. " 2>&1; echo exit $?")
    assert.matches("ready\n.*nil\ninterrupted\ninterrupted\nexit 130\n$", out)
    assert.is_nil(out:find("too far", 1, true))
  end)

  it_does("ends a prompt that reads a pipe in the midst of Lua code", function()
    local input = file(PRELUDE:gsub("local ",
      "") .. 'later()\nx = 0 while true do x = x + 1 end\nprint("too far")\n')
    local out =
      capture(environment() .. default .. "scripts/berth repl < " .. input .. " 2>&1; echo exit $?")
    assert.matches("error: input:1: interrupted\nexit 130\n$", out)
  end)
end)

-- ---- on a terminal --------------------------------------------------------

-- Writes a word, in two parts here, when what comes after it on the line has been busy for a while.
local BUSY =
  "kept = io.popen('. spec/support/until_busy.sh; until_busy $PPID 10; echo %s\"\"%s > /dev/tty') "

describe("the prompt on a terminal", function()
  after_each(function()
    for _, path in ipairs(paths) do os.remove(path) end
    paths = {}
  end)

  it_does("clears the line, or stops what runs, and goes on", function()
    if not terminal.there() then return pending("no script(1) to make a terminal") end
    local out = terminal.typed("scripts/berth repl", {
      { "", 1 },
      { "abandoned ", "abandoned" },
      { "\\003", 2 },
      { "1000 + 1\\n", "1001" },
      { BUSY:format("loop", "ing") .. "while true do end\\n", "looping" },
      { "\\003", "input:1: interrupted" },
      { "for i = 1, 3 do\\n", ">> " },
      { "\\003", 5 },
      { "2000 + 2\\n", "2002" },
      { "ops = {}; for i = 1, 2000 do ops[i] = { seconds = i } end\\n", 7 },
      { "g, t = berth.graph { ops = ops }, berth.topology.mesh(4); print(#g)\\n", "2000" },
      { BUSY:format("plac", "ing") .. "berth.place(g, t, 'critical-path', { tries = 1e9 })\\n",
        "placing" },
      { "\\003", "nil\ninterrupted\ninterrupted" },
      { "3000 + 3\\n", "3003" },
    }, environment() .. default)
    assert.is_nil(out:find("no answer", 1, true), out)
    for _, answer in ipairs { "\n1001\n", "\n2002\n", "\n3003\n" } do
      assert.truthy(out:find(answer, 1, true), out)
    end
    assert.is_nil(out:find("syntax error", 1, true), out)
    assert.is_nil(out:find("near 'abandoned'", 1, true), out)
  end)
end)
