-- See scripts/mutate, which starts this in the scratch copy.
-- All C specs and the Lua module are linked with one shared library of the core: a mutant costs one compilation and one link.
-- A mutant's object is build/mutant.o: those below build/core are never of a mutant.
local mutations = require "mutations"
local source = require "source"

local FLAGS, LIBRARY = "-O1 -g0", "build/mutant.so"
-- Rooms that specs named after a paper or a user's question test, besides those in their names.
local ALSO = {
  baechi = "list lp place placement", list_scheduling = "list", maxload = "split",
  pacml = "pacml ramp cluster",
  pdors = "pdors ps cluster", tag = "deploy decide cost sim", stg = "list bound exact io", bounds = "bound",
  wfcommons = "io list", gang = "cluster gang", portfolio = "place", answers = "all",
}

local function usage(text)
  io.stderr:write("mutate: ", text, "\n")
  os.exit(2)
end

local room, count, seed, verbose = arg[1], tonumber(arg[2]), 1, false
do
  local i = 3
  while arg[i] do
    if arg[i] == "--verbose" then
      verbose = true
    elseif arg[i] == "--seed" and (arg[i + 1] or ""):find("^%d+$") then
      i = i + 1
      seed = tonumber(arg[i])
    else
      usage("unknown option '" .. arg[i] .. "' (legal: --seed INTEGER, --verbose)")
    end
    i = i + 1
  end
end
if not count or count < 1 then usage("the number of mutants must be 1 or more") end

-- Runs a shell command; an interrupt also ends this program.
local function run(command)
  local ok, how, code = os.execute(command)
  if how == "signal" and code == 2 or code == 130 then os.exit(130) end
  return ok
end

local function must(command)
  if not run(command) then usage("failed: " .. command) end
end

local libs = table.concat(source.lines("make -s libs"), " ")
local compiler = os.getenv("CC") or "gcc"
local tree = source.lines("pwd")[1]

local function make(goals) return ("make -s -j2 CFLAGS='%s' LIB_A=%s/%s LUA=lua5.4 %s"):format(FLAGS, tree, LIBRARY, goals) end

-- Links the library, with build/mutant.o in the place of one object.
local function link(objects, instead)
  local list = {}
  for i, object in ipairs(objects) do list[i] = object == instead and "build/mutant.o" or object end
  source.write("build/objects", table.concat(list, "\n"))
  must(("%s -shared -Wl,-Bsymbolic -o %s @build/objects %s"):format(compiler, LIBRARY, libs))
end

-- Does this spec test the room? By its folder, a word of its name, or the table above.
local function tests_room(path)
  local name = "_" .. path:match("([^/]*)_spec%.lua$") .. "_"
  if path:find("/" .. room .. "/", 1, true) or name:find("_" .. room .. "_", 1, true) then return true end
  for word, rooms in pairs(ALSO) do
    local also = rooms == "all" or (" " .. rooms .. " "):find(" " .. room .. " ", 1, true)
    if also and name:find("_" .. word .. "_", 1, true) then return true end
  end
end

local function specs()
  local list = {}
  for _, path in ipairs(source.lines("find spec/c/" .. room .. " -name '*.c' 2>/dev/null | LC_ALL=C sort")) do
    local program = path:gsub("^spec/c/(.*)%.c$", "build/spec/%1")
    list[#list + 1] = { name = program, command = program, c = true }
  end
  local lua = "LUA_PATH='lua/?.lua;lua/?/init.lua;spec/?.lua;;' LUA_CPATH='build/lua54/?.so;;' BERTH_LUA=lua5.4 "
  for _, path in ipairs(source.lines("find spec -name '*_spec.lua' | LC_ALL=C sort")) do
    if tests_room(path) then
      list[#list + 1] = { name = path, command = lua .. "lua5.4 $(command -v busted) --no-keep-going -o TAP " .. path }
    end
  end
  return list
end

-- `ulimit -v` is in kB and of addresses, not of memory in use. Also wall time: threads may
-- deadlock.
local function passes(spec, seconds)
  return run(("ulimit -c 0; ulimit -v 3000000; ulimit -t %d; timeout --foreground -k 1 %d sh -c %q > build/spec.out 2>&1"):format(
    seconds, 4 * seconds, "exec env " .. spec.command))
end

local function now() return tonumber(source.lines("date +%s.%N")[1]) end

-- Specs that pass without a mutant, C before Lua, then fastest first, with their limits.
local function baseline()
  local list = {}
  for _, spec in ipairs(specs()) do
    local start = now()
    if passes(spec, 600) then
      spec.seconds = now() - start
      list[#list + 1] = spec
    else
      print("left out, fails without a mutant: " .. spec.name)
    end
  end
  table.sort(list, function(a, b)
    if a.c ~= b.c then return a.c end
    return a.seconds < b.seconds
  end)
  return list
end

-- Code lines of the room's files, each { path, line }, and their mutations by path and line.
local function code_lines()
  local lines, by_path = {}, {}
  local list = ("ls -d core/%s lua/berth/%s lua/berth/%s.lua 2>/dev/null"):format(room, room, room)
  local folders = table.concat(source.lines(list), " ")
  if folders == "" then return lines, by_path end
  for _, path in ipairs(source.files(folders)) do
    if not path:find("%.h$") then
      local text, language = source.read(path), source.language(path)
      local numbers = {}
      for number in pairs((source.kinds(text, language))) do numbers[#numbers + 1] = number end
      table.sort(numbers)
      for _, number in ipairs(numbers) do lines[#lines + 1] = { path = path, number = number } end
      by_path[path] = mutations.list(text, language)
    end
  end
  return lines, by_path
end

local commands = {} -- to compile a source file, by its path

local function object(path) return "build/" .. path:gsub("%.c$", ".o") end

-- Does the tree with this text compile to something new? Leaves the mutant in the tree, C linked.
local pristine = true
local function build(path, before, after, objects)
  if source.language(path) == "lua" then
    local old, new = load(before, "@x"), load(after, "@x")
    if not new or string.dump(old, true) == string.dump(new, true) then return false end
    if not pristine then link(objects) end
    pristine = true
    return true
  end
  if not commands[path] then
    local lines = source.lines(make("-n -W " .. path .. " " .. object(path)):gsub("%-s ", "", 1))
    for _, line in ipairs(lines) do
      if line:find(" -c ", 1, true) then commands[path] = line:gsub("%-o %S+", "-o build/mutant.o") .. " 2> build/errors" end
    end
  end
  if not run(commands[path]) or run("cmp -s build/mutant.o " .. object(path)) then return false end
  link(objects, object(path))
  pristine = false
  return true
end

local function killer(list, c_too)
  for _, spec in ipairs(list) do
    if (c_too or not spec.c) and not passes(spec, math.ceil(5 + 5 * spec.seconds)) then return spec.name end
  end
end

-- Draws a place that has not been drawn: a code line first, so that long and short files are alike.
local function draw(lines, by_path, used)
  for _ = 1, 100000 do
    local at = lines[math.random(#lines)]
    local choices = by_path[at.path][at.number]
    local m = choices and choices[math.random(#choices)]
    if m and not used[m] then
      used[m] = true
      return at, m
    end
  end
  usage("no more places in " .. room)
end

math.randomseed(seed)
local lines, by_path = code_lines()
if #lines == 0 then usage(("no code in core/%s or lua/berth/%s"):format(room, room)) end
must("mkdir -p build")
local objects = {}
for _, path in ipairs(source.lines("find core -name '*.c' | LC_ALL=C sort")) do objects[#objects + 1] = object(path) end
must(make(table.concat(objects, " ")))
link(objects)
local goals = { "build/lua54/berth/core.so" }
for _, spec in ipairs(specs()) do
  if spec.c then goals[#goals + 1] = spec.name end
end
must(make(table.concat(goals, " ")))
local list = baseline()
print(("%s: %d specs, seed %d"):format(room, #list, seed))

local used, made, killed, start = {}, 0, 0, now()
while made < count do
  local at, m = draw(lines, by_path, used)
  local before, began = source.read(at.path), now()
  local after, change = mutations.apply(before, m)
  source.write(at.path, after)
  if build(at.path, before, after, objects) then
    made = made + 1
    local spec = killer(list, source.language(at.path) == "c")
    killed = killed + (spec and 1 or 0)
    if verbose or not spec then
      local fate = not verbose and "" or (" [%s, %.1f s]"):format(spec or "survived", now() - began)
      print(("%s:%d: %s%s"):format(at.path, at.number, change, fate))
      io.stdout:flush()
    end
  end
  source.write(at.path, before)
end
print(("%d mutants, %d killed, %d survived (%.1f s each)"):format(made, killed, made - killed, (now() - start) / made))
