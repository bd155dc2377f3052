-- The command line from within: what a call prints, and files that it may write.
local assert = require "luassert"
local main = require "berth.cli.main"

local unpack = rawget(table, "unpack") or rawget(_G, "unpack")
local shell = {}
local made = {}

--- The built tree that this interpreter's module comes from, if it comes from one.
for entry in package.cpath:gmatch("[^;]+") do
  shell.build = shell.build or entry:match("^(.*)/lua5%d/%?%.so$")
end

--- Whether the library was compiled to be watched: then it cannot be linked without knowing how.
function shell.instrumented()
  local symbols = shell.capture(("nm '%s/core/base/options.o' 2>&1"):format(shell.build))
  for _, name in ipairs { "asan", "tsan", "ubsan", "sanitizer", "gcov", "llvm" } do
    if symbols:find("__" .. name, 1, true) then return true end
  end
  return false
end

--- `it` for tests that run scripts/berth of the built tree; pending without one.
function shell.try(it, pending)
  return shell.build and it
    or function(name) pending(name .. ": no built tree in package.cpath", function() end) end
end

--- Runs scripts/berth with an interpreter: exit code, and all that it wrote.
function shell.process(lua, words)
  local out = shell.capture(("BERTH_BUILD=%s BERTH_LUA=%s scripts/berth %s 2>&1; echo exit $?")
    :format(shell.build, lua, words))
  return tonumber(out:match "exit (%d+)\n$"), (out:gsub("exit %d+\n$", ""))
end

--- @treturn int exit code
-- @treturn string what was written
-- @treturn string what was complained of
function shell.run(...)
  local out, err = {}, {}
  local exit = main.run({ ... }, {
    write = function(line) out[#out + 1] = line end,
    complain = function(line) err[#err + 1] = line end,
  })
  return exit, table.concat(out, "\n"), table.concat(err, "\n")
end

--- Checks the results of shell.run: exit code 0. Returns what was written.
function shell.ran(exit, out, err)
  assert.equal(0, exit, err)
  return out
end

--- Checks the results of shell.run: the exit code, and a text in the complaint. Returns what was
-- written.
function shell.failed(code, text, exit, out, err)
  assert.equal(code, exit, err)
  assert.matches(text, err, 1, true)
  return out
end

function shell.run_all(words) return shell.run(unpack(words)) end

--- The path of a file that is not there, with that ending; `shell.tidy` removes it.
function shell.path(ending)
  local path = os.tmpname()
  os.remove(path)
  made[#made + 1] = path .. (ending or "")
  return made[#made]
end

function shell.write(path, text)
  local file = assert(io.open(path, "wb"))
  file:write(text)
  file:close()
  return path
end

--- The path of a file with that text.
function shell.file(ending, text) return shell.write(shell.path(ending), text) end

--- What a command of the system shell prints.
function shell.capture(command)
  local pipe = assert(io.popen(command))
  local text = pipe:read "*a"
  pipe:close()
  return text
end

function shell.keep_in_mind(path) made[#made + 1] = path end

function shell.tidy()
  for _, path in ipairs(made) do os.remove(path) end
  made = {}
end

function shell.read(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read "*a"
  file:close()
  return text
end

--- Reads a file and removes it.
function shell.take(path)
  local text = shell.read(path)
  os.remove(path)
  return text
end

return shell
