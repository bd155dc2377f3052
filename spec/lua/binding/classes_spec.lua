-- Classes of the binding: help has each method and field, and specs call each method.
local berth = require "berth"
local core = require "berth.core"
local help = require "berth.help"

-- Classes whose objects stay within Lua modules, which have methods of their own in their place.
local internal = {
  gang = "results of berth.cluster.simulate", pacml = "berth.pacml.env",
  problem = "berth.pdors.problem",
  ps_run = "berth.pdors.simulate", ps_policy = "berth.pdors.simulate",
}
-- What Lua adds to a class.
local added = { executor = { calibrate = true, objective = true, simulation = true } }

-- As help and help(object) name a class.
local function name_of(class) return class.key:match "^berth%.(.+)$" end

local function set(...)
  local out = {}
  for _, list in ipairs { ... } do
    for _, x in ipairs(list) do out[x] = true end
  end
  return out
end

-- Former names, which raise.
local former = { pacml_planner = { play = true } }

-- A text that a file has which makes objects of a class, if that is not the name of the class.
local made_by = {
  placement = "berth.place", result = "simulate", execution = "executor", ramp_model = "berth.ramp",
  llm_cluster = "llm.cluster", pacml_run = "env",
  pacml_planner = "planner", cluster = "cluster.new", scheduler = "pdors.scheduler",
  analysis = "analyse",
  deploy = "deploy.problem", tree = "decide", array = "nn", index = "nn", segments = "nn",
  rng = "berth.rng",
  pacml = "core.pacml", problem = "pdors", ps_run = "pdors", ps_policy = "core.ps_policy",
}

-- Each { text, calls }: the names behind a colon with arguments, x:name(...) or x:name "...", and
-- in f(x.name, x).
local function sources(folders)
  local out = {}
  local list = assert(io.popen("ls " .. folders))
  for path in list:lines() do
    local file, calls = assert(io.open(path)), {}
    local text = file:read "*a"
    file:close()
    for name in text:gmatch "[%w_%)%]}]:([%a_][%w_]*)%s*[%(\"'{%[]" do calls[name] = true end
    for name in text:gmatch "[%w_%)%]]%.([%a_][%w_]*)%s*[,%)]" do calls[name] = true end
    out[#out + 1] = { text = text, calls = calls }
  end
  list:close()
  return out
end

-- Does a file that makes objects of the class call the method?
local function is_called(files, class, method)
  for _, file in ipairs(files) do
    if file.calls[method] and file.text:find(made_by[class] or class, 1, true) then return true end
  end
  return false
end

describe("classes of the binding", function()
  it("have help for each method and field, and help has no others", function()
    local n = 0
    for _, class in ipairs(core.classes()) do
      local name = name_of(class)
      if not internal[name] then
        local methods, fields = set(help.methods(name)), set(help.fields(name))
        for _, method in ipairs(class.methods) do
          local old = former[name] and former[name][method]
          assert.is_true(old or methods[method] or false,
            ("%s:%s has no help"):format(name, method))
          n = n + 1
        end
        for _, field in ipairs(class.fields) do
          assert.is_true(fields[field] or false, ("%s.%s has no help"):format(name, field))
        end
        local there = set(class.methods, class.fields, { "close" })
        for x in pairs(added[name] or {}) do there[x] = true end
        for _, list in ipairs { methods, fields } do
          for x in pairs(list) do
            assert.is_true(there[x] or false, ("help has %s of %s, which has none"):format(x, name))
          end
        end
      end
    end
    assert.is_true(n > 200, n)
  end)

  it("have methods that specs call, and internal ones that modules call", function()
    local specs, modules, n, missing = sources "spec/lua/*/*.lua",
      sources "lua/berth/*/*.lua", 0, {}
    assert.is_true(#specs > 80 and #modules > 150)
    assert.is_false(is_called(specs, "graph", "no_such" .. "_method"))
    for _, class in ipairs(core.classes()) do
      local name = name_of(class)
      for _, method in ipairs(class.methods) do
        local called = is_called(specs, name, method) or internal[name] and is_called(modules, name,
          method)
        if not called and not (former[name] and former[name][method]) then
          missing[#missing + 1] = name .. ":" .. method
        end
        n = n + 1
      end
    end
    assert.same({}, missing)
    assert.is_true(n > 200, n)
  end)

  it("that are internal, or have additions, are there", function()
    local known = {}
    for _, class in ipairs(core.classes()) do known[name_of(class)] = class end
    for name in pairs(internal) do assert.is_not_nil(known[name], name) end
    for name, list in pairs(added) do
      local own = set(known[name].methods, known[name].fields)
      for x in pairs(list) do assert.is_nil(own[x], x) end
    end
  end)

  it("are shown by help, also of an object", function()
    local c = berth.cluster.new({ { arrival = 0, work = 5 } }, 1)
    local text = tostring(help(c))
    assert.truthy(text:find("cluster:set_rate", 1, true))
    assert.truthy(text:find("\n  now  +s: ")) -- a field
    assert.truthy(tostring(help "pacml_planner:learn"):find("explore", 1, true)) -- an option
  end)
end)
