-- Descriptors of options: each is sound, and each option struct of a public header has its table.
local berth = require "berth"
local help = require "berth.help"
local legal_options = require "berth.base.options"
local shell = require "support.shell"

-- Options that have to be given, so that the default of the struct is no legal value.
local REQUIRED = { ["deploy.problem batch"] = true }
local NUMBERS = { whole = true, number = true }

local function each(f)
  for _, name in ipairs(legal_options.described()) do
    for _, option in ipairs(legal_options.described(name)) do
      f(name .. " " .. option.key, option, name)
    end
  end
end

-- The number that a default in words of numbers is; nil: others.
local function number_of(option)
  if NUMBERS[option.type] then return tonumber(option.default) end
  return nil
end

local function in_range(option, x)
  local low, high = option.low or 0, option.high or math.huge
  return x >= low and x <= high and not (option.above and x == low)
end

describe("descriptors", function()
  it("have a text without a full stop, and a default", function()
    each(function(where, option)
      assert.is_true(#option.text > 1 and not option.text:find("%.$")
        and not option.text:find("  "), where)
      assert.is_true(type(option.default) == "string" and #option.default > 0, where)
      assert.is_true(type(option.type) == "string" and #option.type > 0, where)
    end)
  end)

  it("have each key once in a function", function()
    for _, name in ipairs(legal_options.described()) do
      local seen = {}
      for _, option in ipairs(legal_options.described(name)) do
        assert.is_nil(seen[option.key], name .. " " .. option.key)
        seen[option.key] = true
      end
    end
  end)

  it("have choices with different names and texts in sentences", function()
    each(function(where, option)
      local seen = {}
      for _, choice in ipairs(option.choices or {}) do
        assert.is_nil(seen[choice.name], where)
        assert.is_true(choice.text:find("%.$") ~= nil, where .. " " .. choice.name)
        seen[choice.name] = true
      end
      if option.type == "choice" and option.default ~= "none" then
        assert.is_true(seen[option.default] or option.default:find("[ ;]") ~= nil,
          where .. " " .. option.default)
      end
    end)
  end)

  it("have defaults within their range", function()
    each(function(where, option)
      local x = number_of(option)
      assert.is_true(not x or REQUIRED[where] or in_range(option, x),
        ("%s: %s"):format(where, option.default))
      assert.is_true(not option.high or (option.low or 0) <= option.high, where)
    end)
  end)

  it("name the functions once", function()
    local seen = {}
    for _, name in ipairs(legal_options.described()) do
      assert.is_nil(seen[name], name)
      seen[name] = true
    end
  end)
end)

describe("option structs of public headers", function()
  local files, text = io.popen("ls core/include/berth/*.h"), {}
  for path in files:lines() do
    local file = assert(io.open(path))
    text[#text + 1] = file:read("*a")
    file:close()
  end
  files:close()
  text = table.concat(text)

  it("have a default and a table of descriptors", function()
    local n = 0
    for name in text:gmatch("typedef struct berth_([%w_]-)_options {") do
      n = n + 1
      assert.is_not_nil(text:find("berth_" .. name .. "_default(", 1, true), name)
      -- those of one gang rule have theirs in berth_gang_describe
      local own = name:find("^gang_") or text:find("berth_" .. name .. "_option_table(void)",
        1, true)
      assert.is_truthy(own, name)
    end
    assert.is_true(n > 30, n)
  end)
end)

-- The text of each file with that ending below a directory, by its name there.
local function sources(directory, ending)
  local out = {}
  for path in shell.capture("find " .. directory .. " -name '*" .. ending .. "'"):gmatch "%S+" do
    out[path:sub(#directory + 2)] = shell.read(path)
  end
  return out
end

-- Is the last argument of a call a list of keys, written there or in a variable of the file?
local function is_written(call, text)
  local last = call:match "[%w_]+%)$"
  return call:find "{" ~= nil
    or last ~= nil and text:find("%f[%w_]" .. last:sub(1, -2) .. " = { \"") ~= nil
end

describe("lists of option keys", function()
  -- Tables of data have keys, too; of each file the number of its lists.
  local data = {
    ["pdors/generate.lua"] = { 2, "amounts of resources" },
    ["place/pipeline.lua"] = { 1, "a stage" },
    ["cluster/scheduler.c"] = { 1, "methods of a scheduler" },
    ["deploy/analyse.c"] = { 2, "rules of kinds and ops" },
    ["deploy/problem.c"] = { 1, "profiled points" },
    ["deploy/sfb.c"] = { 4, "ops, tensors of two kinds, gradients" },
    ["gang/elastic.c"] = { 1, "a job" },
    ["graph/graph_build.c"] = { 5, "a graph, its ops, tensors and collectives" },
    ["io/io.c"] = { 1, "parts of a file" },
    ["io/node_cost.c"] = { 1, "the cost of a node" },
    ["list/policy.c"] = { 1, "methods of a policy" },
    ["place/portfolio.c"] = { 1, "a member" },
    ["topology/generators.c"] = { 1, "a group of devices" },
    ["topology/topology.c"] = { 4, "a topology, its devices, links and routes" },
  }

  local function expect(path, n)
    assert.equal(data[path] and data[path][1] or 0, n, path .. ": declare the options instead")
  end

  it("follow from descriptors in Lua", function()
    for path, text in pairs(sources("lua/berth", ".lua")) do
      local n = 0
      for call in text:gmatch "options%.check(%b())" do
        if is_written(call, text) then n = n + 1 end
      end
      expect(path, n)
    end
  end)

  it("follow from descriptors in the binding", function()
    for path, text in pairs(sources("lua/src", ".c")) do
      local _, n = text:gsub("bl_check_keys%(", "")
      for last in text:gmatch "bl_to_entry%(([^;]*)%)[;,]" do
        if not last:find "NULL$" then n = n + 1 end
      end
      if not path:find "^base/" then expect(path, n) end
    end
  end)
end)

describe("help", function()
  it("lists the options of each function that has descriptors", function()
    for _, name in ipairs(legal_options.described()) do
      local text = tostring(help(name))
      for _, option in ipairs(legal_options.described(name)) do
        assert.truthy(text:find("\n  " .. option.key .. " ", 1, true), name .. " " .. option.key)
      end
    end
  end)

  it("knows what every module declares", function()
    local n = 0
    for path, text in pairs(sources("lua/berth", ".lua")) do
      for name in text:gmatch "%.declare%(\"([^\"]+)\"," do
        n = n + 1
        assert.is_table(legal_options.described(name), path .. ": " .. name)
      end
    end
    assert.is_true(n > 40, n)
  end)
end)

describe("a former name", function()
  local problem = { decisions = 2, actions = 2, value = function() return 0 end, evaluations = 3 }

  it("is refused with the present one", function()
    assert.error_matches(function() berth.decide(problem) end,
      "berth.decide: option 'evaluations' is now 'calls'")
    local g, t = berth.graph { ops = { { seconds = 1 } } }, berth.topology.mesh(1)
    local plan = function() berth.deploy.plan(g, t, { batch = 1, evaluations = 3 }) end
    assert.error_matches(plan, "berth.deploy.plan: option 'evaluations' is now 'calls'")
    assert.same({ evaluations = "calls", hot = "t_start", cold = "t_end" },
      legal_options.keys("decide").was)
    local refused = { decisions = 2, actions = 2, value = function() return 0 end, hot = 0.1 }
    assert.error_matches(function() berth.decide(refused) end,
      "berth.decide: option 'hot' is now 't_start'")
  end)
end)
