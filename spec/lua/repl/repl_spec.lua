-- The prompt: output, errors, input over several lines, completion and explanations.
local berth = require "berth"
local help = require "berth.help"
local inspect = require "berth.repl.inspect"
local repl = require "berth.repl"

-- Runs lines through the prompt; returns output, errors, prompts, and how many chunks failed.
local function session(lines)
  local out, err, prompts, i = {}, {}, {}, 0
  local failed = repl.loop {
    read = function(prompt)
      prompts[#prompts + 1] = prompt
      i = i + 1
      return lines[i]
    end,
    write = function(s) out[#out + 1] = s end,
    write_error = function(s) err[#err + 1] = s end,
  }
  return table.concat(out), table.concat(err), prompts, failed
end

describe("repl", function()
  it("prints the value of an expression", function()
    assert.equal("2\n", (session { "1 + 1" }))
    assert.equal("3\n", (session { "= 3.0" }))
    assert.equal("0.5\n", (session { "1 / 2" }))
    assert.equal("\"a\\nb\"\n", (session { "'a\\nb'" }))
    assert.equal("", (session { "x = 5" }))
    assert.equal("", (session { "", "   ", "nothing = nil" }))
  end)

  it("prints every result, and a failure as nil, message, code", function()
    assert.equal("1\n\"two\"\n", (session { "1, 'two'" }))
    assert.equal("nil\nno such thing\ninvalid\n", (session { "nil, 'no such thing', 'invalid'" }))
  end)

  it("keeps globals and the last value, and leaves the program's globals alone", function()
    assert.equal("12\n24\n", (session { "x = 12", "x", "_ * 2" }))
    assert.is_nil(rawget(_G, "x"))
  end)

  it("reads on until a chunk is whole", function()
    local out, _, prompts = session { "for i = 1, 2 do", "print_me = i", "end", "print_me" }
    assert.equal("2\n", out)
    assert.same({ "> ", ">> ", ">> ", "> ", "> " }, prompts)
    assert.equal("\"a\\nb\"\n", (session { "[[a", "b]]" }))
  end)

  it("goes on after errors", function()
    local out, err, _, failed = session { "error('boom', 0)", "1 +* 2", "berth.graph(5)",
      "nothing.at_all", "7" }
    assert.equal("7\n", out)
    assert.truthy(err:find("error: boom", 1, true))
    assert.truthy(err:find("nothing", 1, true))
    assert.equal(4, failed)
  end)

  it("blames the line that was typed", function()
    local _, err = session { "berth.compare(5)", "berth.models.bert { size = 'huge' }",
      "x = berth.place(1, 2)",
      "berth.topology.mesh(2).naem", "berth.graph(5) -- no", "for i = 1, 2 do", "berth.graph(i)",
      "end" }
    local lines = {}
    for line in err:gmatch("[^\n]+") do lines[#lines + 1] = line:match("^error: (input:%d+): ") end
    assert.same({ "input:1", "input:1", "input:1", "input:1", "input:1", "input:2" }, lines)
    assert.equal("3\n", (session { "1 + 2 -- three" }))
    assert.equal("", (session { "-- nothing" }))
    assert.equal("1\nnil\n2\nnil\n", (session { "1, nil, 2, nil" }))
  end)

  it("shows error values that are no strings", function()
    local _, err = session { "error({ code = 3 })" }
    assert.equal("error: { code = 3 }\n", err)
  end)

  it("complains about an unfinished chunk at the end", function()
    local _, err, _, failed = session { "for i = 1, 2 do" }
    assert.truthy(err:find("unfinished", 1, true))
    assert.equal(1, failed)
  end)

  it("prints objects by their own line", function()
    local out = session { "berth.topology.mesh(2)",
      "berth.models.resnet { depth = 18, batch = 1 }" }
    assert.truthy(out:find("^topology \"mesh 2\": 2 devices"), out)
    assert.truthy(out:find("\ngraph \"resnet18\": 208 ops"), out)
  end)

  it("completes names, fields and methods", function()
    local env = repl.environment()
    local small = setmetatable({ berth = { models = {}, place = 1 } }, { __index = _G })
    assert.same({ "berth.models" }, repl.candidates(small, "berth.mod"))
    assert.same({ "repeat" }, repl.candidates(env, "repe"))
    assert.same({ "tostring" }, repl.candidates(env, "tostr"))
    assert.same({ "string.gsub" }, repl.candidates(env, "string.gs"))
    env.t = berth.topology.mesh(2)
    assert.same({ "t:device", "t:devices" }, repl.candidates(env, "t:dev"))
    assert.same({ "t.n_devices" }, repl.candidates(env, "t.n_d"))
    assert.same({}, repl.candidates(env, "nothing.at.all."))
    assert.same({}, repl.candidates(env, "t.x.y."))
    assert.same({ "t:close" }, repl.candidates(env, "t:cl"))
    for _, word in ipairs { ".", ".na", ":", "t..", "t:device.", "5.", "1.pri", ")." } do
      assert.same({}, repl.candidates(env, word), word)
    end
    assert.same({}, repl.candidates(env, "", "t:device(1)"))
    assert.is_true(#repl.candidates(env, "", "x = ") > 0)
  end)
end)

describe("inspect", function()
  it("shows tables in a fixed order, nested to a depth, long arrays in short", function()
    assert.equal("{ 1, 2, a = { b = {...} }, [\"two words\"] = true }",
      inspect.show({ 1, 2, a = { b = { c = 1 } }, ["two words"] = true }, 2))
    local long = {}
    for i = 1, 100 do long[i] = i end
    assert.equal("{ 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, ... (100 items) }", inspect.show(long))
    assert.equal("{}", inspect.show {})
    local named = {}
    for i = 1, 48 do named["k" .. i] = i end
    assert.is_nil(inspect.show(named):find("...", 1, true))
    named.k49 = 49
    assert.matches("%.%.%. %(49 keys%)", inspect.show(named))
  end)

  it("survives cycles and odd keys", function()
    local t = {}
    t.self = t
    assert.equal("{ self = <above> }", inspect.show(t))
    assert.equal("{ [1.5] = 2, [true] = 1 }", inspect.show { [true] = 1, [1.5] = 2 })
  end)

  it("writes numbers the same way everywhere", function()
    local shown = {}
    for i, x in ipairs { 3.0, 2 ^ 40, 0.1, 1e300, -1.5, math.huge, -math.huge } do
      shown[i] = inspect.number(x)
    end
    assert.same({ "3", "1099511627776", "0.1", "1e+300", "-1.5", "inf", "-inf" }, shown)
    assert.equal("nan", inspect.number(0 / 0))
  end)
end)

describe("help", function()
  it("covers functions, modules, objects and words", function()
    assert.truthy(tostring(help(berth.place)):find("berth.place(g, t, placer, options)", 1, true))
    assert.truthy(tostring(help(berth.models)):find("models.resnet", 1, true))
    assert.truthy(tostring(help(berth.topology.ring)):find("berth.topology.ring", 1, true))
    assert.truthy(tostring(help(berth.topology.mesh(2))):find("topology:device", 1, true))
    assert.truthy(tostring(help "policy"):find("placer of your own", 1, true))
    assert.truthy(tostring(help "berth.simulate"):find("berth.simulate", 1, true))
    assert.truthy(tostring(help()):find("functions of berth", 1, true))
    assert.truthy(tostring(help "lnk"):find("nothing under", 1, true))
    assert.truthy(tostring(help(print)):find("no help for this function", 1, true))
    assert.truthy(tostring(help(nil)):find("that is nil", 1, true))
    local t = berth.topology.mesh(2)
    assert.equal(tostring(help "topology:link"), tostring(help(t.link)))
    assert.truthy(tostring(help(t.close)):find("topology:close", 1, true))
    assert.truthy(tostring(help(berth.rng(1).below)):find("r:below(n)", 1, true))
    assert.equal(tostring(berth.help "place"), tostring(help(berth.place)))
  end)

  it("names the source of a placer, if it has one, and lists methods by name", function()
    local rules = require "berth.help.rules"
    assert.truthy(tostring(help "heft"):find("\n  source: Topcuoglu, Hariri, Wu 2002\n", 1, true))
    for _, p in ipairs(rules.placers) do
      local _, count = tostring(help(p.name)):gsub("source:%s*\n", "")
      assert.equal(0, count, p.name)
    end
    assert.truthy(tostring(help "topology"):find("\n  topology:device ", 1, true))
    assert.falsy(tostring(help()):find("topology:device", 1, true))
    assert.falsy(tostring(help()):find("models.resnet ", 1, true))
  end)

  it("covers every placer, every variant and every value of an option", function()
    local rules = require "berth.help.rules"
    for _, placer in ipairs(berth.placers()) do
      assert.truthy(tostring(help(placer)):find('placer "' .. placer .. '"\n  ', 1, true), placer)
      for _, variant in ipairs(berth.placers(placer)) do
        assert.truthy(tostring(help(placer)):find('placer "' .. placer .. '", variant "' .. variant
          .. '"', 1, true), variant)
      end
    end
    local g, t = berth.graph { ops = { { seconds = 1 } } }, berth.topology.mesh(1)
    local function legal(option, call)
      local _, text = pcall(call, { [option] = "?" })
      return text:match("is none of: (.+)$") or text:match("unknown preset.-%((.-)%)")
    end
    local function simulate(o) return berth.simulate(g, t, { 1 }, o) end
    local function place(o) return berth.place(g, t, "heft", o) end
    for _, option in ipairs { "links", "dispatch", "memory", "send", "order", "preset",
      "averages" } do
      local count = 0
      for name in legal(option, option == "averages" and place or simulate):gmatch("[%w-]+") do
        count = count + 1
        assert.truthy(tostring(help(name)):find(("option %s = %q"):format(option, name), 1, true),
          option .. " " .. name)
        assert.truthy(tostring(help(option)):find("\n  " .. name .. " ", 1, true), name)
      end
      for _, value in ipairs(rules.values) do
        count = count - (value.option == option and 1 or 0)
      end
      assert.equal(0, count, option)
    end
  end)

  it("says what every field of a result means", function()
    local text = tostring(help "result")
    for _, name in ipairs(help.fields "result") do
      assert.truthy(text:find("\n  " .. name .. "  +%S"), name)
    end
    assert.truthy(text:find("\n  makespan +s: "))
    assert.truthy(text:find("\nmethods:\n", 1, true))
  end)

  it("has a text for every public function", function()
    local known = {}
    for _, topic in ipairs(help.topics) do known[topic[1]] = true end
    for name, value in pairs(berth) do
      if type(value) == "function" or name == "topology" then
        assert.is_true(known[name] or false, name)
      end
    end
    for name in pairs(berth.topology) do
      assert.is_true(known["topology." .. name] or false, name)
    end
    for name in pairs(berth.models) do assert.is_true(known["models." .. name] or false, name) end
    for name in pairs(berth.agents) do assert.is_true(known["agents." .. name] or false, name) end
    for _, name in ipairs { "agents.ranks", "mpi" } do
      assert.is_true(known[name] or false, name)
    end
  end)

  it("names methods and fields that objects have", function()
    local g = berth.graph { ops = { { seconds = 1 }, { seconds = 2 } }, edges = { { 1, 2, 8 } } }
    local t = berth.topology.mesh(2)
    local c = berth.cost(g, t)
    local p = berth.place(c, "etf")
    local objects = { graph = g, topology = t, cost = c, placement = p,
      result = berth.simulate(c, p), rng = berth.rng(1) }
    for class, object in pairs(objects) do
      assert.equal(class, help.class(object))
      for _, name in ipairs(help.methods(class)) do
        assert.equal("function", type(object[name]), class .. ":" .. name)
      end
      for _, name in ipairs(help.fields(class)) do
        assert.is_true((pcall(function() return object[name] end)))
        assert.not_equal("function", type(object[name]), class .. "." .. name)
      end
    end
  end)

  it("names functions that exist, and shows examples that compile", function()
    local load_text = rawget(_G, "loadstring") or load
    for _, topic in ipairs(help.topics) do
      if topic[4] then
        assert.is_not_nil(load_text("return " .. topic[4]) or load_text(topic[4]), topic[4])
      end
      local path = topic[2]:match("berth%.([%w_%.]+)%s*[%({]")
      local value = path and berth
      for part in (path or ""):gmatch("[^.]+") do value = value[part] end
      assert.is_not_nil(path and value or true, topic[1])
    end
  end)
end)
