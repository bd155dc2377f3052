-- berth completion: what a shell offers.
local completion = require "berth.cli.completion"
local registry = require "berth.place.registry"
local shell = require "support.shell"

local ran = shell.ran

local unpack = rawget(table, "unpack") or rawget(_G, "unpack")

local function quoted(text) return "'" .. text:gsub("'", "'\\''") .. "'" end

local function output(program, script, ...)
  local words = { program, script }
  for _, word in ipairs { ... } do words[#words + 1] = quoted(word) end
  local text = shell.capture(table.concat(words, " ") .. " 2>&1")
  return text
end

local function installed(program)
  local done = os.execute(program .. " -c true >/dev/null 2>&1") -- LuaJIT gives an exit code
  return done == true or done == 0
end

describe("berth completion", function()
  local script

  setup(function()
    script = shell.file(".bash", select(2, shell.run("completion", "bash")) .. [[

COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_berth
printf '%s\n' "${COMPREPLY[@]}"
]])
  end)

  teardown(function() shell.tidy() end)

  -- What bash offers behind these words, of which the last one is to be completed; a set.
  local function offered(...)
    local out = {}
    for line in output("bash", script, "berth", ...):gmatch "[^\n]+" do out[line] = true end
    return out
  end

  local function set(...)
    local out = {}
    for _, word in ipairs { ... } do out[word] = true end
    return out
  end

  it("offers commands, and kinds of them", function()
    assert.same(set("place"), offered "pla")
    assert.same(set("check", "compare", "convert", "cluster", "completion"), offered "c")
    assert.same(set("--version"), offered "--v")
    assert.is_true(offered("train", "")["doppler"])
    assert.same(set("schedule", "simulate", "split"), offered("help", "s"))
    assert.same(set("resnet50", "resnet34", "resnet18", "resnet101", "resnet152"),
      offered("models", "resnet"))
    assert.same(set("zsh"), offered("completion", "z"))
  end)

  it("offers options, those of a kind too", function()
    assert.same(set("--placer", "--placed-graph"), offered("place", "g.json", "--place"))
    assert.same(set("--games"), offered("train", "tag", "--ga"))
    assert.same(set("--engine", "--engine-seconds"), offered("train", "gdp", "--eng"))
    assert.same({}, offered("place", "--games"))
  end)

  it("offers names of choices, in lists as well", function()
    assert.same(set(unpack(registry.forms)), offered("place", "g.json", "--placer", ""))
    assert.same(set("heft"), offered("place", "--placer", "=", "he"))
    assert.same(set("duplex"), offered("simulate", "--links", "d"))
    assert.same(set("srtf", "srtf-2d"), offered("cluster", "f.csv", "--scheduler", "sr"))
    assert.same(set("light-class", "light-first"),
      offered("simulate", "--dispatch", "light"))
    assert.same(set("graphml"), offered("convert", "a", "b", "--to", "graphm"))
    assert.same(set("single,heft"), offered("compare", "g", "--placers", "single,he"))
    assert.same({}, offered("place", "--seed", ""))
  end)

  it("offers variants of placers, where bash ends words at colons", function()
    assert.is_true(offered("place", "--placer", "m-s")["m-sct:baechi-tf"])
    assert.same(set("baechi-tf"), offered("place", "g", "--placer", "m-sct", ":", "baechi-t"))
    assert.same(set("baechi-tf"), offered("place", "g", "--placer", "=", "m-sct", ":", "baechi-t"))
    assert.same(set("baechi-tf"), offered("compare", "g", "--placers", "single,m-sct", ":",
      "baechi-t"))
    assert.same(set("baechi-tf,single"), offered("compare", "g", "--placers", "m-sct", ":",
      "baechi-tf,singl"))
    assert.same(set("resnet101"), offered("place", "model", ":", "resnet101"))
  end)

  it("offers built-in models and generators of topologies where they are taken", function()
    assert.same(set("model:resnet18"), offered("place", "model:resnet18"))
    assert.same(set("model:resnet18"), offered("convert", "model:resnet18"))
    assert.same(set("torus:4x4"), offered("simulate", "g.json", "tor"))
    assert.same(set("torus:4x4"), offered("train", "gdp", "g.json", "--topology", "tor"))
    assert.is_nil(offered("convert", "")["torus:4x4"])
    assert.is_nil(offered("models", "")["model:resnet18"])
  end)

  it("offers files where a file is taken", function()
    local file = shell.file(" with blanks.json", "{}")
    for _, words in ipairs { { "place" }, { "place", "--output" },
      { "simulate", "g", "--placement" },
      { "place", "--output", "=" } } do
      words[#words + 1] = file:sub(1, -4)
      assert.same(set(file), offered(unpack(words)))
    end
    assert.same({}, offered("place", "--seed", file:sub(1, -4)))
  end)

  it("covers all options and choices of all commands", function()
    local commands, n = require "berth.cli.command_list", 0
    local rows = {}
    for _, row in ipairs(completion.rows()) do
      assert.is_nil(rows[row.key], row.key)
      rows[row.key] = row
    end
    for _, name in ipairs(commands.names) do
      for _, option in ipairs(commands.find(name, {}).options) do
        local value = rows[name .. " --" .. option.name]
        assert.equal(option.kind ~= "flag", value ~= nil, name .. option.name)
        if option.kind == "choice" then assert.is_true(#value.words > 0, option.name) end
        n = n + 1
      end
    end
    assert.is_true(n > 200)
  end)

  for _, program in ipairs { "bash", "zsh", "fish" } do
    it("prints a script that " .. program .. " reads", function()
      if not installed(program) then return pending(program .. " is not installed") end
      local text = ran(shell.run("completion", program))
      assert.equal("", output(program .. " -n", shell.file("." .. program, text .. "\n")))
    end)
  end

  it("refuses other shells", function()
    local exit, _, err = shell.run("completion", "tcsh")
    assert.same({ 2, 'berth: completion: no "tcsh" (legal: bash, zsh, fish)' }, { exit, err })
  end)
end)
