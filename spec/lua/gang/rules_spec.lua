-- Names, options, help and docs/cluster.md follow from one descriptor per gang rule.
local berth = require "berth"
local core = require "berth.core"
local described = require("berth.base.options").described
local raised = require("support.errors").raised
local read = require("support.shell").read

local rules = core.gang_rules()

local function count(text, part)
  local n, at = 0, 1
  while true do
    local from, to = text:find(part, at, true)
    if not from then return n end
    n, at = n + 1, to + 1
  end
end

-- Keys that the descriptor of a rule names.
local function keys_of(rule)
  local keys = { "seed" }
  for key in rule.reads:gmatch "%S+" do keys[#keys + 1] = key end
  return keys
end

describe("gang rules", function()
  it("are listed once each, with a name, a text and options that there are", function()
    local seen = {}
    for _, rule in ipairs(rules) do
      assert.is_nil(seen[rule.name])
      seen[rule.name] = true
      assert.is_true(#rule.text > 0)
      local keys = {}
      for _, o in ipairs(rule.options) do keys[o.key] = true end
      for key in rule.reads:gmatch "%S+" do
        assert.is_true(keys[key], rule.name .. " reads " .. key)
      end
    end
  end)

  it("are the schedulers of berth.cluster, in help and in docs", function()
    local names, document = {}, read("docs/cluster.md"):gsub("\n  ", " ")
    for i, rule in ipairs(rules) do names[i] = rule.name end
    table.sort(names)
    assert.same(names, berth.cluster.schedulers)
    for _, rule in ipairs(rules) do
      local item = ("\n- `%s`: %s"):format(rule.name, rule.text)
      assert.equal(1, count(document, item), rule.name)
      local help = tostring(berth.help(rule.name))
      assert.matches('option scheduler = "' .. rule.name .. '"', help, 1, true)
    end
  end)

  it("are at the command line, but those that need speeds of jobs", function()
    local lines = {}
    local function write(line) lines[#lines + 1] = line end
    require("berth.cli.main").run({ "cluster", "--help" }, { write = write })
    local text = table.concat(lines, "\n")
    for _, rule in ipairs(rules) do
      local speeds = false
      for _, o in ipairs(rule.options) do speeds = speeds or o.key == "speeds" end
      assert.equal(speeds and 0 or 1, count(text, ("\n  %-10s "):format(rule.name)), rule.name)
    end
    for _, o in ipairs(described "cluster.simulate") do
      local known = o.key == "types" or o.type == "numbers" or o.type == "choice"
      if known then assert.equal(1, count(text, "\n  --" .. o.key .. " "), o.key) end
    end
  end)

  it("refuse options of others by name, and list their own", function()
    local pool = { machines = 1, capacity = 1, slot = 1 }
    for _, rule in ipairs(rules) do
      local own = keys_of(rule)
      local legal = {}
      for _, key in ipairs(own) do legal[key] = true end
      for _, o in ipairs(described "cluster.simulate") do
        if not legal[o.key] then
          local fine, text = pcall(berth.cluster.simulate, {}, pool, rule.name, { [o.key] = 1 })
          assert.is_false(fine)
          local expected = ("unknown option '%s' (legal: %s)"):format(o.key,
            table.concat(own, ", "))
          assert.matches(expected, text, 1, true)
        end
      end
    end
  end)

  it("take values in range", function()
    local function refuses(name, opts, expected, jobs)
      local pool = { machines = 1, capacity = 1 }
      assert.matches(expected, raised(berth.cluster.simulate, jobs or {}, pool, name, opts),
        1, true)
    end
    refuses("las", { promote = 0 }, "promote: expected a finite number above 0, got 0")
    refuses("las", { tick = -1 }, "tick: -1 is negative")
    refuses("las", { limits = { 1, -3 } }, "limits[2]: expected a finite number from 0, got -3")
    refuses("las", { limits = { "x" } }, "limits[1]: expected a number, got string")
    refuses("las-2d", { limits = 3 }, "limits: expected an array, got number")
    refuses("las-2d", { published = 1 }, "published: expected true or false, got number")
    refuses("pollux", { power = 2 }, "power: expected a finite number of at most 1, got 2")
    refuses("gavel", { goal = "best" },
      "'best' is none of: max-min, makespan, finish-time, max-sum, fifo")
    refuses("fifo", { placement = "near" }, "'near' is none of: any, consolidate, spread, skewed")
    refuses("fifo", { rate = 1 }, "rate: expected a function, got number")
    refuses("optimus", {}, "trace[1].speeds[2]: expected a finite number not below 0, got -1",
      { { arrival = 0, work = 1, speeds = { 1, -1 } } })
  end)
end)
