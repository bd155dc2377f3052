-- Lua, JSON and sh blocks of README.md, docs/*.md and docs/guides/*.md run, and print what they say.
local berth = require "berth"
local blocks = require "support.blocks"
local shell = require "support.shell"
local pages = dofile "scripts/tools/pages.lua"

local build, capture, read, write = shell.build, shell.capture, shell.read, shell.write

local root = capture("pwd"):gsub("%s+$", "")

local function quote(s) return "'" .. s:gsub("'", "'\\''") .. "'" end

-- Paths of package.path hold from the project's directory; the blocks run in another.
local function absolute(list)
  return (list:gsub("[^;]+", function(entry) return entry:sub(1, 1) == "/" and entry
    or root .. "/" .. entry end))
end

local lua = os.getenv("BERTH_LUA") or arg[-1] or "lua5.4"
local scratch

local function environment()
  return table.concat({
    "LUA_PATH=" .. quote(absolute(package.path)), "LUA_CPATH=" .. quote(absolute(package.cpath)),
    "BERTH_LUA=" .. quote(lua),
    "BERTH_BUILD=" .. quote(build and absolute(build) or ""), "ASAN_OPTIONS=detect_leaks=0",
  }, " ")
end

-- Runs a command in the scratch directory; its output, errors included, and whether it ended with
-- 0.
local function run(command)
  local out = capture(("cd %s && { %s %s; } 2>&1; echo exit $?"):format(quote(scratch),
    environment(), command))
  return out:gsub("exit %d+\n$", ""), out:match("exit (%d+)\n$") == "0"
end

local documents = {}
for path in capture("find README.md CONTRIBUTING.md docs -name '*.md' | sort"):gmatch("%S+") do
  documents[#documents + 1] = path
end

-- Pages whose shell blocks run whole, with their output; and the tree that runs them.
local taught = {}
for _, path in ipairs(pages.list()) do taught[path] = true end

local function tree()
  local path = absolute(build)
  return { root = root, build = path, lua = lua,
    modules = path .. (rawget(_G, "_VERSION") == "Lua 5.4" and "/lua54" or "/lua51") }
end

describe("the documents", function()
  before_each(function() scratch = capture("mktemp -d"):gsub("%s+$", "") end)
  after_each(function() os.execute("rm -r " .. quote(scratch)) end)

  local legal = { lua = true, ["lua sketch"] = true, json = true, sh = true, text = true }

  for _, path in ipairs(documents) do
    local list = blocks.of(read(path))

    it("say of every block what it is: " .. path, function()
      for _, block in ipairs(list) do
        local words = table.concat(block.words, " ")
        assert.is_true(legal[words] or taught[path] and (words == "text output"
          or pages.file_name(block) ~= nil) or false,
          ("%s:%d: a block of kind %q"):format(path, block.line, words))
      end
    end)

    for _, block in ipairs(blocks.those(list, "lua sketch")) do
      it(("show Lua that compiles: %s:%d"):format(path, block.line), function()
        local compile = rawget(_G, "loadstring") or load
        assert.is_function(compile(block.text))
      end)
    end

    local code = blocks.those(list, "lua")
    if #code > 0 then
      it("show Lua that runs, and prints what it says: " .. path, function()
        local texts, promises = {}, {}
        for i, block in ipairs(code) do
          texts[i] = block.text
          for _, promise in ipairs(blocks.promises(block.text)) do
            promises[#promises + 1] = promise
          end
        end
        write(scratch .. "/block.lua", table.concat(texts, "\n"))
        local out, ok = run(quote(lua) .. " block.lua")
        assert.is_true(ok, out)
        local at = 1
        for _, promise in ipairs(promises) do
          local _, last = out:find(promise, at, true)
          assert.is_truthy(last, ("%s: %q is not printed, but:\n%s"):format(path, promise, out))
          at = last + 1
        end
      end)
    end

    for _, block in ipairs(blocks.those(list, "json")) do
      it(("show files that can be placed and simulated: %s:%d"):format(path, block.line), function()
        local g, t, p = berth.parse(block.text, { name = path })
        assert.is_truthy(g, t)
        assert.is_truthy(t, "no topology")
        assert(berth.simulate(g, t, assert(berth.place(g, t))))
        if p then assert(berth.simulate(g, t, p)) end
        for _, name in ipairs(berth.placers()) do
          if name ~= "single" then assert(berth.place(g, t, name)) end
        end
      end)
    end

    if taught[path] and #blocks.those(list, "sh") > 0 then
      it("have no figure in the text that no block has: " .. path, function()
        local texts = {}
        for i, block in ipairs(list) do texts[i] = block.text end
        local shown, prose = table.concat(texts, "\n"), read(path):gsub("```.-\n```", "")
        for figure in prose:gmatch("%d[%d.]* [mu%%GMk]?[sB%%]?%f[^%w%%]") do
          assert.is_truthy(not figure:find "[sB%%]$" or shown:find(figure, 1, true)
            or shown:find(figure:gsub(" ", ""), 1, true), figure)
        end
      end)
    end

    if taught[path] and build then
      it("teach what their blocks do: " .. path, function()
        if pages.compiles(read(path)) and shell.instrumented() then
          return pending "the library is instrumented"
        end
        for _, r in ipairs(pages.run(read(path), tree(), scratch)) do
          local at = ("%s:%d"):format(path, r.line)
          assert.is_true(r.ok, at .. "\n" .. r.got)
          if r.want then assert.equal(r.want, r.got, at) end
        end
        for _, picture in ipairs(pages.pictures(read(path))) do
          assert.is_true(read(picture.path) == read(scratch .. "/" .. picture.name),
            picture.path .. " differs: scripts/docs-outputs renews it")
        end
      end)
    end

    for _, block in ipairs(taught[path] and {} or blocks.those(list, "sh")) do
      local commands = {}
      for line in block.text:gsub("\\\n%s*", ""):gmatch("[^\n]+") do
        local words = line:match("^%s*berth (.*)") or line:match("^%s*scripts/berth (.*)")
        if words then commands[#commands + 1] = { line = line, words = words } end
        local input, piped = line:match("^%s*(.+) | berth (.*)")
        if input then
          commands[#commands + 1] = { line = line, words = piped, input = input .. " | " }
        end
      end
      if #commands > 0 and build then
        it(("show commands that work: %s:%d"):format(path, block.line), function()
          for _, c in ipairs(commands) do
            local script = (c.input or "") .. "env " .. environment() .. " "
              .. quote(root .. "/scripts/berth") .. " " .. c.words
            write(scratch .. "/command.sh", script)
            local out, ok = run("sh command.sh")
            assert.is_true(ok, c.line .. "\n" .. out)
          end
        end)
      end
    end
  end

  it("have the tables that the descriptors make (scripts/docs-tables makes them anew)", function()
    package.path = "scripts/tools/?.lua;" .. package.path
    local tables = require "docs_tables"
    local count = 0
    for _, path in ipairs(documents) do
      local text = read(path)
      local renewed, n = tables.renew(text)
      assert.equal(text, renewed, path)
      count = count + n
    end
    assert.is_true(count >= 16)
  end)

  it("have the picture that the floors of the rooms make", function()
    package.path = "scripts/tools/?.lua;" .. package.path
    local picture = require("rooms_picture").draw(require "support.floors")
    assert.equal(picture, read("docs/pictures/rooms.svg"))
  end)
end)
