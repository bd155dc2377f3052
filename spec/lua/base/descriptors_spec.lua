-- Descriptors of options: each is sound, and each option struct of a public header has its table.
local berth = require "berth"
local core = require "berth.core"
local legal_options = require "berth.base.options"

-- Options that have to be given, so that the default of the struct is no legal value.
local REQUIRED = { ["deploy.problem batch"] = true }
local NUMBERS = { whole = true, number = true }

local function each(f)
  for _, name in ipairs(core.options()) do
    for _, option in ipairs(core.options(name)) do f(name .. " " .. option.key, option, name) end
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
    for _, name in ipairs(core.options()) do
      local seen = {}
      for _, option in ipairs(core.options(name)) do
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
    for _, name in ipairs(core.options()) do
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
