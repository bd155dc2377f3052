--- Runs the pages that teach: README.md and docs/guides. A block
--   ```lua place.lua     is written to that file (any language and name)
--   ```sh                is run by a shell that stops at the first failure
--   ```text output       is all that the block above it prints
-- Files are written first; the shell blocks run in one shell. A picture that the page shows
-- from docs/pictures is the file of that name that a block has written. Loaded from the project's folder.
local blocks = dofile "spec/support/blocks.lua"
local source = dofile "scripts/tools/source.lua"

local pages = {}

function pages.list()
  return source.lines("ls README.md docs/README.md docs/glossary.md docs/guides/*.md 2> /dev/null")
end

local function capture(command) return table.concat(source.lines(command), "\n") end

local function quote(s) return "'" .. s:gsub("'", "'\\''") .. "'" end

-- Shell lines that make `berth`, `lua5.4` and pkg-config those of a built tree.
local PRELUDE = [[
set -e
export ASAN_OPTIONS=detect_leaks=0 LD_LIBRARY_PATH=$PWD/prefix/lib
export PKG_CONFIG_PATH=$PWD/prefix/lib/pkgconfig
export LUA_PATH="$ROOT/lua/?.lua;$ROOT/lua/?/init.lua;;" LUA_CPATH="$MODULES/?.so;;"
BERTH_LUA=$(command -v "$BERTH_LUA")
mkdir -p .bin
ln -sf "$ROOT/scripts/berth" .bin
printf '#!/bin/sh\nexec "$BERTH_LUA" "$@"\n' > .bin/lua5.4
chmod +x .bin/lua5.4
PATH=$PWD/.bin:$PATH
]]

local function prelude(tree)
  return ("export ROOT=%s MODULES=%s BERTH_BUILD=%s BERTH_LUA=%s\n%s"):format(quote(tree.root),
    quote(tree.modules), quote(tree.build), quote(tree.lua), PRELUDE)
end

-- The library as `make install-lib` lays it out, for blocks that compile; it is not built again. The
-- file berth.pc holds the prefix, so that it is made beside links to the library, not in the build.
local function install(tree, folder)
  capture(("mkdir %s/.build && ln -s %s/libberth.* %s/.build"):format(quote(folder),
    quote(tree.build), quote(folder)))
  capture(("MAKEFLAGS= make -s -C %s -o lib BUILD=%s/.build PREFIX=%s/prefix install-lib 2>&1")
    :format(quote(tree.root), quote(folder), quote(folder)))
end

local function is(block, words) return block and table.concat(block.words, " ") == words end

--- Whether a block is a file: its name, or nil.
function pages.file_name(block)
  local name = block.words[2]
  return #block.words == 2 and name:find(".", 1, true) and name or nil
end

--- Whether a page has a block that links a program with the library.
function pages.compiles(text) return text:find("$(pkg-config", 1, true) ~= nil end

-- Writes the files of a page. Gives its shell blocks: { line, text, want, output }.
local function lay_out(text, folder)
  local list, commands, seen = blocks.of(text), {}, {}
  for i, block in ipairs(list) do
    local name = pages.file_name(block)
    if name then
      assert(not seen[name], name .. " is there twice")
      seen[name] = true
      source.write(folder .. "/" .. name, block.text .. "\n")
    elseif is(block, "sh") then
      local output = is(list[i + 1], "text output") and list[i + 1] or nil
      commands[#commands + 1] = { line = block.line, text = block.text, output = output,
        want = output and output.text:gsub("%s+$", "") }
    end
  end
  return commands
end

local MARK = "\1"

--- Runs a page with a built tree: { root, build, modules, lua }, three absolute paths and an
-- interpreter. Its shell blocks share one shell. Gives an array of { line, ok, got, want, output }:
-- of each shell block the line, whether all of it ran and ended with 0, what it printed, what the
-- page says, and the block that says so.
function pages.run(text, tree, folder)
  local commands, script = lay_out(text, folder), { prelude(tree) }
  if pages.compiles(text) then install(tree, folder) end
  for _, c in ipairs(commands) do script[#script + 1] = c.text .. "\nprintf '\\001'\n" end
  source.write(folder .. "/.page.sh", table.concat(script))
  local out = capture(("cd %s && { sh .page.sh; } 2>&1"):format(quote(folder)))
  local parts = {}
  for part in (out .. MARK):gmatch("(.-)" .. MARK) do parts[#parts + 1] = part end
  for i, c in ipairs(commands) do
    c.ok, c.got = parts[i + 1] ~= nil, (parts[i] or "not run"):gsub("\n+$", "")
  end
  return commands
end

--- Pictures that a page shows: { path in the project, name of the file that is the same }.
function pages.pictures(text)
  local found = {}
  for name in text:gmatch("!%[[^%]]*%]%([^)]-pictures/([^)/]+%.svg)%)") do
    found[#found + 1] = { path = "docs/pictures/" .. name, name = name }
  end
  return found
end

--- The page with what its blocks print.
function pages.renew(text, results)
  local lines = {}
  for line in (text .. "\n"):gmatch("(.-)\n") do lines[#lines + 1] = line end
  for i = #results, 1, -1 do
    local r = results[i]
    if r.output and r.got ~= r.want then
      local from = r.output.line
      for _ in (r.output.text .. "\n"):gmatch("(.-)\n") do
        if r.output.text ~= "" then table.remove(lines, from) end
      end
      table.insert(lines, from, r.got)
    end
  end
  return table.concat(lines, "\n")
end

return pages
