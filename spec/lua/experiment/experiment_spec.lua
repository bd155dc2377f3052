-- Experiments: order, files, what is left of them after kill -9, shards, means.
local berth = require "berth"
local json = require "berth.base.json"
local errors = require "support.errors"
local shell = require "support.shell"
local merged = require "support.merged"
local raised, refused, raises = errors.raised, errors.refused, errors.raises

local read = shell.read

local lua = os.getenv("BERTH_LUA") or arg[-1] or "lua5.4"

local function write(path, text)
  shell.write(path, text)
end

local path
local made = {}

-- Names of files that are removed afterwards.
local function temporary(ending)
  made[#made + 1] = os.tmpname()
  made[#made + 1] = made[#made] .. ending
  return made[#made]
end

local function lines(name)
  local list = {}
  for line in read(name):gmatch("([^\n]*)\n") do list[#list + 1] = line end
  return list
end

-- A file without its CPU seconds.
local function timeless(name) return (read(name):gsub('"cpu_s":[^,]*,', "")) end

local function small(more)
  return merged({ name = "small", grid = { size = { 1, 2 }, kind = { "a", "b" } }, seeds = 2,
    path = path,
    run = function(t) return { value = t.size * 10 + t.seed, label = t.kind } end }, more)
end

describe("berth.experiment", function()
  before_each(function() path = temporary ".jsonl" end)
  after_each(function()
    for _, name in ipairs(made) do os.remove(name) end
    made = {}
  end)

  it("runs each point with each seed in one order, and records each trial in a line", function()
    local seen, reported = {}, {}
    local e = assert(berth.experiment(small { run = function(t)
      seen[#seen + 1] = ("%d %s%.0f#%.0f"):format(t.index, t.kind, t.size, t.seed)
      assert.same({ size = t.size, kind = t.kind }, t.parameters)
      assert.equal("small", t.name)
      return { value = t.size / 3, list = { 1, 2 } }
    end, progress = function(k, n, row) reported[k] = { n, row.trial } end }))
    assert.same({ "1 a1#1", "2 a1#2", "3 a2#1", "4 a2#2", "5 b1#1", "6 b1#2", "7 b2#1",
      "8 b2#2" }, seen)
    assert.same({ 8, 8 }, reported[8])
    assert.equal("experiment small: 8 of 8 trials done, 0 failed", tostring(e))
    assert.equal(8, #lines(path))
    assert.equal(
      '{"schema":1,"experiment":"small","trial":1,"parameters":{"kind":"a","size":1},"seed":1,'
        .. '"version":"'
      .. berth.version
      .. '",' .. '"result":{"list":[1,2],"value":0.3333333333333333}}',
        timeless(path):match("^[^\n]*"))
    assert.matches('"cpu_s":[%d.e-]+,', read(path))
    assert.equal(1 / 3, e.rows[1].result.value)
  end)

  it("reads lines of before there were schema numbers, but none with another number", function()
    local calls = 0
    local study = small { run = function(t)
      calls = calls + 1
      return { value = t.size }
    end }
    assert(berth.experiment(study))
    write(path, (read(path):gsub('"schema":1,', "", 3):gsub('"schema":1,', '"schema":2,', 1)))
    assert.equal(8, #assert(berth.experiment(study)).rows)
    assert.equal(8 + 1, calls)
  end)

  it("does not run again what is there, whatever is added to the grid", function()
    local calls = 0
    local function counting(t)
      calls = calls + 1
      return { value = t.size * 10 + t.seed, label = t.kind }
    end
    local first = assert(berth.experiment(small { run = counting }))
    local again = assert(berth.experiment(small { run = counting }))
    assert.equal(8, calls)
    assert.same(first.rows, again.rows)
    assert.same({ 8, 0 }, { first.ran, again.ran })
    assert.equal(("experiment small: 8 of 8 trials done, 0 failed; 8 read from %s, 0 run now")
      :format(path), tostring(again))
    local other = { size = { 2, 3 }, kind = { "b" } }
    local more =
      assert(berth.experiment(small { run = counting, seeds = { 1, 2, 3 }, grid = other }))
    assert.equal(8 + 4, calls)
    assert.same({ 6, 4 }, { #more.rows, more.ran })
    for k, row in ipairs(more.rows) do assert.equal(k, row.trial) end
    assert.equal(12, #lines(path))
    assert(berth.experiment(small { run = counting, name = "other" }))
    assert.equal(20, calls)
  end)

  it("loses no finished trial when killed, and ends with the same file", function()
    local script, mark, whole = temporary ".lua", temporary ".mark", temporary ".jsonl"
    write(script, [[
      local berth = require "berth"
      local grid = { x = { 1, 2, 3 } }
      local o = { name = "killed", grid = grid, seeds = 4, path = arg[1] }
      function o.run(t)
        if t.index == 8 and not io.open(arg[2]) then
          io.open(arg[2], "w"):close()
          os.execute "kill -9 $PPID"
        end
        return { y = t.x * 100 + t.seed }
      end
      assert(berth.experiment(o))]])
    local command = "ASAN_OPTIONS=detect_leaks=0 %s %s %s %s >/dev/null 2>&1"
    os.execute(command:format(lua, script, path, mark))
    assert.equal(7, #lines(path))
    os.execute(command:format(lua, script, path, mark))
    os.execute(command:format(lua, script, whole, mark))
    assert.equal(12, #lines(path))
    assert.equal(timeless(whole), timeless(path))
  end)

  it("ends with the same file when killed again and again", function()
    local script, whole, finished = temporary ".lua", temporary ".jsonl", nil
    write(script, [[
      local berth = require "berth"
      local grid = { x = { 1, 2, 3 } }
      local o = { name = "killed", grid = grid, seeds = 8, path = arg[1] }
      function o.run(t)
        local till = os.clock() + 0.01
        while os.clock() < till do end
        return { y = t.x * 100 + t.seed, text = ("z"):rep(60000) }
      end
      local e = assert(berth.experiment(o))
      os.exit(#e.rows == 24 and 0 or 1)]])
    local known = 0
    for _ = 1, 8 do
      local command = ("%s %s %s >/dev/null 2>&1; echo $?"):format(lua, script, path)
      local killed = "ASAN_OPTIONS=detect_leaks=0 timeout -s KILL 0.12 "
      local pipe = assert(io.popen(killed .. command))
      finished = pipe:read("*a"):match("%d+") == "0"
      pipe:close()
      local now = io.open(path) and #lines(path) or 0
      assert.is_true(now >= known)
      known = now
      if finished then break end
    end
    if not finished then os.execute(("%s %s %s"):format(lua, script, path)) end -- on a slow machine
    os.execute(("%s %s %s"):format(lua, script, whole))
    assert.equal(24, #lines(path))
    assert.equal(timeless(whole), timeless(path))
  end)

  it("spoils no line when several processes add to one file", function()
    local script = temporary ".lua"
    write(script, [[
      assert(require("berth").experiment { name = "several", seeds = 60, path = arg[1],
        run = function(t) return { y = t.seed, text = ("z"):rep(9000) } end })]])
    local one = ("ASAN_OPTIONS=detect_leaks=0 %s %s %s & "):format(lua, script, path)
    os.execute(one:rep(3) .. "wait")
    local seen, n = {}, 0
    for _, line in ipairs(lines(path)) do
      local row = assert(json.decode(line))
      if not seen[row.seed] then n = n + 1 end
      seen[row.seed] = true
    end
    assert.equal(60, n)
  end)

  it("drops half a line and runs its trial again", function()
    assert(berth.experiment(small()))
    local text, kept = read(path), timeless(path)
    for _, cut in ipairs { 1, 2, 30, 500 } do
      write(path, text:sub(1, #text - cut))
      local e = assert(berth.experiment(small()))
      assert.equal(8, #e.rows)
      assert.equal(kept, timeless(path))
    end
    assert.is_nil(io.open(path .. ".part"))
    write(path, "{")
    assert.equal(8, #assert(berth.experiment(small())).rows)
    assert.equal(kept, timeless(path))
  end)

  it("runs trials again whose lines were damaged", function()
    assert(berth.experiment(small()))
    local all = lines(path)
    all[1], all[2], all[3] = all[1]:gsub('"result":{.*', '"result":3}'),
      all[2]:gsub('"seed":%d', '"seed":"1"'),
      all[3]:gsub('"result":{.*', '"error":3}')
    write(path, table.concat(all, "\n") .. "\n")
    local ran = {}
    local e = assert(berth.experiment(small { run = function(t)
      ran[#ran + 1] = t.index
      return { value = 1 }
    end }))
    assert.same({ 1, 2, 3 }, ran)
    assert.equal(0, e.failed)
    assert.equal(4, e:summary()[1].n + e:summary()[2].n)
  end)

  it("records errors, goes on, and runs them again only on request", function()
    local broken = true
    local function run(t)
      if not broken or t.seed == 1 then return { value = t.size } end
      if t.kind == "a" then error("no luck", 0) end
      return nil, "no room", "infeasible"
    end
    local e = assert(berth.experiment(small { run = run }))
    assert.equal(4, e.failed)
    assert.equal("no luck", e.rows[2].error)
    assert.same({ "no room", "infeasible" }, { e.rows[6].error, e.rows[6].code })
    assert.same({ 2, 1, 1 },
      { e:summary()[1].n, e:summary()[1].failed, e:summary()[1].fields.value.n })
    assert.matches('\n4 failed, the first ({"kind":"a","size":1}, seed 2): no luck\n'
      .. "retry = true runs them again", tostring(e:summary()), 1, true)
    broken = false
    assert.same(e.rows, assert(berth.experiment(small { run = run })).rows)
    e = assert(berth.experiment(small { run = run, retry = true }))
    assert.equal(0, e.failed)
    assert.equal(12, #lines(path))
    assert.equal(0, assert(berth.experiment(small { run = run })).failed)
  end)

  it("takes what is no table, or cannot be written, for an error", function()
    local e = assert(berth.experiment { name = "odd", seeds = 4, run = function(t)
      local last = { a = 1 / 0, b = 0 / 0, c = true, d = {}, ["e\n\"\\\1"] = "\t/\127" }
      return ({ 1, { f = print }, { a = { 1, x = 2 } }, last })[t.seed]
    end })
    assert.equal("run gave a number: expected a table", e.rows[1].error)
    assert.matches("\n3 failed, the first ({}, seed 1): run gave a number: expected a table",
      tostring(e:summary()), 1, true)
    assert.equal("result.f: a function cannot be recorded", e.rows[2].error)
    assert.equal("result.a: a table has to be an array, or to have names only", e.rows[3].error)
    assert.same({ c = true, d = {}, ["e\n\"\\\1"] = "\t/\127" }, e.rows[4].result)
    assert.is_nil(e.path)
  end)

  it("stops at an interrupt, which is no result", function()
    local _, text, code = berth.experiment(small { run = function(t)
      if t.index == 3 then return nil, "interrupted", "interrupted" end
      return { value = 1 }
    end })
    assert.same({ "interrupted: 2 of 8 trials are done", "interrupted" }, { text, code })
    assert.equal("interrupted",
      raised(berth.experiment, small { run = function() error("interrupted", 0) end }))
    -- lua's
    assert.matches("interrupted!$",
      raised(berth.experiment, small { run = function() error "interrupted!" end }))
    assert.equal(2, #lines(path))
  end)

  it("splits its trials among shards, each with its own file", function()
    local whole = assert(berth.experiment(small { path = temporary ".jsonl" }))
    local also = {}
    for k = 1, 3 do
      local e = assert(berth.experiment(small { shard = k .. "/3" }))
      also[k] = path:gsub("%.jsonl$", "." .. k .. "-of-3.jsonl")
      made[#made + 1] = also[k]
      assert.equal(also[k], e.path)
      for i, row in ipairs(e.rows) do assert.equal(k + 3 * (i - 1), row.trial) end
    end
    local e = assert(berth.experiment(small { also = also,
      run = function() error "nothing is left to run" end }))
    assert.equal(8, #e.rows)
    assert.equal(0, e.failed)
    for k, row in ipairs(e.rows) do assert.same(whole.rows[k].result, row.result) end
  end)

  it("gives means, deviations and Student's intervals for each point", function()
    local values = { 3, 5, 4, 8 }
    local e = assert(berth.experiment { name = "means",
      grid = { { cap = 4 }, { cap = 8, beta = "B" } }, seeds = 4,
      run = function(t) return { y = values[t.seed] * t.cap,
        ["once"] = t.index == 1 and 7 or nil } end })
    local s = e:summary()
    local y = s[1].fields.y
    assert.same({ 4, 20 }, { y.n, y.mean })
    assert.near(4 * math.sqrt(14 / 3), y.deviation, 1e-12)
    assert.near(3.182446305 * y.deviation / 2, y.half, 1e-8)
    assert.same({ y.mean - y.half, y.mean + y.half }, { y.low, y.high })
    assert.same({ n = 1, mean = 7 }, s[1].fields.once)
    assert.equal("beta  cap  trials  failed  once  y\n"
      .. "-     4    4       0       7     20 +- 14\n"
      .. "B     8    4       0       -     40 +- 27", tostring(s))
    assert.is_true(e:summary { level = 0.5 }[1].fields.y.half < y.half)
    assert.is_true(e:summary()[1].cpu_s >= 0)
  end)

  it("prints the selected fields, in that order", function()
    local e = assert(berth.experiment { name = "f", grid = { a = { 1 } },
      run = function() return { x = 1, y = 2, z = "t" } end })
    assert.equal("a  trials  failed  y  x\n1  1       0       2  1",
      tostring(e:summary { fields = { "y", "x" } }))
    for _, wrong in ipairs { { "z" }, { "none" }, 3 } do
      assert.matches("experiment:summary: fields", raised(e.summary, e, { fields = wrong }),
        1, true)
    end
  end)

  it("takes seed 1 when none is given", function()
    local function run(t) return { value = t.seed } end
    local e = assert(berth.experiment { name = "one", run = run })
    assert.equal(1, #e.rows)
    assert.equal(1, e.rows[1].seed)
  end)

  it("has the published quantiles of Student's t", function()
    local t = require("berth.experiment.student").quantile
    local want = { { 0.95, 1, 12.7062047 }, { 0.95, 2, 4.3026527 }, { 0.95, 3, 3.1824463 },
      { 0.95, 9, 2.2621572 },
      { 0.99, 4, 4.6040949 }, { 0.9, 30, 1.6972609 }, { 0.95, 1000, 1.9623391 } }
    for _, row in ipairs(want) do assert.near(row[3], t(row[1], row[2]), 1e-7) end
  end)

  it("says what is wrong", function()
    local function experiment(more) return raised(berth.experiment, small(more)) end
    raises("expected a table, got nil", berth.experiment)
    raises("name: expected a string, got nil", berth.experiment, {})
    raises("run: expected a function, got nil", berth.experiment, { name = "x" })
    assert.matches("unknown option 'sheed'", experiment { sheed = 1 })
    assert.matches("grid%.seed: a trial has that already", experiment { grid = { seed = { 1 } } })
    assert.matches("grid%.a: expected an array of values, got number",
      experiment { grid = { a = 1 } })
    assert.matches("grid%.a%[1%]: expected a finite number, a string or a boolean, got table",
      experiment { grid = { a = { {} } } })
    assert.matches("grid%[2%]: expected a table, got number", experiment { grid = { {}, 2 } })
    assert.matches("trials 1 and 3 are the same", experiment { grid = { a = { 1, 1 } } })
    assert.matches("seeds: expected how many or an array, got 0", experiment { seeds = 0 })
    assert.matches("seeds%[1%]: expected a whole number of at least 0, got 1.5",
      experiment { seeds = { 1.5 } })
    assert.matches('shard: expected "i/n" with i from 1 to n, got 3/2',
      experiment { shard = "3/2" })
    local done = berth.experiment(small())
    raises("level: expected a number between 0 and 1, got 1", done.summary, done, { level = 1 })
    write(path, '{"experiment":"small"}\n{"a":}\n')
    local e, text, code = berth.experiment(small())
    assert.is_nil(e)
    assert.same({ path .. ":2: not valid JSON here (})", "parse" }, { text, code })
    refused("io", "^/no/such/folder/a.jsonl: ",
      berth.experiment(small { path = "/no/such/folder/a.jsonl" }))
    assert.equal("io", select(3, berth.experiment(small { also = { "/no/such/file" } })))
    assert.matches("also%[1%]: expected a string, got table", experiment { also = { {} } })
  end)

  it("reads what it writes, and refuses what is no JSON", function()
    for _, text in ipairs { "[1,2.5,-3e-7]", '{"a":{"b":[true,false]},"c":"\\u0001\\n\\"\\\\"}',
      "[]", '"x"' } do
      local value = json.decode(text)
      assert.same(value, json.decode(json.encode(value)))
    end
    assert.same({ 1, 2 }, json.decode " [ 1 , 2 ] ")
    assert.equal('{"a":1,"b":[{"c":2}]}', json.encode { b = { { c = 2 } }, a = 1 })
    assert.equal("e\204\129 \195\169 \226\130\172 \240\159\152\128",
      json.decode [["e\u0301 \u00e9 \u20AC \ud83d\ude00"]])
    assert.is_nil(json.decode [["\ud83d"]])
    assert.is_table(json.decode(("["):rep(999) .. ("]"):rep(999)))
    for _, opened in ipairs { "[", '{"a":' } do
      assert.matches("^text:1: JSON is nested deeper than 1000$",
        select(2, json.decode(opened:rep(200000))))
    end
    assert.same({ a = { [2] = 1 }, b = { {}, {} } },
      json.decode '{"a":[null,1,null],"b":[[],{}],"c":null}')
    assert.equal("7 -8 0.5", table.concat(json.decode "[7, -8.0, 0.5]", " "))
    -- What is no UTF-8 becomes U+FFFD.
    assert.equal('["a\239\191\189b","\195\169\240\159\145\141","\239\191\189\239\191\189"]',
      json.encode { "a\255b", "\195\169\240\159\145\141", "\192\128" })
    local wrong = {
      { "[1", "a:1: JSON ends too early" }, { "[\n1}", "a:2: not valid JSON here (})" },
      { "{1:2}", "a:1: not" }, { "[1] 2", "not valid JSON here (2)" },
      { "", "JSON ends too early" }, { '"a', "a:1: " }, { '"\\q"', "a:1: " },
      { "nan", "not valid JSON here (nan)" }, { "[1 2]", "(2)" },
      { "0x10", "not a number of JSON (0x10)" }, { '"\255"', "not UTF-8" },
    }
    for _, case in ipairs(wrong) do
      local value, why = json.decode(case[1], "a")
      assert.is_nil(value)
      assert.is_truthy(why:find(case[2], 1, true))
    end
  end)
end)
