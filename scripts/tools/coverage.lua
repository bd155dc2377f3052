-- See scripts/coverage. usage: coverage.lua BUILD collect|table|files ROOM|lines FILE. `collect` writes BUILD/coverage.tsv: path,
-- line, 1 if it was run, number of branches, number of those taken.
local json = require "dkjson"
local source = require "source"

local build, action, what = ...
local result = build .. "/coverage.tsv"

local function line_of(files, path, number)
  local file = files[path] or {}
  files[path] = file
  file[number] = file[number] or { run = 0, taken = {} }
  return file[number]
end

-- Merges the JSON of one object. The n-th branch of a line is taken if it is in any function that the line is part of: functions
-- of headers, and of files included several times as templates, have several copies.
local function add_object(files, text)
  for _, file in ipairs(assert(json.decode(text)).files) do
    if file.file:find("^core/") or file.file:find("^lua/src/") then
      for _, line in ipairs(file.lines) do
        local at = line_of(files, file.file, line.line_number)
        if line.count > 0 then at.run = 1 end
        for i, branch in ipairs(line.branches) do at.taken[i] = at.taken[i] or branch.count > 0 end
      end
    end
  end
end

-- Lines of a Lua file that hold instructions, but for the return that ends every function.
local function add_module(files, path)
  local last
  for _, row in ipairs(source.lines("luac5.4 -l -p " .. path)) do
    local number, instruction = row:match("^\t%d+\t%[(%d+)%]\t(%S+)")
    if last then line_of(files, path, last) end
    last = instruction ~= "VARARGPREP" and tonumber(number)
  end
end

local function collect()
  local files = {}
  for _, path in ipairs(source.lines(("find %s/core %s/lua54/obj -name '*.gcno'"):format(build, build))) do
    for _, text in ipairs(source.lines("gcov -b --json-format --stdout " .. path .. " 2>/dev/null")) do
      add_object(files, text)
    end
  end
  for _, path in ipairs(source.files("lua/berth")) do add_module(files, path) end
  for _, row in ipairs(source.lines("cat " .. build .. "/lines/* | sort -u")) do
    local path, number = row:match("(lua/berth/.*)\t(.*)")
    local line = files[path] and files[path][tonumber(number)]
    if line then line.run = 1 end
  end
  local out = assert(io.open(result, "w"))
  for path, file in pairs(files) do
    for number, line in pairs(file) do
      local taken = 0
      for _, yes in ipairs(line.taken) do taken = taken + (yes and 1 or 0) end
      out:write(("%s\t%d\t%d\t%d\t%d\n"):format(path, number, line.run, #line.taken, taken))
    end
  end
  out:close()
end

local function rows()
  local file = io.open(result)
  if not file then
    io.stderr:write("coverage: no ", result, ": run scripts/coverage first\n")
    os.exit(1)
  end
  return coroutine.wrap(function()
    for row in file:lines() do
      local path, number, run, branches, taken = row:match("(.*)\t(.*)\t(.*)\t(.*)\t(.*)")
      coroutine.yield(path, tonumber(number), tonumber(run), tonumber(branches), tonumber(taken))
    end
    file:close()
  end)
end

-- Sums by key, which `key_of` makes of a path (nil: left out).
local function sums(key_of)
  local all, list = {}, {}
  for path, _, run, branches, taken in rows() do
    for _, key in ipairs { key_of(path) } do
      local s = all[key]
      if not s then
        s = { key = key, lines = 0, run = 0, branches = 0, taken = 0 }
        all[key], list[#list + 1] = s, s
      end
      s.lines, s.run, s.branches, s.taken = s.lines + 1, s.run + run, s.branches + branches, s.taken + taken
    end
  end
  return list
end

local function share(part, whole) return whole > 0 and ("%6.1f"):format(100 * part / whole) or "     -" end

local function show(list, title)
  print(("%-44s %6s %6s %8s %6s"):format(title, "lines", "run %", "branches", "taken %"))
  for _, s in ipairs(list) do
    print(("%-44s %6d %s %8d %s"):format(s.key, s.lines, share(s.run, s.lines), s.branches, share(s.taken, s.branches)))
  end
end

local actions = { collect = collect }

function actions.table()
  local list = sums(function(path)
    local tree, room = source.room(path)
    return tree .. " " .. room, tree .. " ~ all"
  end)
  table.sort(list, function(a, b) return a.key < b.key end)
  for _, s in ipairs(list) do s.key = s.key:gsub("~ ", "") end
  show(list, "room")
end

function actions.files()
  local list = sums(function(path)
    if select(2, source.room(path)) == what then return path end
  end)
  table.sort(list, function(a, b)
    local x, y = a.run / a.lines, b.run / b.lines
    if x ~= y then return x < y end
    return a.key < b.key
  end)
  show(list, "file")
end

function actions.lines()
  local mark, code, number = {}, source.read(what), 0
  for path, line, run, branches, taken in rows() do
    if path == what and (run == 0 or taken < branches) then mark[line] = run == 0 and "-" or "?" end
  end
  for text in code:gmatch("(.-)\n") do
    number = number + 1
    if mark[number] then print(("%s %5d  %s"):format(mark[number], number, text)) end
  end
end

actions[action]()
