-- Recipes: what a newcomer adds compiles as CONTRIBUTING.md says, and works.
local shell = require "support.shell"

local read = shell.read

-- A recipe is one C file and one line of a list, which are linked with the library into a module.
-- The tree stays as it is: changed copies of the header with the list, and of the sources that
-- expand it, are in a temporary directory. A further recipe is a file here and an entry of
-- `recipes`.
local recipes = {
  {
    file = "format.c", to = "core/io/readers/pairs.c",
    list = "BERTH_I_READERS", header = "core/io/formats_internal.h", line = "X(pairs)",
    use = [[
      local text = "ops 3\n0 1 8e6\n1 2 4e6\n"
      local g = assert(berth.parse(text))
      assert(#g == 3 and g:tensor(2).bytes == 4e6)
      assert(#assert(berth.parse(text, { format = "pairs" })) == 3)
      assert(select(2, berth.parse("ops 3\n0 9 1\n")) == "text:2: op is not in 0..2")
      assert(select(2, berth.parse("{}")):find('"pairs"', 1, true))
      assert(contains(berth.formats(), "pairs"))
      assert(tostring(berth.help "pairs"):find("every op takes 1 s", 1, true))
      write("g.txt", text)
      assert(cli("convert", "g.txt", "-", "--format", "pairs", "--to", "dot"):find("digraph"))]],
  },
  {
    file = "placer.c", to = "core/place/placers/even_blocks.c",
    list = "BERTH_I_PLACERS", header = "core/place/place_internal.h", line = "X(even_blocks)",
    use = [[
      local p = assert(berth.place(chain, berth.topology.mesh(2), "even-blocks"))
      assert(table.concat(p:devices(), " ") == "1 1 2 2")
      assert(contains(berth.placers(), "even-blocks"))
      assert(berth.compare(chain, berth.topology.mesh(2), { "even-blocks" })[1].makespan > 0)
      assert(tostring(berth.help "even-blocks"):find("One block of ops", 1, true))
      assert(chain:save("g.json"))
      cli("place", "g.json", "mesh:2", "--placer", "even-blocks")]],
  },
  {
    file = "dispatch.c", to = "core/sim/dispatch/heavy_first.c",
    list = "BERTH_DISPATCHES", header = "core/include/berth/sim.h",
    line = "X(HEAVY_FIRST, heavy_first)",
    use = [[
      local two = assert(berth.graph { ops = { { seconds = 1 }, { seconds = 3 } } })
      local one = berth.topology.mesh(1)
      assert(berth.simulate(two, one, { 1, 1 }).start[2] == 1)
      assert(berth.simulate(two, one, { 1, 1 }, { dispatch = "heavy-first" }).start[2] == 0)
      assert(tostring(berth.help "heavy-first"):find("The longest op", 1, true))
      assert(two:save("g.json"))
      cli("simulate", "g.json", "mesh:1", "--placement", "single:1", "--dispatch", "heavy-first")]],
  },
  {
    file = "gang_rule.c", to = "core/gang/most.c",
    list = "BERTH_GANG_RULES", header = "core/include/berth/gang.h", line = "X(MOST, most)",
    use = [[
      local jobs = { { arrival = 0, work = 5, gpus = 1 }, { arrival = 0, work = 5, gpus = 4 } }
      local r = assert(berth.cluster.simulate(jobs, { machines = 1, capacity = 4 }, "most"))
      assert(r.records[2].start == 0 and r.records[1].start == 5)
      assert(contains(berth.cluster.schedulers, "most"))
      assert(tostring(berth.help "most"):find("most first", 1, true))]],
  },
}

-- Recipes in Lua are files of one's own: nothing is compiled.
local in_lua = {
  { file = "policy.lua", use = function(berth, policy)
    -- two chains of two ops of 1 s that take 4 bytes each: a device for each chain
    local op = { seconds = 1 }
    local g = assert(berth.graph { ops = { op, op, op, op }, edges = { { 1, 2, 4 }, { 3, 4, 4 } } })
    local t = berth.topology.mesh(2, { bandwidth = "1 B/s" })
    local p = assert(berth.place(g, t, policy))
    assert.equal("stay", p.placer)
    assert.same({ p[1], p[1] }, { p[2], 3 - p[3] })
    assert.equal(p[3], p[4])
    assert.equal(2, berth.simulate(g, t, p).makespan)
  end },
  { file = "scheduler.lua", use = function(berth, scheduler)
    -- one machine: the third job, of 1 s, overtakes the second
    local jobs = { { arrival = 0, work = 3 }, { arrival = 1, work = 5 }, { arrival = 2, work = 1 } }
    local r = assert(berth.cluster.simulate(jobs, 1, scheduler))
    assert.same({ 0, 4, 3 }, { r.records[1].start, r.records[2].start, r.records[3].start })
    assert.equal(3, r.summary.done)
  end },
}

-- What the `use` of a recipe may call.
local PRELUDE = [[
local berth = require "berth"
local op = { seconds = 1 }
local edges = { { 1, 2, 8 }, { 2, 3, 8 }, { 3, 4, 8 } }
local chain = assert(berth.graph { ops = { op, op, op, op }, edges = edges })
local function contains(list, what)
  for _, each in ipairs(list) do
    if each == what then return true end
  end
  return false
end
local function write(path, text)
  local file = assert(io.open(path, "w"))
  file:write(text)
  file:close()
end
local function cli(...)
  local out = {}
  local to = { write = function(s) out[#out + 1] = s end, complain = error }
  local code = require("berth.cli.main").run({ ... }, to)
  assert(code == 0, table.concat(out, "\n"))
  return table.concat(out, "\n")
end
]]

local function capture(command)
  local pipe = assert(io.popen(command))
  local out = pipe:read("*a")
  pipe:close()
  return out
end

local function lines(command)
  local out = {}
  for line in capture(command):gmatch("[^\n]+") do out[#out + 1] = line end
  return out
end

local function write(path, text)
  assert(os.execute(("mkdir -p '%s'"):format(path:match("^(.*)/"))))
  local file = assert(io.open(path, "w"))
  assert(file:write(text))
  file:close()
end

-- Raises with all that the command prints unless it ends with 0.
local function run(command)
  local out = capture(("{ %s ; } 2>&1; echo exit $?"):format(command))
  assert(out:match("exit 0\n$"), command .. "\n" .. out)
  return out
end

-- The text with `line` as the last one of the macro.
local function with_line(text, list, line)
  local at = assert(text:find("#define " .. list .. "(X)", 1, true), list)
  local last = text:find("[^\\]\n", at)
  return text:sub(1, last) .. " \\\n  " .. line .. text:sub(last + 1)
end

local root = capture("pwd"):gsub("%s+$", "")
local build, abi -- of the module that this interpreter loads
for entry in package.cpath:gmatch("[^;]+") do
  if not build then build, abi = entry:match("^(.*)/(lua5%d)/%?%.so$") end
end

local CC, LUA = os.getenv("CC") or "cc", os.getenv("BERTH_LUA") or arg[-1] or "lua5.4"
local FLAGS = "-std=c11 -D_POSIX_C_SOURCE=200809L -O0 -fPIC -ffp-contract=off "
  .. "-Wall -Wextra -Wshadow -pedantic -Werror"

-- Quoted includes: beside the file, then in its folder of the tree, the temporary one, the tree.
local function compile(scratch, path, object)
  local folders = ("-iquote '%s' -I'%s/core/include' -I'%s/core' -Icore/include -Icore"):format(
    path:match("^(.*)/"), scratch, scratch)
  run(("%s %s %s -c '%s/%s' -o '%s'"):format(CC, FLAGS, folders, scratch, path, object))
end

-- The recipe's file, the header with its line, and the sources that expand the list. Gives the
-- paths of all that is compiled.
local function lay_out(scratch, recipe)
  write(scratch .. "/" .. recipe.to, read("spec/recipes/" .. recipe.file))
  write(scratch .. "/" .. recipe.header, with_line(read(recipe.header), recipe.list, recipe.line))
  local sources = { recipe.to }
  local expanding = ("grep -rlF '%s(' core --include='*.c' | LC_ALL=C sort"):format(recipe.list)
  for _, path in ipairs(lines(expanding)) do
    write(scratch .. "/" .. path, read(path))
    sources[#sources + 1] = path
  end
  return sources
end

-- The module, with objects of its own in the place of the library's.
local function link(scratch, objects)
  for _, path in ipairs(lines("ls lua/src/*.c lua/src/*/*.c")) do
    local name = path:match("^lua/src/(.*)%.c$")
    if name ~= "base/readline" and name ~= "base/mpi" then
      objects[#objects + 1] = ("'%s/%s/obj/%s.o'"):format(build, abi, name)
    end
  end
  run(("%s -shared -Wl,-z,nodelete -o '%s/berth/core.so' %s '%s/libberth.a' %s"):format(
    CC, scratch, table.concat(objects, " "), build, (capture("make -s libs"):gsub("%s+$", ""))))
end

describe("a recipe", function()
  local scratch, why

  setup(function()
    if not build then why = "the module is not in a build tree" end
    if build and shell.instrumented() then why = "the library is instrumented" end
    if why then return end
    scratch = capture("mktemp -d"):gsub("%s+$", "")
    local objects = {}
    for i, recipe in ipairs(recipes) do
      for j, path in ipairs(lay_out(scratch, recipe)) do
        local object = ("%s/%d-%d.o"):format(scratch, i, j)
        compile(scratch, path, object)
        objects[#objects + 1] = object
      end
    end
    assert(os.execute(("mkdir -p '%s/berth'"):format(scratch)))
    link(scratch, objects)
  end)

  teardown(function()
    if scratch then os.execute(("rm -r '%s'"):format(scratch)) end
  end)

  for _, recipe in ipairs(recipes) do
    it("is one file and one line: " .. recipe.file, function()
      if why then return pending(why) end
      write(scratch .. "/use.lua", PRELUDE .. recipe.use)
      local paths = ("LUA_PATH='%s/lua/?.lua;%s/lua/?/init.lua;;' LUA_CPATH='%s/?.so;;'"):format(
        root, root, scratch)
      run(("cd '%s' && %s '%s' use.lua"):format(scratch, paths, LUA))
    end)
  end
end)

describe("a recipe in Lua", function()
  for _, recipe in ipairs(in_lua) do
    it("is one file: " .. recipe.file, function()
      recipe.use(require "berth", dofile("spec/recipes/" .. recipe.file))
    end)
  end
end)

describe("CONTRIBUTING.md", function()
  it("has every recipe, with its folder, its list and its line", function()
    local text = read("CONTRIBUTING.md")
    for _, path in ipairs(lines("ls spec/recipes/*.c spec/recipes/*.lua")) do
      if not path:find("_spec") then assert.is_truthy(text:find(path, 1, true), path) end
    end
    for _, recipe in ipairs(recipes) do
      for _, what in ipairs { recipe.to:match("^.*/"), recipe.list, recipe.header, recipe.line } do
        assert.is_truthy(text:find(what, 1, true), what)
      end
    end
  end)
end)
