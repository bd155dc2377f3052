-- Rooms include, link and require only rooms on lower floors.
--
-- The table of rooms and the exceptions are in spec/support/floors.lua. A room is the folder
-- below core/ or lua/berth/; its public header belongs to it.
local floors = require "support.floors"
local read = require("support.shell").read

-- Edges, circles, exceptions ---------------------------------------------------------------------

local function room_of(path)
  return path:match("^core/include/berth/([%w_]+)%.h$") or path:match("^core/([%w_]+)/")
    or path:match("^lua/berth/([%w_]+)/")
    or path == "lua/berth/init.lua" and "berth" or nil
end

local function floor_of(room) return floors.core[room] or floors.lua[room] end

local function key_of(edge) return edge.from .. " -> " .. edge.to end

-- Edges to another room that is not lower, as { key = text }.
local function wrong_edges(edges)
  local found = {}
  for _, edge in ipairs(edges) do
    local user, used = room_of(edge.from), room_of(edge.to)
    local high, low = floor_of(user), floor_of(used)
    if not (high and low) or (user ~= used and low >= high) then
      found[key_of(edge)] = ("%s (%s %s uses %s %s)%s"):format(key_of(edge), user,
        high or "without floor", used,
        low or "without floor", edge.by and ", " .. edge.by or "")
    end
  end
  return found
end

-- Strongly connected components of more than one file (Tarjan), each sorted.
local function components(edges)
  local after, nodes = {}, {}
  for _, edge in ipairs(edges) do
    for _, node in ipairs { edge.from, edge.to } do
      if not after[node] then after[node], nodes[#nodes + 1] = {}, node end
    end
    table.insert(after[edge.from], edge.to)
  end
  local number, lowest, stack, on_stack, found, count = {}, {}, {}, {}, {}, 0
  local function visit(node)
    count = count + 1
    number[node], lowest[node], on_stack[node] = count, count, true
    stack[#stack + 1] = node
    for _, other in ipairs(after[node]) do
      if not number[other] then visit(other) end
      if on_stack[other] then lowest[node] = math.min(lowest[node], lowest[other]) end
    end
    if lowest[node] < number[node] then return end
    local part = {}
    repeat
      part[#part + 1] = table.remove(stack)
      on_stack[part[#part]] = nil
    until part[#part] == node
    table.sort(part)
    if #part > 1 then found[#found + 1] = part end
  end
  for _, node in ipairs(nodes) do
    if not number[node] then visit(node) end
  end
  return found
end

-- Circles between files of one room, as { "file file ..." = text with the edges that make it }.
local function circles(edges)
  local inner, found = {}, {}
  for _, edge in ipairs(edges) do
    if room_of(edge.from) == room_of(edge.to) then inner[#inner + 1] = edge end
  end
  for _, part in ipairs(components(inner)) do
    local member, lines = {}, {}
    for _, file in ipairs(part) do member[file] = true end
    for _, edge in ipairs(inner) do
      if member[edge.from] and member[edge.to] then
        lines[#lines + 1] = "  " .. key_of(edge) .. (edge.by and ": " .. edge.by or "")
      end
    end
    table.sort(lines)
    local key = table.concat(part, " ")
    found[key] = "circle of " .. key .. "\n" .. table.concat(lines, "\n")
  end
  return found
end

-- What was found and is not allowed, and what is allowed without a reason or is no longer found:
-- sorted lines.
local function judge(found, allowed)
  local lines = {}
  for key, text in pairs(found) do
    if not allowed[key] then lines[#lines + 1] = text end
  end
  for key, reason in pairs(allowed) do
    if not found[key] then
      lines[#lines + 1] = key .. ": this exception no longer occurs, remove it"
    end
    if type(reason) ~= "string" or reason == "" then
      lines[#lines + 1] = key .. ": this exception has no reason"
    end
  end
  table.sort(lines)
  return lines
end

-- Fails with all lines of the given lists.
local function expect_none(...)
  local text = ""
  for _, lines in ipairs { ... } do
    for _, line in ipairs(lines) do text = text .. "\n" .. line end
  end
  assert(text == "", text)
end

-- What the tree holds ----------------------------------------------------------------------------

local function run(command)
  local lines, pipe = {}, assert(io.popen(command))
  for line in pipe:lines() do lines[#lines + 1] = line end
  pipe:close()
  return lines
end

local files, is_file = run("find core lua spec/c spec/lua -type f "
  .. "\\( -name '*.[ch]' -o -name '*.lua' \\) | LC_ALL=C sort"), {}
for _, path in ipairs(files) do is_file[path] = true end

-- The files whose path matches `pattern`.
local function each_file(pattern)
  local i = 0
  return function()
    repeat i = i + 1 until not files[i] or files[i]:find(pattern)
    return files[i]
  end
end

-- Every #include of core/: file, what, whether it is in angle brackets.
local included = {}
for path in each_file("^core/") do
  for open, what in ("\n" .. read(path)):gmatch('\n[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)') do
    included[#included + 1] = { path = path, what = what, angle = open == "<" }
  end
end

-- Edges of includes within core/, and quoted includes that are no file there.
local function includes()
  local edges, unresolved = {}, {}
  for _, x in ipairs(included) do
    if not x.angle or x.what:find("^berth/") then
      local folder = x.angle and "core/include/" or x.what:find("/", 1, true) and "core/"
        or x.path:match("^.*/")
      edges[#edges + 1] = { from = x.path, to = folder .. x.what }
      if not is_file[folder .. x.what] then
        unresolved[#unresolved + 1] = ("%s includes %s: no file %s"):format(x.path, x.what,
          folder .. x.what)
      end
    end
  end
  return edges, unresolved
end

-- Includes of headers from outside core/ whose name holds one of those, except in the room `but`,
-- as { text = text }.
local function includes_of(names, but)
  local found = {}
  for _, x in ipairs(included) do
    for _, name in ipairs(names) do
      local text = ("%s includes %s"):format(x.path, x.what)
      if x.angle and x.what:find(name, 1, true) and room_of(x.path) ~= but then
        found[text] = text
      end
    end
  end
  return found
end

-- Edges of symbols between objects, one for each pair of files, with the first symbol; nil and the
-- reason if they cannot be read.
local function symbols()
  local build = os.getenv("BERTH_BUILD") or "build"
  local defined, wanted, has_object = {}, {}, {}
  for _, line in ipairs(
    run(("cd '%s' 2>/dev/null && find core -name '*.o' -exec nm -A -g -P {} + 2>/dev/null"):format(
    build))) do
    local object, symbol, kind = line:match("^(.-)%.o: (%S+) (%a)")
    local path = object and object .. ".c"
    if path and is_file[path] then -- objects of sources that were removed stay in the folder
      has_object[path] = true
      if kind == "U" then wanted[#wanted + 1] = { path, symbol } else defined[symbol] = path end
    end
  end
  for path in each_file("^core/.*%.c$") do
    if not has_object[path] then
      return nil, ("nm reads no object of %s below %s: is the tree built?"):format(path, build)
    end
  end
  local edges, seen = {}, {}
  for _, want in ipairs(wanted) do
    local edge = { from = want[1], to = defined[want[2]], by = want[2] }
    if edge.to and edge.to ~= edge.from and not seen[key_of(edge)] then
      seen[key_of(edge)] = true
      edges[#edges + 1] = edge
    end
  end
  return edges
end

-- The file of a module, nil if there is none; of a name that goes on (`"berth.models." .. name`),
-- any file of the folder.
local function file_of(module)
  local path = "lua/" .. module:gsub("%.", "/")
  if module:find("%.$") then return path .. "*" end
  return is_file[path .. ".lua"] and path .. ".lua" or is_file[path .. "/init.lua"]
    and path .. "/init.lua" or nil
end

local function opens_function(code) return code:find("%f[%w]function%f[%W]") ~= nil end

-- Edges of require, those of them that run when the file is loaded, and names of no module. A
-- require runs later if a function opens before it on its line, or on the last line without
-- indentation. `"berth." .. name` may be any room and is left out.
local function requires()
  local edges, at_load, unresolved = {}, {}, {}
  for path in each_file("^lua/berth/") do
    local later = false
    for line in read(path):gmatch("[^\n]+") do
      if line:find("^%S") and not line:find("^%-%-") then later = opens_function(line) end
      local code = line:find("require", 1, true) and line:gsub("%-%-.*", "") or ""
      for at, module in code:gmatch("()%f[%w]require[%s(,]*\"(berth[%w_.]*)\"") do
        local edge = { from = path, to = file_of(module) }
        if not edge.to and not floors.modules[module] then
          unresolved[#unresolved + 1] = ("%s requires %s, which is no module"):format(path, module)
        elseif edge.to and module ~= "berth." then
          edges[#edges + 1] = edge
          if not later and not opens_function(code:sub(1, at)) then at_load[#at_load + 1] = edge end
        end
      end
    end
  end
  return edges, at_load, unresolved
end

-- Folders of those files that no set of rooms knows, and folders of more than `full` files. `loose`
-- matches files outside rooms.
local function folder_faults(paths, root, sets, loose, full)
  local count, lines = {}, {}
  for _, path in ipairs(paths) do
    local below = path:sub(1, #root + 1) == root .. "/" and path:sub(#root + 2)
    if below and not below:find(loose) then
      local folder = path:match("^(.*)/")
      count[folder] = (count[folder] or 0) + 1
      local room, known = below:match("^([^/]+)/"), false
      for _, set in ipairs(sets) do known = known or set[room or ""] ~= nil end
      if not room then lines[#lines + 1] = path .. " is in no room" end
      if room and not known and count[folder] == 1 then
        lines[#lines + 1] = folder .. " is no known room"
      end
    end
  end
  for folder, n in pairs(count) do
    if n > full then lines[#lines + 1] = ("%s has %d files, %d at most"):format(folder, n, full) end
  end
  table.sort(lines)
  return lines
end

-- Specs ------------------------------------------------------------------------------------------

describe("rooms and floors", function()
  local core, lua = { floors.core }, { floors.core, floors.lua }
  local edges_of_symbols, no_symbols = symbols()

  for _, at in ipairs {
    { "core", core, "^include/" }, { "lua/src", core, "^module%.c$" },
    { "lua/berth", lua, "^init%.lua$" },
    { "spec/c", core, "^[^/]*$" }, { "spec/lua", { floors.core, floors.lua, floors.specs }, "^$" },
  } do
    it("has known rooms that are not too full in " .. at[1], function()
      expect_none(folder_faults(files, at[1], at[2], at[3], floors.full))
    end)
  end

  it("includes headers of lower rooms only", function()
    local edges, unresolved = includes()
    expect_none(unresolved, judge(wrong_edges(edges), floors.includes))
  end)

  it("uses functions of lower rooms only", function()
    if no_symbols then return pending(no_symbols) end
    expect_none(judge(wrong_edges(edges_of_symbols), floors.symbols))
  end)

  it("has no circle of C files within a room", function()
    if no_symbols then return pending(no_symbols) end
    expect_none(judge(circles(edges_of_symbols), floors.symbol_circles))
  end)

  it("includes third-party headers in extern only", function()
    expect_none(judge(includes_of(floors.third_party, "extern"), floors.headers))
  end)

  it("does not know Lua in core",
    function() expect_none(judge(includes_of(floors.lua_headers), {})) end)

  it("requires Lua modules of lower rooms only, without circles within a room", function()
    local edges, at_load, unresolved = requires()
    expect_none(unresolved, judge(wrong_edges(edges), floors.requires),
      judge(circles(at_load), floors.require_circles))
  end)
end)

describe("the check of floors", function()
  local function edges(...)
    local list = {}
    for _, text in ipairs { ... } do
      local from, to = text:match("(%S+) (%S+)")
      list[#list + 1] = { from = from, to = to, by = "f" }
    end
    return list
  end

  it("finds uses of higher rooms and of rooms on the same floor", function()
    local found =
      wrong_edges(edges("core/sim/a.c core/place/b.c", "core/graph/a.c core/include/berth/nn.h",
      "core/sim/a.c core/base/b.c", "core/sim/a.c core/sim/delta/b.c",
      "core/io/a.c core/include/berth/berth.h",
      "core/attic/a.c core/base/b.c"))
    assert.same({
      ["core/sim/a.c -> core/place/b.c"] = "core/sim/a.c -> core/place/b.c (sim 4 uses place 9), f",
      ["core/graph/a.c -> core/include/berth/nn.h"] =
        "core/graph/a.c -> core/include/berth/nn.h (graph 2 uses nn 2), f",
      ["core/io/a.c -> core/include/berth/berth.h"] =
        "core/io/a.c -> core/include/berth/berth.h (io 12 uses berth 15), f",
      ["core/attic/a.c -> core/base/b.c"] =
        "core/attic/a.c -> core/base/b.c (attic without floor uses base 0), f",
    }, found)
  end)

  it("finds circles within a room, and no tree", function()
    local found = circles(edges("core/sim/c.c core/sim/a.c", "core/sim/a.c core/sim/b.c",
      "core/sim/b.c core/sim/c.c",
      "core/sim/a.c core/sim/d.c", "core/io/a.c core/sim/a.c", "core/sim/a.c core/io/a.c"))
    local circle = "core/sim/a.c core/sim/b.c core/sim/c.c"
    assert.same({
      [circle] = "circle of " .. circle .. "\n  core/sim/a.c -> core/sim/b.c: f\n"
        .. "  core/sim/b.c -> core/sim/c.c: f\n  core/sim/c.c -> core/sim/a.c: f",
    }, found)
  end)

  it("finds exceptions that no longer occur, and those without a reason", function()
    assert.same({}, judge({ x = "x is wrong" }, { x = "because" }))
    assert.same({ "x is wrong", "y: this exception no longer occurs, remove it" },
      judge({ x = "x is wrong" }, { y = "because" }))
    assert.same({ "x: this exception has no reason" }, judge({ x = "x is wrong" }, { x = true }))
  end)

  it("finds unknown rooms, full rooms and files outside rooms", function()
    assert.same({ "core/attic is no known room", "core/sim has 2 files, 1 at most",
      "core/z.c is in no room" },
      folder_faults({ "core/attic/a.c", "core/sim/a.c", "core/sim/b.c", "core/sim/delta/c.c",
        "core/z.c", "core/include/x.h" },
        "core", { floors.core }, "^include/", 1))
  end)
end)
